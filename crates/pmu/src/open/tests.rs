//! Encodings that no plain name has: hybrids, uncore, breakpoints.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::counters::Counters;
use crate::fake::{ABSENT, BIG, BREAKPOINT, Fake, LITTLE, Rule, UNCORE, rate};
use crate::plan::Plan;
use crate::reading::{Outcome, Reading};
use crate::sys::Linux;

fn encoding(type_: u32, config: u64) -> Encoding {
    Encoding { no_exclude: type_ >= UNCORE && type_ != ABSENT, ..Encoding::generic(type_, config) }
}

fn ask(name: &str, spread: Spread, encodings: Vec<Encoding>) -> Ask {
    Ask { event: name.parse().unwrap(), how: Ok(Resolved { encodings, spread, means: None }) }
}

/// A generic event on both core types.
fn hybrid(name: &str, config: u64) -> Ask {
    let on = |pmu: u32| encoding(TYPE_HARDWARE, u64::from(pmu) << 32 | config);
    ask(name, Spread::CoreTypes, vec![on(BIG), on(LITTLE)])
}

fn plain(name: &str) -> Ask {
    Ask::new(&name.parse().unwrap(), Fake::new(Rule::NoPmu).machine())
}

fn opened(kernel: &Fake, target: Target, asks: Vec<Ask>) -> Counters {
    let mut counters = Counters::of(Box::new(kernel.clone()), &target, [asks], &Options::default());
    counters.enable();
    counters
}

fn measure(counters: &mut Counters, work: impl FnOnce()) -> Vec<Reading> {
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    work();
    counters.read(&mut end);
    counters.interval(&start, &end)
}

fn counted(reading: &Reading) -> Option<u64> {
    match reading.outcome {
        Outcome::Counted { count } => Some(count),
        _ => None,
    }
}

fn reason(reading: &Reading) -> &str {
    match &reading.outcome {
        Outcome::Unsupported { reason } | Outcome::Forbidden { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thread_that_changes_core_types_is_counted_as_a_whole() {
    let kernel = Fake::new(Rule::Hybrid(4));
    let asks = vec![hybrid("cycles", 0), hybrid("instructions", 1), plain("page-faults")];
    let mut counters = opened(&kernel, Target::Thread(7), asks);
    assert_eq!(kernel.group_sizes(), [2, 2, 1], "a group per core type");
    let readings = measure(&mut counters, || {
        kernel.run(3000, 3000);
        kernel.move_to(LITTLE);
        kernel.run(1000, 1000);
    });
    // Each core type ran for a share of the time; nothing is scaled away.
    assert_eq!(counted(&readings[0]), Some(4000 * rate(0)));
    assert_eq!(counted(&readings[1]), Some(4000 * rate(1)));
    let readings = measure(&mut counters, || kernel.run(1000, 250));
    assert_eq!(readings[1].outcome, Outcome::Scaled { count: 1000 * rate(1), running: 0.25 });
}

#[test]
fn an_event_that_one_core_type_lacks_shows_its_share() {
    let kernel = Fake::new(Rule::Hybrid(4));
    let lacking = ask("r1", Spread::CoreTypes, vec![encoding(BIG, 1), encoding(ABSENT, 1)]);
    let mut counters = opened(&kernel, Target::Thread(7), vec![lacking]);
    let readings = measure(&mut counters, || {
        kernel.run(3000, 3000);
        kernel.move_to(LITTLE);
        kernel.run(1000, 1000);
    });
    assert_eq!(readings[0].outcome, Outcome::Scaled { count: 4000 * rate(1), running: 0.75 });
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    assert!(matches!(readings[0].outcome, Outcome::NotScheduled { .. }), "{readings:?}");
}

#[test]
fn a_cpu_is_counted_by_the_pmu_of_its_own_type() {
    let kernel = Fake::new(Rule::Hybrid(4));
    for (target, cpus) in [(Target::Cpu(0), 1), (Target::Cpu(3), 1), (Target::AllCpus, 4)] {
        let mut counters = opened(&kernel, target, vec![hybrid("instructions", 1)]);
        assert_eq!(kernel.groups().len() as u64, cpus);
        let readings = measure(&mut counters, || kernel.run(1000, 1000));
        assert_eq!(counted(&readings[0]), Some(cpus * 1000 * rate(1)));
    }
}

#[test]
fn uncore_is_counted_once_per_listed_cpu_whatever_the_target() {
    let kernel = Fake::new(Rule::Counters(4));
    let uncore = |name| ask(name, Spread::Places(vec![0, 2]), vec![encoding(UNCORE, 7)]);
    let mut counters = opened(&kernel, Target::CurrentThread, vec![uncore("r7"), plain("cycles")]);
    assert!(kernel.opened().iter().all(|attr| !attr.exclude_hv && !attr.inherit));
    let readings = measure(&mut counters, || kernel.run(1000, 500));
    assert_eq!(readings[0].outcome, Outcome::Scaled { count: 2 * 1000 * rate(7), running: 0.5 });
    assert_eq!(readings[0].scope, Scope::UserAndKernel);
    // A mode cannot be asked of it, and an ordinary user cannot have it.
    let mut counters = opened(&kernel, Target::CurrentThread, vec![uncore("r7:u")]);
    assert!(reason(&measure(&mut counters, || {})[0]).contains("does not tell user and kernel mode apart"));
    let kernel = Fake::new(Rule::Paranoid2);
    let mut counters = opened(&kernel, Target::CurrentThread, vec![uncore("r7")]);
    let readings = measure(&mut counters, || {});
    assert!(matches!(&readings[0].outcome, Outcome::Forbidden { reason } if reason.contains("paranoid")));
}

#[test]
fn units_beside_the_cores_are_counted_side_by_side() {
    let kernel = Fake::new(Rule::Counters(4));
    let boxes = |name, config| {
        ask(name, Spread::Places(vec![0, 2]), vec![encoding(UNCORE, config), encoding(UNCORE + 1, config)])
    };
    let mut counters = opened(&kernel, Target::CurrentThread, vec![boxes("r7", 7), boxes("r8", 8)]);
    assert_eq!(kernel.group_sizes(), [2, 2, 2, 2]);
    let readings = measure(&mut counters, || kernel.run(1000, 500));
    // Two units on each of two CPUs, each half of the time.
    assert_eq!(readings[0].outcome, Outcome::Scaled { count: 4 * 1000 * rate(7), running: 0.5 });
    let plan = Plan::of(&kernel, [vec![boxes("r7", 7), boxes("r8", 8)]]);
    assert_eq!((plan.groups().len(), plan.notes()), (1, &[][..]));
}

#[test]
fn an_event_that_fails_at_one_place_is_not_counted_at_the_others() {
    let kernel = Fake::new(Rule::Counters(4));
    let offline = ask("r7", Spread::Places(vec![0, 9]), vec![encoding(UNCORE, 7)]);
    let mut counters = opened(&kernel, Target::CurrentThread, vec![offline, plain("cycles")]);
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    assert!(reason(&readings[0]).contains("logical CPU 9 is offline"));
    assert_eq!(counted(&readings[1]), Some(1000 * rate(0)));
    assert_eq!(kernel.group_sizes(), [1]);
}

#[test]
fn breakpoints_of_the_fake_are_planned_in_passes() {
    let kernel = Fake::new(Rule::Counters(8));
    let unit = |name| vec![ask(name, Spread::One, vec![encoding(BREAKPOINT, 2)])];
    let plan = Plan::of(&kernel, ["r1", "r2", "r3", "r4", "r5"].map(unit));
    let sizes: Vec<usize> = plan.groups().iter().map(Vec::len).collect();
    assert_eq!((sizes, plan.notes().len()), (vec![4, 1], 0));
}

/// Four words to write to, and a function to call.
static WORDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

#[inline(never)]
extern "C" fn called(n: u64) -> u64 {
    black_box(n) + 1
}

const WRITE: u64 = 2;
const EXECUTE: u64 = 4;

/// A breakpoint event; its name has nothing to do with it.
fn breakpoint(name: &str, wait_for: u64, address: usize) -> Ask {
    let length = if wait_for == EXECUTE { size_of::<usize>() } else { 8 };
    let encoding =
        Encoding { config1: address as u64, config2: length as u64, ..encoding(BREAKPOINT, wait_for) };
    ask(name, Spread::One, vec![encoding])
}

fn four_breakpoints() -> Vec<Ask> {
    let write = |name, at: usize| breakpoint(name, WRITE, WORDS[at].as_ptr() as usize);
    let execute = breakpoint("r1:u", EXECUTE, called as *const () as usize);
    vec![execute, write("r2:u", 0), write("r3:u", 1), write("r4:u", 2)]
}

/// 1000 calls and 1000, 500 and 100 writes.
fn hit_breakpoints() {
    for n in 0..1000 {
        black_box(called(n));
        WORDS[0].store(n, Ordering::Relaxed);
        if n % 2 == 0 {
            WORDS[1].store(n, Ordering::Relaxed);
        }
        if n % 10 == 0 {
            WORDS[2].store(n, Ordering::Relaxed);
        }
    }
}

/// Whether this machine has four free breakpoint registers, as x86 has and emulated machines may not.
fn has_breakpoints(test: &str) -> bool {
    let mut opening = Opening::new(&Linux, &Target::CurrentThread, &Options::default());
    for ask in four_breakpoints() {
        opening.add(&ask, 0);
    }
    let absence = opening.slots.iter().find_map(|slot| slot.absence.as_ref());
    if let Some(absence) = absence {
        println!("skipped {test}: {absence:?}");
    }
    absence.is_none() && opening.groups.len() == 1
}

#[test]
fn four_breakpoints_in_a_group_are_exact_and_the_fifth_has_a_reason() {
    if !has_breakpoints("four_breakpoints_in_a_group_are_exact_and_the_fifth_has_a_reason") {
        return;
    }
    let fifth = breakpoint("r5:u", WRITE, WORDS[3].as_ptr() as usize);
    let asks = four_breakpoints().into_iter().chain([fifth, plain("page-faults")]).collect();
    let mut counters = Counters::of(Box::new(Linux), &Target::CurrentThread, [asks], &Options::default());
    counters.enable();
    let readings = measure(&mut counters, hit_breakpoints);
    let counts: Vec<_> = readings[..4].iter().map(counted).collect();
    assert_eq!(counts, [1000, 1000, 500, 100].map(Some));
    assert!(reason(&readings[4]).contains("ENOSPC"), "{readings:?}");
    assert!(counted(&readings[5]).is_some(), "{readings:?}");
    let groups: Vec<_> = (0..6).map(|index| counters.group_of(index)).collect();
    assert_eq!(groups, [Some(0), Some(0), Some(0), Some(0), None, Some(1)]);
}

#[test]
fn five_breakpoints_on_four_registers_are_planned_in_two_passes() {
    if !has_breakpoints("five_breakpoints_on_four_registers_are_planned_in_two_passes") {
        return;
    }
    let fifth = breakpoint("r5:u", WRITE, WORDS[3].as_ptr() as usize);
    let asks: Vec<Ask> = four_breakpoints().into_iter().chain([fifth]).collect();
    let plan = Plan::of(&Linux, asks.iter().map(|ask| vec![ask.clone()]));
    let sizes: Vec<usize> = plan.groups().iter().map(Vec::len).collect();
    assert_eq!((sizes, plan.passes().len()), (vec![4, 1], 2));
    assert_eq!(plan.notes(), []);
    let mut counts = Vec::new();
    for pass in [&asks[..4], &asks[4..]] {
        let kernel = Box::new(Linux);
        let mut counters = Counters::of(kernel, &Target::CurrentThread, [pass.to_vec()], &Options::default());
        counters.enable();
        counts.extend(measure(&mut counters, || {
            hit_breakpoints();
            WORDS[3].store(1, Ordering::Relaxed);
        }));
    }
    assert_eq!(counts.iter().map(counted).collect::<Vec<_>>(), [1000, 1000, 500, 100, 1].map(Some));
}
