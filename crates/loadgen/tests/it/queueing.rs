//! Sojourn times of simulated queues against their closed forms.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::{Clock, LatencyHistogram, ManualClock, Reply};
use tailcore_loadgen::ArrivalLaw;
use tailcore_loadgen::engine::Engine;
use tailcore_loadgen::protocol::{Decoded, Protocol};
use tailcore_loadgen::schedule::{Schedule, ScheduleLaw};
use tailcore_loadgen::service::Service;
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::transport::simulated::{ServiceLaw, Simulated};
use tailcore_loadgen::workload::Request;

use crate::virtual_run::{assert_close, law, limits, run, run_on};

const MEAN_SERVICE: Duration = Duration::from_micros(10);
const SERVICE_RPS: f64 = 1e5;

fn quantile(histogram: &LatencyHistogram, q: f64) -> u64 {
    histogram.value_at_quantile_ns(q).expect("there are samples")
}

/// In M/M/1 the sojourn time is exponential with rate μ − λ (Kleinrock, *Queueing Systems* I, §5.7).
///
/// The p99.9 of a million correlated sojourn times has itself a standard deviation of 0.8 % at
/// ρ = 0.3 and of 1.4 % at ρ = 0.5 (30 seeds each; their mean is off by less than 0.2 %). The seeds
/// are fixed, so this test cannot fail by chance.
#[test]
fn mm1_sojourn_quantiles_are_within_two_percent_over_a_million_requests() {
    for (utilisation, seed) in [(0.3, 1), (0.3, 2), (0.5, 3)] {
        let rate_rps = utilisation * SERVICE_RPS;
        let duration = Duration::from_secs_f64(1.02e6 / rate_rps);
        let service = Simulated::new(1, ServiceLaw::Exponential(MEAN_SERVICE), seed);
        let poisson = ScheduleLaw { seed, ..law(ArrivalLaw::Poisson, rate_rps) };
        let report = run(&poisson, limits(duration), service);
        let sojourn = report.recorder.sojourn();
        assert!(sojourn.count() >= 1_000_000, "{} requests", sojourn.count());
        for q in [0.5, 0.99, 0.999] {
            let truth_ns = -(1.0_f64 - q).ln() / (SERVICE_RPS - rate_rps) * 1e9;
            assert_close(&format!("ρ={utilisation} q={q}"), quantile(sojourn, q), truth_ns, 0.02);
        }
        assert_eq!(report.recorder.lateness().max_ns(), Some(0), "a virtual generator is never late");
    }
}

/// Mean sojourn time in M/D/1: Pollaczek–Khinchine, S + ρS / (2(1 − ρ)).
#[test]
fn md1_mean_sojourn_follows_pollaczek_khinchine() {
    let utilisation = 0.6;
    let service = Simulated::new(1, ServiceLaw::Constant(MEAN_SERVICE), 7);
    let poisson = law(ArrivalLaw::Poisson, utilisation * SERVICE_RPS);
    let report = run(&poisson, limits(Duration::from_secs(20)), service);
    let truth_ns = 10_000.0 * (1.0 + utilisation / (2.0 * (1.0 - utilisation)));
    let mean_ns = report.recorder.sojourn().mean_ns().expect("there are samples");
    assert_close("mean", mean_ns as u64, truth_ns, 0.01);
}

/// In M/M/2 the wait is 0 with probability 1 − C (Erlang C), else exponential with rate 2μ − λ.
#[test]
fn mm2_mean_sojourn_follows_erlang_c() {
    let utilisation: f64 = 0.7;
    let rate_rps = utilisation * 2.0 * SERVICE_RPS;
    let service = Simulated::new(2, ServiceLaw::Exponential(MEAN_SERVICE), 7);
    let report = run(&law(ArrivalLaw::Poisson, rate_rps), limits(Duration::from_secs(8)), service);
    let erlang_c = 2.0 * utilisation.powi(2) / (1.0 + utilisation);
    let truth_ns = (1.0 / SERVICE_RPS + erlang_c / (2.0 * SERVICE_RPS - rate_rps)) * 1e9;
    let mean_ns = report.recorder.sojourn().mean_ns().expect("there are samples");
    assert_close("mean", mean_ns as u64, truth_ns, 0.01);
}

/// Constant arrivals into a constant service below capacity: nobody ever waits.
#[test]
fn dd1_below_capacity_never_queues() {
    let service = Simulated::new(1, ServiceLaw::Constant(MEAN_SERVICE), 7);
    let report = run(&law(ArrivalLaw::Constant, 90_000.0), limits(Duration::from_secs(1)), service);
    assert_eq!(
        report.recorder.sojourn().min_ns().zip(report.recorder.sojourn().max_ns()),
        Some((10_000, 10_000))
    );
    assert_eq!(report.recorder.tally().ok, 90_000);
}

/// A service that takes a constant virtual time, in the worker's own thread.
struct Working<'a>(&'a ManualClock);

impl Service for Working<'_> {
    fn handle(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize {
        self.0.advance(MEAN_SERVICE);
        output.extend_from_slice(input);
        input.len()
    }
}

/// A protocol whose replies echo its one-byte requests.
struct OneByte;

impl Protocol for OneByte {
    fn encode(&mut self, _request: &Request, out: &mut Vec<u8>) {
        out.push(1);
    }

    fn decode(&mut self, _request: &Request, input: &[u8]) -> Decoded {
        if input == [1] { Decoded::Good { len: 1, reply: Reply::Done } } else { Decoded::Garbage }
    }
}

/// The in-process transport is the same queue as the simulated one: virtual arrivals wait in line
/// from their intended instant, and none of that wait is the generator's lateness.
#[test]
fn an_in_process_service_queues_like_a_simulated_one() {
    let (poisson, limits) = (law(ArrivalLaw::Poisson, 0.8 * SERVICE_RPS), limits(Duration::from_secs(2)));
    let clock = ManualClock::new();
    let in_process = run_on(&clock, &poisson, limits, InProcess::new(OneByte, Working(&clock)));
    let simulated = run(&poisson, limits, Simulated::new(1, ServiceLaw::Constant(MEAN_SERVICE), 7));
    assert_eq!(in_process.recorder.sojourn().as_hdr(), simulated.recorder.sojourn().as_hdr());
    assert_eq!(in_process.recorder.lateness().max_ns(), Some(0));
    assert_eq!(in_process.schedule_hash, simulated.schedule_hash);
}

/// A clock that stands still for the thread while the world goes on: the kernel ran something else.
struct Preempted<'a> {
    clock: &'a ManualClock,
    until_ns: u64,
}

impl Clock for Preempted<'_> {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn relax_until(&self, deadline_ns: u64) {
        self.clock.relax_until(deadline_ns.max(self.until_ns));
    }
}

/// A generator that wakes 5 ms late charges those 5 ms to lateness, for every request that they
/// delayed, and nothing of it to the service's queue.
#[test]
fn a_preempted_in_process_generator_owns_up_to_its_delay() {
    let clock = ManualClock::new();
    let limits = limits(Duration::from_millis(10));
    let (constant, late_ns) = (law(ArrivalLaw::Constant, 10_000.0), 5_000_000);
    let schedule = Schedule::new(&constant, 0, 0, limits.phases.end_ns);
    let never = AtomicBool::new(false);
    let preempted = Preempted { clock: &clock, until_ns: late_ns };
    clock.advance(Duration::from_nanos(1));
    let transport = InProcess::new(OneByte, Working(&clock));
    let report = Engine::new(&preempted, schedule, transport, (limits, &never)).run();
    let (sojourn, lateness) = (report.recorder.sojourn(), report.recorder.lateness());
    assert_eq!(report.recorder.tally().ok, 100);
    // The service takes 10 µs and arrivals are 100 µs apart: all waiting is the generator's.
    let longest_wait_ns = sojourn.max_ns().expect("there are samples") - 10_000;
    assert_eq!(lateness.max_ns(), Some(longest_wait_ns));
    assert!(longest_wait_ns >= 4_900_000, "{longest_wait_ns}");
    let late = lateness.as_hdr().count_between(1_000, u64::MAX);
    assert!((50..60).contains(&late), "{late} requests were delayed by 5 ms at 10,000/s");
}
