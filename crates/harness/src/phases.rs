//! The phases of a run: warm-up, measure, drain.

use std::time::Duration;

/// Bounds of the measured phase, in nanoseconds since the run's origin.
///
/// A request belongs to the phase in which its *intended arrival* lies, however late it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// First instant of the warm-up: the schedule's zero.
    pub start_ns: u64,
    /// First instant of the measured phase.
    pub measure_ns: u64,
    /// First instant after the measured phase: no arrivals from here on.
    pub end_ns: u64,
}

impl Phases {
    /// Phases of a run that starts at `start_ns`.
    pub fn new(start_ns: u64, warmup: Duration, measure: Duration) -> Self {
        let measure_ns = start_ns.saturating_add(as_ns(warmup));
        Self { start_ns, measure_ns, end_ns: measure_ns.saturating_add(as_ns(measure)) }
    }

    /// Length of the measured phase in nanoseconds.
    pub fn measured_ns(&self) -> u64 {
        self.end_ns - self.measure_ns
    }

    /// Whether an arrival intended at `intended_ns` is measured.
    #[inline]
    pub fn is_measured(&self, intended_ns: u64) -> bool {
        (self.measure_ns..self.end_ns).contains(&intended_ns)
    }

    /// The same phases, ended at `now_ns` because the run was cut short.
    pub fn cut_at(self, now_ns: u64) -> Self {
        Self { end_ns: self.end_ns.min(now_ns.max(self.measure_ns)), ..self }
    }
}

/// A duration in nanoseconds, saturating after 584 years.
pub fn as_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_belong_to_the_phase_of_their_intended_instant() {
        let phases = Phases::new(100, Duration::from_nanos(50), Duration::from_nanos(200));
        assert!(!phases.is_measured(149));
        assert!(phases.is_measured(150));
        assert!(phases.is_measured(349));
        assert!(!phases.is_measured(350));
    }

    #[test]
    fn a_cut_in_the_warm_up_leaves_an_empty_measured_phase() {
        let phases = Phases::new(0, Duration::from_nanos(50), Duration::from_nanos(200));
        assert_eq!(phases.cut_at(20).measured_ns(), 0);
        assert_eq!(phases.cut_at(150).measured_ns(), 100);
        assert_eq!(phases.cut_at(900), phases);
    }
}
