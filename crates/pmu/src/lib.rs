//! Counts what one thread did, through perf_event_open(2), and says why wherever a count is missing.
//!
//! ```
//! use tailcore_pmu::{Counters, Outcome, Target, parse_events};
//!
//! let events = parse_events("cycles,instructions,task-clock,page-faults")?;
//! let mut counters = Counters::open(Target::CurrentThread, &events);
//! let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
//! counters.enable();
//!
//! counters.read(&mut start);
//! let sum: u64 = (0..10_000).map(std::hint::black_box).sum();
//! counters.read(&mut end);
//!
//! for reading in counters.interval(&start, &end) {
//!     match reading.outcome {
//!         Outcome::Counted { count } => println!("{} = {count}", reading.event),
//!         Outcome::Scaled { count, running } => {
//!             println!("{} ≈ {count}, seen {:.0} % of the time", reading.event, running * 100.0);
//!         }
//!         absent => println!("{}: {absent:?}", reading.event),
//!     }
//! }
//! # assert_eq!(sum, 49_995_000);
//! # Ok::<(), tailcore_pmu::ParseEventError>(())
//! ```
//!
//! | you want to | take |
//! | --- | --- |
//! | name an event: perf's names, a vendor's, a portable meaning, a PMU's terms, a code, a tracepoint | [`Event`], [`parse_events`], [`parse_units`] |
//! | count a thread, a process, a CPU, a control group | [`Counters`] with a [`Target`] and [`Options`] |
//! | count yourself, without a system call where the processor lets you | [`OwnCounters`] |
//! | count more events than there are counters, without tearing ratios apart | [`Plan`] |
//! | count what a published study counted, with its formulas | [`EventSet`], [`Metric`] |
//! | know what this machine counts, and what a portable name is here | [`catalogue`], [`Meaning`], [`vendor`], [`sysfs`] |
//! | know whether to believe the PMU of a virtual machine | [`calibrate`] |
//! | know what a name comes to on another machine | [`Machine::read_from`] |
//!
//! A [`Snapshot`] holds the state of all counters at one moment; two of them make an interval of [`Reading`]s.
//!
//! # What a reading means
//!
//! * A zero is a count. Everything else that "nothing" may mean is an [`Outcome`] with a reason: the counter
//!   was open and never ran, the system has no such counter, or a rule forbids it.
//! * Only differences are scaled, so the past of a counter does not leak into an interval.
//! * A reading names its [`Scope`]. Where kernel mode is forbidden (`perf_event_paranoid` ≥ 2), events are
//!   counted in user mode alone, except for those which only happen inside the kernel: they are
//!   [`Outcome::Forbidden`], because the kernel would accept them and count 0. A clock covers both modes
//!   whatever is asked for.
//! * Events are opened one by one. One that fails leaves the others working.
//!
//! # What it does not do
//!
//! * It does not sample, and writes no profile.
//! * It never puts one event in another's place. `cache-misses` means what the kernel makes of it on that
//!   processor (see [`Event::description`]); a portable name that a processor cannot count is unsupported, and
//!   the reason names what is nearest.
//! * It does not retry an event which was refused when opened, nor notice a PMU that appears later.
//! * It does not count on anything but Linux, nor have tables for processors other than Intel's cores since
//!   Nehalem, AMD's since Zen, and Arm's Neoverse; codes and sysfs names work on all.
//!
//! # Panics
//!
//! Nothing here panics on what was typed or on what the kernel answers. One exception is criterion's: its
//! trait takes a number and nothing else, so a measurement that did not count ends with the reason.
//!
//! # For those who know the system call
//!
//! Each event has a descriptor of its own (`pid` = the thread, `cpu` = -1, `inherit` off). Only leaders are
//! opened disabled, with `enable_on_exec` set: the kernel leaves disabled members, and some PMU drivers a
//! disabled leader, out of the check whether a group fits, and would accept a group that can never run. A
//! member that is refused with EINVAL or ENOSPC leads a further group. Reads use `GROUP`,
//! `TOTAL_TIME_ENABLED` and `TOTAL_TIME_RUNNING`.
//!
//! The layer below is `perf-event-open-sys`. The `perf-event` crate above it is not used: its `Group` panics
//! on the next read after a member failed to open, gives zeros for a group that never ran, and allocates on
//! each read; its `Builder` knows no raw events.

mod calibrate;
mod catalogue;
mod counters;
#[cfg(feature = "criterion")]
pub mod criterion;
mod diagnose;
mod error;
mod event;
mod facts;
mod formula;
mod interval;
mod kernel;
mod layout;
mod machine;
mod meaning;
mod metric;
mod model;
mod names;
mod near;
mod open;
mod opened;
mod options;
mod own;
mod places;
mod plan;
mod probe;
mod reading;
mod resolve;
mod sets;
mod snapshot;
mod sys;
pub mod sysfs;
mod user;
pub mod vendor;

pub use calibrate::{Calibration, SOUND, calibrate, calibrate_with};
pub use catalogue::{Answer, Availability, Means, Probe, catalogue, catalogue_with, look_up};
pub use counters::Counters;
pub use error::ParseEventError;
pub use event::{Event, default_events, parse_events, parse_units};
pub use formula::FormulaFault;
pub use kernel::{Errno, EventAttr, Kernel, Place, SystemFacts, Target};
pub use machine::Machine;
pub use meaning::{Meaning, MeaningOn, NoMeaning, Unit};
pub use metric::{Bounds, Flag, Metric, MetricReading, MetricValue, Symbol, Value};
pub use model::{CoreModel, Microarchitecture, Model, UnknownModel};
pub use names::EventKind;
pub use options::Options;
pub use own::{OwnCounters, ReadCost, ReadCosts, ReadPath};
pub use plan::{Plan, PlanNote};
pub use reading::{Outcome, Reading, Scope};
pub use resolve::Code;
pub use sets::{EventSet, ParseSetError, SetEvent, SetFault};
pub use snapshot::{Snapshot, Totals};
pub use sys::Linux;
pub use user::{NoUserRead, PageClock, PageState, SimulatedPage, UserAccess, UserPage};

// The simulated kernel of the integration tests, for tests of what they cannot reach.
#[cfg(test)]
extern crate self as tailcore_pmu;
#[cfg(test)]
#[path = "../tests/it/fake.rs"]
#[allow(dead_code)]
mod fake;
