//! What one request costs the generator, piece by piece, on one thread.
//!
//! `clock+record+schedule` is the sum that delays a request or eats into its latency: one reading of
//! the clock, one arrival drawn, one request recorded. The target is at most 60 ns. The content of a
//! request (operation and Zipf key) is left out of the sum because the engine draws it ahead, after the
//! previous send; `schedule` measures it together with its arrival and the fingerprint.
//!
//! `cargo bench -p tailcore-benches --bench hot_path`

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use tailcore_harness::{
    Clock, Completion, CompletionSink, Idle, MonotonicClock, Outcome, Phases, Recorder, Reply,
};
use tailcore_loadgen::arrivals::{Arrivals, Share};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::protocol::{Decoded, Protocol};
use tailcore_loadgen::schedule::{Schedule, ScheduleLaw};
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::service::Service;
use tailcore_loadgen::workload::{Operation, Request};
use tailcore_loadgen::{ArrivalLaw, Workload};

/// Offered load of every schedule here, in requests per second.
const RATE_RPS: f64 = 1e6;
/// Longer than any bench at that rate, so that every request is measured.
const MEASURED: Duration = Duration::from_secs(7 * 24 * 3_600);
const VALUE_LEN: u32 = 100;

fn hot_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hot_path");
    group.throughput(Throughput::Elements(1));
    clock(&mut group);
    record(&mut group);
    schedule_arrivals(&mut group);
    schedule(&mut group);
    clock_record_schedule(&mut group);
    memcached_encode(&mut group);
    memcached_decode(&mut group);
    group.finish();
}

fn clock(group: &mut BenchmarkGroup<'_, WallTime>) {
    let clock = MonotonicClock::start(Idle::Spin);
    let before_ns = clock.now_ns();
    group.bench_function("clock", |b| b.iter(|| clock.now_ns()));
    assert!(clock.now_ns() >= before_ns);
}

/// Ends of requests with latencies as a service gives them: exponential with a mean of 50 µs, so that
/// the histograms' buckets are hit all over and the cache is not flattered.
struct Ends {
    latencies_ns: Vec<u64>,
    turn: usize,
}

impl Ends {
    fn new() -> Self {
        // The gaps of a Poisson stream are exponential.
        let mut arrivals = poisson(20_000.0);
        let mut last_ns = 0;
        let gaps = (0..1_024).map(|_| {
            let at_ns = arrivals.next_ns();
            at_ns - std::mem::replace(&mut last_ns, at_ns)
        });
        Self { latencies_ns: gaps.collect(), turn: 0 }
    }

    #[inline]
    fn next(&mut self, intended_ns: u64) -> Completion {
        let latency_ns = self.latencies_ns[self.turn];
        self.turn = (self.turn + 1) % self.latencies_ns.len();
        Completion {
            intended_ns,
            sent_ns: Some(intended_ns + latency_ns / 64),
            ended_ns: intended_ns + latency_ns,
            outcome: Outcome::Ok(Reply::Hit),
        }
    }
}

fn recorder() -> Recorder {
    Recorder::new(Phases::new(0, Duration::ZERO, MEASURED))
}

/// Every request that went in must be found again in the tally and in the histograms.
fn check(recorder: &Recorder) {
    let tally = recorder.tally();
    assert!(tally.is_balanced(), "{tally:?}");
    assert_eq!((tally.hits, recorder.warmup().scheduled), (tally.scheduled, 0));
    for histogram in [recorder.sojourn(), recorder.since_send(), recorder.lateness()] {
        assert_eq!(histogram.count(), tally.scheduled);
    }
}

fn record(group: &mut BenchmarkGroup<'_, WallTime>) {
    let (mut recorder, mut ends, mut intended_ns) = (recorder(), Ends::new(), 0);
    group.bench_function("record", |b| {
        b.iter(|| {
            intended_ns += 1_000;
            recorder.schedule(intended_ns);
            recorder.complete(black_box(ends.next(intended_ns)));
        });
    });
    check(&recorder);
}

/// The arrivals of a worker that offers the whole load.
fn poisson(rate_rps: f64) -> Arrivals {
    Arrivals::new(ArrivalLaw::Poisson, rate_rps, Share { worker: 0, workers: 1 }, 1)
}

fn schedule_arrivals(group: &mut BenchmarkGroup<'_, WallTime>) {
    let mut arrivals = poisson(RATE_RPS);
    let (mut drawn, mut last_ns) = (0.0, 0);
    group.bench_function("schedule_arrivals", |b| {
        b.iter(|| {
            drawn += 1.0;
            last_ns = black_box(arrivals.next_ns());
        });
    });
    // The sum of n exponential gaps of mean m has a standard deviation of m·√n.
    let mean_gap_ns = 1e9 / RATE_RPS;
    let error_ns = (last_ns as f64 - drawn * mean_gap_ns).abs();
    assert!(error_ns <= 10.0 * mean_gap_ns * drawn.sqrt(), "{drawn} arrivals are {error_ns} ns off");
}

fn schedule(group: &mut BenchmarkGroup<'_, WallTime>) {
    let law = ScheduleLaw {
        arrivals: ArrivalLaw::Poisson,
        rate_rps: RATE_RPS,
        workload: Workload::default(),
        workers: 1,
        seed: 1,
    };
    let mut schedule = Schedule::new(&law, 0, 0, u64::MAX);
    let mut last = schedule.peek();
    group.bench_function("schedule", |b| b.iter(|| last = black_box(schedule.advance())));
    let (last, next) = (last.expect("endless"), schedule.peek().expect("endless"));
    assert!(last.intended_ns <= next.intended_ns && last.request.key < law.workload.keys);
}

fn clock_record_schedule(group: &mut BenchmarkGroup<'_, WallTime>) {
    let clock = MonotonicClock::start(Idle::Spin);
    let mut arrivals = poisson(RATE_RPS);
    let (mut recorder, mut ends) = (recorder(), Ends::new());
    group.bench_function("clock+record+schedule", |b| {
        b.iter(|| {
            let intended_ns = arrivals.next_ns();
            recorder.schedule(intended_ns);
            recorder.complete(black_box(ends.next(intended_ns)));
            clock.now_ns()
        });
    });
    check(&recorder);
}

fn get(key: u64) -> Request {
    Request { operation: Operation::Get, key, value_len: VALUE_LEN }
}

fn memcached_encode(group: &mut BenchmarkGroup<'_, WallTime>) {
    let mut codec = MemcachedText::new(VALUE_LEN);
    let mut out = Vec::with_capacity(1_024);
    codec.encode(&get(42), &mut out);
    assert_eq!(out, b"get k000000000000042\r\n");
    for (name, operation) in
        [("memcached_encode/get", Operation::Get), ("memcached_encode/set", Operation::Set)]
    {
        let request = Request { operation, ..get(1_234) };
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                codec.encode(black_box(&request), &mut out);
                out.len()
            });
        });
    }
}

fn memcached_decode(group: &mut BenchmarkGroup<'_, WallTime>) {
    let mut codec = MemcachedText::new(VALUE_LEN);
    let (mut service, mut replies) = (KvService::new(), Vec::new());
    for request in [Request { operation: Operation::Set, ..get(42) }, get(42)] {
        let mut bytes = Vec::new();
        codec.encode(&request, &mut bytes);
        service.handle(&bytes, &mut replies);
    }
    let hit = replies.strip_prefix(b"STORED\r\n").expect("the value was stored");
    let expected = Decoded::Good { len: hit.len(), reply: Reply::Hit };
    assert_eq!(codec.decode(&get(42), hit), expected);
    group
        .bench_function("memcached_decode", |b| b.iter(|| codec.decode(black_box(&get(42)), black_box(hit))));
}

criterion_group!(benches, hot_path);
criterion_main!(benches);
