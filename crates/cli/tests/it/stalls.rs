//! Known stalls of the server, seen by a run that is not allowed an open loop.

use crate::account::{check, codes, count};
use crate::command::run_with_json;
use crate::server::Server;

#[test]
fn waiting_at_the_cap_is_reported_and_ends_the_open_loop() {
    let server = Server::with(&["--stall", "100ms", "--every", "500ms"]);
    let options = "--rate 500 --duration 2s --warmup 0s --connections 1 --max-in-flight 1";
    let (finished, result) = run_with_json(&server.target(), options);
    let finished = finished.expect(&[3]);
    check(&result);
    assert!(codes(&result).contains("capped"), "{result:#}");
    assert!(count(&result, "/time_at_cap_ns") > 0, "{result:#}");
    // Late is late, never skipped: the constant rate's worth of requests is in the account.
    assert!(count(&result, "/tally/scheduled") > 0, "{result:#}");
    assert!(finished.stdout.contains("not an open loop"), "{}", finished.stdout);
}

#[test]
fn the_server_says_how_it_is_going_to_stall() {
    let stalls = ["--stall", "100ms", "--every", "500ms", "--for", "10ms"];
    let finished = crate::command::tailcore(["serve", "--listen", "127.0.0.1:0"].into_iter().chain(stalls));
    let finished = finished.expect(&[0]);
    assert!(finished.stdout.starts_with("serving memcached://127.0.0.1:"), "{}", finished.stdout);
    assert!(finished.stdout.contains("frozen for the last 100ms of every 500ms"), "{}", finished.stdout);
}
