//! What all events of a measurement counted, summed over its intervals.

use std::cell::RefCell;
use std::rc::Rc;

use super::{State, count};
use crate::counters::Counters;
use crate::reading::{Outcome, Reading};
use crate::snapshot::Snapshot;

/// What all events of a [`CounterMeasurement`](super::CounterMeasurement) counted.
///
/// It stays when criterion has taken the measurement.
#[derive(Debug, Clone)]
pub struct Tally(Rc<RefCell<State>>);

impl Tally {
    pub(super) fn new(state: Rc<RefCell<State>>) -> Tally {
        Tally(state)
    }

    /// What was counted in all intervals since the last call: one reading per event, the value first.
    ///
    /// Criterion's warm-up is included, because it measures then as well. So take the sums as ratios: cycles
    /// per instruction, or misses per iteration as misses ÷ value × criterion's value. An event which did not
    /// count in one of the intervals has that reason in place of a sum.
    #[must_use]
    pub fn take(&self) -> Vec<Reading> {
        let State { own, start, end, totals } = &mut *self.0.borrow_mut();
        let mut readings = own.interval(start, end);
        for (reading, total) in readings.iter_mut().zip(&mut totals.0) {
            reading.outcome = std::mem::take(total).outcome();
        }
        readings
    }
}

/// One sum per event.
#[derive(Debug)]
pub(super) struct Totals(Vec<Total>);

#[derive(Debug, Default)]
struct Total {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
    /// The first reason why there is no sum.
    absence: Option<Outcome>,
}

impl Totals {
    pub(super) fn new(events: usize) -> Totals {
        Totals((0..events).map(|_| Total::default()).collect())
    }

    /// Adds the interval from `start` to `end`.
    pub(super) fn add(&mut self, counters: &Counters, start: &Snapshot, end: &Snapshot) {
        for (index, total) in self.0.iter_mut().enumerate() {
            if total.absence.is_none() {
                total.add(counters.outcome(index, start, end), (start, end), index);
            }
        }
    }
}

impl Total {
    fn add(&mut self, outcome: Outcome, (start, end): (&Snapshot, &Snapshot), index: usize) {
        let (Some(count), Some(start), Some(end)) = (count(&outcome), start.totals(index), end.totals(index))
        else {
            self.absence = Some(outcome);
            return;
        };
        self.count = self.count.saturating_add(count);
        self.enabled_ns = self.enabled_ns.saturating_add(end.enabled_ns.saturating_sub(start.enabled_ns));
        self.running_ns = self.running_ns.saturating_add(end.running_ns.saturating_sub(start.running_ns));
    }

    fn outcome(self) -> Outcome {
        let Total { count, enabled_ns, running_ns, absence } = self;
        match absence {
            Some(absence) => absence,
            None if enabled_ns == 0 => {
                Outcome::NotScheduled { reason: "no interval was measured: run a bench first".to_owned() }
            }
            None if running_ns >= enabled_ns => Outcome::Counted { count },
            None => Outcome::Scaled { count, running: running_ns as f64 / enabled_ns as f64 },
        }
    }
}
