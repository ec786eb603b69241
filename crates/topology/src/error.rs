//! What can go wrong with reading a machine and with pinning a thread.

use std::io;
use std::path::PathBuf;

use crate::cpulist::CPU_MAX;
use crate::cpuset::CpuSet;

/// A machine that could not be described at all.
///
/// Anything less than that is listed by [`Topology::problems`](crate::Topology::problems).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No online CPU is named under this directory.
    #[error(
        "found no online CPU under {}; mount sysfs there, or name the root of a machine's files \
         that holds `sys/devices/system/cpu`",
        path.display()
    )]
    NoCpus {
        /// The directory that was searched.
        path: PathBuf,
    },
    /// The affinity mask of the calling thread could not be read.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
}

/// A question about the calling thread that the kernel did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AffinityError {
    /// sched_getaffinity(2) failed.
    #[error(
        "failed to read the affinity mask of thread {tid}: {source}; allow sched_getaffinity in \
         the sandbox's system call filter"
    )]
    Mask {
        /// The thread asked about.
        tid: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// sched_getcpu(3) failed.
    #[error(
        "failed to ask which CPU thread {tid} runs on: {source}; allow getcpu in the sandbox's system call filter"
    )]
    Cpu {
        /// The thread asked about.
        tid: u32,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// A thread that is not pinned as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The CPU number is beyond what any kernel numbers.
    #[error("CPU {cpu} cannot exist: the highest number accepted is {CPU_MAX}; name an online CPU")]
    OutOfRange {
        /// The CPU asked for.
        cpu: u32,
    },
    /// sched_setaffinity(2) failed; `EINVAL` means that the CPU does not exist, is offline, or is
    /// outside the thread's cpuset.
    #[error(
        "failed to pin thread {tid} to CPU {cpu}: {source}; name a CPU that is online and inside \
         the process's cpuset"
    )]
    Refused {
        /// The thread that was to be pinned.
        tid: u32,
        /// The CPU asked for.
        cpu: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The call succeeded, but the mask read back is another one.
    #[error(
        "pinned thread {tid} to CPU {cpu}, but its affinity mask reads back as `{actual}`; look \
         for another program that sets affinities or cpusets"
    )]
    NotApplied {
        /// The thread that was to be pinned.
        tid: u32,
        /// The CPU asked for.
        cpu: u32,
        /// The mask in force.
        actual: CpuSet,
    },
    /// The mask could not be read back, so nobody knows.
    #[error(transparent)]
    ReadBack(#[from] AffinityError),
}
