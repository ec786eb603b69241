//! The parts of a machine, as plain data.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::cpuset::CpuSet;

/// A core: the online logical CPUs that share its execution units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Core {
    /// The core's online logical CPUs; never empty, and in no other core.
    pub cpus: CpuSet,
}

/// A die: a part of a package with a boundary of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Die {
    /// The die's online logical CPUs; never empty, and in no other die.
    pub cpus: CpuSet,
}

/// A cluster: a part of a die whose cores share something, most often an L2 cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Cluster {
    /// The cluster's online logical CPUs; never empty, and in no other cluster.
    pub cpus: CpuSet,
}

/// A package: what is plugged into the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Package {
    /// The kernel's `physical_package_id`: a label only. Some machines repeat it, and some say −1
    /// for all their packages.
    pub os_index: Option<i64>,
    /// The package's online logical CPUs; never empty, and in no other package.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// A cache, with the logical CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cache {
    /// The distance from the core: 1 is nearest.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// The capacity in bytes, where the kernel tells it.
    pub size_bytes: Option<u64>,
    /// The line length in bytes, where the kernel tells it.
    pub line_bytes: Option<u32>,
    /// The number of places in which a line may be held, where the kernel tells it.
    pub ways: Option<u32>,
    /// The online logical CPUs that share it; never empty.
    pub cpus: CpuSet,
}

/// A NUMA node: memory, and the logical CPUs that are near to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NumaNode {
    /// The kernel's number of the node. Numbers may be sparse.
    #[serde(skip)] // It is the key under which the node is written.
    pub os_index: u32,
    /// The node's online logical CPUs; empty for a node of memory alone.
    pub cpus: CpuSet,
    /// The node's memory in bytes, where the kernel tells it; 0 for a node without memory.
    pub memory_bytes: Option<u64>,
    /// The firmware's distance to each node, by node number, its own (10) included; empty where
    /// the kernel does not tell. 20 is meant to be twice as far as 10; few firmwares measure.
    pub distances: BTreeMap<u32, u32>,
}

/// Logical CPUs of one kind, on a machine whose cores are not all alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CpuKind {
    /// The kind's online logical CPUs; never empty, and in no other kind.
    pub cpus: CpuSet,
    /// What the kinds were told apart by.
    pub told_by: KindEvidence,
    /// What the evidence calls the kind: `cpu_core`, `cpu_atom`, or a model register's value;
    /// none where it is a mere number.
    pub name: Option<String>,
    /// The highest computing capacity of the kind's CPUs, of 1024 for the machine's best, where
    /// the kernel tells it.
    pub capacity: Option<u32>,
    /// The highest frequency of the kind's CPUs in kHz, where the kernel tells it.
    pub max_khz: Option<u64>,
}

/// What told the kinds of CPU apart, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KindEvidence {
    /// The kernel has a counting unit for each kind: `cpu_core/cpus`, `cpu_atom/cpus`.
    CountingUnits,
    /// The processor's model register, `midr_el1`.
    ModelRegister,
    /// `cpu_capacity`, in groups with a gap of a tenth between them.
    Capacity,
    /// The sizes of the L1 caches.
    CacheSizes,
    /// The highest frequency, in groups with a gap of a tenth between them. The weakest evidence:
    /// processors with favoured cores stay one kind, and a mixed frequency cap makes two.
    MaxFrequency,
}

/// Logical CPUs of the machine that this process may not use, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Excluded {
    /// The CPUs; never empty.
    pub cpus: CpuSet,
    /// The reason.
    #[serde(flatten)]
    pub reason: ExclusionReason,
}

/// Why logical CPUs may not be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExclusionReason {
    /// They are present and switched off.
    Offline,
    /// They are online, but the control group of this process has a cpuset without them. Only
    /// whoever manages the group can change that.
    NotInCpuset {
        /// The group whose files tell, as `/proc/self/cgroup` names it.
        cgroup: String,
    },
    /// They are online, but set aside at boot (`isolcpus=`): nothing runs there unless it is
    /// pinned there, which this process may do.
    Isolated,
    /// They are online, but outside the affinity mask: taskset(1), or an earlier pin.
    NotInAffinityMask,
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str("offline"),
            Self::NotInCpuset { cgroup } => write!(f, "not in the cpuset of control group {cgroup}"),
            Self::Isolated => f.write_str("isolated at boot; only threads pinned there run there"),
            Self::NotInAffinityMask => f.write_str("not in this process's affinity mask"),
        }
    }
}

/// What control groups leave to this process of the machine's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Quota {
    /// No group that this process can see sets a quota.
    Unlimited,
    /// The tightest quota of its group and all those above.
    Limited(CpuQuota),
    /// There may be one; the files do not tell.
    Unknown {
        /// What is missing.
        why: String,
    },
}

impl Quota {
    /// Gives the quota where there is known to be one.
    #[must_use]
    pub fn limit(&self) -> Option<&CpuQuota> {
        match self {
            Self::Limited(quota) => Some(quota),
            Self::Unlimited | Self::Unknown { .. } => None,
        }
    }
}

/// The share of the machine's time that a control group leaves to its processes.
///
/// A quota is not a set of CPUs: threads run on all allowed ones until the group's time of the
/// period is used up, and then all of them stand still until the next. That wait is in the tail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CpuQuota {
    /// The processor time that the group may use in each period, in microseconds.
    pub quota_us: u64,
    /// The length of a period in microseconds; 100 000 unless somebody changed it.
    pub period_us: u64,
    /// The group that sets it, this process's own or one above.
    pub cgroup: String,
    /// The file in which it stands.
    pub file: PathBuf,
}

impl CpuQuota {
    /// Gives the quota as a number of CPUs' worth of time.
    #[must_use]
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

/// A file that did not say what was expected of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The file or directory, with the root that was read.
    pub path: PathBuf,
    /// What is wrong, on one line.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}
