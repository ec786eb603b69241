//! The libraries together against real servers, over real sockets, on the machine as it is.
//!
//! No test holds the machine to a speed: what is asserted is the account of the requests, and delays
//! that the test itself caused.

/// The built-in key-value server over TCP against the same service in process.
mod builtin;
/// Peers that close, reset, dribble, fall silent or say what nobody asked.
mod hostile;
/// Debian's `memcached`: a good run, and what becomes of one when the server is stopped or killed.
mod memcached;
/// The result as JSON against the page that documents it.
mod schema;
/// What the others share: skipping by name, plans, accounts, a `memcached` of one's own.
mod support;
