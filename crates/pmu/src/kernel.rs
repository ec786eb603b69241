//! The few things the crate asks of the kernel, as a trait, so that a test can be the kernel.

use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The thread whose events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The thread which opens the counters.
    CurrentThread,
    /// The thread with this kernel thread id (`gettid(2)`), of this process or, where allowed, of another.
    Thread(u32),
}

/// The calls that opening, enabling and reading counters take.
///
/// The kernel of the machine implements it; so can a simulated one, to see how a program reports a machine
/// that is not at hand: no PMU, no permission, too few counters. Implementations repeat a call that a signal
/// interrupted.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Opens one counter of `target` on whatever CPU it runs, as perf_event_open(2) does.
    ///
    /// With a `leader` the counter joins that leader's group. Reading a leader must give the layout of
    /// `read_format` = `GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING`: the number of members, the two
    /// times in ns, then one value per member in the order of opening, all `u64` in native byte order.
    fn open(
        &self,
        attr: &EventAttr,
        target: Target,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno>;

    /// Starts the group of `leader`, as `PERF_EVENT_IOC_ENABLE` does.
    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno>;

    /// Reads the group of `leader` into `buffer`, as read(2) does, and says how many bytes came.
    ///
    /// Must not allocate.
    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno>;

    /// The settings of the system which explain a refusal; asked for after one only.
    fn facts(&self) -> SystemFacts;
}

/// The part of `struct perf_event_attr` that this crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventAttr {
    /// The kind of `config`: `PERF_TYPE_*`.
    pub type_: u32,
    /// The event.
    pub config: u64,
    /// Do not count in user mode.
    pub exclude_user: bool,
    /// Do not count in kernel mode.
    pub exclude_kernel: bool,
    /// Do not count in the hypervisor.
    pub exclude_hv: bool,
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
