//! Runs against the built-in server: the table, the JSON, the schedule.

use std::time::Duration;

use serde_json::Value;

use crate::account::{check, codes, count, list, number, status};
use crate::command::{SMALL, run_with_json};
use crate::peers;
use crate::server::Server;

fn hash_of(target: &str, options: &str) -> Value {
    let (finished, result) = run_with_json(target, &format!("{SMALL} {options}"));
    finished.expect(&[0, 3]);
    check(&result);
    result["schedule_hash"].clone()
}

#[test]
fn a_run_prints_its_table_and_writes_a_complete_result() {
    let server = Server::start();
    let (finished, result) =
        run_with_json(&server.target(), "--rate 1k --duration 500ms --warmup 200ms --seed 5");
    check(&result);
    let finished = finished.expect(&[status(&result)]);
    assert_eq!(finished.stderr, "");
    let columns = ["offered", "achieved", "p50", "p90", "p99", "p99.9", "max", "lateness p99", "verdict"];
    let header = finished.stdout.lines().find(|line| line.trim_start().starts_with("offered")).unwrap();
    let mut rest = header;
    for column in columns {
        rest = rest.split_once(column).unwrap_or_else(|| panic!("{column} in {header}")).1;
    }
    assert!(finished.stdout.contains("\nVerdict: "), "{}", finished.stdout);
    let sum = format!("Requests: {} scheduled = ", count(&result, "/tally/scheduled"));
    assert!(finished.stdout.contains(&sum), "{}", finished.stdout);

    assert_eq!(result["plan"]["target"], server.target());
    assert_eq!(result["plan"]["rate_rps"], 1_000.0);
    assert_eq!(result["plan"]["duration_ns"], 500_000_000);
    assert_eq!(result["seed"], 5);
    assert_eq!(result["interrupted"], false);
    assert_eq!(result["measured_ns"], 500_000_000);
    assert_eq!(list(&result, "/timeline").len(), 5);
    assert_eq!(list(&result, "/threads").len(), 1);
    assert_eq!(result["threads"][0]["role"], "client");
    assert!(count(&result, "/warmup_tally/scheduled") > 0);
    assert!(count(&result, "/tally/ok") > 0);
}

#[test]
fn one_seed_is_one_schedule() {
    let server = Server::start();
    let first = hash_of(&server.target(), "--seed 7");
    assert_eq!(first, hash_of(&server.target(), "--seed 7"));
    assert_ne!(first, hash_of(&server.target(), "--seed 8"));
    assert_ne!(first, hash_of(&server.target(), "--seed 7 --arrivals constant"));
    assert_ne!(first, hash_of(&server.target(), "--seed 7 --key-dist uniform"));
    assert_ne!(first, hash_of(&server.target(), "--seed 7 --value-size 101"));
}

#[test]
fn more_threads_share_the_load_and_the_connections() {
    let server = Server::start();
    let (finished, result) = run_with_json(&server.target(), &format!("{SMALL} --threads 2 --connections 3"));
    finished.expect(&[status(&result)]);
    check(&result);
    assert_eq!(list(&result, "/threads").len(), 2);
    assert_eq!(result["plan"]["connections"], 3);
}

#[test]
fn preloaded_keys_are_found_and_others_are_noted_as_misses() {
    let server = Server::start();
    let (finished, without) = run_with_json(&server.target(), &format!("{SMALL} --keys 1k"));
    finished.expect(&[0, 3]);
    check(&without);
    assert!(count(&without, "/tally/misses") > 0, "{without:#}");
    assert!(codes(&without).contains("misses"), "{without:#}");

    let (finished, with) = run_with_json(&server.target(), &format!("{SMALL} --keys 1k --preload"));
    finished.expect(&[0, 3]);
    check(&with);
    assert_eq!(with["tally"]["misses"], 0, "{with:#}");
    assert!(count(&with, "/tally/hits") > 0, "{with:#}");
    assert!(!codes(&with).contains("misses"), "{with:#}");
    assert_eq!(with["plan"]["preload"], true);
}

/// Law: what is answered after the measured phase was not achieved in it, even if the phase is no
/// whole number of intervals.
#[test]
fn answers_during_the_drain_are_not_throughput_of_the_measured_phase() {
    // Constant arrivals: the peer has all 110 requests only when the 110 ms are as good as over.
    let peer = peers::holding_back(110, Duration::from_millis(20));
    let options = format!(
        "--arrivals constant --rate 1k --duration 110ms --warmup 0s --connections 1 {}",
        peers::READS_ONLY
    );
    let (finished, result) = run_with_json(&format!("memcached://{peer}"), &options);
    finished.expect(&[0, 3]);
    check(&result);
    assert_eq!(count(&result, "/tally/ok"), 110, "{result:#}");
    assert_eq!(number(&result, "/achieved_rps"), 0.0, "nothing was answered in time: {result:#}");
}
