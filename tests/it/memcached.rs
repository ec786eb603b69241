//! A real `memcached`: healthy, stopped for a while, killed, and holding other values than expected.

use std::thread;
use std::time::Duration;

use tailcore_harness::verdict::ReasonCode;
use tailcore_harness::{Ending, FailCause, RunResult};
use tailcore_loadgen::{RunPlan, Workload};
use tailcore_pmu::Outcome;

use crate::support::{Memcached, answered, drive, drive_watched, plan, require, store_keys};

#[test]
fn a_healthy_server_answers_every_request_and_hits_every_key() {
    if !require("memcached") {
        return;
    }
    let server = Memcached::start();
    let plan = RunPlan { preload: true, ..plan(2_000.0, Duration::from_secs(1)) };
    store_keys(server.address(), &plan);
    let outcome = drive(server.address(), &plan);

    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(outcome.sojourn.count(), result.tally.ok);
    assert!(result.tally.scheduled > 1_000, "{:?}", result.tally);
    assert_eq!((result.tally.failed(), result.tally.misses), (0, 0), "{:?}", result.tally);
    assert_eq!(result.tally.ok, answered(&result.tally));
    assert!(result.tally.hits > 0 && result.tally.hits < result.tally.ok, "{:?}", result.tally);
    assert!(result.achieved_rps > 0.0);
    assert_eq!(
        result.timeline.iter().map(|interval| interval.view.offered).sum::<u64>(),
        result.tally.scheduled
    );
    assert_eq!(result.plan.target, format!("memcached://{}", server.address()));
    assert_counted_or_explained(result, &plan);

    let json = serde_json::to_string(result).unwrap();
    assert_eq!(&serde_json::from_str::<RunResult>(&json).unwrap(), result);
}

fn assert_counted_or_explained(result: &RunResult, plan: &RunPlan) {
    let [client] = result.threads.as_slice() else { panic!("one client: {:?}", result.threads) };
    assert_eq!(client.role, "client");
    let names: Vec<&str> = client.counters.iter().map(|reading| reading.event.as_str()).collect();
    let asked: Vec<String> = plan.events.iter().map(ToString::to_string).collect();
    assert_eq!(names, asked);
    for reading in &client.counters {
        match &reading.outcome {
            Outcome::Counted { .. } => {}
            Outcome::Scaled { running, .. } => assert!(*running > 0.0 && *running < 1.0, "{reading:?}"),
            Outcome::NotScheduled { reason }
            | Outcome::Unsupported { reason }
            | Outcome::Forbidden { reason } => assert!(!reason.trim().is_empty(), "{reading:?}"),
            other => panic!("neither a count nor a reason: {other:?}"),
        }
    }
}

#[test]
fn two_threads_share_the_load_and_both_are_reported() {
    if !require("memcached") {
        return;
    }
    let server = Memcached::start();
    let plan = RunPlan { threads: 2, connections: 16, ..plan(2_000.0, Duration::from_millis(500)) };
    store_keys(server.address(), &plan);
    let outcome = drive(server.address(), &plan);

    let roles: Vec<&str> = outcome.result.threads.iter().map(|thread| thread.role.as_str()).collect();
    assert_eq!(roles, ["client", "client"]);
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((outcome.result.tally.failed(), outcome.result.tally.misses), (0, 0));
    assert_eq!(outcome.result.tally.ok, answered(&outcome.result.tally));
}

#[test]
fn a_killed_server_ends_the_run_and_leaves_what_was_measured() {
    if !require("memcached") {
        return;
    }
    let mut server = Memcached::start();
    let address = server.address();
    let plan = plan(2_000.0, Duration::from_secs(20));
    store_keys(address, &plan);
    let mut is_killed = false;
    let outcome = drive_watched(address, &plan, &mut |progress| {
        if progress.elapsed >= Duration::from_millis(500) && !is_killed {
            server.kill();
            is_killed = true;
        }
    });

    let result = &outcome.result;
    let Ending::TargetLost(what) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(what.contains(&address.to_string()), "{what}");
    assert!(result.tally.ok > 0, "{:?}", result.tally);
    assert!(result.measured_ns < 20_000_000_000, "the measured phase ends with the target");
    assert!(!result.verdict.valid);
    assert_eq!(result.verdict.reasons[0].code, ReasonCode::TargetLost);
}

#[test]
fn a_server_that_is_stopped_for_a_while_delays_requests_and_fails_none() {
    if !require("memcached") {
        return;
    }
    let server = Memcached::start();
    let plan = plan(2_000.0, Duration::from_secs(2));
    store_keys(server.address(), &plan);
    let mut is_over = false;
    let outcome = drive_watched(server.address(), &plan, &mut |progress| {
        if progress.elapsed >= Duration::from_millis(200) && !is_over {
            server.signal("STOP");
            thread::sleep(Duration::from_millis(300));
            server.signal("CONT");
            is_over = true;
        }
    });

    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(result.tally.ok, result.tally.scheduled, "{:?}", result.tally);
    // Arrivals go on during the stop: the first of them waits for the whole of it.
    assert!(result.latency_ns.sojourn.max.is_some_and(|max| max >= 250_000_000), "{:?}", result.latency_ns);
}

#[test]
fn one_seed_offers_one_schedule() {
    if !require("memcached") {
        return;
    }
    let server = Memcached::start();
    let plan = plan(2_000.0, Duration::from_millis(300));
    let first = drive(server.address(), &plan).result;
    let second = drive(server.address(), &plan).result;
    assert_eq!(first.schedule_hash, second.schedule_hash);
    assert_eq!(first.tally.scheduled, second.tally.scheduled);
    let other = drive(server.address(), &RunPlan { seed: plan.seed + 1, ..plan }).result;
    assert_ne!(first.schedule_hash, other.schedule_hash);
}

#[test]
fn values_of_another_size_are_wrong_replies_and_the_run_goes_on() {
    if !require("memcached") {
        return;
    }
    let server = Memcached::start();
    let stored = Workload { get_ratio: 1.0, keys: 500, ..Workload::default() };
    let plan = RunPlan { workload: stored, ..plan(2_000.0, Duration::from_millis(500)) };
    store_keys(server.address(), &plan);
    let expected = Workload { value_len: 2 * stored.value_len, ..stored };
    let outcome = drive(server.address(), &RunPlan { workload: expected, ..plan });

    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(result.tally.ok, 0, "{:?}", result.tally);
    assert_eq!(result.tally.failed_by(FailCause::WrongReply), answered(&result.tally));
    assert!(answered(&result.tally) > 0);
    assert!(!result.verdict.valid);
    assert!(result.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Failures));
}
