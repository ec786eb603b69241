//! Reading counters allocates nothing.

use tailcore_pmu::{Counters, Outcome, OwnCounters, ReadPath, Target, default_events, parse_events};

use crate::paged::Paged;
use crate::sys;

#[test]
fn reading_allocates_nothing() {
    let mut counters = Counters::open(Target::CurrentThread, &default_events());
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    let before = sys::allocations();
    counters.enable();
    for _ in 0..1000 {
        counters.read(&mut start);
        counters.read(&mut end);
        std::hint::black_box((start.totals(0), end.totals(8)));
    }
    assert_eq!(sys::allocations() - before, 0);

    // The allocator does count: building the readings takes memory.
    drop(counters.interval(&start, &end));
    assert!(sys::allocations() > before);
}

/// What 1000 reads of counters of this thread allocate.
fn allocations_of(own: &mut OwnCounters) -> u64 {
    let mut snapshot = own.snapshot();
    let before = sys::allocations();
    for _ in 0..1000 {
        own.read(&mut snapshot);
        std::hint::black_box(snapshot.totals(0));
    }
    sys::allocations() - before
}

/// The counts of a clock, which is open wherever counters are.
#[test]
fn a_sound_count_is_worked_out_without_allocation() {
    let mut counters = Counters::open(Target::CurrentThread, &parse_events("task-clock").unwrap());
    counters.enable();
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    counters.read(&mut end);
    let before = sys::allocations();
    let outcomes = [(); 1000].map(|()| counters.outcome(0, &start, &end));
    let allocated = sys::allocations() - before;
    if !counters.is_any_open() {
        skipped!("a_sound_count_is_worked_out_without_allocation: {:?}", outcomes[0]);
        return;
    }
    assert!(matches!(outcomes[0], Outcome::Counted { count: 1.. }), "{:?}", outcomes[0]);
    assert_eq!(allocated, 0);
}

#[test]
fn reading_own_counters_allocates_nothing() {
    let mut own = OwnCounters::open(&default_events());
    own.enable();
    assert_eq!(allocations_of(&mut own), 0);
}

#[test]
fn reading_from_user_space_allocates_nothing() {
    let kernel = Paged::new();
    let mut own = OwnCounters::open_with(kernel.clone(), &parse_events("cycles,instructions").unwrap());
    assert_eq!(allocations_of(&mut own), 0);
    assert_eq!((own.how(0), kernel.system_reads()), (Some(ReadPath::UserSpace), 0));

    kernel.switch(false);
    assert_eq!(allocations_of(&mut own), 0);
    assert_eq!(kernel.system_reads(), 1000);
}
