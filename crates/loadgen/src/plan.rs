//! What is asked of one run, checked before any load is offered.

use std::time::Duration;

use tailcore_harness::Event;
use tailcore_harness::phases::as_ns;
use tailcore_harness::{Phases, PlanRecord};
use tailcore_topology::PinPolicy;

use crate::arrivals::ArrivalLaw;
use crate::engine::EngineLimits;
use crate::error::LoadError;
use crate::memcached::VALUE_LEN_MAX;
use crate::schedule::ScheduleLaw;
use crate::workload::{KeyLaw, Workload};

/// Highest rate that can be planned: several times what a worker can send to nobody at all.
const RATE_MAX_RPS: f64 = 1e8;
/// Longest run that can be planned.
const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Largest number of keys that the protocols can spell.
const KEYS_MAX: u64 = 1_000_000_000_000_000;

/// Everything that describes one run, except what is driven.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Offered load of all threads together, in requests per second.
    pub rate_rps: f64,
    /// Law of the inter-arrival times.
    pub arrivals: ArrivalLaw,
    /// Phase before the measured one.
    pub warmup: Duration,
    /// The measured phase.
    pub duration: Duration,
    /// Load-offering threads.
    pub threads: u32,
    /// Connections over all threads.
    pub connections: u32,
    /// Laws of the content.
    pub workload: Workload,
    /// Whether every key was stored before the run.
    pub preload: bool,
    /// One seed, one schedule.
    pub seed: u64,
    /// Time after which an unanswered request counts as timed out.
    pub timeout: Duration,
    /// Time after the last arrival in which answers are still awaited.
    pub drain: Duration,
    /// Most requests in flight over all threads before sends wait.
    pub max_in_flight: u64,
    /// How threads are placed.
    pub pin: PinPolicy,
    /// Events to count per thread.
    pub events: Vec<Event>,
}

impl Default for RunPlan {
    fn default() -> Self {
        Self {
            rate_rps: 10_000.0,
            arrivals: ArrivalLaw::Poisson,
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            threads: 1,
            connections: 16,
            workload: Workload::default(),
            preload: false,
            seed: 1,
            timeout: Duration::from_secs(10),
            drain: Duration::from_secs(2),
            max_in_flight: 1_000_000,
            pin: PinPolicy::Auto,
            events: tailcore_harness::default_events(),
        }
    }
}

impl RunPlan {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`LoadError::Plan`] for the first one out of range.
    pub fn check(&self) -> Result<(), LoadError> {
        self.check_rates()?;
        self.check_content()?;
        if self.threads == 0 {
            return Err(LoadError::plan("--threads", 0, "at least one thread is needed"));
        }
        if self.connections < self.threads {
            let problem = format!("each of {} threads needs a connection of its own", self.threads);
            return Err(LoadError::plan("--connections", self.connections, problem));
        }
        if self.max_in_flight < u64::from(self.threads) {
            let problem = format!("each of {} threads needs at least one request in flight", self.threads);
            return Err(LoadError::plan("--max-in-flight", self.max_in_flight, problem));
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), LoadError> {
        if !(self.rate_rps > 0.0 && self.rate_rps <= RATE_MAX_RPS) {
            let problem = "the offered load must be above 0 and at most 100M requests/s, for example 20k";
            return Err(LoadError::plan("--rate", self.rate_rps, problem));
        }
        if self.duration.is_zero() || self.duration > DURATION_MAX || self.warmup > DURATION_MAX {
            let (name, value) = if self.warmup > DURATION_MAX {
                ("--warmup", self.warmup)
            } else {
                ("--duration", self.duration)
            };
            let problem = "a run measures for more than 0 s and at most a week, for example 10s";
            return Err(LoadError::plan(name, format!("{value:?}"), problem));
        }
        if self.timeout.is_zero() {
            return Err(LoadError::plan("--timeout", "0s", "no request can be answered in no time"));
        }
        Ok(())
    }

    fn check_content(&self) -> Result<(), LoadError> {
        let Workload { keys, key_law, value_len, get_ratio } = self.workload;
        if keys == 0 || keys > KEYS_MAX {
            return Err(LoadError::plan("--keys", keys, format!("use 1 to {KEYS_MAX} keys")));
        }
        if value_len > VALUE_LEN_MAX {
            let problem = format!("memcached stores values of up to {VALUE_LEN_MAX} bytes by default");
            return Err(LoadError::plan("--value-size", value_len, problem));
        }
        if !(0.0..=1.0).contains(&get_ratio) {
            return Err(LoadError::plan("--get-ratio", get_ratio, "the share of reads lies between 0 and 1"));
        }
        if let KeyLaw::Zipf(s) = key_law
            && !(s.is_finite() && s >= 0.0)
        {
            return Err(LoadError::plan("--key-dist", key_law, "the Zipf exponent must be at least 0"));
        }
        Ok(())
    }

    /// The phases of a run that starts at `start_ns`.
    pub fn phases(&self, start_ns: u64) -> Phases {
        Phases::new(start_ns, self.warmup, self.duration)
    }

    /// One worker's limits.
    pub fn limits(&self, phases: Phases) -> EngineLimits {
        let per_worker = self.max_in_flight / u64::from(self.threads.max(1));
        EngineLimits {
            phases,
            timeout_ns: as_ns(self.timeout),
            drain_ns: as_ns(self.drain),
            max_in_flight: usize::try_from(per_worker).unwrap_or(usize::MAX).max(1),
        }
    }

    /// What all workers' schedules have in common.
    pub fn schedule_law(&self) -> ScheduleLaw {
        ScheduleLaw {
            arrivals: self.arrivals,
            rate_rps: self.rate_rps,
            workload: self.workload,
            workers: self.threads,
            seed: self.seed,
        }
    }

    /// Connections of `worker` (0-based): an equal share, the first ones taking the remainder.
    pub fn connections_of(&self, worker: u32) -> u32 {
        let threads = self.threads.max(1);
        self.connections / threads + u32::from(worker < self.connections % threads)
    }

    /// The plan as a result records it.
    pub fn record(&self, target: &str, connections: u32) -> PlanRecord {
        PlanRecord {
            target: target.to_owned(),
            load: "open loop".to_owned(),
            arrivals: self.arrivals.to_string(),
            rate_rps: self.rate_rps,
            warmup_ns: as_ns(self.warmup),
            duration_ns: as_ns(self.duration),
            threads: self.threads,
            connections,
            keys: self.workload.keys,
            key_dist: self.workload.key_law.to_string(),
            value_size: self.workload.value_len,
            get_ratio: self.workload.get_ratio,
            preload: self.preload,
            timeout_ns: as_ns(self.timeout),
            drain_ns: as_ns(self.drain),
            max_in_flight: self.max_in_flight,
            pin: self.pin.to_string(),
            events: self.events.iter().map(ToString::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(change: impl FnOnce(&mut RunPlan)) -> String {
        let mut plan = RunPlan::default();
        change(&mut plan);
        plan.check().expect_err("the plan is bad").to_string()
    }

    #[test]
    fn the_default_plan_is_good() {
        RunPlan::default().check().unwrap();
    }

    #[test]
    fn every_bad_parameter_is_named() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(complaint(|plan| plan.rate_rps = rate).starts_with("--rate = "), "{rate}");
        }
        assert!(complaint(|plan| plan.duration = Duration::ZERO).starts_with("--duration"));
        assert!(complaint(|plan| plan.warmup = Duration::MAX).starts_with("--warmup"));
        assert!(complaint(|plan| plan.timeout = Duration::ZERO).starts_with("--timeout"));
        assert!(complaint(|plan| plan.threads = 0).starts_with("--threads"));
        assert!(complaint(|plan| plan.threads = 17).starts_with("--connections"));
        assert!(complaint(|plan| plan.max_in_flight = 0).starts_with("--max-in-flight"));
        assert!(complaint(|plan| plan.workload.keys = 0).starts_with("--keys"));
        assert!(complaint(|plan| plan.workload.value_len = u32::MAX).starts_with("--value-size"));
        assert!(complaint(|plan| plan.workload.get_ratio = f64::NAN).starts_with("--get-ratio"));
        assert!(complaint(|plan| plan.workload.key_law = KeyLaw::Zipf(-0.1)).starts_with("--key-dist"));
    }

    #[test]
    fn connections_are_shared_out_without_loss() {
        let plan = RunPlan { threads: 3, connections: 8, ..RunPlan::default() };
        assert_eq!([0, 1, 2].map(|worker| plan.connections_of(worker)), [3, 3, 2]);
    }
}
