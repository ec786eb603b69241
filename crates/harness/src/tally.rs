//! Where every scheduled request ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::completion::{FailCause, Outcome, Reply};

/// Counts of requests by where they ended; balanced when none is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TallyRecord", into = "TallyRecord")]
pub struct Tally {
    /// Requests that the schedule asked for.
    pub scheduled: u64,
    /// Requests answered as promised.
    pub ok: u64,
    failed: [u64; FailCause::ALL.len()],
    /// Requests not answered within the time limit.
    pub timed_out: u64,
    /// Requests still open at the drain limit.
    pub unfinished: u64,
    /// Good answers to reads that found their key.
    pub hits: u64,
    /// Good answers to reads that did not find their key.
    pub misses: u64,
}

impl Tally {
    /// Counts one ended request.
    #[inline]
    pub fn end(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok(reply) => {
                self.ok += 1;
                self.hits += u64::from(reply == Reply::Hit);
                self.misses += u64::from(reply == Reply::Miss);
            }
            Outcome::Failed(cause) => self.failed[cause.index()] += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Unfinished => self.unfinished += 1,
        }
    }

    /// Requests that failed, of any cause.
    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Requests that failed of `cause`.
    pub fn failed_by(&self, cause: FailCause) -> u64 {
        self.failed[cause.index()]
    }

    /// Whether `scheduled == ok + failed + timed_out + unfinished`.
    pub fn is_balanced(&self) -> bool {
        self.scheduled == self.ok + self.failed() + self.timed_out + self.unfinished
    }

    /// Adds another tally's counts.
    pub fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.ok += other.ok;
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            *mine += theirs;
        }
        self.timed_out += other.timed_out;
        self.unfinished += other.unfinished;
        self.hits += other.hits;
        self.misses += other.misses;
    }
}

/// A tally as it is written: causes by name, only those that occurred.
#[derive(Serialize, Deserialize)]
struct TallyRecord {
    scheduled: u64,
    ok: u64,
    failed: BTreeMap<FailCause, u64>,
    timed_out: u64,
    unfinished: u64,
    hits: u64,
    misses: u64,
}

impl From<Tally> for TallyRecord {
    fn from(tally: Tally) -> Self {
        let occurred = |cause: &FailCause| tally.failed_by(*cause) > 0;
        Self {
            scheduled: tally.scheduled,
            ok: tally.ok,
            failed: FailCause::ALL.into_iter().filter(occurred).map(|c| (c, tally.failed_by(c))).collect(),
            timed_out: tally.timed_out,
            unfinished: tally.unfinished,
            hits: tally.hits,
            misses: tally.misses,
        }
    }
}

impl From<TallyRecord> for Tally {
    fn from(record: TallyRecord) -> Self {
        let mut failed = [0; FailCause::ALL.len()];
        for (cause, count) in record.failed {
            failed[cause.index()] = count;
        }
        Self {
            scheduled: record.scheduled,
            ok: record.ok,
            failed,
            timed_out: record.timed_out,
            unfinished: record.unfinished,
            hits: record.hits,
            misses: record.misses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            Just(Outcome::Ok(Reply::Hit)),
            Just(Outcome::Ok(Reply::Miss)),
            Just(Outcome::Ok(Reply::Stored)),
            (0..FailCause::ALL.len()).prop_map(|i| Outcome::Failed(FailCause::ALL[i])),
            Just(Outcome::TimedOut),
            Just(Outcome::Unfinished),
        ]
    }

    proptest! {
        #[test]
        fn a_tally_balances_exactly_when_every_request_has_ended(
            outcomes in proptest::collection::vec(any_outcome(), 0..50),
        ) {
            let mut tally = Tally { scheduled: outcomes.len() as u64 + 1, ..Tally::default() };
            outcomes.into_iter().for_each(|outcome| tally.end(outcome));
            prop_assert!(!tally.is_balanced());
            tally.end(Outcome::Unfinished);
            prop_assert!(tally.is_balanced());

            let text = serde_json::to_string(&tally).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), tally);
        }
    }

    #[test]
    fn only_causes_that_occurred_are_written() {
        let mut tally = Tally { scheduled: 1, ..Tally::default() };
        tally.end(Outcome::Failed(FailCause::ConnectionLost));
        let text = serde_json::to_string(&tally).unwrap();
        assert!(text.contains(r#""failed":{"connection_lost":1}"#), "{text}");
    }
}
