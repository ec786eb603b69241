//! How requests reach a service and how their ends come back.

pub mod in_process;
pub mod simulated;
pub mod tcp;

use tailcore_harness::{Clock, CompletionSink};

use crate::schedule::Scheduled;

/// A way to a service. Nothing in it blocks, and on the hot path nothing allocates.
///
/// Every request given to [`Transport::submit`] ends in exactly one completion, given to the sink of
/// whichever call noticed its end; [`Transport::abandon`] ends those that are left.
pub trait Transport {
    /// Takes over one request. The send may wait for [`Transport::flush`].
    fn submit(&mut self, scheduled: Scheduled, clock: &impl Clock, sink: &mut impl CompletionSink);

    /// Hands everything submitted to the service.
    fn flush(&mut self, clock: &impl Clock, sink: &mut impl CompletionSink);

    /// Takes in what has come back, without waiting.
    fn poll(&mut self, clock: &impl Clock, sink: &mut impl CompletionSink);

    /// Ends as timed out every request intended before `deadline_ns` that is still open.
    fn expire(&mut self, deadline_ns: u64, now_ns: u64, sink: &mut impl CompletionSink);

    /// Ends as unfinished every request that is still open.
    fn abandon(&mut self, now_ns: u64, sink: &mut impl CompletionSink);

    /// Requests that were submitted and have not ended.
    fn in_flight(&self) -> usize;

    /// Requests that take up memory: those in flight, and those that timed out but whose replies, should
    /// they come, must still be told apart. This is what the limit of requests in flight bounds.
    fn held(&self) -> usize {
        self.in_flight()
    }

    /// The instant at which the next end will be seen, where that is known beforehand (simulations);
    /// `None` where only polling tells.
    fn next_event_ns(&self) -> Option<u64> {
        None
    }

    /// Connections that broke so far; the others carry the load.
    fn connections_lost(&self) -> u32 {
        0
    }

    /// Why no request can be sent any more; `None` while at least one connection lives.
    fn lost(&self) -> Option<&str> {
        None
    }
}
