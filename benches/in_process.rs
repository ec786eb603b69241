//! How many requests one thread of the generator can handle, with a service that costs nothing.
//!
//! All requests are due at once, far above what can be done, so the engine, the schedule and the
//! recorder are the only limit. The throughput shown is requests per second and thread; the target is
//! at least 1 M/s. With `zipf` the content is that of the default workload; `uniform` shows how much of
//! the time goes into drawing Zipf keys.
//!
//! `cargo bench -p tailcore-benches --bench in_process`

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use tailcore_harness::{Clock, Ending, Idle, MonotonicClock, Phases};
use tailcore_loadgen::engine::{Engine, EngineLimits, EngineReport};
use tailcore_loadgen::null::{NullProtocol, NullService};
use tailcore_loadgen::schedule::{Schedule, ScheduleLaw};
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::{ArrivalLaw, KeyLaw, Workload};

const REQUESTS: u64 = 200_000;
/// All requests are due within 2 ms.
const RATE_RPS: f64 = 1e8;

fn in_process(criterion: &mut Criterion) {
    let clock = MonotonicClock::start(Idle::Spin);
    let mut group = criterion.benchmark_group("in_process");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(20).sampling_mode(SamplingMode::Flat);
    for (name, key_law) in [("zipf", Workload::default().key_law), ("uniform", KeyLaw::Uniform)] {
        let workload = Workload { key_law, ..Workload::default() };
        group.bench_function(name, |b| {
            b.iter_custom(|runs| (0..runs).map(|_| run(&clock, workload)).sum());
        });
    }
    group.finish();
}

/// Time of one run. Making the engine and its recorder is not part of it.
fn run(clock: &MonotonicClock, workload: Workload) -> Duration {
    let law =
        ScheduleLaw { arrivals: ArrivalLaw::Constant, rate_rps: RATE_RPS, workload, workers: 1, seed: 1 };
    let due_within = Duration::from_secs_f64(REQUESTS as f64 / RATE_RPS);
    let phases = Phases::new(clock.now_ns(), Duration::ZERO, due_within);
    let schedule = Schedule::new(&law, 0, phases.start_ns, phases.end_ns);
    let limits = EngineLimits {
        phases,
        timeout_ns: u64::MAX,
        // Nothing may be given up: the run ends when everything is done.
        drain_ns: u64::MAX,
        max_in_flight: usize::MAX,
    };
    let never = AtomicBool::new(false);
    let transport = InProcess::new(NullProtocol, NullService);
    let engine = Engine::new(clock, schedule, transport, (limits, &never));
    let start = Instant::now();
    let report = engine.run();
    let elapsed = start.elapsed();
    check(&report);
    elapsed
}

fn check(report: &EngineReport) {
    let tally = report.recorder.tally();
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!((tally.scheduled, tally.ok), (REQUESTS, REQUESTS), "{tally:?}");
    assert!(tally.is_balanced(), "{tally:?}");
    assert_eq!(report.recorder.sojourn().count(), REQUESTS);
}

criterion_group!(benches, in_process);
criterion_main!(benches);
