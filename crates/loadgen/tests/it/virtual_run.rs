//! One virtual run: schedule, engine, recorder and a simulated service under a manual clock.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::{ManualClock, Phases};
use tailcore_loadgen::engine::{Engine, EngineLimits, EngineReport};
use tailcore_loadgen::schedule::{Schedule, ScheduleLaw};
use tailcore_loadgen::transport::Transport;
use tailcore_loadgen::{ArrivalLaw, Workload};

pub(crate) fn law(arrivals: ArrivalLaw, rate_rps: f64) -> ScheduleLaw {
    ScheduleLaw { arrivals, rate_rps, workload: Workload::default(), workers: 1, seed: 20_261_120 }
}

pub(crate) fn limits(duration: Duration) -> EngineLimits {
    EngineLimits {
        phases: Phases::new(0, Duration::ZERO, duration),
        timeout_ns: u64::MAX,
        drain_ns: 3_600_000_000_000,
        max_in_flight: usize::MAX,
    }
}

pub(crate) fn run(law: &ScheduleLaw, limits: EngineLimits, transport: impl Transport) -> EngineReport {
    run_on(&ManualClock::new(), law, limits, transport)
}

pub(crate) fn run_on(
    clock: &ManualClock,
    law: &ScheduleLaw,
    limits: EngineLimits,
    transport: impl Transport,
) -> EngineReport {
    let schedule = Schedule::new(law, 0, limits.phases.start_ns, limits.phases.end_ns);
    let never = AtomicBool::new(false);
    let report = Engine::new(clock, schedule, transport, (limits, &never)).run();
    assert!(report.recorder.tally().is_balanced(), "{:?}", report.recorder.tally());
    report
}

/// Asserts that `estimate` lies within `share` of `truth`, on either side.
#[track_caller]
pub(crate) fn assert_close(what: &str, estimate: u64, truth: f64, share: f64) {
    let error = estimate as f64 / truth - 1.0;
    assert!(error.abs() <= share, "{what}: {estimate} ns for {truth:.0} ns, off by {:.2} %", error * 100.0);
}
