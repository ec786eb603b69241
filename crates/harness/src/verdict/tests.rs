//! One test per reason: what brings it up, and what does not.

use super::*;
use crate::completion::{FailCause, Outcome as End, Reply};
use crate::counters::ThreadResidence;
use crate::histogram::LatencyHistogram;
use crate::latency::LatencySummary;

/// Evidence that can be changed piece by piece.
struct Case {
    ending: Ending,
    tally: Tally,
    latencies: Latencies,
    timeline: Vec<IntervalView>,
    time_at_cap_ns: u64,
    connections_lost: u32,
    threads: Vec<ThreadReport>,
    pin_problem: Option<String>,
    debug_build: bool,
}

impl Case {
    /// 200,000 requests of 100 µs, sent within 1 µs, evenly answered: nothing to object to.
    fn sound() -> Self {
        let mut tally = scheduled(200_000);
        (0..200_000).for_each(|_| tally.end(End::Ok(Reply::Hit)));
        Self {
            ending: Ending::Completed,
            tally,
            latencies: Latencies {
                sojourn: constant(200_000, 100_000),
                since_send: constant(200_000, 99_000),
                lateness: constant(200_000, 1_000),
            },
            timeline: (0..10).map(|i| interval(i, 20_000, 20_000, 2)).collect(),
            time_at_cap_ns: 0,
            connections_lost: 0,
            threads: Vec::new(),
            pin_problem: None,
            debug_build: false,
        }
    }

    fn judge(&self) -> Verdict {
        Verdict::judge(&Evidence {
            ending: &self.ending,
            offered_rps: 20_000.0,
            achieved_rps: 20_000.0,
            tally: &self.tally,
            latencies: &self.latencies,
            timeline: &self.timeline,
            time_at_cap_ns: self.time_at_cap_ns,
            connections_lost: self.connections_lost,
            connections: 4,
            threads: &self.threads,
            pin_problem: self.pin_problem.as_deref(),
            debug_build: self.debug_build,
        })
    }

    #[track_caller]
    fn expect(&self, code: ReasonCode, severity: Severity) -> Verdict {
        let verdict = self.judge();
        let found = verdict.reasons.iter().find(|reason| reason.code == code);
        assert_eq!(found.map(|reason| reason.severity), Some(severity), "{verdict:?}");
        assert_eq!(verdict.valid, severity == Severity::Note, "{verdict:?}");
        verdict
    }
}

fn scheduled(count: u64) -> Tally {
    let mut tally = Tally::default();
    tally.scheduled = count;
    tally
}

fn constant(count: u64, value_ns: u64) -> LatencySummary {
    let mut histogram = LatencyHistogram::new();
    (0..count).for_each(|_| histogram.record(value_ns));
    LatencySummary::new(&histogram, &LatencyHistogram::new())
}

fn interval(index: u64, offered: u64, completed: u64, in_flight: u64) -> IntervalView {
    let length_ns = 1_000_000_000;
    let start_ns = index * length_ns;
    IntervalView { start_ns, length_ns, offered, completed, in_flight, p50_ns: None, p99_ns: None }
}

#[test]
fn a_sound_run_is_valid_without_reasons() {
    let verdict = Case::sound().judge();
    assert_eq!(verdict, Verdict { valid: true, reasons: Vec::new() });
    assert_eq!(verdict.label(), "valid");
}

#[test]
fn an_early_end_is_invalid_and_says_how_it_came() {
    let interrupted = Case { ending: Ending::Interrupted, ..Case::sound() };
    interrupted.expect(ReasonCode::Interrupted, Severity::Invalid);
    let lost = Case { ending: Ending::TargetLost("10.0.0.1:1 closed".to_owned()), ..Case::sound() };
    let verdict = lost.expect(ReasonCode::TargetLost, Severity::Invalid);
    assert!(verdict.reasons[0].message.starts_with("10.0.0.1:1 closed"));
    assert_eq!(verdict.label(), "target lost");
}

/// Sojourn times of which `late` were sent `late_ns` after their intended arrival.
fn partly_late(late: u64, late_ns: u64) -> Latencies {
    let nothing = LatencyHistogram::new();
    let (mut sojourn, mut lateness) = (LatencyHistogram::new(), LatencyHistogram::new());
    for i in 0..200_000 {
        let late_ns = if i < late { late_ns } else { 100 };
        sojourn.record(100_000 + late_ns);
        lateness.record(late_ns);
    }
    Latencies {
        sojourn: LatencySummary::new(&sojourn, &nothing),
        since_send: constant(200_000, 100_000),
        lateness: LatencySummary::new(&lateness, &nothing),
    }
}

#[test]
fn lateness_is_held_against_the_quantiles_that_it_made() {
    let late = |late, late_ns| Case { latencies: partly_late(late, late_ns), ..Case::sound() };
    // 2 % of the requests were 50 µs late: a third of p99 is the generator's.
    let verdict = late(4_000, 50_000).expect(ReasonCode::GeneratorLate, Severity::Invalid);
    assert!(verdict.reasons[0].message.contains("p99 by 50.0 µs of its 150 µs"), "{verdict:?}");
    // Between a tenth and a quarter it is named.
    let verdict = late(4_000, 20_000).expect(ReasonCode::GeneratorLate, Severity::Note);
    assert!(verdict.reasons[0].message.contains("p99 by 20.0 µs of its 120 µs"), "{verdict:?}");
    // 0.2 % of them, however late: p99 stands, p99.9 is named.
    let verdict = late(400, 200_000).expect(ReasonCode::GeneratorLate, Severity::Note);
    assert!(verdict.reasons[0].message.contains("lowered p99.9 by"), "{verdict:?}");
    assert!(!verdict.reasons[0].message.contains("p99 by"), "{verdict:?}");
    // Less than a tenth of the tail is tolerated; lateness of requests below the tail as well.
    assert!(late(4_000, 9_000).judge().valid);
    assert!(late(4_000, 9_000).judge().reasons.is_empty());
}

#[test]
fn without_a_known_p99_the_highest_known_quantile_decides() {
    let mut case = Case::sound();
    case.latencies.sojourn = constant(300, 200_000);
    case.latencies.since_send = constant(300, 100_000);
    case.expect(ReasonCode::GeneratorLate, Severity::Invalid);
}

#[test]
fn a_microsecond_of_lateness_is_forgiven_where_it_is_the_whole_latency() {
    let mut case = Case::sound();
    case.latencies.sojourn = constant(200_000, 1_000);
    case.latencies.since_send = constant(200_000, 100);
    assert!(case.judge().valid);
    case.latencies.sojourn = constant(200_000, 1_500);
    case.expect(ReasonCode::GeneratorLate, Severity::Invalid);
}

#[test]
fn a_growing_backlog_is_unstable_but_a_steady_one_is_not() {
    let mut case = Case::sound();
    case.timeline = (0..9).map(|i| interval(i, 20_000, 15_000, 5_000 * (i + 1))).collect();
    case.expect(ReasonCode::Unstable, Severity::Invalid);
    // It also grows where it was already large: an overload that began in the warm-up.
    case.timeline = (0..9).map(|i| interval(i, 480, 328, 9_800 + 150 * i)).collect();
    case.expect(ReasonCode::Unstable, Severity::Invalid);
    // And a backlog that is being worked off does not.
    case.timeline = (0..9).map(|i| interval(i, 480, 600, 9_800 - 120 * i)).collect();
    assert!(case.judge().valid);
    // The same shortfall without growth: a single stall that was not caught up.
    case.timeline = (0..9).map(|i| interval(i, 20_000, 15_000, 5_000)).collect();
    assert!(case.judge().valid);
    // Growth without a shortfall: a handful more requests in flight.
    case.timeline = (0..9).map(|i| interval(i, 20_000, 19_999, i + 1)).collect();
    assert!(case.judge().valid);
    // A handful of slow requests at a low rate: growth by chance.
    case.timeline = (0..9).map(|i| interval(i, 5, 5, if i == 8 { 3 } else { 0 })).collect();
    assert!(case.judge().valid);
    // Errors are answers: a service that refuses is not one that falls behind.
    case.timeline = (0..9).map(|i| interval(i, 20_000, 10_000, 2)).collect();
    assert!(case.judge().valid);
}

#[test]
fn few_failures_are_noted_and_many_are_not_forgiven() {
    for (failures, severity) in [(2_000, Severity::Note), (2_001, Severity::Invalid)] {
        let mut case = Case::sound();
        case.tally = scheduled(200_000);
        (0..failures).for_each(|_| case.tally.end(End::Failed(FailCause::ServerError)));
        (failures..200_000).for_each(|_| case.tally.end(End::Ok(Reply::Hit)));
        case.expect(ReasonCode::Failures, severity);
    }
}

#[test]
fn requests_without_an_end_are_named_by_kind() {
    for (end, code) in [(End::TimedOut, ReasonCode::Timeouts), (End::Unfinished, ReasonCode::Unfinished)] {
        let mut case = Case::sound();
        case.tally.scheduled += 1;
        case.tally.end(end);
        case.expect(code, Severity::Note);
    }
}

#[test]
fn missing_requests_are_a_defect_of_ours() {
    let mut case = Case::sound();
    case.tally.scheduled += 1;
    case.expect(ReasonCode::Unbalanced, Severity::Invalid);
}

#[test]
fn a_run_without_answers_has_no_latency() {
    let mut case = Case::sound();
    case.tally = Tally::default();
    case.expect(ReasonCode::NothingMeasured, Severity::Invalid);
}

#[test]
fn waiting_at_the_limit_of_requests_in_flight_is_no_open_loop() {
    Case { time_at_cap_ns: 1, ..Case::sound() }.expect(ReasonCode::Capped, Severity::Invalid);
}

#[test]
fn quantiles_that_are_unknown_or_bounded_are_named() {
    let mut case = Case::sound();
    case.latencies.sojourn = constant(5_000, 100_000);
    let verdict = case.expect(ReasonCode::TooFewSamples, Severity::Note);
    assert!(verdict.reasons[0].message.contains("p99.9 (10000), p99.99 (100000)"), "{verdict:?}");

    let (mut observed, mut censored) = (LatencyHistogram::new(), LatencyHistogram::new());
    (0..200_000).for_each(|_| observed.record(100_000));
    (0..300).for_each(|_| censored.record(50_000));
    case.latencies.sojourn = LatencySummary::new(&observed, &censored);
    let verdict = case.expect(ReasonCode::CensoredQuantile, Severity::Note);
    assert!(verdict.reasons[0].message.contains("p99.99"), "{verdict:?}");
}

#[test]
fn surroundings_that_limit_the_numbers_are_noted() {
    Case { pin_problem: Some("too few CPUs".to_owned()), ..Case::sound() }
        .expect(ReasonCode::NotPinned, Severity::Note);
    Case { debug_build: true, ..Case::sound() }.expect(ReasonCode::DebugBuild, Severity::Note);
    let scaled = tailcore_pmu::Reading {
        event: "cycles".to_owned(),
        means: None,
        scope: tailcore_pmu::Scope::User,
        outcome: Outcome::Scaled { count: 10, running: 0.5 },
    };
    let thread = ThreadReport { counters: vec![scaled], ..client(None, None) };
    Case { threads: vec![thread], ..Case::sound() }.expect(ReasonCode::Multiplexed, Severity::Note);
    let verdict =
        Case { connections_lost: 3, ..Case::sound() }.expect(ReasonCode::ConnectionsLost, Severity::Note);
    assert!(verdict.reasons[0].message.starts_with("3 of 4 connections"), "{verdict:?}");
    assert!(Case { connections_lost: 4, ..Case::sound() }.judge().reasons.is_empty(), "no others were left");
    let mut misses = Case::sound();
    misses.tally.misses = 5;
    misses.expect(ReasonCode::Misses, Severity::Note);
}

/// A client that was to run on `cpu` and was found on `seen`.
fn client(cpu: Option<u32>, seen: Option<&str>) -> ThreadReport {
    let residence = seen.map(|seen| ThreadResidence {
        cpus_seen: seen.parse().unwrap(),
        migrations: None,
        voluntary_switches: 0,
        involuntary_switches: 0,
    });
    ThreadReport { role: "client".to_owned(), cpu, sojourn_ns: None, residence, counters: Vec::new() }
}

#[test]
fn a_pinned_thread_found_elsewhere_is_noted() {
    let case = |cpu, seen| Case { threads: vec![client(cpu, seen)], ..Case::sound() };
    let verdict = case(Some(3), Some("0,3")).expect(ReasonCode::Moved, Severity::Note);
    assert!(verdict.reasons[0].message.contains("pinned to CPU 3 was found on CPUs 0,3"), "{verdict:?}");
    for (cpu, seen) in [(Some(3), Some("3")), (None, Some("0,3")), (Some(3), None)] {
        assert!(case(cpu, seen).judge().reasons.is_empty());
    }
}

#[test]
fn invalidating_reasons_come_first() {
    let case = Case { debug_build: true, time_at_cap_ns: 5, ..Case::sound() };
    let verdict = case.judge();
    let severities: Vec<_> = verdict.reasons.iter().map(|reason| reason.severity).collect();
    assert_eq!(severities, [Severity::Invalid, Severity::Note]);
    assert_eq!(verdict.label(), "capped");
}
