//! Every scheduled request ends in exactly one place.

use std::time::Duration;

use proptest::prelude::*;
use tailcore_harness::latency::{Quantile, quantile};
use tailcore_loadgen::ArrivalLaw;
use tailcore_loadgen::engine::EngineLimits;
use tailcore_loadgen::transport::simulated::{ServiceLaw, Simulated};

use crate::virtual_run::{law, limits, run};

/// Twice as much is offered as two servers can do, with a drain limit that lets little catch up.
#[test]
fn requests_open_at_the_drain_limit_are_unfinished_and_make_quantiles_lower_bounds() {
    let server = Simulated::new(2, ServiceLaw::Constant(Duration::from_millis(1)), 7);
    let limits = EngineLimits { drain_ns: 100_000_000, ..limits(Duration::from_secs(1)) };
    let report = run(&law(ArrivalLaw::Constant, 4_000.0), limits, server);
    let tally = report.recorder.tally();
    assert_eq!(tally.scheduled, 4_000);
    assert!((1_750..1_850).contains(&tally.unfinished), "{tally:?}");
    let p99 = quantile(report.recorder.sojourn(), report.recorder.censored_sojourn(), 0.99);
    let p50 = quantile(report.recorder.sojourn(), report.recorder.censored_sojourn(), 0.5);
    assert!(matches!(p99, Quantile::AtLeast(bound) if bound > 400_000_000), "{p99:?}");
    assert!(matches!(p50, Quantile::AtLeast(_)), "those that arrived last had waited less: {p50:?}");
}

#[test]
fn a_time_limit_ends_requests_as_timed_out() {
    let server = Simulated::new(1, ServiceLaw::Constant(Duration::from_millis(50)), 7);
    let limits = EngineLimits { timeout_ns: 10_000_000, ..limits(Duration::from_secs(1)) };
    let report = run(&law(ArrivalLaw::Constant, 10.0), limits, server);
    assert_eq!(report.recorder.tally().timed_out, 10);
    assert_eq!(report.recorder.censored_sojourn().count(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_account_balances_under_any_limits(
        rate_rps in 10.0_f64..20_000.0,
        service_us in 1_u64..2_000,
        servers in 1_usize..4,
        timeout_ms in 1_u64..200,
        drain_ms in 0_u64..100,
        max_in_flight in 1_usize..50,
    ) {
        let server = Simulated::new(servers, ServiceLaw::Exponential(Duration::from_micros(service_us)), 7);
        let limits = EngineLimits {
            timeout_ns: timeout_ms * 1_000_000,
            drain_ns: drain_ms * 1_000_000,
            max_in_flight,
            ..limits(Duration::from_millis(300))
        };
        // `run` asserts the balance; every request was sent, or is known to have been late to its end.
        let report = run(&law(ArrivalLaw::Poisson, rate_rps), limits, server);
        let tally = report.recorder.tally();
        let (sent, unsent) = (report.recorder.lateness(), report.recorder.censored_lateness());
        prop_assert_eq!(sent.count() + unsent.count(), tally.scheduled);
        prop_assert_eq!(report.recorder.sojourn().count(), tally.ok);
    }
}
