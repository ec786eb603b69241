//! What became of one request: its three timestamps and the one place where it ended.

use serde::{Deserialize, Serialize};

/// One request at its end. All times are nanoseconds since the run's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When the schedule wanted the request to arrive: where latency starts.
    pub intended_ns: u64,
    /// When the generator offered it to the kernel, or to the in-process service; `None` if the run,
    /// or the last connection, ended before it could.
    pub sent_ns: Option<u64>,
    /// When its end was seen: the reply read, the failure noticed, the limit reached.
    pub ended_ns: u64,
    /// Where it ended.
    pub outcome: Outcome,
}

impl Completion {
    /// Completion − intended arrival, in nanoseconds.
    pub fn sojourn_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.intended_ns)
    }

    /// Completion − send, in nanoseconds: what a tool that ignores lateness would report; `None` if
    /// it was never sent.
    pub fn since_send_ns(&self) -> Option<u64> {
        self.sent_ns.map(|sent_ns| self.ended_ns.saturating_sub(sent_ns))
    }

    /// Send − intended arrival, in nanoseconds: the generator's own delay; `None` if it was never sent.
    pub fn lateness_ns(&self) -> Option<u64> {
        self.sent_ns.map(|sent_ns| sent_ns.saturating_sub(self.intended_ns))
    }
}

/// The one place where a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered as its protocol promises.
    Ok(Reply),
    /// Ended without the promised answer.
    Failed(FailCause),
    /// Not answered within the plan's time limit.
    TimedOut,
    /// Still open when the run's drain limit was reached.
    Unfinished,
}

impl Outcome {
    /// Whether the true latency is unknown but at least what was waited: a censored observation.
    pub fn is_censored(self) -> bool {
        match self {
            Self::Ok(_) => false,
            Self::Failed(cause) => !cause.is_answer(),
            Self::TimedOut | Self::Unfinished => true,
        }
    }
}

/// Kind of a good reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A read found its key.
    Hit,
    /// A read did not find its key: a good answer, but cheaper than the one people mean to measure.
    Miss,
    /// A write was acknowledged.
    Stored,
    /// Any other good answer.
    Done,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailCause {
    /// Its connection broke before the reply was complete.
    ConnectionLost,
    /// No connection was left to send it on.
    NoConnection,
    /// The peer sent bytes that are no reply of this protocol.
    ProtocolError,
    /// The peer answered with an error.
    ServerError,
    /// A well-formed reply to something else than was asked (another key, another size).
    WrongReply,
}

impl FailCause {
    /// Every cause, in the order of [`FailCause::index`].
    pub const ALL: [Self; 5] =
        [Self::ConnectionLost, Self::NoConnection, Self::ProtocolError, Self::ServerError, Self::WrongReply];

    /// Position in [`FailCause::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the peer answered at all, so that waiting longer could not have changed the outcome.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::ProtocolError | Self::ServerError | Self::WrongReply)
    }
}

/// Receiver of completions, called on the hot path: implementations must not allocate or block.
pub trait CompletionSink {
    /// Takes one ended request.
    fn complete(&mut self, completion: Completion);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_times_give_the_three_latencies() {
        let late = Completion {
            intended_ns: 100,
            sent_ns: Some(130),
            ended_ns: 190,
            outcome: Outcome::Ok(Reply::Hit),
        };
        assert_eq!((late.sojourn_ns(), late.since_send_ns(), late.lateness_ns()), (90, Some(60), Some(30)));
        let unsent = Completion { sent_ns: None, ..late };
        assert_eq!((unsent.sojourn_ns(), unsent.since_send_ns(), unsent.lateness_ns()), (90, None, None));
    }

    #[test]
    fn causes_are_listed_in_the_order_of_their_index() {
        for (index, cause) in FailCause::ALL.iter().enumerate() {
            assert_eq!(cause.index(), index);
        }
    }
}
