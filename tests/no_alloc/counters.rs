//! Reading counters allocates nothing.

use tailcore_pmu::{Counters, Target, default_events};

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
