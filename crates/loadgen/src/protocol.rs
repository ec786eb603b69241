//! The bytes of requests and replies, without any socket.

use tailcore_harness::Reply;

use crate::workload::Request;

/// Encoder and decoder of one wire protocol. Pure: it sees bytes, never a socket or a clock.
///
/// Replies come in the order of their requests on each connection.
pub trait Protocol {
    /// Appends the request's bytes to `out`.
    fn encode(&mut self, request: &Request, out: &mut Vec<u8>);

    /// Looks for the reply to `request` at the start of `input`.
    fn decode(&mut self, request: &Request, input: &[u8]) -> Decoded;
}

/// What the start of the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Not yet a whole reply: read more.
    Incomplete,
    /// The promised reply, `len` bytes long.
    Good {
        /// Bytes of the reply.
        len: usize,
        /// Its kind.
        reply: Reply,
    },
    /// A whole reply, `len` bytes long, that reports an error.
    Error {
        /// Bytes of the reply.
        len: usize,
    },
    /// A well-formed reply, `len` bytes long, to something else than was asked.
    Wrong {
        /// Bytes of the reply.
        len: usize,
    },
    /// No reply of this protocol: the connection cannot be read any further.
    Garbage,
}
