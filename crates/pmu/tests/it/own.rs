//! Counters that a thread reads itself: simulated ones from user space, and real ones however they are read.

use tailcore_pmu::{
    Errno, NoUserRead, Options, Outcome, OwnCounters, ReadPath, Totals, UserAccess, default_events,
};

use crate::events;
use crate::paged::Paged;

fn open(kernel: &Paged, list: &str) -> OwnCounters {
    OwnCounters::open_with(kernel.clone(), &events(list))
}

fn totals(own: &mut OwnCounters, event: usize) -> Totals {
    let mut snapshot = own.snapshot();
    own.read(&mut snapshot);
    snapshot.totals(event).unwrap()
}

fn fallback(reason: NoUserRead) -> Option<ReadPath> {
    Some(ReadPath::SystemCall { reason })
}

#[test]
fn a_group_in_registers_is_read_without_a_system_call() {
    let kernel = Paged::new();
    let mut own = open(&kernel, "cycles,instructions");
    kernel.run(700);
    let second = totals(&mut own, 1);
    assert_eq!(second, Totals { count: 3 * 700 + 2000, enabled_ns: 700, running_ns: 700 });
    assert_eq!((kernel.system_reads(), own.how(0)), (0, Some(ReadPath::UserSpace)));
}

#[test]
fn both_ways_give_the_same() {
    let kernel = Paged::new();
    let mut own = open(&kernel, "cycles,instructions,cache-misses");
    let (mut user, mut system) = (own.snapshot(), own.snapshot());
    for ns in [1, 1000, u64::from(u32::MAX)] {
        kernel.run(ns);
        own.read(&mut user);
        own.read_by_system_call(&mut system);
        assert_eq!(user, system, "{ns}");
        kernel.switch(true);
    }
    assert_eq!(kernel.system_reads(), 3);
}

#[test]
fn the_way_is_chosen_anew_at_each_read_and_intervals_may_mix_both() {
    let kernel = Paged::new();
    let mut own = open(&kernel, "cycles,instructions");
    let (mut start, mut end) = (own.snapshot(), own.snapshot());
    for registers in [true, false, true, false] {
        own.read(&mut start);
        kernel.run(100);
        kernel.switch(registers);
        own.read(&mut end);
        let readings = own.interval(&start, &end);
        assert!(readings.iter().all(|r| r.outcome == Outcome::Counted { count: 300 }), "{readings:?}");
        let expected = if registers { Some(ReadPath::UserSpace) } else { fallback(NoUserRead::NotCounting) };
        assert_eq!(own.how(1), expected);
    }
}

#[test]
fn each_group_has_its_own_way() {
    let kernel = Paged::new();
    let mut own = open(&kernel, "task-clock,cycles,page-faults");
    totals(&mut own, 0);
    assert_eq!([own.how(0), own.how(2)], [fallback(NoUserRead::NotReadable); 2]);
    assert_eq!(own.how(1), Some(ReadPath::UserSpace));
    assert_eq!(own.how(3), None);
    // Pages that can never be read are not kept.
    assert_eq!((kernel.system_reads(), kernel.mapped()), (1, 1));
}

#[test]
fn without_room_for_all_pages_of_a_group_none_is_kept() {
    let kernel = Paged::new().budget(1);
    let mut own = open(&kernel, "cycles,instructions");
    kernel.run(50);
    assert_eq!(totals(&mut own, 1).count, 3 * 50 + 2000);
    assert_eq!(own.how(1), fallback(NoUserRead::Map { errno: Errno(libc::EPERM) }));
    assert_eq!((kernel.mapped(), kernel.system_reads(), kernel.register_reads()), (0, 1, 0));
}

#[test]
fn a_system_without_such_reads_is_not_asked_for_pages() {
    let kernel = Paged::with(Err(NoUserRead::CoreTypes));
    let mut own = open(&kernel, "cycles,page-faults");
    assert_eq!([own.how(0), own.how(1)], [fallback(NoUserRead::CoreTypes); 2]);
    totals(&mut own, 0);
    assert_eq!((kernel.mapped(), kernel.register_reads()), (0, 0));
}

#[test]
fn counters_of_the_core_ask_to_be_readable_and_no_others() {
    let access = UserAccess { config1: 2, pmu_type: Some(8) };
    let kernel = Paged::with(Ok(access));
    drop(open(&kernel, "page-faults,cycles,L1-dcache-load-misses,r11"));
    let asked: Vec<(u32, u64)> = kernel.opened().iter().map(|attr| (attr.type_, attr.config1)).collect();
    assert_eq!(asked, [(1, 0), (0, 2), (3, 2), (4, 2)]);
}

#[test]
fn a_counter_that_must_not_ask_is_opened_all_the_same() {
    let kernel = Paged::with(Ok(UserAccess { config1: 2, pmu_type: None })).refusing_config1();
    let own = open(&kernel, "cycles");
    assert_eq!(own.interval(&own.snapshot(), &own.snapshot()).len(), 1);
    assert!(own.counters().is_any_open());
    assert_eq!(kernel.opened().len(), 1);
}

#[test]
fn pages_are_given_back_with_the_counters() {
    let kernel = Paged::new();
    let own = OwnCounters::open_groups_with(
        kernel.clone(),
        &[events("cycles"), events("instructions")],
        &Options::default(),
    );
    assert_eq!(kernel.mapped(), 2);
    drop(own);
    assert_eq!(kernel.mapped(), 0);
}

#[test]
fn the_cost_of_both_ways_is_measured_when_counting_starts() {
    let kernel = Paged::new();
    let mut own = open(&kernel, "cycles");
    assert_eq!(own.read_cost(), None);
    own.enable();
    let (system, registers) = (kernel.system_reads(), kernel.register_reads());
    assert!(system >= 200 && registers >= 200, "{system} {registers}");
    for cost in own.read_cost().map(|costs| [&costs.chosen, &costs.system_call]).unwrap() {
        assert!(cost.minimum_ns > 0.0 && cost.minimum_ns <= cost.median_ns, "{cost:?}");
        // The simulated time stands still.
        assert_eq!(cost.counts, [None]);
    }
}

/// The same counters by both ways in turn: neither may ever be behind the one before.
#[test]
fn real_counters_grow_however_they_are_read() {
    let mut own = OwnCounters::open(&default_events());
    own.enable();
    let mut snapshots = [own.snapshot(), own.snapshot(), own.snapshot()];
    for _ in 0..100 {
        own.read_by_system_call(&mut snapshots[0]);
        own.read(&mut snapshots[1]);
        own.read_by_system_call(&mut snapshots[2]);
        for event in 0..default_events().len() {
            let [Some(a), Some(b), Some(c)] = snapshots.each_ref().map(|s| s.totals(event)) else { continue };
            assert!(a.count <= b.count && b.count <= c.count, "{event}: {a:?} {b:?} {c:?}");
            assert!(
                a.enabled_ns <= b.enabled_ns && b.enabled_ns <= c.enabled_ns,
                "{event}: {a:?} {b:?} {c:?}"
            );
            assert!(
                a.running_ns <= b.running_ns && b.running_ns <= c.running_ns,
                "{event}: {a:?} {b:?} {c:?}"
            );
        }
    }
}

#[test]
fn real_events_of_the_kernel_are_read_by_system_call_with_the_reason() {
    let mut own = OwnCounters::open(&events("page-faults,context-switches"));
    if !own.counters().is_any_open() {
        skipped!("real_events_of_the_kernel…: no event may be opened");
        return;
    }
    own.enable();
    let (mut start, mut end) = (own.snapshot(), own.snapshot());
    own.read(&mut start);
    drop(std::hint::black_box(vec![1_u8; 8 << 20]));
    own.read(&mut end);
    assert!(end.totals(0).unwrap().count > start.totals(0).unwrap().count);
    let Some(ReadPath::SystemCall { reason }) = own.how(0) else { panic!("{:?}", own.how(0)) };
    // Either the page was mapped and says that there is nothing to read, or there is none.
    let momentary = matches!(reason, NoUserRead::NotCounting | NoUserRead::Unsettled);
    assert!(!momentary && reason != NoUserRead::Unsupported, "{reason}");
    let cost = &own.read_cost().unwrap().system_call;
    assert_eq!(cost.counts.len(), 2);
    assert!(cost.counts[0].is_some(), "{cost:?}");
}
