//! What every result must satisfy, whatever happened during the run.

use std::collections::BTreeSet;

use serde_json::Value;

/// Everything that a reader may count on.
const KEYS: [&str; 47] = [
    "/plan/target",
    "/plan/load",
    "/plan/arrivals",
    "/plan/rate_rps",
    "/plan/warmup_ns",
    "/plan/duration_ns",
    "/plan/threads",
    "/plan/connections",
    "/plan/keys",
    "/plan/key_dist",
    "/plan/value_size",
    "/plan/get_ratio",
    "/plan/preload",
    "/plan/timeout_ns",
    "/plan/drain_ns",
    "/plan/max_in_flight",
    "/plan/pin",
    "/plan/events",
    "/seed",
    "/schedule_hash",
    "/environment/tailcore_version",
    "/environment/build",
    "/environment/kernel",
    "/environment/cpu_model",
    "/environment/virtual_machine",
    "/environment/online_cpus",
    "/environment/allowed_cpus",
    "/environment/usable_cpus",
    "/environment/smt",
    "/environment/governor",
    "/environment/clocksource",
    "/environment/perf_event_paranoid",
    "/interrupted",
    "/measured_ns",
    "/offered_rps",
    "/achieved_rps",
    "/tally/hits",
    "/warmup_tally/hits",
    "/time_at_cap_ns",
    "/threads",
    "/timeline",
    "/overhead/clock_ns",
    "/overhead/record_ns",
    "/overhead/counter_read_ns",
    "/overhead/null_service_ns",
    "/overhead/clock_drift_ppm",
    "/verdict/valid",
];
const QUANTILES: [&str; 6] = ["0.5", "0.9", "0.95", "0.99", "0.999", "0.9999"];

/// Asserts what holds for every result.
#[track_caller]
pub(crate) fn check(result: &Value) {
    assert_eq!(result["schema"], "tailcore.run/1", "{result:#}");
    for key in KEYS {
        assert!(result.pointer(key).is_some(), "{key} is missing in {result:#}");
    }
    check_tally(&result["tally"]);
    check_tally(&result["warmup_tally"]);
    for latency in ["sojourn", "since_send", "lateness"] {
        check_latency(&result["latency_ns"][latency]);
    }
    assert_eq!(count(result, "/latency_ns/sojourn/count"), count(result, "/tally/ok"), "{result:#}");
    check_threads(result);
    check_timeline(result);
    check_verdict(&result["verdict"]);
}

/// A whole number in a result.
#[track_caller]
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no whole number at {pointer} in {value:#}"))
}

/// A number in a result.
#[track_caller]
pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} in {value:#}"))
}

/// A list in a result.
#[track_caller]
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no list at {pointer} in {value:#}"))
}

/// The codes of the verdict's reasons.
pub(crate) fn codes(result: &Value) -> BTreeSet<&str> {
    list(result, "/verdict/reasons").iter().filter_map(|reason| reason["code"].as_str()).collect()
}

/// Requests of the measured phase that failed of `cause`.
pub(crate) fn failed_by(result: &Value, cause: &str) -> u64 {
    result["tally"]["failed"].get(cause).and_then(Value::as_u64).unwrap_or(0)
}

/// The exit status that goes with the verdict of a run that came to its end.
pub(crate) fn status(result: &Value) -> i32 {
    if result["verdict"]["valid"] == true { 0 } else { 3 }
}

#[track_caller]
fn check_tally(tally: &Value) {
    let failures = tally["failed"].as_object().unwrap_or_else(|| panic!("no failures in {tally:#}"));
    let failed: u64 = failures.values().map(|count| count.as_u64().unwrap()).sum();
    let ended = count(tally, "/ok") + failed + count(tally, "/timed_out") + count(tally, "/unfinished");
    assert_eq!(count(tally, "/scheduled"), ended, "a request is missing in {tally:#}");
    assert!(count(tally, "/hits") + count(tally, "/misses") <= count(tally, "/ok"), "{tally:#}");
}

#[track_caller]
fn check_latency(latency: &Value) {
    let quantiles = latency["quantiles"].as_object().unwrap_or_else(|| panic!("{latency:#}"));
    assert_eq!(quantiles.keys().map(String::as_str).collect::<Vec<_>>(), QUANTILES, "{latency:#}");
    let known: Vec<u64> = quantiles.values().filter_map(Value::as_u64).collect();
    assert!(known.is_sorted(), "{latency:#}");
    let bounds = latency["lower_bounds"].as_object().unwrap_or_else(|| panic!("{latency:#}"));
    for name in bounds.keys() {
        assert!(quantiles[name].is_null(), "p{name} is both known and bounded in {latency:#}");
    }
    if count(latency, "/count") == 0 {
        assert!(["min", "mean", "max"].iter().all(|key| latency[key].is_null()), "{latency:#}");
        assert!(known.is_empty(), "{latency:#}");
    } else {
        let (min, mean, max) = (number(latency, "/min"), number(latency, "/mean"), number(latency, "/max"));
        assert!(min <= mean && mean <= max, "{latency:#}");
    }
}

#[track_caller]
fn check_threads(result: &Value) {
    for thread in list(result, "/threads") {
        assert!(thread["role"].is_string(), "{thread:#}");
        assert!(thread["cpu"].is_u64() || thread["cpu"].is_null(), "{thread:#}");
        for counter in list(thread, "/counters") {
            assert!(counter["event"].is_string(), "{counter:#}");
            check_outcome(counter);
        }
    }
}

/// A count, or a reason for its absence.
#[track_caller]
fn check_outcome(counter: &Value) {
    match counter["outcome"].as_str() {
        Some("counted") => assert!(counter["count"].is_u64(), "{counter:#}"),
        Some("scaled") => assert!(counter["count"].is_u64() && counter["running"].is_f64(), "{counter:#}"),
        Some("not_scheduled" | "dead" | "unsupported" | "forbidden") => {
            assert!(counter["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{counter:#}");
            assert!(counter.get("count").is_none(), "absence is no count: {counter:#}");
        }
        _ => panic!("unknown outcome in {counter:#}"),
    }
}

/// The intervals are the same requests once more.
#[track_caller]
fn check_timeline(result: &Value) {
    let intervals = list(result, "/timeline");
    for interval in intervals {
        for key in ["p50_ns", "p99_ns", "counters_read_ns"] {
            assert!(interval.get(key).is_some(), "{key} is missing in {interval:#}");
        }
        list(interval, "/counters");
        count(interval, "/in_flight");
    }
    let total = |pointer| -> u64 { intervals.iter().map(|interval| count(interval, pointer)).sum() };
    assert_eq!(total("/length_ns"), count(result, "/measured_ns"), "{result:#}");
    assert_eq!(total("/offered"), count(result, "/tally/scheduled"), "{result:#}");
    let achieved = number(result, "/achieved_rps") * number(result, "/measured_ns") / 1e9;
    let completed = total("/completed") as f64;
    assert!(
        (achieved - completed).abs() < 0.5,
        "{achieved} answers in {completed} of the timeline: {result:#}"
    );
}

#[track_caller]
fn check_verdict(verdict: &Value) {
    let reasons = list(verdict, "/reasons");
    for reason in reasons {
        assert!(reason["code"].is_string(), "{reason:#}");
        assert!(reason["message"].as_str().is_some_and(|message| !message.is_empty()), "{reason:#}");
    }
    let is_invalid = reasons.iter().any(|reason| reason["severity"] == "invalid");
    assert_eq!(verdict["valid"], !is_invalid, "{verdict:#}");
    assert!(reasons.iter().all(|reason| reason["code"] != "unbalanced"), "{verdict:#}");
}
