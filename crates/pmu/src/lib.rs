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
//! [`Event`] is what can be typed; [`Counters`] opens events on a thread; a [`Snapshot`] holds their state at
//! one moment; two of them make an interval of [`Reading`]s; [`catalogue`] tells what this machine can count.
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
//! * It does not sample, follow child threads, or count whole CPUs.
//! * It does not translate a name into a processor's best event: `cache-misses` means what the kernel makes
//!   of it on that processor (see [`Event::description`]).
//! * It does not read counters from user space: a read is one system call per group.
//! * It does not retry an event which was refused when opened, nor notice a PMU that appears later.
//!
//! # Panics
//!
//! Nothing here panics on what was typed or on what the kernel answers.
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

mod catalogue;
mod counters;
mod diagnose;
mod error;
mod event;
mod facts;
mod interval;
mod kernel;
mod layout;
mod names;
mod open;
mod reading;
mod snapshot;
mod sys;

pub use catalogue::{Availability, Probe, catalogue, catalogue_with};
pub use counters::Counters;
pub use error::ParseEventError;
pub use event::{Event, default_events, parse_events};
pub use kernel::{Errno, EventAttr, Kernel, SystemFacts, Target};
pub use names::EventKind;
pub use reading::{Outcome, Reading, Scope};
pub use snapshot::{Snapshot, Totals};
pub use sys::Linux;
