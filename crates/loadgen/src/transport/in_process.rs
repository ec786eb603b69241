//! The service in the worker's own thread: no network, no hand-over, no wake-up.

use tailcore_harness::{Clock, Completion, CompletionSink, FailCause, Outcome};

use crate::protocol::{Decoded, Protocol};
use crate::schedule::Scheduled;
use crate::service::Service;
use crate::transport::Transport;

/// Calls a [`Service`] with the same bytes that it would get over a socket.
///
/// Arrivals wait in a virtual queue, which a punctual generator would serve by Lindley's recursion:
/// a request is ready when it is meant to arrive and its predecessor's service is over. What the
/// thread starts later than that (because the kernel ran something else) is lateness, carried over
/// to all requests that it delays, so that sojourn = lateness + queue + service.
#[derive(Debug)]
pub struct InProcess<P, S> {
    protocol: P,
    service: S,
    request: Vec<u8>,
    reply: Vec<u8>,
    /// When the service would have become free under a punctual generator.
    punctual_free_ns: u64,
}

impl<P: Protocol, S: Service> InProcess<P, S> {
    /// A service that speaks `protocol`.
    pub fn new(protocol: P, service: S) -> Self {
        Self {
            protocol,
            service,
            request: crate::empty_buffer(),
            reply: crate::empty_buffer(),
            punctual_free_ns: 0,
        }
    }

    fn outcome(&mut self, scheduled: &Scheduled) -> Outcome {
        match self.protocol.decode(&scheduled.request, &self.reply) {
            Decoded::Good { reply, .. } => Outcome::Ok(reply),
            Decoded::Error { .. } => Outcome::Failed(FailCause::ServerError),
            Decoded::Wrong { .. } => Outcome::Failed(FailCause::WrongReply),
            Decoded::Incomplete | Decoded::Garbage => Outcome::Failed(FailCause::ProtocolError),
        }
    }
}

impl<P: Protocol, S: Service> Transport for InProcess<P, S> {
    #[inline]
    fn submit(&mut self, scheduled: Scheduled, clock: &impl Clock, sink: &mut impl CompletionSink) {
        let start_ns = clock.now_ns();
        let ready_ns = scheduled.intended_ns.max(self.punctual_free_ns);
        let lateness_ns = start_ns.saturating_sub(ready_ns);

        self.request.clear();
        self.reply.clear();
        self.protocol.encode(&scheduled.request, &mut self.request);
        self.service.handle(&self.request, &mut self.reply);
        let outcome = self.outcome(&scheduled);

        let ended_ns = clock.now_ns();
        self.punctual_free_ns = ready_ns + ended_ns.saturating_sub(start_ns);
        sink.complete(Completion {
            intended_ns: scheduled.intended_ns,
            sent_ns: Some(scheduled.intended_ns + lateness_ns),
            ended_ns,
            outcome,
        });
    }

    fn flush(&mut self, _clock: &impl Clock, _sink: &mut impl CompletionSink) {}

    fn poll(&mut self, _clock: &impl Clock, _sink: &mut impl CompletionSink) {}

    fn expire(&mut self, _deadline_ns: u64, _now_ns: u64, _sink: &mut impl CompletionSink) {}

    fn abandon(&mut self, _now_ns: u64, _sink: &mut impl CompletionSink) {}

    fn in_flight(&self) -> usize {
        0
    }
}
