//! What serves requests: written once, deployed in-process or behind a socket.

/// A service that turns request bytes into reply bytes.
///
/// One value serves one thread; a deployment with several threads makes several values.
pub trait Service {
    /// Answers all complete requests at the start of `input`, appending to `output`, and returns
    /// how many bytes of `input` were used up. An incomplete request is left for the next call.
    fn handle(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize;

    /// Whether the connection must be closed once `output` is sent: the peer said goodbye, or sent
    /// what cannot be read any further.
    fn wants_close(&self) -> bool {
        false
    }
}
