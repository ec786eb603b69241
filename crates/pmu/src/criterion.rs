//! Criterion benches that are measured in counts of an event instead of time.
//!
//! Needs the feature `criterion`. A time says how long, and is the machine's as much as the code's; a count of
//! instructions hardly varies, and a count of misses says why. Where there is no PMU, as on many virtual
//! machines, `task-clock` is the time for which the thread ran: unlike the wall clock it stands still while
//! others run.
//!
//! ```
//! use criterion::measurement::Measurement;
//! use tailcore_pmu::Outcome;
//! use tailcore_pmu::criterion::CounterMeasurement;
//!
//! let (value, others) = ("task-clock".parse()?, ["page-faults".parse()?]);
//! let measurement = match CounterMeasurement::open(&value, &others) {
//!     Ok(measurement) => measurement,
//!     // There is no bench without its event: a 0 would be a lie.
//!     Err(absent) => {
//!         println!("skipped: {absent}");
//!         return Ok(());
//!     }
//! };
//! let tally = measurement.tally();
//!
//! // What criterion does around the code under test:
//! measurement.start();
//! let ns = measurement.end(());
//!
//! assert!(ns > 0);
//! println!("{}", measurement.formatter().format_value(measurement.to_f64(&ns)));
//! for reading in tally.take() {
//!     println!("{}: {:?}", reading.event, reading.outcome);
//! }
//! # Ok::<(), tailcore_pmu::ParseEventError>(())
//! ```
//!
//! In a bench, criterion takes the measurement, and the tally stays:
//!
//! ```no_run
//! use criterion::Criterion;
//! use tailcore_pmu::criterion::CounterMeasurement;
//!
//! let (value, others) = ("instructions:u".parse()?, ["cycles:u".parse()?]);
//! let measurement = CounterMeasurement::open(&value, &others)?;
//! let tally = measurement.tally();
//! let mut criterion = Criterion::default().with_measurement(measurement).configure_from_args();
//! criterion.bench_function("sum", |b| b.iter(|| (0..1000_u64).map(std::hint::black_box).sum::<u64>()));
//! println!("{:?}", tally.take());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What to know about criterion
//!
//! * It writes `time:` before every value; the unit behind the value is right.
//! * It has no result for a bench in which a sample counts 0, and says that it "took zero time": choose an
//!   event that happens at each iteration.
//! * Its results of former runs do not know the event: keep one bench name to one event.
//! * How long it measures is a matter of the wall clock, whatever is counted.

mod scale;
mod tally;

use std::cell::RefCell;
use std::rc::Rc;

use ::criterion::measurement::{Measurement, ValueFormatter};

use crate::event::Event;
use crate::kernel::Kernel;
use crate::own::OwnCounters;
use crate::reading::Outcome;
use crate::snapshot::Snapshot;
use crate::sys::Linux;

pub use tally::Tally;

use scale::Scale;
use tally::Totals;

/// A criterion measurement: the count of one event on the thread that opens it.
///
/// Further events are counted along with it and reported by its [`tally`](Self::tally). What other threads do
/// is not counted, so neither is what a bench hands to them. An interval includes one read of the counters;
/// criterion's own way of fitting a line through samples of different lengths takes that out.
///
/// If events do not fit the PMU at once, values are estimates, and the tally says so
/// ([`Outcome::Scaled`]); if unsure, take at most four events of the processor.
#[derive(Debug)]
pub struct CounterMeasurement {
    state: Rc<RefCell<State>>,
    scale: Scale,
}

/// Why an event cannot be the value of a bench: it does not count on this machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("event {event} cannot be measured: {}", reason(outcome))]
#[non_exhaustive]
pub struct NotMeasurable {
    /// The event.
    pub event: String,
    /// What came in place of a count, with its reason.
    pub outcome: Outcome,
}

/// The counters, and what they counted so far.
#[derive(Debug)]
struct State {
    own: OwnCounters,
    start: Snapshot,
    end: Snapshot,
    totals: Totals,
}

/// The place of the value among the events.
const VALUE: usize = 0;

impl CounterMeasurement {
    /// Opens counters of the calling thread for `value` and `others`, starts them, and tries them once.
    ///
    /// # Errors
    ///
    /// [`NotMeasurable`] if `value` does not count. One of the others that does not count is no error: the
    /// tally says why.
    pub fn open(value: &Event, others: &[Event]) -> Result<CounterMeasurement, NotMeasurable> {
        CounterMeasurement::open_with(Linux, value, others)
    }

    /// The same, with another kernel than that of this machine, such as a simulated one. Its
    /// [`work`](Kernel::work) is what the counters are tried with, so time must pass in it.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with(
        kernel: impl Kernel + 'static,
        value: &Event,
        others: &[Event],
    ) -> Result<CounterMeasurement, NotMeasurable> {
        let events: Vec<Event> = [value].into_iter().chain(others).cloned().collect();
        let mut own = OwnCounters::open_with(kernel, &events);
        own.enable();
        let (start, end) = (own.snapshot(), own.snapshot());
        let mut state = State { own, start, end, totals: Totals::new(events.len()) };
        state.try_once()?;
        Ok(CounterMeasurement { state: Rc::new(RefCell::new(state)), scale: Scale::of(value) })
    }

    /// Gives a handle to what all events count in the intervals of this measurement.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally::new(Rc::clone(&self.state))
    }
}

impl State {
    /// Refuses a value that does not count here, before criterion starts.
    fn try_once(&mut self) -> Result<(), NotMeasurable> {
        self.own.read(&mut self.start);
        self.own.counters().kernel().work();
        self.own.read(&mut self.end);
        let outcome = self.outcome(VALUE);
        match count(&outcome) {
            Some(_) => Ok(()),
            None => Err(NotMeasurable { event: self.own.counters().events()[VALUE].to_string(), outcome }),
        }
    }

    /// What the event at `index` counted in the last interval.
    fn outcome(&self, index: usize) -> Outcome {
        self.own.counters().outcome(index, &self.start, &self.end)
    }
}

/// Counts of one interval at a time, which is how criterion measures.
impl Measurement for CounterMeasurement {
    type Intermediate = ();
    /// How often the event happened; ns for a clock.
    type Value = u64;

    fn start(&self) {
        let State { own, start, .. } = &mut *self.state.borrow_mut();
        own.read(start);
    }

    /// Reads the counters and gives the count since [`start`](Measurement::start).
    ///
    /// # Panics
    ///
    /// If the event did not count in the interval, with the reason: criterion takes nothing but a number, and
    /// there is none.
    fn end(&self, (): ()) -> u64 {
        let State { own, start, end, totals } = &mut *self.state.borrow_mut();
        own.read(end);
        totals.add(own.counters(), start, end);
        let outcome = own.counters().outcome(VALUE, start, end);
        count(&outcome).unwrap_or_else(|| {
            let event = &own.counters().events()[VALUE];
            panic!("event {event} was not measured: {}", reason(&outcome))
        })
    }

    fn add(&self, one: &u64, two: &u64) -> u64 {
        one.saturating_add(*two)
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, count: &u64) -> f64 {
        *count as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &self.scale
    }
}

/// The count of an outcome that can be relied on.
fn count(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Counted { count } | Outcome::Scaled { count, .. } => Some(*count),
        _ => None,
    }
}

fn reason(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Counted { .. } | Outcome::Scaled { .. } => "it counts",
        Outcome::NotScheduled { reason }
        | Outcome::Dead { reason }
        | Outcome::Suspect { reason, .. }
        | Outcome::Unsupported { reason }
        | Outcome::Forbidden { reason } => reason,
    }
}
