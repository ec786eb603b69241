//! TCP connections with pipelined requests, polled without blocking.

mod connection;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tailcore_harness::{Clock, Completion, CompletionSink, FailCause, Outcome};

use self::connection::{Connection, Loss};
use crate::error::LoadError;
use crate::protocol::Protocol;
use crate::schedule::Scheduled;
use crate::transport::Transport;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Ready connections taken in per poll; the rest is reported by the next one.
const EVENTS_PER_POLL: usize = 64;

/// One worker's connections to one address.
///
/// Requests go round the living connections; each connection answers in order. A connection that
/// breaks takes its open requests with it (`connection_lost`); when none is left, the target is lost.
#[derive(Debug)]
pub struct Tcp<P> {
    poll: Poll,
    events: Events,
    pool: Pool<P>,
}

#[derive(Debug)]
struct Pool<P> {
    address: SocketAddr,
    protocol: P,
    connections: Vec<Connection>,
    /// Indices of the living connections.
    alive: Vec<usize>,
    /// Next position in `alive`.
    turn: usize,
    /// Indices of the connections with something submitted since the last flush.
    dirty: Vec<usize>,
    in_flight: usize,
    /// Requests that timed out and whose replies have not come.
    expired: usize,
    lost: Option<String>,
}

impl<P: Protocol> Tcp<P> {
    /// Opens `connections` connections before any load is offered.
    ///
    /// # Errors
    ///
    /// [`LoadError::Connect`] if one is refused, [`LoadError::Socket`] if it cannot be set up.
    pub fn connect(address: SocketAddr, connections: u32, protocol: P) -> Result<Self, LoadError> {
        let failed = |action| move |source| LoadError::Socket { action, address, source };
        let poll = Poll::new().map_err(failed("create a poller"))?;
        let mut pool = Pool {
            address,
            protocol,
            connections: Vec::new(),
            alive: (0..connections as usize).collect(),
            turn: 0,
            dirty: Vec::with_capacity(connections as usize),
            in_flight: 0,
            expired: 0,
            lost: None,
        };
        for index in 0..connections as usize {
            let mut stream = open(address)?;
            poll.registry()
                .register(&mut stream, Token(index), Interest::READABLE | Interest::WRITABLE)
                .map_err(failed("watch a connection"))?;
            pool.connections.push(Connection::new(stream));
        }
        Ok(Self { poll, events: Events::with_capacity(EVENTS_PER_POLL), pool })
    }
}

fn open(address: SocketAddr) -> Result<TcpStream, LoadError> {
    let stream = open_blocking(address)?;
    let action = "make a connection non-blocking";
    stream.set_nonblocking(true).map_err(|source| LoadError::Socket { action, address, source })?;
    Ok(TcpStream::from_std(stream))
}

/// A connection without Nagle's algorithm, still blocking.
pub(crate) fn open_blocking(address: SocketAddr) -> Result<std::net::TcpStream, LoadError> {
    let stream = std::net::TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
        .map_err(|source| LoadError::Connect { address, source })?;
    let action = "switch off Nagle's algorithm";
    stream.set_nodelay(true).map_err(|source| LoadError::Socket { action, address, source })?;
    Ok(stream)
}

impl<P: Protocol> Pool<P> {
    #[inline]
    fn submit(&mut self, scheduled: Scheduled) -> Result<(), FailCause> {
        if self.turn >= self.alive.len() {
            self.turn = 0;
        }
        let Some(&index) = self.alive.get(self.turn) else { return Err(FailCause::NoConnection) };
        self.turn += 1;
        if self.connections[index].submit(scheduled, &mut self.protocol) {
            self.dirty.push(index);
        }
        self.in_flight += 1;
        Ok(())
    }

    fn write(&mut self, index: usize, clock: &impl Clock, sink: &mut impl CompletionSink) {
        if let Err(loss) = self.connections[index].write(clock) {
            // Replies that came before the error are still answers.
            self.connections[index].set_closing();
            self.read(index, clock, sink);
            self.lose((index, loss), clock.now_ns(), sink);
        }
    }

    fn read(&mut self, index: usize, clock: &impl Clock, sink: &mut impl CompletionSink) {
        let expired_before = self.connections[index].expired();
        let (ended, result) = self.connections[index].read(&mut self.protocol, clock, sink);
        self.in_flight -= ended;
        self.expired -= expired_before - self.connections[index].expired();
        if let Err(loss) = result {
            self.lose((index, loss), clock.now_ns(), sink);
        }
    }

    /// Ends everything that was open on a connection, and the connection.
    fn lose(&mut self, (index, loss): (usize, Loss), now_ns: u64, sink: &mut impl CompletionSink) {
        let Some(position) = self.alive.iter().position(|&alive| alive == index) else { return };
        self.alive.remove(position);
        let connection = &mut self.connections[index];
        self.expired -= connection.expired();
        if matches!(loss, Loss::Garbage(_)) {
            self.in_flight -= connection.end_first(Outcome::Failed(FailCause::ProtocolError), now_ns, sink);
        }
        self.in_flight -= connection.end_all(Outcome::Failed(FailCause::ConnectionLost), now_ns, sink);
        connection.close();
        if self.alive.is_empty() {
            self.lost = Some(loss.describe(self.address, self.connections.len()));
        }
    }
}

impl<P: Protocol> Transport for Tcp<P> {
    #[inline]
    fn submit(&mut self, scheduled: Scheduled, clock: &impl Clock, sink: &mut impl CompletionSink) {
        if let Err(cause) = self.pool.submit(scheduled) {
            let now_ns = clock.now_ns();
            sink.complete(Completion {
                intended_ns: scheduled.intended_ns,
                sent_ns: None,
                ended_ns: now_ns,
                outcome: Outcome::Failed(cause),
            });
        }
    }

    #[inline]
    fn flush(&mut self, clock: &impl Clock, sink: &mut impl CompletionSink) {
        while let Some(index) = self.pool.dirty.pop() {
            self.pool.write(index, clock, sink);
        }
    }

    #[inline]
    fn poll(&mut self, clock: &impl Clock, sink: &mut impl CompletionSink) {
        match self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => {
                self.pool.lost = Some(format!("epoll_wait failed for {}: {error}", self.pool.address));
                return;
            }
        }
        for event in &self.events {
            let Token(index) = event.token();
            if event.is_writable() && self.pool.connections[index].has_unwritten() {
                self.pool.write(index, clock, sink);
            }
            if event.is_read_closed() {
                self.pool.connections[index].set_closing();
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                self.pool.read(index, clock, sink);
            }
        }
    }

    fn expire(&mut self, deadline_ns: u64, now_ns: u64, sink: &mut impl CompletionSink) {
        for connection in &mut self.pool.connections {
            let expired = connection.expire(deadline_ns, now_ns, sink);
            self.pool.in_flight -= expired;
            self.pool.expired += expired;
        }
    }

    fn abandon(&mut self, now_ns: u64, sink: &mut impl CompletionSink) {
        for connection in &mut self.pool.connections {
            self.pool.in_flight -= connection.end_all(Outcome::Unfinished, now_ns, sink);
        }
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.pool.in_flight
    }

    #[inline]
    fn held(&self) -> usize {
        self.pool.in_flight + self.pool.expired
    }

    fn connections_lost(&self) -> u32 {
        (self.pool.connections.len() - self.pool.alive.len()) as u32
    }

    #[inline]
    fn lost(&self) -> Option<&str> {
        self.pool.lost.as_deref()
    }
}
