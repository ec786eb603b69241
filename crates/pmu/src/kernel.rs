//! The few things the crate asks of the kernel, as a trait, so that a test can be the kernel.

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

use crate::machine::Machine;
use crate::user::{NoUserRead, UserAccess, UserPage};

/// Whose events are counted.
///
/// If unsure: the thread that does the work, by its id. What several threads do is best told by counters of
/// each; a CPU also counts whoever else runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// The thread which opens the counters.
    CurrentThread,
    /// The thread with this kernel thread id (`gettid(2)`), of this process or, where allowed, of another.
    Thread(u32),
    /// All threads that this process has now, and all threads and child processes which these create later.
    ///
    /// A thread that another one creates while the counters are being opened may be missed: nobody can list
    /// threads and open counters in one step. A process that waits before its exec(2) has one thread.
    Process(u32),
    /// Whatever runs on this logical CPU; a matter for root unless `perf_event_paranoid` is 0 or less.
    Cpu(u32),
    /// Whatever runs, on every logical CPU that is online now.
    AllCpus,
    /// The processes of a control group, and of the groups below it.
    Cgroup {
        /// Its directory, in the cgroup v2 hierarchy or in that of the `perf_event` controller.
        directory: PathBuf,
        /// The one logical CPU on which to count it; `None`: all that are online now.
        cpu: Option<u32>,
    },
}

/// Where one counter counts: the arguments `pid` and `cpu` of perf_event_open(2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The calling thread, on whatever CPU it runs.
    CurrentThread,
    /// The thread of this id, on whatever CPU it runs.
    Thread(u32),
    /// This logical CPU, whoever runs there.
    Cpu(u32),
    /// A control group on one logical CPU.
    Cgroup {
        /// The directory of the group.
        directory: PathBuf,
        /// The logical CPU.
        cpu: u32,
    },
}

/// The calls that opening, enabling and reading counters take.
///
/// The kernel of the machine implements it; so can a simulated one, to see how a program reports a machine
/// that is not at hand: no PMU, no permission, too few counters. Implementations repeat a call that a signal
/// interrupted.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Opens one counter of `place`, as perf_event_open(2) does.
    ///
    /// With a `leader` the counter joins that leader's group. Reading a leader must give the layout of
    /// `read_format` = `GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING`: the number of members, the two
    /// times in ns, then one value per member in the order of opening, all `u64` in native byte order.
    fn open(&self, attr: &EventAttr, place: &Place, leader: Option<BorrowedFd<'_>>)
    -> Result<OwnedFd, Errno>;

    /// Starts the group of `leader`, as `PERF_EVENT_IOC_ENABLE` does.
    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno>;

    /// Reads the group of `leader` into `buffer`, as read(2) does, and says how many bytes came.
    ///
    /// Must not allocate.
    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// The machine on which names of events are looked up.
    ///
    /// A kernel that does not implement this is of this machine.
    fn machine(&self) -> &Machine {
        Machine::this()
    }

    /// The settings of the system which explain a refusal; asked for after one only.
    fn facts(&self) -> SystemFacts;

    /// The thread ids of a process; `ESRCH` if there is no such process.
    fn threads(&self, pid: u32) -> Result<Vec<u32>, Errno>;

    /// The logical CPUs that are online.
    fn cpus(&self) -> Result<Vec<u32>, Errno>;

    /// Keeps the calling thread busy in user mode for a moment, at most a few ms.
    ///
    /// Gives the number of instructions that this took, at least a million, or `None` where that is not
    /// known.
    fn work(&self) -> Option<u64>;

    /// Whether a thread can read its own counters without a system call, and what those have to ask for when
    /// they are opened.
    ///
    /// A kernel that does not implement this has no such reads.
    fn user_access(&self) -> Result<UserAccess, NoUserRead> {
        Err(NoUserRead::Unsupported)
    }

    /// Maps the page through which the calling thread can read this `counter` of its own, as mmap(2) does.
    ///
    /// A kernel that does not implement this answers ENOSYS.
    fn map(&self, counter: BorrowedFd<'_>) -> Result<UserPage, Errno> {
        let _ = counter;
        Err(Errno(libc::ENOSYS))
    }
}

/// The part of `struct perf_event_attr` that this crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventAttr {
    /// The kind of `config`: `PERF_TYPE_*`, or the number of a PMU in sysfs.
    pub type_: u32,
    /// The event.
    pub config: u64,
    /// More of the event, where the PMU wants it; the address of a breakpoint.
    pub config1: u64,
    /// More of the event, where the PMU wants it; the length of a breakpoint.
    pub config2: u64,
    /// More of the event, where the PMU wants it.
    pub config3: u64,
    /// What a breakpoint waits for: `HW_BREAKPOINT_*`.
    pub bp_type: u32,
    /// Do not count in user mode.
    pub exclude_user: bool,
    /// Do not count in kernel mode.
    pub exclude_kernel: bool,
    /// Do not count in the hypervisor.
    pub exclude_hv: bool,
    /// Count the threads and processes too which the thread creates from now on; the same for all members of
    /// a group.
    pub inherit: bool,
    /// Be on the PMU always or fail for good; set on leaders only, the kernel refuses it on members.
    pub pinned: bool,
    /// Stay off until enabled; set on leaders only, because the kernel leaves disabled members out when it
    /// checks whether a group fits the PMU.
    pub disabled: bool,
    /// Be enabled by `execve(2)`; set on leaders only, because some PMU drivers check a disabled leader only
    /// then.
    pub enable_on_exec: bool,
}

/// What is known about the system when a counter was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SystemFacts {
    /// `/proc/sys/kernel/perf_event_paranoid`; `None` if there is no such file, as in a kernel without perf
    /// events.
    pub paranoid: Option<i32>,
    /// Whether this is known to be a virtual machine.
    pub hypervisor: bool,
}

/// An error number of the kernel, errno(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

/// The numbers that these calls are documented to give, by name.
const NAMES: &[(i32, &str)] = &[
    (libc::E2BIG, "E2BIG"),
    (libc::EACCES, "EACCES"),
    (libc::EBADF, "EBADF"),
    (libc::EBUSY, "EBUSY"),
    (libc::ECHILD, "ECHILD"),
    (libc::EFAULT, "EFAULT"),
    (libc::EINTR, "EINTR"),
    (libc::EINVAL, "EINVAL"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENFILE, "ENFILE"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EPERM, "EPERM"),
    (libc::ESRCH, "ESRCH"),
];

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}
