//! What happened when: the measured phase cut into intervals.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::completion::{Completion, Outcome};
use crate::histogram::MAX_LATENCY_NS;
use crate::phases::Phases;

/// Shortest interval, in nanoseconds: shorter ones hold too few requests to show a quantile.
pub const MIN_INTERVAL_NS: u64 = 100_000_000;
/// Most intervals in one run: bounds the memory (20 KiB each per thread).
pub const MAX_INTERVALS: u64 = 120;

/// Intervals of equal length over the measured phase; all memory allocated at creation.
///
/// Latency is attributed to the interval of the *intended arrival*, so that a stall shows where it
/// hit; completions are counted in the interval in which they happened.
#[derive(Clone, Debug)]
pub struct Timeline {
    phases: Phases,
    interval_ns: u64,
    intervals: Vec<IntervalCounts>,
    /// Warm-up requests scheduled minus those that ended before the measured phase.
    open_at_start: i64,
}

#[derive(Clone, Debug)]
struct IntervalCounts {
    offered: u64,
    completed: u64,
    ended: u64,
    /// Two significant digits: read as a curve, not as a table.
    sojourn: Histogram<u32>,
}

/// One interval, read out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalView {
    /// Start, in nanoseconds since the start of the measured phase.
    pub start_ns: u64,
    /// Length in nanoseconds (the last one may be shorter).
    pub length_ns: u64,
    /// Requests whose intended arrival lies in the interval.
    pub offered: u64,
    /// Requests answered well during the interval, whenever they arrived.
    pub completed: u64,
    /// Requests open at the interval's end, warm-up included.
    pub in_flight: u64,
    /// Median sojourn time in nanoseconds of the answered requests that arrived in the interval.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same; null under 100 requests.
    pub p99_ns: Option<u64>,
}

impl Timeline {
    /// An empty timeline for these phases.
    ///
    /// # Panics
    ///
    /// Never: the histogram bounds are constants that HdrHistogram accepts.
    pub fn new(phases: Phases) -> Self {
        let measured_ns = phases.measured_ns();
        let interval_ns = Self::interval_for(measured_ns);
        let sojourn = Histogram::new_with_bounds(1, MAX_LATENCY_NS, 2).expect("constant bounds are valid");
        let empty = IntervalCounts { offered: 0, completed: 0, ended: 0, sojourn };
        let count = usize::try_from(measured_ns.div_ceil(interval_ns)).unwrap_or(0);
        Self { phases, interval_ns, intervals: vec![empty; count], open_at_start: 0 }
    }

    /// Interval length for a measured phase of `measured_ns`, in nanoseconds: the shortest multiple
    /// of [`MIN_INTERVAL_NS`] that needs no more than [`MAX_INTERVALS`].
    pub fn interval_for(measured_ns: u64) -> u64 {
        measured_ns.div_ceil(MAX_INTERVALS).div_ceil(MIN_INTERVAL_NS).max(1) * MIN_INTERVAL_NS
    }

    /// Interval length in nanoseconds.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Counts a request that the schedule asked for.
    #[inline]
    pub fn offer(&mut self, intended_ns: u64) {
        if intended_ns < self.phases.measure_ns {
            self.open_at_start += 1;
        } else if let Some(interval) = self.slot(intended_ns) {
            interval.offered += 1;
        }
    }

    /// Counts an ended request.
    #[inline]
    pub fn end(&mut self, completion: &Completion) {
        // A request that the run's end overtook stays open: nothing has ended but the looking.
        if completion.outcome == Outcome::Unfinished {
            return;
        }
        let is_ok = matches!(completion.outcome, Outcome::Ok(_));
        if completion.ended_ns < self.phases.measure_ns {
            self.open_at_start -= 1;
        } else if let Some(interval) = self.slot(completion.ended_ns) {
            interval.ended += 1;
            interval.completed += u64::from(is_ok);
        }
        if is_ok && let Some(interval) = self.slot(completion.intended_ns) {
            interval.sojourn.saturating_record(completion.sojourn_ns());
        }
    }

    #[inline]
    fn slot(&mut self, at_ns: u64) -> Option<&mut IntervalCounts> {
        if at_ns >= self.phases.end_ns {
            return None;
        }
        let offset_ns = at_ns.checked_sub(self.phases.measure_ns)?;
        self.intervals.get_mut((offset_ns / self.interval_ns) as usize)
    }

    /// Ends the measured phase early: what is answered from `now_ns` on is not its throughput.
    pub fn cut_at(&mut self, now_ns: u64) {
        self.phases = self.phases.cut_at(now_ns);
    }

    /// Adds another thread's timeline of the same phases.
    ///
    /// # Panics
    ///
    /// Never: all timeline histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.open_at_start += other.open_at_start;
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.offered += theirs.offered;
            mine.completed += theirs.completed;
            mine.ended += theirs.ended;
            mine.sojourn.add(&theirs.sojourn).expect("equal bounds always add");
        }
    }

    /// The intervals that begin before the measured phase's (possibly cut) end.
    pub fn view(&self, phases: Phases) -> Vec<IntervalView> {
        let mut in_flight = self.open_at_start;
        let mut views = Vec::with_capacity(self.intervals.len());
        for (interval, start_ns) in self.intervals.iter().zip((0_u64..).step_by(self.interval_ns as usize)) {
            in_flight += interval.offered as i64 - interval.ended as i64;
            if start_ns >= phases.measured_ns() {
                break;
            }
            let known = interval.sojourn.len();
            let quantile = |q, needed| (known >= needed).then(|| interval.sojourn.value_at_quantile(q));
            views.push(IntervalView {
                start_ns,
                length_ns: self.interval_ns.min(phases.measured_ns() - start_ns),
                offered: interval.offered,
                completed: interval.completed,
                in_flight: u64::try_from(in_flight).unwrap_or(0),
                p50_ns: quantile(0.5, 1),
                p99_ns: quantile(0.99, 100),
            });
        }
        views
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::Reply;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn answered(intended_ns: u64, ended_ns: u64) -> Completion {
        Completion { intended_ns, sent_ns: Some(intended_ns), ended_ns, outcome: Outcome::Ok(Reply::Hit) }
    }

    #[test]
    fn intervals_never_exceed_their_number_nor_fall_below_their_length() {
        assert_eq!(Timeline::interval_for(2_000 * MS), 100 * MS);
        assert_eq!(Timeline::interval_for(60_000 * MS), 500 * MS);
        assert_eq!(Timeline::interval_for(60_001 * MS), 600 * MS);
        assert_eq!(Timeline::interval_for(0), 100 * MS);
    }

    #[test]
    fn latency_goes_to_the_arrival_and_completions_to_their_own_time() {
        let phases = Phases::new(0, Duration::from_millis(100), Duration::from_millis(300));
        let mut timeline = Timeline::new(phases);
        for (intended, ended) in [(50, 120), (110, 350), (210, 220)] {
            timeline.offer(intended * MS);
            timeline.end(&answered(intended * MS, ended * MS));
        }
        let view = timeline.view(phases);
        let counts: Vec<_> = view.iter().map(|i| (i.offered, i.completed, i.in_flight)).collect();
        assert_eq!(counts, [(1, 1, 1), (1, 1, 1), (0, 1, 0)]);
        assert!(view[0].p50_ns.is_some_and(|p50| p50.abs_diff(240 * MS) < 3 * MS), "{view:?}");
        assert_eq!(view[2].p50_ns, None);
    }

    #[test]
    fn answers_after_the_measured_phase_are_not_its_throughput() {
        // 150 ms: the second interval is only half as long as the first.
        let phases = Phases::new(0, Duration::ZERO, Duration::from_millis(150));
        let mut timeline = Timeline::new(phases);
        timeline.offer(140 * MS);
        timeline.end(&answered(140 * MS, 160 * MS));
        let last = timeline.view(phases)[1];
        assert_eq!((last.length_ns, last.offered, last.completed, last.in_flight), (50 * MS, 1, 0, 1));
        assert!(last.p50_ns.is_some(), "its latency still belongs to the interval of its arrival");
    }

    #[test]
    fn a_cut_run_shows_only_what_it_measured() {
        let phases = Phases::new(0, Duration::ZERO, Duration::from_millis(1_000));
        let mut timeline = Timeline::new(phases);
        timeline.offer(230 * MS);
        timeline.cut_at(250 * MS);
        timeline.end(&answered(230 * MS, 260 * MS));
        let view = timeline.view(phases.cut_at(250 * MS));
        assert_eq!(view.len(), 3);
        let last = view[2];
        assert_eq!((last.length_ns, last.offered, last.completed, last.in_flight), (50 * MS, 1, 0, 1));
    }
}
