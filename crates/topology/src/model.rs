//! The parts of a machine, as plain data.

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
}

/// Logical CPUs of the machine that this process may not use, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Excluded {
    /// The CPUs; never empty.
    pub cpus: CpuSet,
    /// The reason.
    pub reason: ExclusionReason,
}

/// Why logical CPUs may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExclusionReason {
    /// They are present and switched off.
    Offline,
    /// They are online, but outside the affinity mask: taskset(1), a cpuset, or an earlier pin.
    NotInAffinityMask,
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offline => "offline",
            Self::NotInAffinityMask => "not in this process's affinity mask",
        })
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
