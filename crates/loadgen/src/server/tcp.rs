//! A TCP server with one thread of its own: an event loop around a [`Service`].

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use tailcore_harness::ThreadId;
use tailcore_harness::phases::as_ns;

use crate::error::LoadError;
use crate::service::Service;
use crate::stall::StallScript;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
/// Unsent reply bytes of one connection above which its requests are left unread.
const OUTBOX_MAX: usize = 1 << 20;
/// Rounds of reading and answering that one connection gets before the others.
const ROUNDS_PER_TURN: usize = 16;
/// Longest request: a value and its command line.
const INBOX_MAX: usize = 2 << 20;

/// How a server runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerOptions {
    /// Logical CPU to pin the thread to; `None` leaves it to the scheduler.
    pub cpu: Option<u32>,
    /// Freezes, for trying out what a tool makes of them.
    pub stalls: Option<StallScript>,
}

/// A running server; dropping it stops the server and waits for its thread.
#[derive(Debug)]
pub struct TcpServer {
    address: SocketAddr,
    thread_id: ThreadId,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl TcpServer {
    /// Listens on `address` (port 0: a free one) and serves from a thread of its own.
    ///
    /// # Errors
    ///
    /// [`LoadError::Listen`] if the address cannot be bound, [`LoadError::Pin`] if the CPU refuses.
    pub fn start(
        address: SocketAddr,
        service: impl Service + Send + 'static,
        options: ServerOptions,
    ) -> Result<Self, LoadError> {
        let failed = |action| move |source| LoadError::Socket { action, address, source };
        let mut listener =
            TcpListener::bind(address).map_err(|source| LoadError::Listen { address, source })?;
        let address = listener.local_addr().map_err(failed("find out the port"))?;
        let poll = Poll::new().map_err(failed("create a poller"))?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)
            .map_err(failed("watch the listener"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(failed("create a waker"))?;

        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = mpsc::channel();
        let event_loop = EventLoop::new(poll, listener, service, (options.stalls, Arc::clone(&stop)));
        let name = "tailcore-server".to_owned();
        let thread = thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                let pinned = options.cpu.map_or(Ok(()), tailcore_topology::pin_current_thread);
                let is_pinned = pinned.is_ok();
                ready.send(pinned.map(|()| tailcore_topology::current_tid())).ok();
                if is_pinned {
                    event_loop.run();
                }
            })
            .map_err(|source| LoadError::Thread { name: name.clone(), source })?;
        let tid = is_ready.recv().map_err(|_| LoadError::Panicked { name })??;
        let thread_id = ThreadId { role: "server".to_owned(), tid, cpu: options.cpu };
        Ok(Self { address, thread_id, stop, waker, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its thread, for counting.
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread_id
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake().ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct EventLoop<S> {
    poll: Poll,
    listener: TcpListener,
    service: S,
    stalls: Option<StallScript>,
    started: Instant,
    stop: Arc<AtomicBool>,
    /// Slots of the open connections; the index is the token.
    peers: Vec<Option<Peer>>,
}

impl<S: Service> EventLoop<S> {
    fn new(
        poll: Poll,
        listener: TcpListener,
        service: S,
        (stalls, stop): (Option<StallScript>, Arc<AtomicBool>),
    ) -> Self {
        Self { poll, listener, service, stalls, started: Instant::now(), stop, peers: Vec::new() }
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(256);
        let mut unfinished: Vec<usize> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            // With work left over, only look.
            let timeout = if unfinished.is_empty() { None } else { Some(Duration::ZERO) };
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Nothing can be served any more; clients see their connections close.
                Err(_) => return,
            }
            let left_over = std::mem::take(&mut unfinished);
            let ready = events.iter().map(|event| event.token());
            for token in ready.chain(left_over.into_iter().map(Token)) {
                self.stall();
                match token {
                    LISTENER => self.accept(),
                    WAKER => {}
                    Token(index) => {
                        if self.serve(index) == Progress::Unfinished {
                            unfinished.push(index);
                        }
                    }
                }
            }
        }
    }

    /// Sleeps until the script's current freeze is over.
    fn stall(&self) {
        if let Some(script) = &self.stalls {
            let now_ns = as_ns(self.started.elapsed());
            let thaw_ns = script.thaw_ns(now_ns);
            if thaw_ns > now_ns {
                thread::sleep(Duration::from_nanos(thaw_ns - now_ns));
            }
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                // One connection that was gone before it was accepted; the others wait behind it.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                // Nobody left, or no descriptor free: those that wait are accepted when a peer has gone.
                Err(_) => return,
            }
        }
    }

    fn admit(&mut self, mut stream: TcpStream) {
        let index = self.peers.iter().position(Option::is_none).unwrap_or(self.peers.len());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let is_watched = self.poll.registry().register(&mut stream, Token(index), interest).is_ok();
        if stream.set_nodelay(true).is_err() || !is_watched {
            return;
        }
        let peer = Some(Peer::new(stream));
        match self.peers.get_mut(index) {
            Some(slot) => *slot = peer,
            None => self.peers.push(peer),
        }
    }

    fn serve(&mut self, index: usize) -> Progress {
        let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else { return Progress::Done };
        let progress = peer.advance(&mut self.service).unwrap_or(Progress::Done);
        if progress == Progress::Done {
            self.peers[index] = None;
            self.accept();
        }
        progress
    }
}

/// How far a connection has been served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// As far as its socket goes: the next event resumes.
    Waiting,
    /// There is more, but others have a right to be served too.
    Unfinished,
    /// For good.
    Done,
}

/// One client's connection.
struct Peer {
    stream: TcpStream,
    inbox: Vec<u8>,
    received: usize,
    outbox: Vec<u8>,
    written: usize,
    is_leaving: bool,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            inbox: crate::touched_buffer(),
            received: 0,
            outbox: crate::empty_buffer(),
            written: 0,
            is_leaving: false,
        }
    }

    /// Reads, serves and writes as far as the socket goes, but no more than a few rounds.
    fn advance(&mut self, service: &mut impl Service) -> io::Result<Progress> {
        for _ in 0..ROUNDS_PER_TURN {
            let has_more = self.serve(service);
            let is_flushed = self.write()?;
            // A client that does not read its replies is not read from; the next writable event resumes.
            if !is_flushed && self.outbox.len() - self.written > OUTBOX_MAX {
                return Ok(Progress::Waiting);
            }
            // What has been received is answered before more is read, or waited for.
            if has_more {
                continue;
            }
            if self.is_leaving {
                return Ok(if is_flushed { Progress::Done } else { Progress::Waiting });
            }
            if self.received == self.inbox.len() {
                if self.received >= INBOX_MAX {
                    return Ok(Progress::Done);
                }
                self.inbox.resize(self.inbox.len() * 2, 0);
            }
            match self.stream.read(&mut self.inbox[self.received..]) {
                // It may still be reading: what it asked for before is answered.
                Ok(0) => self.is_leaving = true,
                Ok(len) => self.received += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Waiting),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Progress::Unfinished)
    }

    /// Answers what has been received, as long as the replies do not pile up; true if they did, so that
    /// requests may be left.
    fn serve(&mut self, service: &mut impl Service) -> bool {
        let mut has_more = true;
        let mut used = 0;
        while used < self.received && self.outbox.len() - self.written <= OUTBOX_MAX {
            match service.handle(&self.inbox[used..self.received], &mut self.outbox) {
                0 => {
                    has_more = false;
                    break;
                }
                taken => used += taken,
            }
            if service.wants_close() {
                self.is_leaving = true;
                used = self.received;
            }
        }
        self.inbox.copy_within(used..self.received, 0);
        self.received -= used;
        has_more && self.received > 0
    }

    /// Writes what it can; true once nothing is left.
    fn write(&mut self) -> io::Result<bool> {
        while self.written < self.outbox.len() {
            match self.stream.write(&self.outbox[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => self.written += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.written > self.outbox.len() / 2 {
                        self.outbox.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(false);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outbox.clear();
        self.written = 0;
        Ok(true)
    }
}
