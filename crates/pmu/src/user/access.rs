//! Whether a system lets a thread read counters of its own, and why not.

use std::fs;
use std::path::Path;

use crate::kernel::Errno;

/// What counters must ask for when they are opened, so that their thread can read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UserAccess {
    /// Bits to set in `config1` of events that the PMU of the core counts.
    pub config1: u64,
    /// The type of that PMU, beside the types 0, 3 and 4, which mean it too.
    pub pmu_type: Option<u32>,
}

/// Why a counter is read by a system call and not from user space.
///
/// None of these is an error: the count is the same, it only costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoUserRead {
    /// The kernel is a simulated one without such reads.
    #[error("this kernel offers no reads from user space")]
    Unsupported,
    /// The architecture has none, or this crate does not know them.
    #[error("reads from user space are known for x86_64 and aarch64 only")]
    Architecture,
    /// There are cores of several types. The thread may move to one that lacks the register between being
    /// told its number and reading it, and the processor would end the program.
    #[error("the cores of this machine have different counters, and the thread may move between them")]
    CoreTypes,
    /// The event is counted for whoever uses what cores share, not for the thread.
    #[error("the event is not counted for the thread alone")]
    Shared,
    /// A switch of the system forbids it.
    #[error("{path} is {value}: write 1 to it to read counters from user space")]
    Switch {
        /// The file that is the switch.
        path: &'static str,
        /// What it says.
        value: i32,
    },
    /// The page of the counter could not be mapped.
    #[error("mapping the page of the counter failed with {errno}{}", mapping_advice(*errno))]
    Map {
        /// The error of mmap(2).
        errno: Errno,
    },
    /// The page has a layout of the future.
    #[error("the kernel describes the counter in version {compat_version} of a layout, only 0 is known")]
    Layout {
        /// The oldest version that a reader must know.
        compat_version: u32,
    },
    /// The event is not counted in a register that the thread may read: events of the kernel never are.
    #[error("the event is not counted in a register that the thread may read")]
    NotReadable,
    /// The times of the counter cannot be told from user space, so an interval would have none.
    #[error("the kernel's clock is not the processor's, as in many virtual machines, and times need it")]
    NoClock,
    /// No register counts the event at the moment: it is not enabled, or others have the counters.
    #[error("no register counts the event at the moment")]
    NotCounting,
    /// The register holds something else than a count, such as the shares of the top-down method.
    #[error("the register with index {index} does not hold a count")]
    NotACount {
        /// The index as the page gives it.
        index: u32,
    },
    /// The kernel kept moving the counter.
    #[error("the kernel kept moving the counter while it was read")]
    Unsettled,
}

fn mapping_advice(errno: Errno) -> &'static str {
    match errno.0 {
        libc::EPERM => {
            ": the memory that may be locked is used up; raise kernel.perf_event_mlock_kb or `ulimit -l`"
        }
        libc::EINVAL => ": the kernel maps no counter that child threads inherit",
        _ => ": see mmap(2)",
    }
}

/// The processors whose counters can be read from user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86,
    Arm64,
    Other,
}

impl Architecture {
    pub(crate) const HERE: Architecture = if cfg!(target_arch = "x86_64") {
        Architecture::X86
    } else if cfg!(target_arch = "aarch64") {
        Architecture::Arm64
    } else {
        Architecture::Other
    };
}

/// The bit of `config1` with which an event of the arm64 PMU asks to be readable: the `rdpmc` of its format.
/// The counter keeps its 32 bits, because not every PMU has longer ones, and their overflow is the kernel's.
const ARM64_READABLE: u64 = 1 << 1;

const X86_SWITCH: &str = "/sys/bus/event_source/devices/cpu/rdpmc";
const ARM64_SWITCH: &str = "/proc/sys/kernel/perf_user_access";

/// Reads below `root` whether there are reads from user space.
pub(crate) fn read(root: &Path, architecture: Architecture) -> Result<UserAccess, NoUserRead> {
    let pmus = core_pmus(root);
    if pmus.len() > 1 {
        return Err(NoUserRead::CoreTypes);
    }
    let switch = |path: &'static str, missing: i32| match number(root, path).unwrap_or(missing) {
        0 => Err(NoUserRead::Switch { path, value: 0 }),
        _ => Ok(()),
    };
    match architecture {
        Architecture::X86 => {
            // Where there is no PMU there is no switch, and the kernel's events have reasons of their own.
            switch(X86_SWITCH, 1)?;
            Ok(UserAccess::default())
        }
        Architecture::Arm64 => {
            switch(ARM64_SWITCH, 0)?;
            Ok(UserAccess { config1: ARM64_READABLE, pmu_type: pmus.first().copied() })
        }
        Architecture::Other => Err(NoUserRead::Architecture),
    }
}

/// The types of the PMUs that belong to cores: `cpu`, or whatever has a list of the CPUs it covers. PMUs
/// outside of the cores have a `cpumask` instead.
fn core_pmus(root: &Path) -> Vec<u32> {
    let devices = root.join("sys/bus/event_source/devices");
    let Ok(entries) = fs::read_dir(devices) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name() == "cpu" || entry.path().join("cpus").exists())
        .filter_map(|entry| number(&entry.path(), "type").and_then(|n| u32::try_from(n).ok()))
        .collect()
}

fn number(root: &Path, path: &str) -> Option<i32> {
    let text = fs::read_to_string(root.join(path.trim_start_matches('/'))).ok()?;
    text.trim().parse().ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn root(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const X86: (&str, &str) = ("/sys/bus/event_source/devices/cpu/type", "4\n");
    const ARM64: (&str, &str) = ("/sys/bus/event_source/devices/armv8_pmuv3_0/type", "8\n");
    const ARM64_CPUS: (&str, &str) = ("/sys/bus/event_source/devices/armv8_pmuv3_0/cpus", "0-3\n");

    #[test]
    fn x86_has_them_unless_switched_off() {
        let plain = Ok(UserAccess::default());
        let off = Err(NoUserRead::Switch { path: X86_SWITCH, value: 0 });
        for (value, expected) in [("0\n", off), ("1\n", plain), ("2\n", plain)] {
            let root = root(&[X86, (X86_SWITCH, value)]);
            assert_eq!(read(root.path(), Architecture::X86), expected, "{value}");
        }
        assert_eq!(read(root(&[]).path(), Architecture::X86), plain);
    }

    #[test]
    fn arm64_has_them_where_switched_on_and_asked_for() {
        let off = Err(NoUserRead::Switch { path: ARM64_SWITCH, value: 0 });
        assert_eq!(read(root(&[ARM64, ARM64_CPUS]).path(), Architecture::Arm64), off);
        let on = root(&[ARM64, ARM64_CPUS, (ARM64_SWITCH, "1\n")]);
        assert_eq!(read(on.path(), Architecture::Arm64), Ok(UserAccess { config1: 2, pmu_type: Some(8) }));
    }

    #[test]
    fn several_core_types_have_none() {
        let hybrid = root(&[
            ("/sys/bus/event_source/devices/cpu_core/type", "4\n"),
            ("/sys/bus/event_source/devices/cpu_core/cpus", "0-7\n"),
            ("/sys/bus/event_source/devices/cpu_atom/type", "10\n"),
            ("/sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n"),
        ]);
        assert_eq!(read(hybrid.path(), Architecture::X86), Err(NoUserRead::CoreTypes));
    }

    #[test]
    fn pmus_outside_the_cores_do_not_count_as_core_types() {
        let root = root(&[
            X86,
            ("/sys/bus/event_source/devices/uncore_imc_0/type", "20\n"),
            ("/sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n"),
            ("/sys/bus/event_source/devices/software/type", "1\n"),
        ]);
        assert_eq!(read(root.path(), Architecture::X86), Ok(UserAccess::default()));
    }

    #[test]
    fn other_architectures_have_none() {
        assert_eq!(read(root(&[]).path(), Architecture::Other), Err(NoUserRead::Architecture));
    }

    #[test]
    fn a_reason_names_cause_and_remedy() {
        let budget = NoUserRead::Map { errno: Errno(libc::EPERM) }.to_string();
        assert!(budget.contains("EPERM") && budget.contains("perf_event_mlock_kb"), "{budget}");
        let switch = NoUserRead::Switch { path: ARM64_SWITCH, value: 0 }.to_string();
        assert!(switch.starts_with("/proc/sys/kernel/perf_user_access is 0: "), "{switch}");
    }
}
