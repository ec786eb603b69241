//! Servers that die, close, babble or say nothing, and runs that are stopped.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::account::{check, codes, count, failed_by, list, number, status};
use crate::command::{Finished, Running, SMALL, read_json, run, run_args, run_with_json};
use crate::peers;
use crate::server::Server;

/// Writes one key for so long that only the test can be the reason for an early end.
const ENDLESS: &str = "--rate 1k --duration 60s --warmup 0s --keys 1 --get-ratio 0";
/// Some load, after the first request was heard.
const A_WHILE: Duration = Duration::from_millis(300);

fn target_of(address: impl std::fmt::Display) -> String {
    format!("memcached://{address}")
}

/// Asserts one line of complaint with these parts.
#[track_caller]
fn assert_complains(finished: &Finished, parts: &[&str]) {
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(finished.stderr.starts_with("tailcore: "), "{}", finished.stderr);
    for part in parts {
        assert!(finished.stderr.contains(part), "`{part}` in {}", finished.stderr);
    }
}

/// Starts an endless run, waits until its load is heard, and gives it to `disturb`.
fn disturbed(server: &mut Server, disturb: impl FnOnce(&mut Server, &Running)) -> (Finished, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let target = server.target();
    let run = Running::start(run_args(&target, ENDLESS).chain(["--json", path.to_str().unwrap()]));
    server.wait_for_load();
    thread::sleep(A_WHILE);
    disturb(server, &run);
    let finished = run.finish();
    let result = read_json(&path, &finished);
    (finished, result)
}

#[test]
fn nobody_listening_is_said_with_the_address_and_a_remedy() {
    let address = peers::deserted();
    for options in [SMALL, "--rate 1k --preload"] {
        let finished = run(&target_of(address), options).expect(&[1]);
        assert_eq!(finished.stdout, "");
        assert_complains(&finished, &[&address.to_string(), "refused", "is the server running"]);
    }
}

#[test]
fn a_killed_server_ends_the_run_and_keeps_what_was_measured() {
    let mut server = Server::start();
    let (finished, result) = disturbed(&mut server, |server, _| server.kill());
    let finished = finished.expect(&[1]);
    assert_complains(&finished, &[&server.address().to_string(), "see whether the server still runs"]);
    check(&result);
    assert!(count(&result, "/tally/ok") > 0, "{result:#}");
    assert!(codes(&result).contains("target_lost"), "{result:#}");
    assert!(count(&result, "/measured_ns") < 60_000_000_000, "{result:#}");
    // Whatever is not ok has a cause of its own.
    let lost = failed_by(&result, "connection_lost") + failed_by(&result, "no_connection");
    let rest = count(&result, "/tally/scheduled") - count(&result, "/tally/ok");
    assert_eq!(rest, lost + count(&result, "/tally/unfinished"), "{result:#}");
    assert!(finished.stdout.contains("target lost"), "{}", finished.stdout);
}

#[test]
fn a_worker_that_loses_its_target_ends_the_others_too() {
    let peer = peers::losing_its_first_connection(50);
    let options =
        format!("--rate 1k --duration 2s --warmup 0s --threads 2 --connections 2 {}", peers::READS_ONLY);
    let (finished, result) = run_with_json(&target_of(peer), &options);
    let finished = finished.expect(&[1]);
    assert_complains(&finished, &[&peer.to_string()]);
    assert!(codes(&result).contains("target_lost"), "{result:#}");
    // A rate over the time up to the loss must not count what came after it.
    let (offered, achieved) = (number(&result, "/offered_rps"), number(&result, "/achieved_rps"));
    let in_timeline: u64 = list(&result, "/timeline").iter().map(|i| count(i, "/completed")).sum();
    let over_time = in_timeline as f64 * 1e9 / number(&result, "/measured_ns");
    assert!(
        (achieved - over_time).abs() < 1.0,
        "{achieved}/s achieved of {offered}/s, but the timeline shows {over_time}/s"
    );
    check(&result);
}

#[test]
fn a_peer_of_another_protocol_is_quoted() {
    let peer = peers::babbling(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let (finished, result) = run_with_json(&target_of(peer), SMALL);
    let quote = "`HTTP/1.1 400 Bad Request";
    assert_complains(&finished.expect(&[1]), &[&peer.to_string(), quote, "check the address"]);
    check(&result);
    assert!(failed_by(&result, "protocol_error") > 0, "{result:#}");
    assert_eq!(count(&result, "/tally/ok"), 0, "{result:#}");
    assert!(codes(&result).contains("target_lost"), "{result:#}");

    let finished = run(&target_of(peer), &format!("{SMALL} --preload")).expect(&[1]);
    assert_complains(&finished, &[&peer.to_string(), quote, "check the address"]);
}

#[test]
fn a_silent_peer_makes_requests_time_out() {
    let peer = peers::silent();
    let target = target_of(peer.local_addr().unwrap());
    let (finished, result) = run_with_json(&target, &format!("{SMALL} --timeout 200ms"));
    assert_eq!(finished.expect(&[3]).stderr, "");
    check(&result);
    assert!(count(&result, "/tally/timed_out") > 0, "{result:#}");
    assert_eq!(count(&result, "/tally/ok"), 0, "{result:#}");
    assert!(codes(&result).is_superset(&["timeouts", "nothing_measured"].into()), "{result:#}");
}

#[test]
fn requests_open_at_the_drain_limit_are_lower_bounds_and_never_quantiles() {
    let peer = peers::silent();
    let target = target_of(peer.local_addr().unwrap());
    let (finished, result) = run_with_json(&target, &format!("{SMALL} --drain 100ms --timeout 1h"));
    let finished = finished.expect(&[3]);
    check(&result);
    assert_eq!(count(&result, "/tally/unfinished"), count(&result, "/tally/scheduled"), "{result:#}");
    assert!(codes(&result).is_superset(&["unfinished", "censored_quantile"].into()), "{result:#}");
    let sojourn = &result["latency_ns"]["sojourn"];
    assert_eq!(count(sojourn, "/censored"), count(&result, "/tally/unfinished"));
    assert!(sojourn["quantiles"].as_object().unwrap().values().all(Value::is_null), "{result:#}");
    assert!(sojourn["lower_bounds"]["0.5"].is_u64(), "{result:#}");
    assert!(finished.stdout.contains('≥'), "{}", finished.stdout);
}

#[test]
fn an_interrupted_run_tells_what_it_has() {
    for signal in ["INT", "TERM"] {
        let (finished, result) = disturbed(&mut Server::start(), |_, run| run.signal(signal));
        let finished = finished.expect(&[3]);
        assert_eq!(finished.stderr, "");
        check(&result);
        assert_eq!(result["interrupted"], true);
        assert_eq!(status(&result), 3);
        assert!(codes(&result).contains("interrupted"), "{result:#}");
        assert!(count(&result, "/measured_ns") < 60_000_000_000, "{result:#}");
        assert!(count(&result, "/tally/ok") > 0, "{result:#}");
        assert!(finished.stdout.contains("interrupted"), "{}", finished.stdout);
    }
}

#[test]
fn an_interrupted_preload_is_an_interruption_and_no_fault_of_the_server() {
    let peer = peers::silent();
    let target = target_of(peer.local_addr().unwrap());
    let run = Running::start(run_args(&target, &format!("{SMALL} --preload --json -")));
    // Heard: the keys are on their way, and their replies are being waited for.
    let (stream, _) = peer.accept().unwrap();
    stream.peek(&mut [0]).unwrap();
    thread::sleep(A_WHILE);
    run.signal("INT");
    let finished = run.finish().expect(&[3]);
    assert_eq!(finished.json()["interrupted"], true);
    assert!(!finished.stderr.contains("system call"), "{}", finished.stderr);
}
