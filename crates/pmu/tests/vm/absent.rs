//! The machine without a PMU, as most rented ones are.

use tailcore_pmu::{Calibration, EventKind, Outcome, OwnCounters, Plan, Probe, ReadPath};
use tailcore_pmu::{calibrate, catalogue};

use crate::guest::{NO_PMU, counting, events, exact, in_guest, measure};
use crate::sys::spin;

#[test]
fn no_event_of_the_hardware_is_counted_and_each_says_why() {
    if !in_guest(NO_PMU) {
        return;
    }
    let mut counters = counting(concat!(
        "cycles,instructions:u,cache-misses,L1-dcache-load-misses,r8,rffff,",
        "armv8_pmuv3/inst_retired/,l1d-misses",
    ));
    for reading in measure(&mut counters, || spin(1_000)) {
        let Outcome::Unsupported { reason } = &reading.outcome else {
            panic!("{reading:?}");
        };
        assert!(reason.contains("PMU"), "{reason}");
    }
}

#[test]
fn events_of_the_kernel_count_next_to_those_that_cannot() {
    if !in_guest(NO_PMU) {
        return;
    }
    let mut counters = counting("cycles,task-clock,page-faults");
    let readings = measure(&mut counters, || {
        // 2 ns per round, of a clock that knows instructions only.
        spin(1_000_000);
        let pages = vec![1_u8; 64 << 12];
        std::hint::black_box(&pages);
    });
    let [task_clock_ns, page_faults] = exact(&readings[1..]);
    assert!(task_clock_ns >= 2_000_000, "{readings:?}");
    assert!(page_faults >= 64, "{readings:?}");
}

#[test]
fn the_catalogue_offers_what_the_kernel_counts_and_nothing_else() {
    if !in_guest(NO_PMU) {
        return;
    }
    let all = catalogue();
    assert!(all.iter().any(|event| event.kind == EventKind::Software));
    for listed in &all {
        let counts = matches!(listed.outcome, Probe::Available { .. });
        assert_eq!(counts, !listed.kind.needs_pmu(), "{listed:?}");
    }
}

#[test]
fn what_cannot_be_tried_says_so() {
    if !in_guest(NO_PMU) {
        return;
    }
    let calibration = calibrate();
    let Calibration::Unknown { reason } = &calibration else { panic!("{calibration:?}") };
    assert!(!reason.is_empty());
    let plan = Plan::new(&[events("cycles,instructions"), events("page-faults")]);
    assert_eq!(plan.notes(), [], "{plan:?}");
    let own = OwnCounters::open(&events("cycles,page-faults"));
    assert_eq!(own.how(0), None);
    assert!(matches!(own.how(1), Some(ReadPath::SystemCall { .. })), "{:?}", own.how(1));
}
