//! Measures latency tails so that they can be believed: the clock, the histograms, the per-thread
//! recorder, and the verdict that says whether the numbers mean what they seem to mean.
//!
//! ```
//! use tailcore_harness::{Completion, CompletionSink, Outcome, Phases, Recorder, Reply};
//! use std::time::Duration;
//!
//! // A thread's recorder: no warm-up, one second measured.
//! let mut recorder = Recorder::new(Phases::new(0, Duration::ZERO, Duration::from_secs(1)));
//!
//! // One request: meant to arrive at 1,000 ns, sent 50 ns late, answered at 9,000 ns.
//! recorder.schedule(1_000);
//! recorder.complete(Completion {
//!     intended_ns: 1_000,
//!     sent_ns: Some(1_050),
//!     ended_ns: 9_000,
//!     outcome: Outcome::Ok(Reply::Done),
//! });
//!
//! assert_eq!(recorder.sojourn().max_ns(), Some(8_000)); // from the intended arrival
//! assert_eq!(recorder.lateness().max_ns(), Some(50)); // the generator's own share
//! assert!(recorder.tally().is_balanced());
//! ```
//!
//! The two types that matter: a [`Recorder`] is what a thread writes while it measures (plain
//! memory, allocated beforehand); a [`RunResult`] is what a run leaves behind (JSON,
//! `tailcore.run/1`). Between them stands [`Verdict::judge`].
//!
//! What it does not do: it offers no load (`tailcore-loadgen` does), and it never corrects a
//! measurement. A bad run is returned as it is, with the reasons why it is bad.

pub mod clock;
pub mod completion;
pub mod counters;
pub mod environment;
pub mod hgrm;
pub mod histogram;
pub mod latency;
pub mod overhead;
pub mod phases;
pub mod plan;
pub mod recorder;
pub mod result;
pub mod tally;
pub mod timeline;
pub mod units;
pub mod verdict;

pub use clock::{Clock, Idle, ManualClock, MonotonicClock};
pub use completion::{Completion, CompletionSink, FailCause, Outcome, Reply};
pub use counters::{ThreadId, ThreadReport, ThreadResidence, ThreadWatch};
pub use environment::Environment;
pub use histogram::LatencyHistogram;
pub use latency::{LatencySummary, Quantile};
pub use overhead::Overhead;
pub use phases::Phases;
pub use plan::PlanRecord;
pub use recorder::Recorder;
pub use result::{IntervalReport, Latencies, RunResult};
pub use tally::Tally;
pub use timeline::Timeline;
pub use verdict::{Ending, Evidence, Verdict};

pub use tailcore_pmu::{Event, default_events, parse_events};
