//! What can go wrong before or instead of a run.

use std::io;
use std::net::SocketAddr;

use tailcore_topology::{PinError, PlacementError};

/// Reason why there is no result. Faults *during* a run are not errors: they end in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A parameter of the plan is out of range.
    #[error("{name} = {value}: {problem}")]
    Plan {
        /// The parameter, as it is typed.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The target cannot be understood.
    #[error("target `{target}`: {problem}")]
    Target {
        /// What was given.
        target: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The target's host cannot be looked up.
    #[error("cannot look up the host of `{target}`: {source}; check its name")]
    Resolve {
        /// The target.
        target: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// A server of ours cannot listen at the address.
    #[error("cannot listen on {address}: {source}; choose another address (port 0 takes a free one)")]
    Listen {
        /// The address tried.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// Nobody accepts connections at the address.
    #[error("cannot connect to {address}: {source}; is the server running and listening there?")]
    Connect {
        /// The address tried.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket could not be set up.
    #[error("cannot {action} for {address}: {source}")]
    Socket {
        /// What was tried.
        action: &'static str,
        /// The address concerned.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// More connections were asked for than the process may have open files.
    #[error(
        "{connections} connections need {needed} open files, but this process may have {limit}: raise the limit (`ulimit -n {needed}`) or lower --connections"
    )]
    OpenFiles {
        /// Connections asked for.
        connections: u32,
        /// Files needed for them and for the process itself.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// Storing the keys before the run failed.
    #[error("preload of {address} stopped at key {key}: {problem}")]
    Preload {
        /// The server.
        address: SocketAddr,
        /// The key that was not stored.
        key: u64,
        /// What happened instead.
        problem: String,
    },
    /// The threads cannot be placed as asked.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A thread could not be pinned.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// A thread could not be started.
    #[error("cannot start the thread `{name}`: {source}")]
    Thread {
        /// Name of the thread.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread died of a defect of tailcore; its measurements are lost.
    #[error("the thread `{name}` panicked: please report this defect")]
    Panicked {
        /// Name of the thread.
        name: String,
    },
}

impl LoadError {
    pub(crate) fn plan(name: &'static str, value: impl ToString, problem: impl Into<String>) -> Self {
        Self::Plan { name, value: value.to_string(), problem: problem.into() }
    }
}
