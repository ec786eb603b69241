//! An error number and the facts about the system → the cause and the remedy, in one line.
//!
//! One number has many causes: EACCES may be a setting, a security policy or somebody else's thread. The
//! facts tell them apart. They come as plain data, so every case is a row of a test. Numbers:
//! perf_event_open(2), ERRORS.

use crate::kernel::{Errno, Place, SystemFacts};
use crate::names::EventKind;
use crate::reading::{Outcome, Scope};

/// Everything known about the system, including what two probes of it gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) system: SystemFacts,
    /// Opening a software event that never counts, in user mode, on the current thread: whether anything is
    /// allowed.
    pub(crate) software: Result<(), Errno>,
    /// Opening `cycles` likewise: whether there is a PMU.
    pub(crate) hardware: Result<(), Errno>,
}

/// What was tried and refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) kind: EventKind,
    /// The scope of the last attempt.
    pub(crate) scope: Scope,
    pub(crate) place: &'a Place,
}

/// The absence of a counter that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absence {
    Unsupported(String),
    Forbidden(String),
}

impl From<Absence> for Outcome {
    fn from(absence: Absence) -> Outcome {
        match absence {
            Absence::Unsupported(reason) => Outcome::Unsupported { reason },
            Absence::Forbidden(reason) => Outcome::Forbidden { reason },
        }
    }
}

/// Why `attempt` failed with `errno`.
pub(crate) fn diagnose(errno: Errno, attempt: Attempt<'_>, facts: &Facts) -> Absence {
    if let Some(reason) = of_place(errno, attempt.place) {
        return unsupported(reason);
    }
    match errno.0 {
        libc::EACCES => forbidden(denied(attempt, facts)),
        libc::EPERM if facts.software == Err(errno) => forbidden(seccomp(errno)),
        libc::EPERM => forbidden(
            "the kernel refuses this event (EPERM) and allows others: a security module or the PMU driver forbids it; \
             run as root, or leave the modifier out",
        ),
        libc::ENOSYS if facts.software != Err(errno) => {
            unsupported("this kernel does not offer the event (ENOSYS): use a newer kernel")
        }
        // The setting exists exactly where the kernel has perf events: then a filter hides the call.
        libc::ENOSYS if facts.system.paranoid.is_some() => forbidden(seccomp(errno)),
        libc::ENOSYS => {
            unsupported("this kernel was built without perf events: use one with CONFIG_PERF_EVENTS")
        }
        libc::EMFILE => forbidden(
            "this process has no file descriptor left (EMFILE), and each event of each thread takes one: \
             raise `ulimit -n`, or count fewer events",
        ),
        libc::ENFILE => forbidden(
            "the system has no file descriptor left (ENFILE): raise `sysctl fs.file-max`, or count fewer events",
        ),
        libc::ENOENT => unsupported(no_such_event(attempt, facts)),
        libc::EINVAL => unsupported(rejected(attempt)),
        libc::EOPNOTSUPP => unsupported(
            "the PMU cannot count this event in this mode (EOPNOTSUPP): leave the modifier out, or count another event",
        ),
        libc::ENODEV => unsupported(
            "the PMU of this event is gone (ENODEV), as of an offline CPU or an unloaded driver: \
             bring it back, or count another event",
        ),
        libc::EBUSY => unsupported(
            "another user holds the PMU for itself (EBUSY): stop other profilers, or disable the firmware's use of it",
        ),
        libc::ENOSPC => unsupported(
            "no counter of this kind is free (ENOSPC): count fewer events, or stop other profilers",
        ),
        libc::ESRCH => {
            unsupported("there is no such thread (ESRCH), it may have ended: open the counters while it runs")
        }
        libc::E2BIG => {
            unsupported("this kernel is too old for the attributes of the event (E2BIG): use a newer kernel")
        }
        _ => unsupported(format!("opening the counter failed with {errno}: see perf_event_open(2)")),
    }
}

/// Why there is nothing to count at this place, whatever the event.
fn of_place(errno: Errno, place: &Place) -> Option<String> {
    match (errno.0, place) {
        (libc::ENODEV, Place::Cpu(cpu)) => Some(format!(
            "logical CPU {cpu} is offline or does not exist (ENODEV): name one of /sys/devices/system/cpu/online"
        )),
        (libc::ENOENT, Place::Cgroup { directory, .. }) => Some(format!(
            "the kernel keeps no counters for {} (ENOENT): if its software events fail as well, enable a controller \
             in the cgroup.subtree_control of the group above; else this machine does not have the event",
            directory.display()
        )),
        (libc::EBADF, Place::Cgroup { directory, .. }) => Some(format!(
            "{} is no control group whose events can be counted (EBADF): name a directory below the mount point \
             of cgroup v2 or of its perf_event controller",
            directory.display()
        )),
        _ => None,
    }
}

fn forbidden(reason: impl Into<String>) -> Absence {
    Absence::Forbidden(reason.into())
}

fn unsupported(reason: impl Into<String>) -> Absence {
    Absence::Unsupported(reason.into())
}

fn seccomp(errno: Errno) -> String {
    format!(
        "the system call perf_event_open is blocked ({errno}), as the seccomp filter of a container does: \
         allow it in the container's seccomp profile, or run outside"
    )
}

/// EACCES: the setting, a policy, or somebody else's thread.
fn denied(attempt: Attempt<'_>, facts: &Facts) -> String {
    let paranoid = facts.system.paranoid;
    let everything = facts.software == Err(Errno(libc::EACCES));
    match paranoid {
        Some(level) if everything && level >= 3 => format!(
            "perf_event_paranoid is {level}, which forbids all counters: \
             run as root, or `sysctl kernel.perf_event_paranoid=1`"
        ),
        _ if everything => "a security policy denies all counters (EACCES): \
             allow perf_event_open in the policy, or run as root"
            .to_owned(),
        Some(level) if level >= 1 && matches!(attempt.place, Place::Cpu(_) | Place::Cgroup { .. }) => {
            format!(
                "perf_event_paranoid is {level}, which forbids counting what others do on a CPU: \
             run as root, or `sysctl kernel.perf_event_paranoid=0`"
            )
        }
        Some(level) if level >= 2 && attempt.scope != Scope::User => format!(
            "perf_event_paranoid is {level}, which forbids counting in kernel mode: \
             run as root, or `sysctl kernel.perf_event_paranoid=1`"
        ),
        _ if matches!(attempt.place, Place::Thread(_)) => {
            "the thread belongs to another user or to a protected process (EACCES): \
             run as that user or as root"
                .to_owned()
        }
        _ => "the kernel denies this event (EACCES) and allows others: run as root".to_owned(),
    }
}

fn no_such_event(attempt: Attempt<'_>, facts: &Facts) -> &'static str {
    if !attempt.kind.needs_pmu() {
        return "this kernel does not know the event: use a newer kernel";
    }
    if facts.hardware.is_ok() {
        return "this processor has no such event: count another, or give the code of its manual as rHEX";
    }
    if facts.system.hypervisor {
        return "no PMU driver for this event: this is a virtual machine without a virtual PMU; \
             run on bare metal or enable the vPMU on the host";
    }
    "no PMU driver for this processor: see `dmesg | grep -i pmu`, and use a kernel that has the driver"
}

fn rejected(attempt: Attempt<'_>) -> &'static str {
    match attempt.kind {
        EventKind::Raw => "the PMU rejects this code (EINVAL): check it against the processor's manual",
        EventKind::Cache => {
            "this processor has no such cache event (EINVAL): count another, or give the code of its manual as rHEX"
        }
        EventKind::Pmu | EventKind::Vendor | EventKind::Portable => {
            "the PMU rejects this event (EINVAL): it does not have it, or not in this mode"
        }
        EventKind::Breakpoint => {
            "the kernel rejects this breakpoint (EINVAL): its address has to be a multiple of its length, \
             which is 1, 2, 4 or 8"
        }
        _ => {
            "the kernel rejects the event in this mode (EINVAL): leave the modifier out, or count another event"
        }
    }
}

/// Why an event of a mode is refused by a PMU that has none.
pub(crate) fn no_modes() -> Absence {
    unsupported("this PMU does not tell user and kernel mode apart: leave the modifier out")
}

/// Why a counter that was opened does not start.
pub(crate) fn not_started(errno: Errno) -> Absence {
    unsupported(format!("starting the counter failed with {errno}: see perf_event_open(2)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{
        E2BIG, EACCES, EBADF, EBUSY, EINVAL, EMFILE, ENFILE, ENODEV, ENOENT, ENOSPC, ENOSYS, EOPNOTSUPP,
        EPERM, ESRCH,
    };

    const ROOT_IN_VM: Facts = Facts {
        system: SystemFacts { paranoid: Some(2), hypervisor: true },
        software: Ok(()),
        hardware: Err(Errno(ENOENT)),
    };
    const WITH_PMU: Facts = Facts { hardware: Ok(()), ..ROOT_IN_VM };

    fn metal(paranoid: Option<i32>) -> Facts {
        Facts { system: SystemFacts { paranoid, hypervisor: false }, ..ROOT_IN_VM }
    }

    /// Both probes fail alike, as when the call itself is refused.
    fn blocked(errno: i32, paranoid: Option<i32>) -> Facts {
        Facts {
            software: Err(Errno(errno)),
            hardware: Err(Errno(errno)),
            system: SystemFacts { paranoid, hypervisor: false },
        }
    }

    const CYCLES: Attempt<'_> =
        Attempt { kind: EventKind::Hardware, scope: Scope::UserAndKernel, place: &Place::CurrentThread };
    const USER: Attempt<'_> = Attempt { scope: Scope::User, ..CYCLES };
    const OTHER: Attempt<'_> = Attempt { place: &Place::Thread(7), ..USER };
    const WIDE: Attempt<'_> = Attempt { place: &Place::Cpu(3), ..USER };

    fn of(kind: EventKind) -> Attempt<'static> {
        Attempt { kind, ..CYCLES }
    }

    #[test]
    fn unsupported_by_table() {
        let cgroup = Place::Cgroup { directory: "/a/b".into(), cpu: 0 };
        let cgroup = Attempt { place: &cgroup, ..USER };
        let cases = [
            (ENOENT, CYCLES, ROOT_IN_VM, "virtual machine without a virtual PMU; run on bare metal"),
            (ENOENT, of(EventKind::Raw), ROOT_IN_VM, "virtual machine without a virtual PMU"),
            (ENOENT, CYCLES, metal(Some(2)), "no PMU driver for this processor"),
            // A virtual PMU that lacks one event must not be called absent.
            (ENOENT, of(EventKind::Cache), WITH_PMU, "this processor has no such event"),
            (ENOENT, of(EventKind::Software), ROOT_IN_VM, "does not know the event"),
            (EINVAL, CYCLES, WITH_PMU, "rejects the event in this mode"),
            (EINVAL, of(EventKind::Cache), WITH_PMU, "no such cache event"),
            (EINVAL, of(EventKind::Raw), WITH_PMU, "rejects this code"),
            (EOPNOTSUPP, CYCLES, WITH_PMU, "EOPNOTSUPP"),
            (ENODEV, CYCLES, WITH_PMU, "offline CPU"),
            (ENODEV, WIDE, WITH_PMU, "logical CPU 3 is offline"),
            (EBADF, cgroup, WITH_PMU, "/a/b is no control group"),
            (EBUSY, CYCLES, WITH_PMU, "stop other profilers"),
            (ENOSPC, CYCLES, WITH_PMU, "count fewer events"),
            (ESRCH, OTHER, WITH_PMU, "no such thread"),
            (E2BIG, CYCLES, WITH_PMU, "too old"),
            (ENOSYS, CYCLES, blocked(ENOSYS, None), "built without perf events"),
            (ENOSYS, CYCLES, WITH_PMU, "newer kernel"),
            (libc::EFAULT, CYCLES, WITH_PMU, "failed with EFAULT"),
            (9999, CYCLES, WITH_PMU, "failed with errno 9999"),
            (-1, CYCLES, WITH_PMU, "failed with errno -1"),
        ];
        for (errno, attempt, facts, words) in cases {
            match diagnose(Errno(errno), attempt, &facts) {
                Absence::Unsupported(reason) => check(&reason, words),
                other @ Absence::Forbidden(_) => panic!("{words}: {other:?}"),
            }
        }
    }

    #[test]
    fn forbidden_by_table() {
        let cases = [
            (
                EACCES,
                CYCLES,
                metal(Some(2)),
                "perf_event_paranoid is 2, which forbids counting in kernel mode",
            ),
            (EACCES, of(EventKind::Software), metal(Some(2)), "`sysctl kernel.perf_event_paranoid=1`"),
            (EACCES, USER, blocked(EACCES, Some(3)), "perf_event_paranoid is 3, which forbids all counters"),
            (
                EACCES,
                CYCLES,
                blocked(EACCES, Some(4)),
                "perf_event_paranoid is 4, which forbids all counters",
            ),
            (EACCES, CYCLES, blocked(EACCES, Some(1)), "security policy denies all counters"),
            (EACCES, CYCLES, blocked(EACCES, None), "security policy denies all counters"),
            (EACCES, WIDE, metal(Some(2)), "forbids counting what others do on a CPU"),
            (EACCES, WIDE, metal(Some(0)), "denies this event"),
            (EACCES, OTHER, metal(Some(2)), "belongs to another user"),
            (EACCES, OTHER, metal(Some(0)), "belongs to another user"),
            (EACCES, CYCLES, metal(Some(1)), "denies this event"),
            (EPERM, CYCLES, blocked(EPERM, Some(2)), "is blocked (EPERM), as the seccomp filter"),
            (EPERM, CYCLES, WITH_PMU, "allows others"),
            (ENOSYS, CYCLES, blocked(ENOSYS, Some(2)), "is blocked (ENOSYS), as the seccomp filter"),
            (EMFILE, CYCLES, blocked(EMFILE, Some(2)), "raise `ulimit -n`"),
            (ENFILE, CYCLES, WITH_PMU, "fs.file-max"),
        ];
        for (errno, attempt, facts, words) in cases {
            match diagnose(Errno(errno), attempt, &facts) {
                Absence::Forbidden(reason) => check(&reason, words),
                other @ Absence::Unsupported(_) => panic!("{words}: {other:?}"),
            }
        }
    }

    /// A reason is one line: a cause, a colon (or a semicolon), a remedy.
    fn check(reason: &str, words: &str) {
        assert!(reason.contains(words), "{words}: {reason}");
        assert!(reason.contains(':') && !reason.contains('\n') && !reason.contains("  "), "{reason}");
    }
}
