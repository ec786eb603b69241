//! The machine and process that a number was measured on.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tailcore_topology::Topology;

/// Facts without which a latency cannot be compared. Null means that the machine does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of tailcore.
    pub tailcore_version: String,
    /// `release` or `debug`. Numbers of a debug build describe tailcore, not the service.
    pub build: String,
    /// Kernel release.
    pub kernel: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Whether the kernel runs under a hypervisor.
    pub virtual_machine: Option<bool>,
    /// Online logical CPUs.
    pub online_cpus: String,
    /// Logical CPUs that this process may use.
    pub allowed_cpus: String,
    /// CPUs' worth of time that affinity and cgroup quota allow (rounded down, at least 1).
    pub usable_cpus: Option<usize>,
    /// SMT control state: `on`, `off`, `notsupported`, …
    pub smt: Option<String>,
    /// Frequency governor of the first allowed CPU.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// `kernel.perf_event_paranoid`: who may count what.
    pub perf_event_paranoid: Option<i32>,
}

impl Environment {
    /// Reads the facts of this machine.
    pub fn capture(topology: &Topology) -> Self {
        Self::capture_from(Path::new("/"), topology)
    }

    /// Reads the facts below `root`: another machine's `/proc` and `/sys`, or a test's.
    pub fn capture_from(root: &Path, topology: &Topology) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let line = |path: &str| text(path).map(|t| t.trim().to_owned()).filter(|t| !t.is_empty());
        let cpuinfo = text("proc/cpuinfo");
        Self {
            tailcore_version: env!("CARGO_PKG_VERSION").to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            kernel: line("proc/sys/kernel/osrelease"),
            cpu_model: cpuinfo.as_deref().and_then(|info| cpuinfo_field(info, "model name")),
            virtual_machine: cpuinfo
                .as_deref()
                .and_then(|info| cpuinfo_field(info, "flags"))
                .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
            online_cpus: topology.online().to_string(),
            allowed_cpus: topology.allowed().to_string(),
            // Only this machine can be asked.
            usable_cpus: std::thread::available_parallelism()
                .ok()
                .filter(|_| root == Path::new("/"))
                .map(usize::from),
            smt: topology.smt_control().map(str::to_owned),
            governor: topology
                .allowed()
                .first()
                .and_then(|cpu| line(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))),
            clocksource: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            perf_event_paranoid: line("proc/sys/kernel/perf_event_paranoid").and_then(|t| t.parse().ok()),
        }
    }
}

/// Value of the first `name : value` line.
fn cpuinfo_field(cpuinfo: &str, name: &str) -> Option<String> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(field, _)| field.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_fields_are_found_and_absence_is_none() {
        let info = "processor\t: 0\nmodel name\t: Some CPU: fast\nflags\t\t: fpu hypervisor\n";
        assert_eq!(cpuinfo_field(info, "model name").as_deref(), Some("Some CPU: fast"));
        assert_eq!(cpuinfo_field(info, "bogomips"), None);
        assert_eq!(cpuinfo_field("no colon here", "flags"), None);
    }
}
