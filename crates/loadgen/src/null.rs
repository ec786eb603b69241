//! A protocol and a service that do nothing: what remains is the cost of the generator itself.

use tailcore_harness::Reply;

use crate::protocol::{Decoded, Protocol};
use crate::service::Service;
use crate::workload::Request;

/// A protocol without bytes: every reply is good at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullProtocol;

impl Protocol for NullProtocol {
    #[inline]
    fn encode(&mut self, _request: &Request, _out: &mut Vec<u8>) {}

    #[inline]
    fn decode(&mut self, _request: &Request, _input: &[u8]) -> Decoded {
        Decoded::Good { len: 0, reply: Reply::Done }
    }
}

/// A service that answers without working.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullService;

impl Service for NullService {
    #[inline]
    fn handle(&mut self, input: &[u8], _output: &mut Vec<u8>) -> usize {
        input.len()
    }
}
