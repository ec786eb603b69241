//! Storing every key before the run, so that reads find what they ask for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tailcore_harness::Reply;

use crate::BUFFER_LEN;
use crate::error::LoadError;
use crate::protocol::{Decoded, Protocol};
use crate::workload::{Operation, Request, Workload};

/// Bytes written ahead of their replies, well below what socket buffers hold.
const BATCH_LEN: usize = 32 * 1_024;
/// How long one batch may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// Stores all keys of `workload` and checks that each was acknowledged.
///
/// `progress` is told how many keys are stored and may end the preload by returning false.
///
/// # Errors
///
/// [`LoadError::Connect`] or [`LoadError::Preload`] with the key that could not be stored.
pub fn preload(
    address: SocketAddr,
    workload: &Workload,
    protocol: &mut impl Protocol,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), LoadError> {
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
            wire.acknowledged(&store(workload, key), protocol).map_err(|problem| failed(key, problem))?;
        }
        if !progress(next) {
            return Ok(());
        }
    }
    Ok(())
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
        let stream = TcpStream::connect(address).map_err(|source| LoadError::Connect { address, source })?;
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(REPLY_TIMEOUT)))
            .and_then(|()| stream.set_write_timeout(Some(REPLY_TIMEOUT)))
            .map_err(|source| LoadError::Socket { action: "prepare the preload", address, source })?;
        Ok(Self { stream, output: Vec::with_capacity(2 * BATCH_LEN), input: Vec::with_capacity(BUFFER_LEN) })
    }

    fn acknowledged(&mut self, request: &Request, protocol: &mut impl Protocol) -> Result<(), String> {
        loop {
            match protocol.decode(request, &self.input) {
                Decoded::Good { len, reply: Reply::Stored } => {
                    self.input.drain(..len);
                    return Ok(());
                }
                Decoded::Incomplete => self.read_more().map_err(|error| error.to_string())?,
                Decoded::Good { len, .. } | Decoded::Error { len } | Decoded::Wrong { len } => {
                    return Err(format!(
                        "the server answered `{}`",
                        self.input[..len].trim_ascii().escape_ascii()
                    ));
                }
                Decoded::Garbage => {
                    let quote = &self.input[..self.input.len().min(40)];
                    return Err(format!(
                        "the server answered `{}`, which is no reply of this protocol; check the address",
                        quote.escape_ascii()
                    ));
                }
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
