//! Systems that refuse: each event says why, and the others count.

use tailcore_pmu::{Counters, Outcome, Probe, Reading, Scope, Target, catalogue_with, default_events};

use crate::fake::{Fake, GONE, RATE, Rule};
use crate::{events, measure, open};

/// The readings of a run of 1000 ns.
fn readings(kernel: &Fake, list: &str) -> Vec<Reading> {
    let mut counters = open(kernel, list);
    counters.enable();
    measure(&mut counters, || kernel.run(1000, 1000))
}

fn reason(reading: &Reading) -> &str {
    match &reading.outcome {
        Outcome::Unsupported { reason }
        | Outcome::Forbidden { reason }
        | Outcome::NotScheduled { reason } => reason,
        other => panic!("{}: {other:?}", reading.event),
    }
}

#[test]
fn without_a_pmu_the_kernel_still_counts_its_own_events() {
    let kernel = Fake::new(Rule::NoPmu);
    let readings = readings(&kernel, "cycles,page-faults,LLC-load-misses,r1c2,context-switches");
    for at in [0, 2, 3] {
        assert!(matches!(readings[at].outcome, Outcome::Unsupported { .. }));
        assert!(reason(&readings[at]).contains("virtual PMU"));
    }
    assert_eq!(readings[1].outcome, Outcome::Counted { count: 3000 * RATE });
    assert_eq!(readings[4].outcome, Outcome::Counted { count: 4000 * RATE });
}

#[test]
fn paranoid_2_falls_back_to_user_mode_and_says_so() {
    let kernel = Fake::new(Rule::Paranoid2);
    let readings = readings(&kernel, "cycles,cycles:u,page-faults,task-clock,cpu-clock:uk");
    assert!(readings.iter().all(|r| matches!(r.outcome, Outcome::Counted { .. })), "{readings:?}");
    let scopes: Vec<Scope> = readings.iter().map(|r| r.scope).collect();
    // A clock covers both modes whatever the kernel was asked for.
    let (user, both) = (Scope::User, Scope::UserAndKernel);
    assert_eq!(scopes, [user, user, user, both, both]);
    assert!(kernel.opened().iter().all(|attr| attr.exclude_kernel && attr.exclude_hv));
}

#[test]
fn paranoid_2_never_shows_a_zero_for_what_happens_in_the_kernel() {
    let readings =
        readings(&Fake::new(Rule::Paranoid2), "context-switches,cs:k,cpu-migrations,cycles:k,cycles:uk");
    for reading in &readings {
        assert!(matches!(reading.outcome, Outcome::Forbidden { .. }), "{reading:?}");
        assert!(reason(reading).contains("perf_event_paranoid is 2"), "{reading:?}");
        assert!(reason(reading).contains("sysctl"), "{reading:?}");
    }
    let scopes: Vec<Scope> = readings.iter().map(|r| r.scope).collect();
    let (both, kernel) = (Scope::UserAndKernel, Scope::Kernel);
    assert_eq!(scopes, [both, kernel, both, kernel, both]);
}

#[test]
fn paranoid_3_and_a_filter_are_told_apart() {
    let cases = [
        (Rule::Paranoid3, "perf_event_paranoid is 3"),
        (Rule::Seccomp(libc::EPERM), "seccomp"),
        (Rule::Seccomp(libc::ENOSYS), "seccomp"),
    ];
    for (rule, words) in cases {
        let kernel = Fake::new(rule);
        let mut counters = Counters::open_with(kernel, Target::CurrentThread, &default_events());
        assert!(!counters.is_any_open());
        counters.enable();
        for reading in measure(&mut counters, || {}) {
            assert!(matches!(reading.outcome, Outcome::Forbidden { .. }));
            assert!(reason(&reading).contains(words), "{reading:?}");
        }
    }
}

#[test]
fn a_thread_that_is_gone() {
    let mut counters =
        Counters::open_with(Fake::new(Rule::Counters(4)), Target::Thread(GONE), &events("cycles,cs"));
    for reading in measure(&mut counters, || {}) {
        assert!(reason(&reading).contains("no such thread"), "{reading:?}");
    }
}

#[test]
fn the_catalogue_probes_every_name() {
    let all = catalogue_with(&Fake::new(Rule::Paranoid2));
    let of = |name: &str| all.iter().find(|a| a.event == name).unwrap();
    assert_eq!(of("cycles").outcome, Probe::Available { scope: Scope::User });
    assert_eq!(of("task-clock").outcome, Probe::Available { scope: Scope::UserAndKernel });
    assert!(matches!(of("context-switches").outcome, Probe::Forbidden { .. }));
    let json = serde_json::to_value(of("LLC-loads")).unwrap();
    let expected = serde_json::json!({
        "event": "LLC-loads",
        "kind": "cache",
        "description": "loads that reached the last-level cache",
        "outcome": "available",
        "scope": "user",
    });
    assert_eq!(json, expected);
}
