//! PMUs that are too small, busy or broken: groups, shares, and reads that fail.

use proptest::prelude::*;
use tailcore_pmu::{Counters, Outcome, Scope};

use crate::fake::{Fake, RATE, Reads, Rule, rate};
use crate::{measure, open};

const SIX: &str = "cycles,instructions,branches,branch-misses,cache-misses,LLC-loads,page-faults,cs";

fn enabled(kernel: &Fake, list: &str) -> Counters {
    let mut counters = open(kernel, list);
    counters.enable();
    counters
}

#[test]
fn a_full_group_starts_another_and_software_stays_apart() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = enabled(&kernel, SIX);
    assert_eq!(kernel.group_sizes(), [4, 2, 2]);
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    // The two groups of the PMU take turns; each value went to its own event.
    for (reading, config) in readings.iter().zip([0, 1, 4, 5, 3, 2]) {
        assert_eq!(
            reading.outcome,
            Outcome::Scaled { count: 1000 * rate(config), running: 0.5 },
            "{reading:?}"
        );
    }
    for (reading, config) in readings[6..].iter().zip([2, 3]) {
        assert_eq!(reading.outcome, Outcome::Counted { count: 1000 * rate(config) }, "{reading:?}");
    }
    let groups: Vec<_> = (0..8).map(|index| counters.group_of(index).unwrap()).collect();
    assert_eq!(groups, [0, 0, 0, 0, 1, 1, 2, 2]);
}

#[test]
fn only_leaders_are_opened_disabled() {
    let kernel = Fake::new(Rule::Counters(4));
    let _counters = open(&kernel, SIX);
    let leaders: Vec<bool> = kernel.opened().iter().map(|a| a.disabled && a.enable_on_exec).collect();
    assert_eq!(leaders, [true, false, false, false, true, false, true, false]);
    assert!(kernel.opened().iter().all(|a| a.disabled == a.enable_on_exec));
}

#[test]
fn half_the_time_is_scaled_and_says_so() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = enabled(&kernel, "instructions,page-faults");
    kernel.run(5000, 17); // The past must not leak into the interval.
    let readings = measure(&mut counters, || kernel.run(1000, 500));
    assert_eq!(readings[0].outcome, Outcome::Scaled { count: 1000 * rate(1), running: 0.5 });
    assert_eq!(readings[1].outcome, Outcome::Counted { count: 1000 * rate(2) });
    assert_eq!(readings[0].scope, Scope::UserAndKernel);
}

#[test]
fn what_never_ran_is_not_zero() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = open(&kernel, "cycles,page-faults");
    let words = |readings: &[tailcore_pmu::Reading], at: usize| match &readings[at].outcome {
        Outcome::NotScheduled { reason } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let off = measure(&mut counters, || kernel.run(1000, 1000));
    assert!(words(&off, 0).contains("not enabled") && words(&off, 1).contains("not enabled"));
    counters.enable();
    let starved = measure(&mut counters, || kernel.run(1000, 0));
    assert!(words(&starved, 0).contains("no free counter"));
    assert_eq!(starved[1].outcome, Outcome::Counted { count: 1000 * rate(2) });
    let idle = measure(&mut counters, || {});
    assert!(words(&idle, 0).contains("nothing of what") && words(&idle, 1).contains("nothing of what"));
}

#[test]
fn a_failing_read_is_a_reason_until_it_works_again() {
    let cases = [
        (Reads::Bytes(0), "0 bytes"),
        (Reads::Bytes(8), "8 bytes"),
        (Reads::Bytes(39), "39 bytes"),
        (Reads::TooMany, "bytes"),
        (Reads::Fails(libc::EIO), "errno"),
        (Reads::Fails(libc::ENOSPC), "ENOSPC"),
    ];
    for (reads, words) in cases {
        let kernel = Fake::new(Rule::Counters(4));
        let mut counters = enabled(&kernel, "cycles,instructions");
        let broken = measure(&mut counters, || {
            kernel.run(10, 10);
            kernel.set_reads(reads);
        });
        for reading in broken {
            match reading.outcome {
                Outcome::Dead { reason } | Outcome::Unsupported { reason } => {
                    assert!(reason.contains(words), "{reason}");
                }
                other => panic!("{reads:?}: {other:?}"),
            }
        }
        kernel.set_reads(Reads::Whole);
        let mended = measure(&mut counters, || kernel.run(10, 10));
        assert_eq!(mended[0].outcome, Outcome::Counted { count: 10 * RATE });
    }
}

#[test]
fn a_group_that_does_not_start_is_a_reason() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = open(&kernel, "cycles");
    kernel.fail_enable(libc::EBADF);
    counters.enable();
    let readings = measure(&mut counters, || kernel.run(10, 10));
    assert!(matches!(&readings[0].outcome, Outcome::Unsupported { reason } if reason.contains("EBADF")));
    assert!(!counters.is_any_open());
}

#[test]
fn snapshots_of_other_counters_are_no_panic() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut large = enabled(&kernel, SIX);
    let mut small = enabled(&kernel, "cycles");
    let (mut of_large, mut of_small) = (large.snapshot(), small.snapshot());
    large.read(&mut of_small);
    small.read(&mut of_large);
    let readings = large.interval(&of_small, &of_large);
    assert_eq!(readings.len(), large.events().len());
    assert!(matches!(readings[7].outcome, Outcome::NotScheduled { .. }));
    assert_eq!(of_small.totals(0).map(|t| t.count), Some(0));
    assert_eq!(of_large.totals(7), None);
    assert_eq!(of_large.totals(usize::MAX), None);
}

#[test]
fn no_events_at_all() {
    let mut counters =
        Counters::open_with(Fake::new(Rule::Counters(4)), tailcore_pmu::Target::CurrentThread, &[]);
    counters.enable();
    assert!(measure(&mut counters, || {}).is_empty());
    assert!(!counters.is_any_open());
}

proptest! {
    #[test]
    fn any_run_gives_one_honest_reading_per_event(
        steps in prop::collection::vec((0_u64..1 << 30, 0_u64..1 << 30, 0_usize..48), 1..20),
        counters in 1_usize..8,
    ) {
        let kernel = Fake::new(Rule::Counters(counters));
        let mut open = enabled(&kernel, SIX);
        for (enabled, running, bytes) in steps {
            let running = running.min(enabled);
            kernel.set_reads(if bytes < 8 { Reads::Bytes(bytes * 11) } else { Reads::Whole });
            let readings = measure(&mut open, || kernel.run(enabled, running));
            prop_assert_eq!(readings.len(), open.events().len());
            for reading in &readings[..6] {
                if running == 0 {
                    let counted = matches!(reading.outcome, Outcome::Counted { .. } | Outcome::Scaled { .. });
                    prop_assert!(!counted);
                }
                let json = serde_json::to_string(reading).unwrap();
                prop_assert!(serde_json::from_str::<tailcore_pmu::Reading>(&json).is_ok());
            }
        }
    }
}
