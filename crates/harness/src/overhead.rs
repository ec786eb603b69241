//! What measuring costs, measured at the start of each run.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use tailcore_pmu::{Counters, Event, Target};

use crate::clock::Clock;
use crate::completion::{Completion, CompletionSink, Outcome, Reply};
use crate::phases::Phases;
use crate::recorder::Recorder;

/// Rounds of each calibration; the median round counts, so that one preemption does not.
const ROUNDS: usize = 15;
const CALLS_PER_ROUND: u64 = 1_000;
const COUNTER_READS_PER_ROUND: u64 = 50;

/// Cost of the instruments themselves, in nanoseconds per call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// One reading of the clock.
    pub clock_ns: f64,
    /// Recording one completion.
    pub record_ns: f64,
    /// Reading all counters of one thread; null if none could be opened.
    pub counter_read_ns: Option<f64>,
    /// Median sojourn time of a service that does nothing, through the same engine and recorder:
    /// no latency below a few times this floor says anything about a service.
    pub null_service_ns: Option<f64>,
    /// Drift of the run's clock against `CLOCK_MONOTONIC` over the run, in parts per million.
    pub clock_drift_ppm: Option<f64>,
}

impl Overhead {
    /// Measures clock, recording and counter reading on the calling thread (about a millisecond).
    pub fn measure(clock: &impl Clock, events: &[Event]) -> Self {
        Self {
            clock_ns: clock_cost_ns(clock),
            record_ns: record_cost_ns(clock),
            counter_read_ns: counter_read_cost_ns(clock, events),
            ..Self::default()
        }
    }
}

fn clock_cost_ns(clock: &impl Clock) -> f64 {
    median_cost_ns(clock, CALLS_PER_ROUND, |_| {
        black_box(clock.now_ns());
    })
}

fn record_cost_ns(clock: &impl Clock) -> f64 {
    let mut recorder =
        Recorder::new(Phases { start_ns: 0, measure_ns: 0, end_ns: crate::timeline::MIN_INTERVAL_NS });
    median_cost_ns(clock, CALLS_PER_ROUND, |i| {
        // Latencies spread over a decade, as real ones are: one bucket alone would flatter the cache.
        let completion = Completion {
            intended_ns: i,
            sent_ns: Some(i + 40),
            ended_ns: i + 10_000 + i * 97 % 90_000,
            outcome: Outcome::Ok(Reply::Done),
        };
        recorder.schedule(i);
        recorder.complete(black_box(completion));
    })
}

fn counter_read_cost_ns(clock: &impl Clock, events: &[Event]) -> Option<f64> {
    let mut counters = Counters::open(Target::CurrentThread, events);
    if !counters.is_any_open() {
        return None;
    }
    counters.enable();
    let mut snapshot = counters.snapshot();
    Some(median_cost_ns(clock, COUNTER_READS_PER_ROUND, |_| counters.read(&mut snapshot)))
}

/// Median over rounds of the mean cost of `call`.
fn median_cost_ns(clock: &impl Clock, calls: u64, mut call: impl FnMut(u64)) -> f64 {
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let start_ns = clock.now_ns();
        (0..calls).for_each(&mut call);
        *round = clock.now_ns().saturating_sub(start_ns) as f64 / calls as f64;
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use std::time::Duration;

    #[test]
    fn the_cost_is_the_median_round_per_call() {
        let clock = ManualClock::new();
        let mut calls = 0;
        let cost = median_cost_ns(&clock, 10, |_| {
            calls += 1;
            // One round is preempted for a second; the median does not notice.
            clock.advance(if calls == 35 { Duration::from_secs(1) } else { Duration::from_nanos(7) });
        });
        assert_eq!(cost, 7.0);
        assert_eq!(calls, 10 * ROUNDS as u64);
    }
}
