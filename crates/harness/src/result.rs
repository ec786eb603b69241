//! The result of one run, as it is written and read: `tailcore.run/1`.
//!
//! Field by field in `docs/result-schema.md`.

use serde::{Deserialize, Serialize};

use crate::counters::{IntervalDeltas, ThreadReport};
use crate::environment::Environment;
use crate::latency::LatencySummary;
use crate::overhead::Overhead;
use crate::plan::PlanRecord;
use crate::tally::Tally;
use crate::timeline::IntervalView;
use crate::verdict::Verdict;

/// Name and version of the format. Readers refuse another major version.
pub const SCHEMA: &str = "tailcore.run/1";

/// Everything known about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What was asked.
    pub plan: PlanRecord,
    /// Seed of the schedule.
    pub seed: u64,
    /// Fingerprint of all arrivals, keys and sizes that were scheduled.
    pub schedule_hash: String,
    /// Where it was measured.
    pub environment: Environment,
    /// Whether the run was stopped before its planned end.
    pub interrupted: bool,
    /// Length of the measured phase, in nanoseconds: the planned one unless the run was cut short.
    pub measured_ns: u64,
    /// Offered load in requests per second.
    pub offered_rps: f64,
    /// Good answers per second during the measured phase.
    pub achieved_rps: f64,
    /// Where the measured requests ended.
    pub tally: Tally,
    /// Where the warm-up requests ended.
    pub warmup_tally: Tally,
    /// Latencies of the measured requests.
    pub latency_ns: Latencies,
    /// Time at the limit of requests in flight, summed over threads, in nanoseconds.
    pub time_at_cap_ns: u64,
    /// Connections that broke during the run.
    pub connections_lost: u32,
    /// The threads, their placement and their counters over the measured phase.
    pub threads: Vec<ThreadReport>,
    /// The measured phase in intervals.
    pub timeline: Vec<IntervalReport>,
    /// What measuring cost.
    pub overhead: Overhead,
    /// Whether the numbers answer the question.
    pub verdict: Verdict,
}

/// The three latencies of a run; all values are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Completion − intended arrival: what a user would have waited.
    pub sojourn: LatencySummary,
    /// Completion − send: what a tool that forgets its own waiting would report.
    pub since_send: LatencySummary,
    /// Send − intended arrival: the generator's own delay.
    pub lateness: LatencySummary,
}

impl Latencies {
    /// How much lower a sojourn quantile (`"0.99"`) would be if its requests had been sent on time:
    /// its distance to the same quantile of `since_send`, in nanoseconds.
    ///
    /// Bounds are compared where no value is known; `None` where samples are too few.
    pub fn lateness_in_ns(&self, quantile: &str) -> Option<u64> {
        let of = |summary: &LatencySummary| summary.value_or_bound_ns(quantile);
        Some(of(&self.sojourn)?.saturating_sub(of(&self.since_send)?))
    }
}

/// One interval of the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalReport {
    /// What happened in it.
    #[serde(flatten)]
    pub view: IntervalView,
    /// When the counters were read, in nanoseconds since the start of the measured phase; null if
    /// they were not read for this interval.
    pub counters_read_ns: Option<u64>,
    /// What each thread's counters gained, in the order of [`RunResult::threads`].
    pub counters: Vec<IntervalDeltas>,
}

impl RunResult {
    /// Whether this reader understands a result of `schema`.
    pub fn understands(schema: &str) -> bool {
        schema == SCHEMA
    }
}
