//! A server that freezes for 100 ms at the end of every second, at 2,000 requests/s.
//!
//! One arrival in ten hits a freeze and waits uniformly between 0 and 100 ms, so the truth is
//! p95 = 50 ms, p99 = 90 ms, p99.9 = 99 ms.

use std::time::Duration;

use tailcore_harness::LatencyHistogram;
use tailcore_loadgen::ArrivalLaw;
use tailcore_loadgen::engine::{EngineLimits, EngineReport};
use tailcore_loadgen::stall::StallScript;
use tailcore_loadgen::transport::simulated::{ServiceLaw, Simulated};

use crate::virtual_run::{assert_close, law, limits, run};

const TRUTH: [(f64, f64); 3] = [(0.95, 50e6), (0.99, 90e6), (0.999, 99e6)];

fn stalled_run(arrivals: ArrivalLaw, max_in_flight: usize) -> EngineReport {
    let script = StallScript::new(Duration::from_secs(1), Duration::from_millis(100)).expect("a good script");
    let server = Simulated::new(1, ServiceLaw::Constant(Duration::from_micros(20)), 7).with_stalls(script);
    let limits = EngineLimits { max_in_flight, ..limits(Duration::from_secs(200)) };
    run(&law(arrivals, 2_000.0), limits, server)
}

#[track_caller]
fn assert_truth(sojourn: &LatencyHistogram) {
    for (q, truth_ns) in TRUTH {
        let estimate = sojourn.value_at_quantile_ns(q).expect("there are samples");
        assert_close(&format!("q={q}"), estimate, truth_ns, 0.05);
    }
}

#[test]
fn sojourn_times_tell_the_truth_about_a_stalled_server() {
    for arrivals in [ArrivalLaw::Poisson, ArrivalLaw::Constant] {
        let report = stalled_run(arrivals, usize::MAX);
        assert_truth(report.recorder.sojourn());
        assert_eq!(report.time_at_cap_ns, 0);
    }
}

/// A naive tool keeps one request per connection and starts its clock at the send. Limited to one
/// request in flight, `since_send` is what it would have said, while the sojourn time stays true
/// and the time at the limit is on record.
#[test]
fn since_send_shows_what_a_naive_tool_would_have_said() {
    let report = stalled_run(ArrivalLaw::Poisson, 1);
    assert_truth(report.recorder.sojourn());
    let naive_p99 = report.recorder.since_send().value_at_quantile_ns(0.99).expect("there are samples");
    assert!(naive_p99 < 1_000_000, "a naive p99 of {naive_p99} ns would not hide a 90 ms tail");
    let frozen_ns = 200 * 100_000_000_u64;
    assert_close("time at the limit", report.time_at_cap_ns, frozen_ns as f64, 0.05);
}
