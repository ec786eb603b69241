//! Two states of a counter → what it counted between them.
//!
//! Only differences are scaled. Scaling the two totals and subtracting would be wrong: the share of time in
//! which the counter runs changes, and the difference of two estimates can even be negative.

use crate::layout::Fault;
use crate::names::EventKind;
use crate::reading::Outcome;
use crate::snapshot::{Sample, Totals};

/// What decides the wording of a reason beside the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) kind: EventKind,
    /// Whether counting was ever started.
    pub(crate) enabled: bool,
}

/// The outcome of the interval from `start` to `end`.
pub(crate) fn outcome(start: Sample, end: Sample, context: Context) -> Outcome {
    match (start, end) {
        (Sample::Taken(start), Sample::Taken(end)) => between(start, end, context),
        (Sample::Fault(fault), _) | (_, Sample::Fault(fault)) => read_fault(fault),
        (Sample::Unread, _) | (_, Sample::Unread) => {
            not_scheduled("a snapshot of this interval was not read: read both of them")
        }
    }
}

fn between(start: Totals, end: Totals, context: Context) -> Outcome {
    let times = (end.enabled_ns.checked_sub(start.enabled_ns), end.running_ns.checked_sub(start.running_ns));
    let (Some(enabled), Some(running)) = times else {
        return not_scheduled("the interval ends before it starts: give the earlier snapshot first");
    };
    if enabled == 0 {
        return not_scheduled(if context.enabled {
            "the thread did not run in the interval: choose a longer one"
        } else {
            "the counters are not enabled: enable them before the interval"
        });
    }
    if running == 0 {
        return not_scheduled(if context.kind.needs_pmu() {
            "the PMU had no free counter in the interval: count fewer events, stop other profilers, \
             or `sysctl kernel.nmi_watchdog=0`"
        } else {
            "the kernel did not schedule the counter in the interval: choose a longer one"
        });
    }
    // The kernel's value is modulo 2^64.
    let count = end.count.wrapping_sub(start.count);
    if running >= enabled {
        return Outcome::Counted { count };
    }
    Outcome::Scaled { count: scale(count, enabled, running), running: running as f64 / enabled as f64 }
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
            return not_scheduled(
                "the kernel stopped the group for want of counters (it read 0 bytes): count fewer events",
            );
        }
        Fault::Length { got, want } => {
            format!("the kernel gave {got} bytes for a group of {want}: not the documented layout; report it")
        }
        Fault::Members { got, want } => {
            format!(
                "the kernel speaks of {got} members in a group of {want}: not the documented layout; report it"
            )
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

    const PMU: Context = Context { kind: EventKind::Hardware, enabled: true };

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
        let software = Context { kind: EventKind::Software, ..PMU };
        let cases = [
            (totals(1, 5, 5), totals(1, 5, 5), PMU, "did not run"),
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
                Outcome::NotScheduled { reason } | Outcome::Unsupported { reason } => {
                    assert!(reason.contains(words) && reason.contains(':'), "{reason}");
                    assert!(!reason.contains('\n'), "{reason}");
                }
                other => panic!("{words}: {other:?}"),
            }
        }
    }

    proptest! {
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
