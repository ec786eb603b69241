//! One connection: bytes to write, bytes read, and the open requests in the order of their replies.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};

use mio::net::TcpStream;
use tailcore_harness::{Clock, Completion, CompletionSink, FailCause, Outcome};

use crate::protocol::{Decoded, Protocol};
use crate::schedule::Scheduled;
use crate::workload::Request;

/// Open requests that a connection holds without allocating: more only while the service falls
/// behind, when an allocation is the least of the delays.
const PENDING_CAPACITY: usize = 64;
/// Bytes of a foreign reply that are quoted in a message.
const QUOTE_LEN: usize = 40;

/// Why a connection can no longer be used.
#[derive(Debug)]
pub(super) enum Loss {
    /// The peer closed it.
    Closed,
    /// The kernel reported an error.
    Io(io::Error),
    /// The peer sent what is no reply; the start of it.
    Garbage(String),
    /// The peer sent something that nobody had asked for; the start of it.
    Unasked(String),
}

impl Loss {
    /// What happened, where, and what to do, once no connection is left.
    pub(super) fn describe(&self, address: SocketAddr, connections: usize) -> String {
        let all = if connections == 1 {
            "the connection".to_owned()
        } else {
            format!("all {connections} connections")
        };
        match self {
            Self::Closed => format!("{address} closed {all}: see whether the server still runs"),
            Self::Io(error) => format!("{address} lost {all} ({error}): see whether the server still runs"),
            Self::Unasked(quote) => {
                format!(
                    "{address} sent `{quote}`, which nobody had asked for: replies can no longer be told apart"
                )
            }
            Self::Garbage(quote) => {
                format!("{address} answered `{quote}`, which is no reply of this protocol: check the address")
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    intended_ns: u64,
    /// When its bytes were first offered to the kernel.
    sent_ns: Option<u64>,
}

impl Pending {
    fn completion(&self, ended_ns: u64, outcome: Outcome) -> Completion {
        Completion { intended_ns: self.intended_ns, sent_ns: self.sent_ns, ended_ns, outcome }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// Bytes not yet taken by the kernel, from `written` on.
    outbox: Vec<u8>,
    written: usize,
    /// Bytes received, of which `consumed..received` are not yet decoded.
    inbox: Vec<u8>,
    consumed: usize,
    received: usize,
    pending: VecDeque<Pending>,
    /// Requests at the back of `pending` that no write has stamped yet.
    unstamped: usize,
    /// Requests at the front of `pending` that have ended as timed out; their replies are skipped.
    expired: usize,
    /// Whether the poller has seen the peer close its side.
    is_closing: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            outbox: crate::empty_buffer(),
            written: 0,
            inbox: crate::touched_buffer(),
            consumed: 0,
            received: 0,
            pending: VecDeque::with_capacity(PENDING_CAPACITY),
            unstamped: 0,
            expired: 0,
            is_closing: false,
        }
    }

    /// Remembers that the peer has closed its side: the next read goes on until it meets the end.
    pub(super) fn set_closing(&mut self) {
        self.is_closing = true;
    }

    /// Encodes a request; true if it is the first since the last write.
    #[inline]
    pub(super) fn submit(&mut self, scheduled: Scheduled, protocol: &mut impl Protocol) -> bool {
        let Scheduled { intended_ns, request } = scheduled;
        protocol.encode(&request, &mut self.outbox);
        self.pending.push_back(Pending { request, intended_ns, sent_ns: None });
        self.unstamped += 1;
        self.unstamped == 1
    }

    pub(super) fn has_unwritten(&self) -> bool {
        self.written < self.outbox.len()
    }

    /// Offers everything in the outbox to the kernel. The requests in it count as sent from here on:
    /// a kernel that takes no more is the service's back-pressure, not the generator's lateness.
    pub(super) fn write(&mut self, clock: &impl Clock) -> Result<(), Loss> {
        let now_ns = clock.now_ns();
        for pending in self.pending.iter_mut().rev().take(self.unstamped) {
            pending.sent_ns = Some(now_ns);
        }
        self.unstamped = 0;
        while self.has_unwritten() {
            match self.stream.write(&self.outbox[self.written..]) {
                Ok(0) => return Err(Loss::Closed),
                Ok(len) => self.written += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.reclaim();
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Loss::Io(error)),
            }
        }
        self.outbox.clear();
        self.written = 0;
        Ok(())
    }

    /// Gives up the written part of the outbox once it is the larger one, so that under lasting
    /// back-pressure the outbox grows with its backlog and not with everything ever written.
    fn reclaim(&mut self) {
        if self.written > self.outbox.len() / 2 {
            self.outbox.drain(..self.written);
            self.written = 0;
        }
    }

    /// Requests that have timed out and whose replies have not come.
    pub(super) fn expired(&self) -> usize {
        self.expired
    }

    /// Reads and decodes until the socket is empty; returns how many requests ended.
    pub(super) fn read(
        &mut self,
        protocol: &mut impl Protocol,
        clock: &impl Clock,
        sink: &mut impl CompletionSink,
    ) -> (usize, Result<(), Loss>) {
        let mut ended = 0;
        loop {
            self.make_room();
            let room = self.inbox.len() - self.received;
            let len = match self.stream.read(&mut self.inbox[self.received..]) {
                Ok(0) => return (ended, Err(Loss::Closed)),
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (ended, Ok(())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return (ended, Err(Loss::Io(error))),
            };
            let now_ns = clock.now_ns();
            self.received += len;
            let (decoded, result) = self.decode(protocol, now_ns, sink);
            ended += decoded;
            // A short read has emptied the socket; what comes later is a new event (epoll(7)). Only
            // a close that came together with the data would be overlooked.
            if result.is_err() || (len < room && !self.is_closing) {
                return (ended, result);
            }
        }
    }

    fn make_room(&mut self) {
        if self.consumed == self.received {
            (self.consumed, self.received) = (0, 0);
        } else if self.received == self.inbox.len() {
            self.inbox.copy_within(self.consumed..self.received, 0);
            (self.consumed, self.received) = (0, self.received - self.consumed);
            if self.received == self.inbox.len() {
                // One reply is larger than the buffer.
                self.inbox.resize(self.inbox.len() * 2, 0);
            }
        }
    }

    fn decode(
        &mut self,
        protocol: &mut impl Protocol,
        now_ns: u64,
        sink: &mut impl CompletionSink,
    ) -> (usize, Result<(), Loss>) {
        let mut ended = 0;
        while self.consumed < self.received {
            let input = &self.inbox[self.consumed..self.received];
            let Some(front) = self.pending.front() else {
                return (ended, Err(Loss::Unasked(quote(input))));
            };
            let (len, outcome) = match protocol.decode(&front.request, input) {
                Decoded::Incomplete => break,
                Decoded::Garbage => return (ended, Err(Loss::Garbage(quote(input)))),
                Decoded::Good { len, reply } => (len, Outcome::Ok(reply)),
                Decoded::Error { len } => (len, Outcome::Failed(FailCause::ServerError)),
                Decoded::Wrong { len } => (len, Outcome::Failed(FailCause::WrongReply)),
            };
            self.consumed += len;
            ended += self.end_first(outcome, now_ns, sink);
        }
        (ended, Ok(()))
    }

    /// Ends the oldest request; returns 0 if it had ended before (timed out), else 1.
    pub(super) fn end_first(
        &mut self,
        outcome: Outcome,
        now_ns: u64,
        sink: &mut impl CompletionSink,
    ) -> usize {
        let Some(front) = self.pending.pop_front() else { return 0 };
        self.unstamped = self.unstamped.min(self.pending.len());
        if self.expired > 0 {
            self.expired -= 1;
            return 0;
        }
        sink.complete(front.completion(now_ns, outcome));
        1
    }

    /// Ends every open request; returns their number.
    pub(super) fn end_all(&mut self, outcome: Outcome, now_ns: u64, sink: &mut impl CompletionSink) -> usize {
        let mut ended = 0;
        while !self.pending.is_empty() {
            ended += self.end_first(outcome, now_ns, sink);
        }
        ended
    }

    /// Ends as timed out what was intended before `deadline_ns`; returns the number.
    pub(super) fn expire(&mut self, deadline_ns: u64, now_ns: u64, sink: &mut impl CompletionSink) -> usize {
        let before = self.expired;
        while let Some(oldest) = self.pending.get(self.expired)
            && oldest.intended_ns < deadline_ns
        {
            sink.complete(oldest.completion(now_ns, Outcome::TimedOut));
            self.expired += 1;
        }
        self.expired - before
    }

    /// Closes both directions; errors do not matter any more.
    pub(super) fn close(&mut self) {
        self.stream.shutdown(Shutdown::Both).ok();
        self.outbox.clear();
        self.written = 0;
    }
}

/// The start of foreign bytes, fit to print.
fn quote(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(QUOTE_LEN)].escape_ascii().to_string()
}
