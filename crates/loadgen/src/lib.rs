//! Offers an open-loop load to a service and records every request from its intended arrival.
//!
//! ```
//! use std::time::Duration;
//! use tailcore_loadgen::null::{NullProtocol, NullService};
//! use tailcore_loadgen::transport::in_process::InProcess;
//! use tailcore_loadgen::{RunPlan, Session, run};
//! use tailcore_topology::{PinPolicy, Topology};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = RunPlan {
//!     rate_rps: 50_000.0,
//!     warmup: Duration::from_millis(10),
//!     duration: Duration::from_millis(100),
//!     pin: PinPolicy::None,
//!     ..RunPlan::default()
//! };
//! let topology = Topology::read()?;
//! let mut session = Session::new("a service that does nothing", &plan, &topology);
//! let outcome = run(&mut session, |_worker| Ok(InProcess::new(NullProtocol, NullService)))?;
//!
//! let result = &outcome.result;
//! println!("p99 = {:?} ns", result.latency_ns.sojourn.quantiles["0.99"]);
//! assert!(result.tally.is_balanced());
//! # Ok(())
//! # }
//! ```
//!
//! The way of one request: a [`Schedule`](schedule::Schedule) says *when* and *what*; an
//! [`Engine`](engine::Engine) waits for the intended arrival, encodes the request through a
//! [`Protocol`](protocol::Protocol) and hands it to a [`Transport`](transport::Transport); its end
//! goes to the worker's [`Recorder`](tailcore_harness::Recorder). Nothing on this way waits for an
//! answer, so a slow service cannot slow the load down.
//!
//! What it does not do: it offers no closed loops, speaks no TLS, and never skips a late request
//! nor corrects a latency afterwards.

pub mod arrivals;
pub mod coordinator;
pub mod engine;
pub mod error;
pub mod floor;
pub mod limits;
pub mod memcached;
pub mod null;
pub mod plan;
pub mod preload;
pub mod protocol;
pub mod random;
pub mod run;
pub mod schedule;
pub mod server;
pub mod service;
pub mod session;
pub mod stall;
pub mod target;
pub mod transport;
pub mod workload;

mod assemble;
mod worker;

pub use arrivals::ArrivalLaw;
pub use error::LoadError;
pub use plan::RunPlan;
pub use run::{RunOutcome, run};
pub use session::{Placement, Progress, Session, place_threads};
pub use target::Target;
pub use workload::{KeyLaw, Workload};

/// Initial size of every socket buffer of ours, in bytes: room for a batch of requests or replies,
/// yet no burden with ten thousand connections. Buffers grow where a value does not fit.
pub(crate) const BUFFER_LEN: usize = 16 * 1_024;

/// A full buffer whose pages have all been written to, so that its first use takes no page fault.
pub(crate) fn touched_buffer() -> Vec<u8> {
    // Not zeros: those would be promised by the allocator and only delivered by a fault.
    vec![b'\n'; BUFFER_LEN]
}

/// An empty buffer with room for [`BUFFER_LEN`] bytes, its pages written to.
pub(crate) fn empty_buffer() -> Vec<u8> {
    let mut buffer = touched_buffer();
    buffer.clear();
    buffer
}
