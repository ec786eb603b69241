//! Time as nanoseconds since a run's origin, read from the hardware or turned by hand.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Source of time for everything that measures.
///
/// Logic that takes its time from a `Clock` runs unchanged under [`ManualClock`], so that what
/// queueing theory predicts can be checked exactly and without waiting.
pub trait Clock {
    /// Nanoseconds since this clock's origin; never decreases.
    fn now_ns(&self) -> u64;

    /// Lets time pass because the caller has nothing to do before `deadline_ns`.
    ///
    /// May return early (a real clock returns almost at once, so that the caller can poll its
    /// sockets); never lets time run beyond `deadline_ns` on purpose.
    fn relax_until(&self, deadline_ns: u64);
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }

    fn relax_until(&self, deadline_ns: u64) {
        (**self).relax_until(deadline_ns);
    }
}

/// What a thread with nothing due does with its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Spins: lowest lateness, costs a whole logical CPU. Advice: where each thread has its own CPU.
    Spin,
    /// Offers the CPU to other threads on each turn (`sched_yield(2)`): late by whatever runs
    /// instead. Advice: only where threads must share a CPU, else a spinning client starves its server.
    Yield,
}

/// The machine's monotonic clock: the calibrated time-stamp counter where that is invariant,
/// `CLOCK_MONOTONIC` elsewhere (`quanta` decides).
///
/// Clones share the origin, so timestamps taken by different threads compare.
#[derive(Clone, Debug)]
pub struct MonotonicClock {
    source: quanta::Clock,
    origin_raw: u64,
    origin: Instant,
    idle: Idle,
}

impl MonotonicClock {
    /// Starts a clock whose origin is now. The first call in a process calibrates for up to 200 ms.
    pub fn start(idle: Idle) -> Self {
        let source = quanta::Clock::new();
        let origin = Instant::now();
        let origin_raw = source.raw();
        Self { source, origin_raw, origin, idle }
    }

    /// Drift of this clock against `CLOCK_MONOTONIC` since its origin, in parts per million.
    ///
    /// `None` before a millisecond has passed: the quotient would be noise.
    pub fn drift_ppm(&self) -> Option<f64> {
        let reference = self.origin.elapsed();
        if reference < Duration::from_millis(1) {
            return None;
        }
        let here = self.now_ns() as f64;
        Some((here / reference.as_nanos() as f64 - 1.0) * 1e6)
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.source.delta_as_nanos(self.origin_raw, self.source.raw())
    }

    #[inline]
    fn relax_until(&self, _deadline_ns: u64) {
        match self.idle {
            Idle::Spin => std::hint::spin_loop(),
            Idle::Yield => std::thread::yield_now(),
        }
    }
}

/// A clock that stands still until it is told otherwise: simulations and tests.
///
/// Waiting on it jumps straight to the deadline.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ns: Cell<u64>,
}

impl ManualClock {
    /// Stands at 0 ns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let by_ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.now_ns.set(self.now_ns.get().saturating_add(by_ns));
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn relax_until(&self, deadline_ns: u64) {
        self.now_ns.set(self.now_ns.get().max(deadline_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_jumps_to_deadlines_and_never_back() {
        let clock = ManualClock::new();
        clock.relax_until(500);
        clock.relax_until(100);
        clock.advance(Duration::from_nanos(7));
        assert_eq!(clock.now_ns(), 507);
    }

    #[test]
    fn clones_of_the_monotonic_clock_share_their_origin() {
        let clock = MonotonicClock::start(Idle::Spin);
        let first = clock.now_ns();
        let other = clock.clone().now_ns();
        assert!(other >= first, "a clone read {other} ns after {first} ns");
    }
}
