//! What was counted, or why it was not.

use serde::{Deserialize, Serialize};

/// The processor modes in which an event was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// User mode alone.
    #[serde(rename = "user")]
    User,
    /// Kernel mode alone; only where it was asked for with `:k`.
    #[serde(rename = "kernel")]
    Kernel,
    /// Both.
    #[serde(rename = "user+kernel")]
    UserAndKernel,
}

/// One event over one interval of what is counted: a thread, a process, a CPU, a control group.
///
/// As JSON: `{"event":"cycles","scope":"user+kernel","outcome":"counted","count":123}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The canonical name of the event, with its modifier.
    pub event: String,
    /// What counts a portable name here, in what unit, and who says so; or what one count is, where it is not
    /// one. `None` for names that mean the same everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// The modes that the count covers. For an event which could not be opened: the modes that were asked
    /// for.
    pub scope: Scope,
    /// The count, or the reason for its absence.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A count, or the reason for its absence; absence is never the number 0.
///
/// Every `reason` is one line: the cause, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The counter ran for the whole interval: the count is exact.
    Counted {
        /// How often the event happened.
        count: u64,
    },
    /// The counter ran for a part of the interval: the count is extrapolated from that part.
    Scaled {
        /// The estimate for the whole interval, rounded down.
        count: u64,
        /// The share of the interval in which the counter ran, above 0 and below 1.
        running: f64,
    },
    /// The counter is open, and did not run in the interval at all, or not on all threads or CPUs that are
    /// counted.
    NotScheduled {
        /// Cause and remedy.
        reason: String,
    },
    /// The counter was pinned to the PMU and lost its place: the kernel has given it up until it is opened
    /// anew.
    Dead {
        /// Cause and remedy.
        reason: String,
    },
    /// The PMU gave a number, and miscounts a loop of known length: the number is not to be relied on.
    ///
    /// A virtual PMU does this when its host takes the counters away: the guest sees them run all the time.
    Suspect {
        /// What the PMU gave, scaled where it ran a part of the interval.
        count: u64,
        /// The share of the interval in which the counter ran by its own account, above 0, at most 1.
        running: f64,
        /// Cause and remedy.
        reason: String,
    },
    /// This system cannot count the event.
    Unsupported {
        /// Cause and remedy.
        reason: String,
    },
    /// This system could count the event, and a rule or a limit forbids it.
    Forbidden {
        /// Cause and remedy.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_by_table() {
        let reason = || "why".to_owned();
        let cases = [
            (
                Scope::UserAndKernel,
                Outcome::Counted { count: 123 },
                r#"{"event":"cycles","scope":"user+kernel","outcome":"counted","count":123}"#,
            ),
            (
                Scope::User,
                Outcome::Scaled { count: u64::MAX, running: 0.5 },
                r#"{"event":"cycles","scope":"user","outcome":"scaled","count":18446744073709551615,"running":0.5}"#,
            ),
            (
                Scope::Kernel,
                Outcome::NotScheduled { reason: reason() },
                r#"{"event":"cycles","scope":"kernel","outcome":"not_scheduled","reason":"why"}"#,
            ),
            (
                Scope::User,
                Outcome::Dead { reason: reason() },
                r#"{"event":"cycles","scope":"user","outcome":"dead","reason":"why"}"#,
            ),
            (
                Scope::User,
                Outcome::Suspect { count: 7, running: 1.0, reason: reason() },
                r#"{"event":"cycles","scope":"user","outcome":"suspect","count":7,"running":1.0,"reason":"why"}"#,
            ),
            (
                Scope::User,
                Outcome::Unsupported { reason: reason() },
                r#"{"event":"cycles","scope":"user","outcome":"unsupported","reason":"why"}"#,
            ),
            (
                Scope::User,
                Outcome::Forbidden { reason: reason() },
                r#"{"event":"cycles","scope":"user","outcome":"forbidden","reason":"why"}"#,
            ),
        ];
        for (scope, outcome, json) in cases {
            let reading = Reading { event: "cycles".to_owned(), means: None, scope, outcome };
            assert_eq!(serde_json::to_string(&reading).unwrap(), json);
            assert_eq!(serde_json::from_str::<Reading>(json).unwrap(), reading);
        }
    }
}
