//! Storing every key before the run, so that reads find what they ask for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tailcore_harness::Reply;

use crate::BUFFER_LEN;
use crate::error::LoadError;
use crate::protocol::{Decoded, Protocol};
use crate::transport::tcp::open_blocking;
use crate::workload::{Operation, Request, Workload};

/// Bytes written ahead of their replies, well below what socket buffers hold.
const BATCH_LEN: usize = 32 * 1_024;
/// How long one reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a read waits before it looks whether the preload should end.
const READ_PAUSE: Duration = Duration::from_millis(100);

/// Stores all keys of `workload` and checks that each was acknowledged.
///
/// `progress` is told now and then how many keys are stored; it ends the preload by returning false.
/// Returns whether all keys were stored.
///
/// # Errors
///
/// [`LoadError::Connect`] or [`LoadError::Preload`] with the key that could not be stored.
pub fn preload(
    address: SocketAddr,
    workload: &Workload,
    protocol: &mut impl Protocol,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, LoadError> {
    let mut wire = Wire::open(address)?;
    let mut next = 0;
    while next < workload.keys {
        let first = next;
        wire.output.clear();
        while next < workload.keys && (next == first || wire.output.len() < BATCH_LEN) {
            protocol.encode(&store(workload, next), &mut wire.output);
            next += 1;
        }
        let failed = |key, problem| LoadError::Preload { address, key, problem };
        wire.stream
            .write_all(&wire.output)
            .map_err(|error| failed(first, format!("{error}; see whether the server still runs")))?;
        for key in first..next {
            match wire.acknowledgement(&store(workload, key), protocol, &mut || progress(key)) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(problem) => return Err(failed(key, problem)),
            }
        }
        if !progress(next) {
            return Ok(next == workload.keys);
        }
    }
    Ok(true)
}

fn store(workload: &Workload, key: u64) -> Request {
    Request { operation: Operation::Set, key, value_len: workload.value_len }
}

/// A blocking connection and its buffers.
struct Wire {
    stream: TcpStream,
    output: Vec<u8>,
    input: Vec<u8>,
}

impl Wire {
    fn open(address: SocketAddr) -> Result<Self, LoadError> {
        let stream = open_blocking(address)?;
        stream
            .set_read_timeout(Some(READ_PAUSE))
            .and_then(|()| stream.set_write_timeout(Some(REPLY_TIMEOUT)))
            .map_err(|source| LoadError::Socket { action: "prepare the preload", address, source })?;
        Ok(Self { stream, output: Vec::with_capacity(2 * BATCH_LEN), input: Vec::with_capacity(BUFFER_LEN) })
    }

    /// Waits for the reply to one request; false if `go_on` ended the wait.
    fn acknowledgement(
        &mut self,
        request: &Request,
        protocol: &mut impl Protocol,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, String> {
        let started = Instant::now();
        loop {
            match protocol.decode(request, &self.input) {
                Decoded::Good { len, reply: Reply::Stored } => {
                    self.input.drain(..len);
                    return Ok(true);
                }
                Decoded::Incomplete => {}
                Decoded::Good { len, .. } | Decoded::Error { len } | Decoded::Wrong { len } => {
                    let reply = self.input[..len].trim_ascii().escape_ascii();
                    return Err(format!("the server answered `{reply}`"));
                }
                Decoded::Garbage => {
                    let quote = self.input[..self.input.len().min(40)].escape_ascii();
                    return Err(format!(
                        "the server answered `{quote}`, which is no reply of this protocol; check the address"
                    ));
                }
            }
            match self.read_more() {
                Ok(()) => {}
                Err(error) if is_a_pause(&error) => {
                    if !go_on() {
                        return Ok(false);
                    }
                    if started.elapsed() >= REPLY_TIMEOUT {
                        return Err(format!(
                            "no answer within {REPLY_TIMEOUT:?}; see whether the server is busy"
                        ));
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4_096];
        let len = self.stream.read(&mut chunk)?;
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
        self.input.extend_from_slice(&chunk[..len]);
        Ok(())
    }
}

/// Whether a read only gave up waiting, or was interrupted by a signal (socket(7): with a receive
/// timeout it is not restarted).
fn is_a_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
