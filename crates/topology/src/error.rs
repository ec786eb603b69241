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

/// A question about a thread that the kernel did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AffinityError {
    /// There is no such thread.
    #[error("thread {tid} has gone; ask while it runs")]
    Gone {
        /// The thread asked about.
        tid: u32,
    },
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
    /// The set of CPUs asked for is empty.
    #[error("no thread can be pinned to an empty set of CPUs; name at least one")]
    Empty,
    /// The CPU number is beyond what any kernel numbers.
    #[error("CPU {cpu} cannot exist: the highest number accepted is {CPU_MAX}; name an online CPU")]
    OutOfRange {
        /// The CPU asked for.
        cpu: u32,
    },
    /// There is no such thread.
    #[error("thread {tid} has gone; pin it while it runs")]
    Gone {
        /// The thread that was to be pinned.
        tid: u32,
    },
    /// There is no such process.
    #[error("process {pid} has gone; pin it while it runs")]
    ProcessGone {
        /// The process that was to be pinned.
        pid: u32,
    },
    /// sched_setaffinity(2) failed; `EINVAL` means that no CPU of the set is online and inside the
    /// thread's cpuset, `EPERM` that the thread is somebody else's.
    #[error("failed to pin thread {tid} to CPU {cpus}: {source}; {}", remedy(source))]
    Refused {
        /// The thread that was to be pinned.
        tid: u32,
        /// The CPUs asked for.
        cpus: CpuSet,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The call succeeded, but the mask read back is another one: the kernel drops CPUs that are
    /// offline or outside the cpuset without a word, as long as one is left.
    #[error(
        "pinned thread {tid} to CPU {asked}, but its affinity mask reads back as `{actual}`; name \
         only CPUs that are online and inside its cpuset, or look for another program that sets \
         affinities"
    )]
    NotApplied {
        /// The thread that was to be pinned.
        tid: u32,
        /// The CPUs asked for.
        asked: CpuSet,
        /// The mask in force.
        actual: CpuSet,
    },
    /// The mask could not be read, so nobody knows.
    #[error(transparent)]
    ReadBack(#[from] AffinityError),
    /// The threads of a process could not be listed.
    #[error("failed to list the threads in {}: {source}; mount proc there", path.display())]
    Listing {
        /// The directory that was to be listed.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A process starts threads faster than they can be pinned.
    #[error(
        "process {pid} had new threads in each of {listings} listings; pin it before it starts them, \
         or move it into a cpuset"
    )]
    NeverStill {
        /// The process that was to be pinned.
        pid: u32,
        /// How often its threads were listed.
        listings: u32,
    },
}

/// What to do about a refusal.
fn remedy(refusal: &io::Error) -> &'static str {
    match refusal.raw_os_error() {
        Some(libc::EPERM) => "run as the thread's user or with CAP_SYS_NICE",
        _ => "name a CPU that is online and inside the process's cpuset",
    }
}
