//! The thread that watches a run: counters at interval boundaries, progress, the early end.

use std::time::Duration;

use tailcore_harness::counters::IntervalDeltas;
use tailcore_harness::{Clock, MonotonicClock, Phases, ThreadReport, ThreadWatch, Timeline};

use crate::session::Progress;

/// Interval between two looks at the run while nothing else is due.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What every thread's counters gained in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSample {
    /// When they were read, in nanoseconds on the run's clock.
    pub read_ns: u64,
    /// Deltas per thread.
    pub deltas: Vec<IntervalDeltas>,
}

/// Reads the counters of all threads of a run on the run's clock.
#[derive(Debug)]
pub struct Coordinator {
    clock: MonotonicClock,
    phases: Phases,
    interval_ns: u64,
    watches: Vec<ThreadWatch>,
    samples: Vec<CounterSample>,
    has_started: bool,
}

impl Coordinator {
    /// A coordinator of the threads whose counters `watches` hold.
    pub fn new(clock: MonotonicClock, phases: Phases, watches: Vec<ThreadWatch>) -> Self {
        let interval_ns = Timeline::interval_for(phases.measured_ns());
        Self { clock, phases, interval_ns, watches, samples: Vec::new(), has_started: false }
    }

    /// Watches until `is_over` says that the threads are done, telling `progress` on the way.
    pub fn watch(&mut self, mut is_over: impl FnMut() -> bool, progress: &mut dyn FnMut(Progress)) {
        loop {
            let now_ns = self.clock.now_ns();
            self.sample_if_due(now_ns);
            progress(Progress {
                elapsed: Duration::from_nanos(
                    now_ns.clamp(self.phases.start_ns, self.phases.end_ns) - self.phases.start_ns,
                ),
                total: Duration::from_nanos(self.phases.end_ns - self.phases.start_ns),
            });
            if is_over() {
                // An early end leaves a last, shorter interval.
                self.sample_the_rest(now_ns);
                return;
            }
            let until_due = Duration::from_nanos(self.next_due_ns().saturating_sub(self.clock.now_ns()));
            std::thread::sleep(until_due.min(LOOK_EVERY));
        }
    }

    fn next_due_ns(&self) -> u64 {
        if !self.has_started {
            return self.phases.measure_ns;
        }
        let boundary_ns = self.phases.measure_ns + self.interval_ns * (self.samples.len() as u64 + 1);
        if self.is_sampled() { u64::MAX } else { boundary_ns.min(self.phases.end_ns) }
    }

    /// Whether the whole measured phase has been sampled.
    fn is_sampled(&self) -> bool {
        self.interval_ns * self.samples.len() as u64 >= self.phases.measured_ns()
    }

    fn sample_if_due(&mut self, now_ns: u64) {
        while now_ns >= self.next_due_ns() {
            if self.has_started {
                self.sample();
            } else {
                self.has_started = true;
                self.watches.iter_mut().for_each(ThreadWatch::start);
            }
        }
    }

    fn sample_the_rest(&mut self, now_ns: u64) {
        if self.has_started && !self.is_sampled() && now_ns > self.phases.measure_ns {
            self.sample();
        }
    }

    fn sample(&mut self) {
        let deltas = self.watches.iter_mut().map(ThreadWatch::sample).collect();
        self.samples.push(CounterSample { read_ns: self.clock.now_ns(), deltas });
    }

    /// What the counters said: per thread over the measured phase, and per interval.
    pub fn finish(self) -> (Vec<ThreadReport>, Vec<CounterSample>) {
        (self.watches.iter().map(ThreadWatch::report).collect(), self.samples)
    }
}
