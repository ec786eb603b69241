//! Two states of a counter → what it counted between them.
//!
//! Only differences are scaled. Scaling the two totals and subtracting would be wrong: the share of time in
//! which the counter runs changes, and the difference of two estimates can even be negative.

use crate::kernel::Errno;
use crate::layout::Fault;
use crate::reading::Outcome;
use crate::snapshot::{Sample, Totals};

/// What decides the wording of a reason beside the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// Whether the event takes one of a few counters of the processor.
    pub(crate) scarce: bool,
    /// Whether counting was ever started.
    pub(crate) enabled: bool,
}

/// What several places counted together.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    enabled: u64,
    running: u64,
}

/// The outcome of the interval from the first to the second of each pair, one pair per place.
///
/// Each place is scaled by its own share before it is added. A place where nothing ran adds nothing, if its
/// thread did not run either; else the total is not known.
pub(crate) fn outcome(places: impl Iterator<Item = (Sample, Sample)>, context: Context) -> Outcome {
    let mut sum = None;
    for place in places {
        match place {
            (Sample::Absent, _) | (_, Sample::Absent) => {}
            (Sample::Fault(fault), _) | (_, Sample::Fault(fault)) => return read_fault(fault),
            (Sample::Unread, _) | (_, Sample::Unread) => return not_read(),
            (Sample::Taken(start), Sample::Taken(end)) => {
                if let Err(reason) = add(sum.get_or_insert_default(), start, end) {
                    return not_scheduled(reason(context));
                }
            }
        }
    }
    sum.map_or_else(not_read, |sum| total(&sum, context))
}

/// The count of a counter that ran all the time: what [`outcome`] comes to for one such place.
#[inline]
pub(crate) fn whole_count(start: &Totals, end: &Totals) -> Option<u64> {
    let enabled = end.enabled_ns.checked_sub(start.enabled_ns)?;
    let running = end.running_ns.checked_sub(start.running_ns)?;
    if enabled > 0 && running >= enabled { Some(end.count.wrapping_sub(start.count)) } else { None }
}

/// The wording of an absence.
type Reason = fn(Context) -> &'static str;

/// Adds what one place counted.
fn add(sum: &mut Sum, start: Totals, end: Totals) -> Result<(), Reason> {
    let times = (end.enabled_ns.checked_sub(start.enabled_ns), end.running_ns.checked_sub(start.running_ns));
    let (Some(enabled), Some(running)) = times else {
        return Err(|_| "the interval ends before it starts: give the earlier snapshot first");
    };
    if enabled == 0 {
        return Ok(());
    }
    if running == 0 {
        return Err(starved);
    }
    // The kernel's value is modulo 2^64.
    let count = end.count.wrapping_sub(start.count);
    let count = if running >= enabled { count } else { scale(count, enabled, running) };
    sum.count = sum.count.saturating_add(count);
    sum.enabled = sum.enabled.saturating_add(enabled);
    sum.running = sum.running.saturating_add(running.min(enabled));
    Ok(())
}

fn total(sum: &Sum, context: Context) -> Outcome {
    let &Sum { count, enabled, running } = sum;
    if enabled == 0 {
        return not_scheduled(if context.enabled {
            "nothing of what is counted ran in the interval: choose a longer one"
        } else {
            "the counters are not enabled: enable them before the interval"
        });
    }
    if running >= enabled {
        return Outcome::Counted { count };
    }
    Outcome::Scaled { count, running: running as f64 / enabled as f64 }
}

fn starved(context: Context) -> &'static str {
    if context.scarce {
        "the PMU had no free counter in the interval: count fewer events, stop other profilers, \
         or `sysctl kernel.nmi_watchdog=0`; on a hybrid, the thread may have been on cores without the event"
    } else {
        "the kernel did not schedule the counter in the interval: choose a longer one"
    }
}

fn not_read() -> Outcome {
    not_scheduled("a snapshot of this interval was not read: read both of them")
}

/// `count` × `enabled` ÷ `running`, rounded down, at most `u64::MAX`; a product of two `u64` always fits
/// `u128`.
fn scale(count: u64, enabled: u64, running: u64) -> u64 {
    (u128::from(count) * u128::from(enabled))
        .checked_div(u128::from(running))
        .and_then(|estimate| u64::try_from(estimate).ok())
        .unwrap_or(u64::MAX)
}

fn read_fault(fault: Fault) -> Outcome {
    let reason = match fault {
        Fault::Dead => {
            return Outcome::Dead {
                reason: "the kernel gave the group up for want of counters (it read 0 bytes): \
                         count fewer events, or do not pin them"
                    .to_owned(),
            };
        }
        Fault::Length { got, want } => {
            format!("the kernel gave {got} bytes for a group of {want}: not the documented layout; report it")
        }
        Fault::Members { got, want } => {
            format!(
                "the kernel speaks of {got} members in a group of {want}: not the documented layout; report it"
            )
        }
        Fault::Read(Errno(libc::ECHILD)) => {
            return not_scheduled(
                "a child process was just being started or ended, and had a part of the group only (ECHILD): read again",
            );
        }
        Fault::Read(errno) => format!("reading the counter failed with {errno}: see perf_event_open(2)"),
    };
    Outcome::Unsupported { reason }
}

fn not_scheduled(reason: &str) -> Outcome {
    Outcome::NotScheduled { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Errno;
    use proptest::prelude::*;

    const PMU: Context = Context { scarce: true, enabled: true };

    /// The outcome of one place.
    fn outcome(start: Sample, end: Sample, context: Context) -> Outcome {
        super::outcome([(start, end)].into_iter(), context)
    }

    fn totals(count: u64, enabled_ns: u64, running_ns: u64) -> Sample {
        Sample::Taken(Totals { count, enabled_ns, running_ns })
    }

    #[test]
    fn numbers_by_table() {
        let cases = [
            (totals(10, 5, 5), totals(110, 25, 25), Outcome::Counted { count: 100 }),
            // A true zero is a count.
            (totals(10, 5, 5), totals(10, 25, 25), Outcome::Counted { count: 0 }),
            (totals(10, 5, 5), totals(110, 25, 15), Outcome::Scaled { count: 200, running: 0.5 }),
            (totals(0, 0, 0), totals(10, 3, 2), Outcome::Scaled { count: 15, running: 2.0 / 3.0 }),
            // The past does not matter: half the time until now, all of it in the interval.
            (totals(50, 100, 50), totals(150, 200, 150), Outcome::Counted { count: 100 }),
            (totals(u64::MAX, 5, 5), totals(4, 6, 6), Outcome::Counted { count: 5 }),
            (
                totals(0, 0, 0),
                totals(u64::MAX, u64::MAX, 1),
                Outcome::Scaled { count: u64::MAX, running: 1.0 / u64::MAX as f64 },
            ),
        ];
        for (start, end, expected) in cases {
            assert_eq!(outcome(start, end, PMU), expected);
        }
    }

    #[test]
    fn absences_by_table() {
        let fault = |fault| Sample::Fault(fault);
        let off = Context { enabled: false, ..PMU };
        let software = Context { scarce: false, ..PMU };
        let cases = [
            (totals(1, 5, 5), totals(1, 5, 5), PMU, "ran in the interval"),
            (totals(0, 0, 0), totals(0, 0, 0), off, "not enabled"),
            (totals(1, 5, 5), totals(1, 9, 5), PMU, "no free counter"),
            (totals(1, 5, 5), totals(1, 9, 5), software, "did not schedule"),
            (totals(1, 9, 9), totals(1, 5, 5), PMU, "ends before it starts"),
            (Sample::Unread, totals(1, 5, 5), PMU, "not read"),
            (totals(1, 5, 5), Sample::Unread, PMU, "not read"),
            (totals(1, 5, 5), fault(Fault::Dead), PMU, "0 bytes"),
            (fault(Fault::Length { got: 8, want: 32 }), totals(1, 5, 5), PMU, "8 bytes for a group of 32"),
            (totals(1, 5, 5), fault(Fault::Members { got: 9, want: 1 }), PMU, "9 members"),
            (totals(1, 5, 5), fault(Fault::Read(Errno(libc::ENOSPC))), PMU, "ENOSPC"),
        ];
        for (start, end, context, words) in cases {
            match outcome(start, end, context) {
                Outcome::NotScheduled { reason }
                | Outcome::Dead { reason }
                | Outcome::Unsupported { reason } => {
                    assert!(reason.contains(words) && reason.contains(':'), "{reason}");
                    assert!(!reason.contains('\n'), "{reason}");
                }
                other => panic!("{words}: {other:?}"),
            }
        }
    }

    #[test]
    fn places_are_scaled_before_they_are_added() {
        let zero = totals(0, 0, 0);
        let of = |ends: &[Sample]| super::outcome(ends.iter().map(|&end| (zero, end)), PMU);
        let cases = [
            (vec![totals(3, 5, 5), totals(4, 9, 9)], Outcome::Counted { count: 7 }),
            // A thread that did not run has done nothing; one that is gone is not waited for.
            (vec![totals(3, 5, 5), zero, Sample::Absent], Outcome::Counted { count: 3 }),
            (vec![totals(30, 10, 5), totals(4, 10, 10)], Outcome::Scaled { count: 64, running: 0.75 }),
            (
                vec![totals(u64::MAX, 2, 2), totals(1, 2, 1)],
                Outcome::Scaled { count: u64::MAX, running: 0.75 },
            ),
        ];
        for (ends, expected) in cases {
            assert_eq!(of(&ends), expected, "{ends:?}");
        }
        // One place that ran unseen hides the total.
        let absent = [
            vec![totals(3, 5, 5), totals(0, 5, 0)],
            vec![totals(3, 5, 5), Sample::Unread],
            vec![Sample::Absent],
            vec![],
        ];
        for ends in absent {
            assert!(matches!(of(&ends), Outcome::NotScheduled { .. }), "{ends:?}");
        }
        assert!(matches!(of(&[zero, Sample::Fault(Fault::Dead)]), Outcome::Dead { .. }));
    }

    proptest! {
        #[test]
        fn the_short_way_finds_what_the_long_one_does(
            count in any::<(u64, u64)>(), times in prop::array::uniform4(0_u64..4),
        ) {
            let start = Totals { count: count.0, enabled_ns: times[0], running_ns: times[1] };
            let end = Totals { count: count.1, enabled_ns: times[2], running_ns: times[3] };
            let long = match outcome(Sample::Taken(start), Sample::Taken(end), PMU) {
                Outcome::Counted { count } => Some(count),
                _ => None,
            };
            prop_assert_eq!(whole_count(&start, &end), long);
        }

        #[test]
        fn never_a_count_without_running_time(a in any::<(u64, u64, u64)>(), b in any::<(u64, u64, u64)>()) {
            let outcome = outcome(totals(a.0, a.1, a.2), totals(b.0, b.1, b.2), PMU);
            if b.2 <= a.2 || b.1 <= a.1 {
                let absent = matches!(outcome, Outcome::NotScheduled { .. });
                prop_assert!(absent);
            }
        }

        #[test]
        fn nothing_ran_is_never_zero(a in any::<(u64, u64)>(), b in any::<(u64, u64)>(), running in any::<u64>()) {
            let outcome = outcome(totals(a.0, a.1, running), totals(b.0, b.1, running), PMU);
            let absent = matches!(outcome, Outcome::NotScheduled { .. });
            prop_assert!(absent);
        }

        /// q = ⌊count × enabled ÷ running⌋ exactly when q × running ≤ count × enabled < (q + 1) × running.
        #[test]
        fn the_estimate_is_the_exact_quotient(
            count in any::<u64>(),
            enabled in 2..=u64::MAX,
            share in any::<prop::sample::Index>(),
        ) {
            let running = 1 + share.index((enabled - 1).min(usize::MAX as u64) as usize) as u64;
            let Outcome::Scaled { count: estimate, running: shown } =
                outcome(totals(0, 0, 0), totals(count, enabled, running), PMU)
            else {
                return Err(TestCaseError::fail("not scaled"));
            };
            prop_assert!(shown > 0.0 && shown <= 1.0);
            let (product, running) = (u128::from(count) * u128::from(enabled), u128::from(running));
            if estimate < u64::MAX {
                let estimate = u128::from(estimate);
                prop_assert!(estimate * running <= product);
                prop_assert!(product - estimate * running < running);
            } else {
                prop_assert!(product / running >= u128::from(u64::MAX));
            }
        }
    }
}
