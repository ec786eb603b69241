//! A script of stalls: a server that freezes at known instants.

use std::time::Duration;

use tailcore_harness::phases::as_ns;

/// Freezes of equal length at the end of every period.
///
/// The known truth against which a latency tool can be held: arrivals that hit a freeze of length D
/// wait uniformly between 0 and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallScript {
    period_ns: u64,
    stall_ns: u64,
}

impl StallScript {
    /// Freezes for `stall` in every `period`. `None` if the stall is empty or fills the period.
    pub fn new(period: Duration, stall: Duration) -> Option<Self> {
        let (period_ns, stall_ns) = (as_ns(period), as_ns(stall));
        (stall_ns > 0 && stall_ns < period_ns).then_some(Self { period_ns, stall_ns })
    }

    /// The first instant at or after `at_ns` that is not frozen.
    pub fn thaw_ns(&self, at_ns: u64) -> u64 {
        let in_period = at_ns % self.period_ns;
        if in_period < self.period_ns - self.stall_ns { at_ns } else { at_ns - in_period + self.period_ns }
    }

    /// When work of `work_ns` that starts at `start_ns` is done: it rests while frozen.
    pub fn finish_ns(&self, start_ns: u64, work_ns: u64) -> u64 {
        let awake_ns = self.period_ns - self.stall_ns;
        let start_ns = self.thaw_ns(start_ns);
        let until_freeze_ns = awake_ns - start_ns % self.period_ns;
        if work_ns <= until_freeze_ns {
            return start_ns + work_ns;
        }
        let rest_ns = work_ns - until_freeze_ns;
        let freezes = rest_ns.div_ceil(awake_ns);
        start_ns + work_ns + freezes * self.stall_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn script(period: u64, stall: u64) -> StallScript {
        StallScript::new(Duration::from_nanos(period), Duration::from_nanos(stall)).unwrap()
    }

    #[test]
    fn a_stall_must_leave_time_to_work() {
        let ns = Duration::from_nanos;
        assert_eq!(StallScript::new(ns(10), ns(10)), None);
        assert_eq!(StallScript::new(ns(10), ns(0)), None);
    }

    #[test]
    fn work_rests_while_frozen() {
        let script = script(10, 3); // works 0..7, frozen 7..10
        assert_eq!((script.thaw_ns(6), script.thaw_ns(7), script.thaw_ns(19)), (6, 10, 20));
        assert_eq!(script.finish_ns(0, 7), 7);
        assert_eq!(script.finish_ns(0, 8), 11);
        assert_eq!(script.finish_ns(8, 1), 11);
        assert_eq!(script.finish_ns(5, 2 + 7 + 1), 5 + 10 + 6);
    }

    proptest! {
        #[test]
        fn finishing_agrees_with_ticking(start in 0_u64..40, work in 1_u64..60, stall in 1_u64..9) {
            let script = script(10, stall);
            let (mut now, mut left) = (start, work);
            while left > 0 {
                if script.thaw_ns(now) == now {
                    left -= 1;
                }
                now += 1;
            }
            prop_assert_eq!(script.finish_ns(start, work), now);
        }
    }
}
