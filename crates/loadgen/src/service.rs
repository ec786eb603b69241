//! What serves requests: written once, deployed in-process or behind a socket.

/// A service that turns request bytes into reply bytes.
///
/// One value serves one thread; a deployment with several threads makes several values.
pub trait Service {
    /// Answers the request at the start of `input`, appending to `output`, and returns how many bytes
    /// of `input` it took: 0 if it is not complete.
    ///
    /// One request per call, so that a server can stop between two when replies pile up.
    fn handle(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize;

    /// Whether the connection must be closed once `output` is sent: the peer said goodbye, or sent
    /// what cannot be read any further.
    fn wants_close(&self) -> bool {
        false
    }
}
