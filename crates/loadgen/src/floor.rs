//! The floor below which a latency says nothing: a service that does nothing, through the same
//! engine and recorder.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::{Clock, Phases};

use crate::arrivals::ArrivalLaw;
use crate::engine::{Engine, EngineLimits};
use crate::null::{NullProtocol, NullService};
use crate::schedule::{Schedule, ScheduleLaw};
use crate::transport::in_process::InProcess;
use crate::workload::{KeyLaw, Workload};

/// Load of the measurement: far from saturation, so that queueing does not hide the floor.
const RATE_RPS: f64 = 100_000.0;
const DURATION: Duration = Duration::from_millis(20);

/// Median sojourn time of the null service in nanoseconds, measured for 20 ms on the calling thread.
pub fn null_service_ns(clock: &impl Clock) -> Option<f64> {
    let phases = Phases::new(clock.now_ns(), Duration::from_millis(1), DURATION);
    let law = ScheduleLaw {
        arrivals: ArrivalLaw::Poisson,
        rate_rps: RATE_RPS,
        workload: Workload { keys: 1, key_law: KeyLaw::Uniform, value_len: 0, get_ratio: 1.0 },
        workers: 1,
        seed: 0,
    };
    let schedule = Schedule::new(&law, 0, phases.start_ns, phases.end_ns);
    let limits = EngineLimits { phases, timeout_ns: u64::MAX, drain_ns: 0, max_in_flight: usize::MAX };
    let stop = AtomicBool::new(false);
    let transport = InProcess::new(NullProtocol, NullService);
    let report = Engine::new(clock, schedule, transport, (limits, &stop)).run();
    report.recorder.sojourn().value_at_quantile_ns(0.5).map(|ns| ns as f64)
}
