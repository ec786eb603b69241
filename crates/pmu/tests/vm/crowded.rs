//! More events than the six counters that the PMU has for any event but cycles.

use tailcore_pmu::{Counters, Options, Outcome, Plan, PlanNote, Reading, Target};

use crate::guest::{PMU, counting, events, exact, in_guest, measure};
use crate::sys::spin;

/// Long enough for some fifty turns of 4 ms.
const ROUNDS: u64 = 50_000_000;

/// Instructions in user mode, as that many events. They differ in bits of the code which the PMU ignores.
fn instructions(count: usize) -> String {
    (0..count).map(|index| format!("r{index}0008:u")).collect::<Vec<_>>().join(",")
}

/// Asserts that a count is that of [`ROUNDS`], estimated from a part of the time.
#[track_caller]
fn assert_estimate(reading: &Reading, range: std::ops::Range<f64>) {
    let Outcome::Scaled { count, running } = reading.outcome else {
        panic!("not an estimate: {reading:?}");
    };
    let ratio = count as f64 / (2 * ROUNDS) as f64;
    assert!((0.99..1.01).contains(&ratio), "{ratio}: {reading:?}");
    assert!(range.contains(&running), "{reading:?}");
}

#[test]
fn six_events_fill_the_counters_and_cycles_have_one_more() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting(&format!("cycles:u,{}", instructions(6)));
    for reading in measure(&mut counters, || spin(ROUNDS)) {
        assert!(matches!(reading.outcome, Outcome::Counted { .. }), "{reading:?}");
    }
}

#[test]
fn seven_events_on_six_counters_are_split_and_all_counted() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting(&instructions(7));
    let readings = measure(&mut counters, || spin(ROUNDS));
    assert_eq!(readings.len(), 7);
    for reading in &readings {
        assert_estimate(reading, 0.3..0.7);
    }
}

#[test]
fn an_event_that_waits_for_its_turn_is_not_zero() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting(&instructions(7));
    // Shorter than a turn.
    let readings = measure(&mut counters, || spin(1_000));
    let waiting = |reading: &&Reading| matches!(reading.outcome, Outcome::NotScheduled { .. });
    assert!(readings.iter().any(|reading| waiting(&reading)), "{readings:?}");
    for reading in readings.iter().filter(|reading| !waiting(reading)) {
        let counts = matches!(reading.outcome, Outcome::Counted { count } | Outcome::Scaled { count, .. }
            if count > 2_000);
        assert!(counts, "{reading:?}");
    }
}

#[test]
fn two_groups_that_take_turns_agree() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting(&instructions(12));
    let readings = measure(&mut counters, || spin(ROUNDS));
    assert_eq!(readings.len(), 12);
    // Within 1 % of the truth, hence also of each other.
    for reading in &readings {
        assert_estimate(reading, 0.45..0.55);
    }
    let (first, second) = readings.split_at(6);
    for group in [first, second] {
        assert!(group.iter().all(|reading| reading.outcome == group[0].outcome), "{group:?}");
    }
}

#[test]
fn a_plan_finds_out_how_many_counters_there_are() {
    if !in_guest(PMU) {
        return;
    }
    let units: Vec<_> = events(&instructions(13)).into_iter().map(|event| vec![event]).collect();
    let plan = Plan::new(&units);
    let sizes: Vec<_> = plan.groups().iter().map(Vec::len).collect();
    assert_eq!((sizes.as_slice(), plan.notes()), (&[6, 6, 1][..], &[][..]));
    // Cycles have a counter of their own.
    let plan = Plan::new(&[events(&format!("cycles:u,{}", instructions(6)))]);
    assert_eq!((plan.groups().len(), plan.notes()), (1, &[][..]));
}

#[test]
fn a_plan_keeps_the_events_of_a_ratio_together() {
    if !in_guest(PMU) {
        return;
    }
    let all = events(&instructions(9));
    let units = [all[..4].to_vec(), all[4..8].to_vec(), all[8..].to_vec()];
    let plan = Plan::new(&units);
    let [first, second] = plan.groups() else { panic!("{plan:?}") };
    assert_eq!((first.len(), second.len()), (5, 4));
    assert!(first.starts_with(&units[0]) && second.starts_with(&units[1]), "{plan:?}");
    assert_eq!(plan.notes(), []);
}

#[test]
fn the_passes_of_a_plan_count_exactly_and_its_turns_estimate() {
    if !in_guest(PMU) {
        return;
    }
    let plan = Plan::new(&[events(&instructions(7))]);
    assert!(matches!(plan.notes(), [PlanNote::Split { groups: 2, .. }]), "{plan:?}");
    let open = |groups: &[Vec<_>]| {
        let mut counters = Counters::open_groups(Target::CurrentThread, groups, &Options::default());
        counters.enable();
        counters
    };
    let mut seen = 0;
    for pass in plan.passes() {
        for reading in measure(&mut open(&pass), || spin(ROUNDS)) {
            let [count] = exact(&[reading]);
            assert!((2 * ROUNDS..2 * ROUNDS + 100_000).contains(&count), "{count}");
            seen += 1;
        }
    }
    assert_eq!(seen, 7);
    let readings = measure(&mut open(&plan.multiplexed()), || spin(ROUNDS));
    assert_eq!(readings.len(), 7);
    for reading in &readings {
        assert_estimate(reading, 0.3..0.7);
    }
}

#[test]
fn a_pinned_event_without_a_counter_is_dead_and_the_others_count() {
    if !in_guest(PMU) {
        return;
    }
    let groups = [events(&instructions(6)), events("r8:u")];
    let mut counters = Counters::open_groups(Target::CurrentThread, &groups, &Options::default().pinned());
    counters.enable();
    for rounds in [1_000, ROUNDS] {
        let readings = measure(&mut counters, || spin(rounds));
        let (counted, dead) = readings.split_at(6);
        assert!(exact::<6>(counted).iter().all(|count| *count > 2 * rounds), "{counted:?}");
        let [Reading { outcome: Outcome::Dead { reason }, .. }] = dead else { panic!("{dead:?}") };
        assert!(!reason.is_empty());
    }
}
