//! Memory: on which NUMA nodes a thread's memory is to lie, and where it lies.
//!
//! A page lands where the thread that touches it first is told to put it: by default on the node of
//! the CPU it runs on. So pin first, set the policy second, allocate and touch third. A policy does
//! not move pages that are there already.

mod error;
mod nodes;
mod pages;
mod policy;
mod resident;

pub use error::MemoryError;
pub use nodes::{NodeSet, ParseNodeSetError};
pub use pages::{SlicePages, nodes_of};
pub use policy::{
    MemoryPolicy, MemoryPolicyGuard, ParseMemoryPolicyError, allowed_nodes, memory_policy, set_memory_policy,
};
pub use resident::{MemoryPerNode, memory_per_node, parse_numa_maps};
