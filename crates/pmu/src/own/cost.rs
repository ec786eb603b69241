//! What reading the counters costs, in time and in counts.

use std::time::Instant;

use crate::snapshot::Snapshot;

/// Enough for a stable median; together with [`PAIRS`] a few hundred reads.
const BATCHES: usize = 32;
/// Reads per batch are two per pair: several, because looking at the time takes as long as a fast read.
const PAIRS: usize = 4;

/// What reading all counters costs, by the way of reading them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReadCosts {
    /// [`OwnCounters::read`](crate::OwnCounters::read) as it is: from user space where that works.
    pub chosen: ReadCost,
    /// All groups by read(2).
    pub system_call: ReadCost,
}

/// What one read of all counters costs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReadCost {
    /// The shortest time, ns.
    pub minimum_ns: f64,
    /// The median, ns.
    pub median_ns: f64,
    /// What an interval without any work counts, per event in the order of the events: the end of its first
    /// read and the start of its second one. The smallest count that was seen, unscaled.
    ///
    /// Subtract it from the count of an interval to get that of the work alone, where counts are small enough
    /// to matter. `None`: the event did not count.
    pub counts: Vec<Option<u64>>,
}

/// Measures `read`, which fills `snapshots` of that many `events`.
pub(super) fn measure(
    snapshots: &mut (Snapshot, Snapshot),
    events: usize,
    mut read: impl FnMut(&mut Snapshot),
) -> ReadCost {
    let (start, end) = snapshots;
    let mut counts = vec![None; events];
    let mut times_ns = [0.0; BATCHES];
    for time_ns in &mut times_ns {
        let begun = Instant::now();
        for _ in 0..PAIRS {
            read(start);
            read(end);
        }
        *time_ns = begun.elapsed().as_nanos() as f64 / (2 * PAIRS) as f64;
        for (event, least) in counts.iter_mut().enumerate() {
            let count = counted(start, end, event);
            *least = [*least, count].into_iter().flatten().min();
        }
    }
    times_ns.sort_by(f64::total_cmp);
    ReadCost { minimum_ns: times_ns[0], median_ns: times_ns[BATCHES / 2], counts }
}

/// The count between two reads, if the counter ran.
fn counted(start: &Snapshot, end: &Snapshot, event: usize) -> Option<u64> {
    let (start, end) = (start.totals(event)?, end.totals(event)?);
    (end.running_ns > start.running_ns).then(|| end.count.wrapping_sub(start.count))
}
