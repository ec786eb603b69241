//! The plan as a result records it: enough to repeat the run.

use serde::{Deserialize, Serialize};

/// What was asked of a run. Two runs with equal plans and seeds offer the same schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// What was driven: an address such as `memcached://127.0.0.1:11211`, or an in-process service.
    pub target: String,
    /// Kind of load: `open loop`.
    pub load: String,
    /// Arrival process: `poisson`, `constant`.
    pub arrivals: String,
    /// Offered load in requests per second.
    pub rate_rps: f64,
    /// Warm-up before the measured phase, in nanoseconds.
    pub warmup_ns: u64,
    /// Measured phase, in nanoseconds.
    pub duration_ns: u64,
    /// Load-offering threads.
    pub threads: u32,
    /// Connections over all threads; 0 in process.
    pub connections: u32,
    /// Number of distinct keys.
    pub keys: u64,
    /// Popularity of the keys: `zipf:0.99`, `uniform`.
    pub key_dist: String,
    /// Bytes of each value.
    pub value_size: u32,
    /// Share of reads, 0 to 1.
    pub get_ratio: f64,
    /// Whether every key was stored and checked before the run.
    pub preload: bool,
    /// Time after which an unanswered request counts as timed out, in nanoseconds.
    pub timeout_ns: u64,
    /// Time after the last arrival in which answers are still awaited, in nanoseconds.
    pub drain_ns: u64,
    /// Most requests in flight over all threads before sends wait.
    pub max_in_flight: u64,
    /// How threads are placed: `auto`, `none` or a list of logical CPUs.
    pub pin: String,
    /// Events asked for.
    pub events: Vec<String>,
}
