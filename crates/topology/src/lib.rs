//! Linux CPU topology from sysfs, named placements, and pinning that is read back.
//!
//! ```
//! use tailcore_topology::{PinPolicy, Role, Topology, place};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let topology = Topology::read()?;
//! println!("{}", topology.tree());
//!
//! // One thread that serves, on a core of its own where the machine has one.
//! let cpus = place(&topology, &PinPolicy::Auto, &[Role::Server])?;
//! if let Some(cpu) = cpus[0] {
//!     std::thread::spawn(move || tailcore_topology::pin_current_thread(cpu))
//!         .join()
//!         .expect("the thread does not panic")?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Two types matter. [`CpuSet`] is a set of logical CPUs, written and parsed as the kernel writes
//! it (`0-3,8`). [`Topology`] says which logical CPUs there are, which of them this process may
//! use and why not the others, and how they share cores, packages, dies, caches and NUMA nodes.
//! [`place`] turns a policy and a list of roles into logical CPUs; [`pin_current_thread`] carries
//! that out and checks that the kernel did it.
//!
//! If you know the kernel's interface already: a core is the set in `topology/core_cpus_list`, a
//! package the one in `package_cpus_list`, a cache is (level, type, `shared_cpu_list`), each cut
//! down to `cpu/online`. Ids such as `core_id` repeat, are sparse, or are −1, so they are labels
//! here and never keys. The files are described in the kernel's
//! [cputopology] page and its [ABI list].
//!
//! What it does **not** do:
//!
//! - call `cpuid`, link hwloc, or need any privilege;
//! - look into cgroup files or CPU quotas: a cpuset limit shows as a narrower affinity mask, a
//!   quota (`cpu.max`) does not show at all;
//! - tell apart the kinds of core of a hybrid processor;
//! - place memory, move interrupts, or change governors;
//! - pin a thread other than the calling one.
//!
//! # Errors and panics
//!
//! | situation | outcome |
//! | --- | --- |
//! | a file is missing, unreadable or malformed | an entry in [`Topology::problems`]; the rest is read |
//! | no online CPU can be found at all | [`Error::NoCpus`] |
//! | a typed CPU list or policy is wrong | [`ParseCpuListError`], [`ParsePinPolicyError`] |
//! | a placement is impossible | [`PlacementError`] |
//! | the kernel refuses or narrows a mask | [`PinError`] |
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
    MemoryError, MemoryPolicy, MemoryPolicyGuard, NodeSet, PagesPerNode, ParseMemoryPolicyError,
    ParseNodeSetError, SlicePages, allowed_nodes, memory_policy, nodes_of, pages_per_node, parse_numa_maps,
    set_memory_policy,
};
pub use model::{
    Cache, CacheKind, Cluster, Core, CpuKind, CpuQuota, Die, Excluded, ExclusionReason, KindEvidence,
    NumaNode, Package, Problem,
};
pub use pin::{
    Migrations, PinGuard, PinnedCommand, Residence, ThreadPinGuard, ResidenceWatch, WatchError, affinity_of,
    current_affinity, current_cpu, current_tid, pin_current_thread, pin_process, pin_thread,
};
pub use placement::{DistinctPlacements, EnumerateError, Exactness, distinct_placements};
pub use placement::{
    CpuOrder, CpuOrderError, Formula, ParsePinPolicyError, ParseRoleError, ParseRuleError, PinPolicy, Place,
    Placed, Placement, PlacementError, Request, Role, Rule, Shortage, arrange, per_package_sets, place,
};
pub use read::{Directory, Frequencies, FrequencyPolicy, Interrupt, Interrupts, Source};
pub use steer::{SteerError, SteerOutcome, SteeredInterrupts, Unrestored, interrupt_affinity};
pub use topology::Topology;
pub use view::{Svg, Tree};
