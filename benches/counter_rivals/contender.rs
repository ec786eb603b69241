//! A way of reading the eight events.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::events::{FAULTS, NAMES, TASK_CLOCK};

/// The values of all events, in their order.
pub(crate) type Values = [u64; NAMES.len()];

/// A way of reading that can be timed.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Reads so often and gives the time and the last values.
    read: Box<dyn FnMut(u32) -> (Duration, Values)>,
}

impl Contender {
    pub(crate) fn new(name: &'static str, mut read: impl FnMut() -> Values + 'static) -> Contender {
        let read = move |times| {
            let mut values = [0; NAMES.len()];
            let begun = Instant::now();
            for _ in 0..times {
                values = black_box(read());
            }
            (begun.elapsed(), values)
        };
        Contender { name, read: Box::new(read) }
    }

    /// The time of one of `reads`, ns.
    pub(crate) fn time_ns(&mut self, reads: u32) -> f64 {
        (self.read)(reads).0.as_nanos() as f64 / f64::from(reads)
    }

    /// A fast wrong result is no result: the clock runs, and touching memory makes page faults.
    pub(crate) fn check(&mut self) {
        let (_, before) = (self.read)(1);
        let mut fresh = Vec::<u8>::with_capacity(64 << 20);
        fresh.spare_capacity_mut().chunks_mut(4096).for_each(|page| {
            page[0].write(1);
        });
        black_box(&mut fresh);
        let (_, after) = (self.read)(1);
        for event in [TASK_CLOCK, FAULTS] {
            assert!(after[event] > before[event], "{}: {}: {before:?} {after:?}", self.name, NAMES[event]);
        }
        assert!(
            after.iter().zip(&before).all(|(after, before)| after >= before),
            "{}: {before:?} {after:?}",
            self.name
        );
    }
}
