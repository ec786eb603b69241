//! Counters of the threads of a run, read on the run's clock at interval boundaries.
//!
//! The threads that offer load or serve never read their own counters: a coordinating thread opens
//! them by thread id and reads them from outside, so the hot path makes no extra system call.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tailcore_pmu::{Calibration, Counters, Event, Options, Outcome, Reading, Snapshot, Target, calibrate};
use tailcore_topology::{CpuSet, ResidenceWatch};

use crate::latency::LatencySummary;

/// A thread that takes part in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// What it does: `client`, `server`.
    pub role: String,
    /// Kernel thread id.
    pub tid: u32,
    /// The logical CPU that it was pinned to; `None` if it was left to the scheduler.
    pub cpu: Option<u32>,
}

/// A thread in a result: its placement and what its counters said over the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// What it does: `client`, `server`.
    pub role: String,
    /// The logical CPU that it was pinned to; null if it was left to the scheduler.
    pub cpu: Option<u32>,
    /// Sojourn times of the requests that this thread offered; null for threads that offer none.
    pub sojourn_ns: Option<LatencySummary>,
    /// Where it really ran during the measured phase; null where the kernel does not tell.
    pub residence: Option<ThreadResidence>,
    /// One reading per event asked for.
    pub counters: Vec<Reading>,
}

/// Where a thread really ran, by the kernel's own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadResidence {
    /// The logical CPUs on which it was found, once per interval: a lower bound.
    pub cpus_seen: CpuSet,
    /// How often it moved to another CPU; null where the kernel does not count that.
    pub migrations: Option<u64>,
    /// How often it gave its CPU up to wait.
    pub voluntary_switches: u64,
    /// How often its CPU was taken from it.
    pub involuntary_switches: u64,
}

/// Count of one event in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Delta {
    /// Counted the whole interval.
    Counted(u64),
    /// Extrapolated from the share of the interval in which the counter ran.
    Scaled {
        /// Estimated count.
        count: u64,
        /// Share of the interval in which the counter ran, 0 to 1.
        running: f64,
    },
    /// The event was open but has no count of this interval to rely on: null, which is not zero.
    NotScheduled(()),
}

/// Event name → count in one interval; events that could not be opened are missing here and are
/// explained in [`ThreadReport::counters`].
pub type IntervalDeltas = BTreeMap<String, Delta>;

/// The counters of one thread while a run goes on.
#[derive(Debug)]
pub struct ThreadWatch {
    id: ThreadId,
    counters: Counters,
    /// Since the start of the measured phase, where the kernel tells.
    residence: Option<ResidenceWatch>,
    start: Snapshot,
    last: Snapshot,
    now: Snapshot,
}

impl ThreadWatch {
    /// Opens `events` for a thread. What cannot be opened is explained in the report; nothing fails.
    pub fn open(id: ThreadId, events: &[Event]) -> Self {
        let groups = [events.to_vec()];
        let counters = Counters::open_groups(Target::Thread(id.tid), &groups, &options(events));
        let (start, last, now) = (counters.snapshot(), counters.snapshot(), counters.snapshot());
        Self { id, counters, residence: None, start, last, now }
    }

    /// Starts counting: the measured phase begins.
    pub fn start(&mut self) {
        self.counters.enable();
        self.counters.read(&mut self.start);
        self.last.clone_from(&self.start);
        self.now.clone_from(&self.start);
        self.residence = ResidenceWatch::new(std::process::id(), &[self.id.tid]).ok();
    }

    /// Reads the counters and returns what each gained since the last sample.
    pub fn sample(&mut self) -> IntervalDeltas {
        self.counters.read(&mut self.now);
        let deltas = self.counters.interval(&self.last, &self.now).into_iter().filter_map(delta_of).collect();
        std::mem::swap(&mut self.last, &mut self.now);
        // A thread that has just ended keeps its last sample; there is nobody to tell of an error.
        let _ = self.residence.as_mut().map(ResidenceWatch::sample);
        deltas
    }

    /// What the counters gained from the start to the last sample.
    pub fn report(&self) -> ThreadReport {
        ThreadReport {
            role: self.id.role.clone(),
            cpu: self.id.cpu,
            sojourn_ns: None,
            residence: self.residence.as_ref().and_then(residence),
            counters: self.counters.interval(&self.start, &self.last),
        }
    }
}

/// Believes the processor's counters only if a loop of known length counts right: the PMU of a virtual
/// machine may count a part, or nothing. Tried once.
fn options(events: &[Event]) -> Options {
    static CALIBRATION: OnceLock<Calibration> = OnceLock::new();
    let is_needed = events.iter().any(|event| event.kind().needs_pmu());
    match is_needed {
        true => Options::default().calibrated(CALIBRATION.get_or_init(calibrate).clone()),
        false => Options::default(),
    }
}

fn residence(watch: &ResidenceWatch) -> Option<ThreadResidence> {
    let seen = watch.report().pop()?;
    Some(ThreadResidence {
        migrations: seen.migrations.counted(),
        cpus_seen: seen.cpus_seen,
        voluntary_switches: seen.voluntary_switches,
        involuntary_switches: seen.involuntary_switches,
    })
}

fn delta_of(reading: Reading) -> Option<(String, Delta)> {
    let delta = match reading.outcome {
        Outcome::Counted { count } => Delta::Counted(count),
        Outcome::Scaled { count, running } => Delta::Scaled { count, running },
        Outcome::NotScheduled { .. } | Outcome::Dead { .. } | Outcome::Suspect { .. } => {
            Delta::NotScheduled(())
        }
        _ => return None,
    };
    Some((reading.event, delta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_tells_zero_from_nothing() {
        let deltas: IntervalDeltas = [
            ("a".to_owned(), Delta::Counted(0)),
            ("b".to_owned(), Delta::Scaled { count: 8, running: 0.5 }),
            ("c".to_owned(), Delta::NotScheduled(())),
        ]
        .into();
        let text = serde_json::to_string(&deltas).unwrap();
        assert_eq!(text, r#"{"a":0,"b":{"count":8,"running":0.5},"c":null}"#);
        assert_eq!(serde_json::from_str::<IntervalDeltas>(&text).unwrap(), deltas);
    }
}
