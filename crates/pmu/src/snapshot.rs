//! The state of all counters at one moment.

use std::sync::Arc;

use crate::layout::Fault;

/// The running totals of one counter since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// How often the event happened while the counter ran.
    pub count: u64,
    /// How long the counter was enabled while its thread was on a CPU, ns.
    pub enabled_ns: u64,
    /// How long of that it counted, ns; less than `enabled_ns` where counters are time-shared.
    pub running_ns: u64,
}

/// The state of one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// There is no such counter, and the event does without it.
    Absent,
    Unread,
    Taken(Totals),
    Fault(Fault),
}

impl Sample {
    /// The counters of two core types at one place as one: a thread runs on one of them at a time, so counts
    /// and running times add up, and each was enabled all the time.
    ///
    /// They are read one after the other; the shorter time is the one that both have seen.
    fn on_one_place(self, other: Sample) -> Sample {
        match (self, other) {
            (Sample::Absent, sample) | (sample, Sample::Absent) => sample,
            (Sample::Taken(one), Sample::Taken(two)) => Sample::Taken(Totals {
                count: one.count.wrapping_add(two.count),
                enabled_ns: one.enabled_ns.min(two.enabled_ns),
                running_ns: one.running_ns.saturating_add(two.running_ns),
            }),
            (Sample::Fault(fault), _) | (_, Sample::Fault(fault)) => Sample::Fault(fault),
            (Sample::Unread, _) | (_, Sample::Unread) => Sample::Unread,
        }
    }
}

/// The counters of one event: for each place, one per encoding, from `first` on in the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) first: usize,
    pub(crate) places: usize,
    pub(crate) encodings: usize,
}

impl Parts {
    pub(crate) fn contains(&self, part: usize) -> bool {
        (self.first..self.first + self.places * self.encodings).contains(&part)
    }
}

/// The state of all counters at one moment; made by [`Counters::snapshot`](crate::Counters::snapshot).
///
/// It is memory to read into, over and over. Two of them make an [interval](crate::Counters::interval).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// One per counter.
    samples: Vec<Sample>,
    /// One per event, in the order of the events.
    parts: Arc<[Parts]>,
}

impl Snapshot {
    /// Memory for counters that are in the state `samples`, [`Sample::Absent`] or [`Sample::Unread`].
    pub(crate) fn new(samples: Vec<Sample>, parts: Arc<[Parts]>) -> Snapshot {
        Snapshot { samples, parts }
    }

    /// The running totals of the event at `index` of [`Counters::events`](crate::Counters::events), over all
    /// threads or CPUs that are counted.
    ///
    /// `None`: the event is not open, its last read failed, or this snapshot was never read into. This is for
    /// adding up differences where nothing may allocate. A difference of `count` alone is neither scaled
    /// nor checked: use [`Counters::interval`](crate::Counters::interval) if unsure.
    #[inline]
    pub fn totals(&self, index: usize) -> Option<Totals> {
        match self.only(index) {
            Some(Sample::Taken(totals)) => Some(*totals),
            _ => self.sum(index),
        }
    }

    /// The state of the event at `index` if it has one counter, as most have: without the loop, which takes
    /// longer than all the rest.
    #[inline]
    pub(crate) fn only(&self, index: usize) -> Option<&Sample> {
        let parts = self.parts.get(index)?;
        if parts.places * parts.encodings == 1 { self.samples.get(parts.first) } else { None }
    }

    fn sum(&self, index: usize) -> Option<Totals> {
        let mut sum = None;
        for sample in self.places(index) {
            match (sample, &mut sum) {
                (Sample::Absent, _) => {}
                (Sample::Unread | Sample::Fault(_), _) => return None,
                (Sample::Taken(totals), None) => sum = Some(totals),
                (Sample::Taken(totals), Some(sum)) => {
                    sum.count = sum.count.wrapping_add(totals.count);
                    sum.enabled_ns = sum.enabled_ns.saturating_add(totals.enabled_ns);
                    sum.running_ns = sum.running_ns.saturating_add(totals.running_ns);
                }
            }
        }
        sum
    }

    /// The state of the event at `index`, place by place.
    pub(crate) fn places(&self, index: usize) -> impl Iterator<Item = Sample> + '_ {
        let parts = self.parts.get(index).copied().unwrap_or(Parts { first: 0, places: 0, encodings: 1 });
        (0..parts.places).map(move |place| {
            let first = parts.first + place * parts.encodings;
            let samples = self.samples.get(first..first + parts.encodings).unwrap_or_default();
            samples.iter().copied().fold(Sample::Absent, Sample::on_one_place)
        })
    }

    #[inline]
    pub(crate) fn set(&mut self, part: usize, sample: Sample) {
        if let Some(slot) = self.samples.get_mut(part) {
            *slot = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(count: u64, enabled_ns: u64, running_ns: u64) -> Sample {
        Sample::Taken(Totals { count, enabled_ns, running_ns })
    }

    /// Two places with two core types each.
    fn snapshot(samples: [Sample; 4]) -> Snapshot {
        Snapshot::new(samples.to_vec(), [Parts { first: 0, places: 2, encodings: 2 }].into())
    }

    #[test]
    fn core_types_share_the_time_and_places_add_it_up() {
        let both = snapshot([taken(1, 10, 4), taken(2, 10, 6), taken(3, 5, 5), taken(0, 5, 0)]);
        assert_eq!(both.places(0).collect::<Vec<_>>(), [taken(3, 10, 10), taken(3, 5, 5)]);
        assert_eq!(both.totals(0), Some(Totals { count: 6, enabled_ns: 15, running_ns: 15 }));
        assert_eq!(both.totals(1), None);
    }

    #[test]
    fn a_missing_core_type_leaves_its_share_of_time_open() {
        let one = snapshot([taken(1, 10, 4), Sample::Absent, Sample::Absent, Sample::Absent]);
        assert_eq!(one.places(0).collect::<Vec<_>>(), [taken(1, 10, 4), Sample::Absent]);
        assert_eq!(one.totals(0), Some(Totals { count: 1, enabled_ns: 10, running_ns: 4 }));
    }

    #[test]
    fn one_bad_counter_spoils_the_total() {
        for bad in [Sample::Unread, Sample::Fault(Fault::Dead)] {
            let spoiled = snapshot([taken(1, 10, 4), taken(2, 10, 6), taken(3, 5, 5), bad]);
            assert_eq!(spoiled.places(0).collect::<Vec<_>>(), [taken(3, 10, 10), bad]);
            assert_eq!(spoiled.totals(0), None);
        }
    }
}
