//! Linux CPU topology from sysfs, named placements, and pinning that is read back.
//!
//! ```
//! use tailcore_topology::{PinGuard, Request, Role, Rule, Topology, arrange};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let topology = Topology::read()?;
//! println!("{}", topology.tree());
//!
//! // One thread that serves, on a core that no other role gets.
//! let server = Request { role: Role::Server, rule: Rule::OnePerCore, threads: 1 };
//! let placement = arrange(&topology, &[server])?;
//! let cpus = placement.cpus_of(Role::Server).into_iter().collect();
//! let pinned = PinGuard::pin(&cpus)?; // Read back; the former mask returns when it is dropped.
//! // … what is to be measured …
//! pinned.restore()?;
//! # Ok(())
//! # }
//! ```
//!
//! Two types matter. [`CpuSet`] is a set of logical CPUs, written and parsed as the kernel writes
//! it (`0-3,8`). [`Topology`] says which logical CPUs there are, which of them this process may
//! use and why not the others, and how they share cores, packages, dies, clusters, caches and
//! NUMA nodes. Then:
//!
//! | you want to | take |
//! | --- | --- |
//! | turn a named rule into logical CPUs | [`arrange`], [`Rule`]; [`place`] for a policy as typed by a user |
//! | know which placements of some threads are worth measuring | [`distinct_placements`] |
//! | pin yourself, another thread, a process, a child | [`PinGuard`], [`pin_thread`], [`pin_process`], [`PinnedCommand`] |
//! | know where threads really ran | [`ResidenceWatch`] |
//! | say where memory comes from, and see where it is | [`MemoryPolicyGuard`], [`memory_per_node`], [`nodes_of`] |
//! | know what disturbs a measurement | [`audit`], [`Frequencies`], [`Interrupts`] |
//! | keep interrupts off some CPUs for a while | [`SteeredInterrupts`] |
//! | read another machine, an archive, a test's files | [`Topology::read_from`], [`Source`] |
//!
//! If you know the kernel's interface already: a core is the set in `topology/core_cpus`, a package
//! the one in `package_cpus`, a cache is (level, type, `shared_cpu_map`), each cut down to
//! `cpu/online`. Ids such as `core_id` repeat, are sparse, or are −1, so they are labels here and
//! never keys. The files are described in the kernel's [cputopology] page and its [ABI list].
//!
//! What it does **not** do:
//!
//! - call `cpuid` or link hwloc; processor models are not known to it;
//! - need any privilege, but for steering interrupts and for threads of other users;
//! - change the machine, but for interrupts that it is told to steer: the audit names the commands and
//!   runs none;
//! - enforce a CPU quota: it is reported, and threads are placed as if there were none.
//!
//! # Errors and panics
//!
//! | situation | outcome |
//! | --- | --- |
//! | a file is missing, unreadable or malformed | an entry in [`Topology::problems`]; the rest is read |
//! | no online CPU can be found at all | [`Error::NoCpus`] |
//! | a typed list, rule, role or policy is wrong | [`ParseCpuListError`], [`ParseRuleError`], [`ParseRoleError`], [`ParseRequestsError`], [`ParsePinPolicyError`] |
//! | a placement is impossible | [`PlacementError`], with what is missing |
//! | there are too many placements to list | [`EnumerateError`] |
//! | the kernel refuses or narrows a mask | [`PinError`] |
//! | a memory policy cannot be had | [`MemoryError`] |
//! | an interrupt stays where it is | [`SteerOutcome`]; [`SteerError`] if that matters |
//!
//! Nothing in this crate panics on what files, users or the kernel say.
//!
//! [cputopology]: https://docs.kernel.org/admin-guide/cputopology.html
//! [ABI list]: https://docs.kernel.org/admin-guide/abi-testing.html

pub mod audit;
mod cpulist;
mod cpuset;
mod error;
mod memory;
mod model;
mod pin;
mod placement;
mod read;
mod steer;
mod sys;
mod topology;
mod view;

pub use cpulist::ParseCpuListError;
pub use cpuset::{CpuSet, Iter};
pub use error::{AffinityError, Error, PinError};
pub use memory::{
    MemoryError, MemoryPerNode, MemoryPolicy, MemoryPolicyGuard, NodeSet, ParseMemoryPolicyError,
    ParseNodeSetError, SlicePages, allowed_nodes, memory_per_node, memory_policy, nodes_of, parse_numa_maps,
    set_memory_policy,
};
pub use model::{
    Cache, CacheKind, Cluster, Core, CpuKind, CpuQuota, Die, Excluded, ExclusionReason, KindEvidence,
    NumaNode, Package, Problem, Quota,
};
pub use pin::{
    Migrations, PinGuard, PinnedCommand, Residence, ResidenceWatch, ThreadPinGuard, WatchError, affinity_of,
    current_affinity, current_cpu, current_tid, pin_current_thread, pin_process, pin_thread,
};
pub use placement::{
    CpuOrder, CpuOrderError, Formula, ParsePinPolicyError, ParseRequestsError, ParseRoleError,
    ParseRuleError, PinPolicy, Place, Placed, Placement, PlacementError, Request, Role, Rule, Shortage,
    arrange, parse_requests, per_package_sets, place,
};
pub use placement::{DistinctPlacements, EnumerateError, Exactness, distinct_placements};
pub use read::{Directory, Frequencies, FrequencyPolicy, Hypervisor, Interrupt, Interrupts, Source};
pub use steer::{SteerError, SteerOutcome, SteeredInterrupts, Unrestored, interrupt_affinity};
pub use topology::Topology;
pub use view::{Svg, Tree, unseen};
