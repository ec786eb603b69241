//! The state of all counters of a thread at one moment.

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
    Unread,
    Taken(Totals),
    Fault(Fault),
}

/// The state of all counters of a thread at one moment; made by
/// [`Counters::snapshot`](crate::Counters::snapshot).
///
/// It is memory to read into, over and over. Two of them make an [interval](crate::Counters::interval).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// One per event, in the order of the events.
    samples: Vec<Sample>,
}

impl Snapshot {
    pub(crate) fn unread(events: usize) -> Snapshot {
        Snapshot { samples: vec![Sample::Unread; events] }
    }

    /// The running totals of the event at `index` of [`Counters::events`](crate::Counters::events).
    ///
    /// `None`: the event is not open, its last read failed, or this snapshot was never read into. This is for
    /// adding up differences where nothing may allocate. A difference of `count` alone is neither scaled
    /// nor checked: use [`Counters::interval`](crate::Counters::interval) if unsure.
    pub fn totals(&self, index: usize) -> Option<Totals> {
        match self.get(index) {
            Sample::Taken(totals) => Some(totals),
            Sample::Unread | Sample::Fault(_) => None,
        }
    }

    pub(crate) fn get(&self, index: usize) -> Sample {
        self.samples.get(index).copied().unwrap_or(Sample::Unread)
    }

    pub(crate) fn set(&mut self, index: usize, sample: Sample) {
        if let Some(slot) = self.samples.get_mut(index) {
            *slot = sample;
        }
    }
}
