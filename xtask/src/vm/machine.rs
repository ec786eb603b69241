//! The machines that can be had: each a description that the other files act upon.

use anyhow::{Result, bail};

/// An emulated machine and the test binary that runs in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// What is typed.
    pub(crate) name: &'static str,
    /// The package of this workspace with the tests; they are its test target `vm`.
    pub(super) package: &'static str,
    /// The target that makes a static executable for the guest.
    pub(super) target: &'static str,
    /// Debian's name of the guest's architecture.
    pub(super) architecture: &'static str,
    /// The Debian package that depends on the newest kernel.
    pub(super) kernel_package: &'static str,
    /// The program that emulates, and the Debian package that has it.
    pub(super) emulator: &'static str,
    pub(super) emulator_package: &'static str,
    /// What makes the machine, as options of the emulator: processor, memory, NUMA nodes.
    pub(super) hardware: &'static [[&'static str; 2]],
    /// The guest's first serial port, as its kernel calls it.
    pub(super) console: &'static str,
    /// What it comes in; each is booted in turn.
    pub(super) forms: &'static [Form],
}

/// A form that a machine comes in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The value of `TAILCORE_VM` that the tests recognise it by.
    pub(super) name: &'static str,
    /// What it has beside the hardware of every form.
    pub(super) hardware: &'static [[&'static str; 2]],
    /// Which of the tests it is for, as the test runner is told; nothing means all.
    pub(super) tests: &'static [&'static str],
}

/// All of them.
static MACHINES: [Machine; 2] = [TOPOLOGY, PMU];

/// 2 packages × 2 cores × 2 threads, and a NUMA node for each package.
///
/// The numbers are repeated in `crates/topology/tests/vm`.
const TOPOLOGY: Machine = Machine {
    name: "topology",
    package: "tailcore-topology",
    target: "x86_64-unknown-linux-musl",
    architecture: "amd64",
    kernel_package: "linux-image-cloud-amd64",
    emulator: "qemu-system-x86_64",
    emulator_package: "qemu-system-x86",
    hardware: &[
        ["-accel", "tcg"],
        // With the vendor that it has by default, the emulation has no SMT.
        ["-cpu", "max,vendor=GenuineIntel"],
        ["-smp", "8,sockets=2,cores=2,threads=2"],
        ["-m", "1024"],
        ["-object", "memory-backend-ram,id=near0,size=512M"],
        ["-object", "memory-backend-ram,id=near1,size=512M"],
        ["-numa", "node,nodeid=0,cpus=0-3,memdev=near0"],
        ["-numa", "node,nodeid=1,cpus=4-7,memdev=near1"],
        ["-numa", "dist,src=0,dst=1,val=32"],
    ],
    console: "ttyS0",
    forms: &[Form { name: "topology", hardware: &[], tests: &[] }],
};

/// A PMU that counts exactly: six counters for any event, and one for cycles.
///
/// With `-icount`, every instruction takes 2 ns and a cycle 1 ns of a clock that has nothing to do with
/// time, and waiting takes none: twice the same work is twice the same count. The price is a single CPU.
const PMU: Machine = Machine {
    name: "pmu",
    package: "tailcore-pmu",
    target: "aarch64-unknown-linux-musl",
    architecture: "arm64",
    kernel_package: "linux-image-cloud-arm64",
    emulator: "qemu-system-aarch64",
    emulator_package: "qemu-system-arm",
    hardware: &[
        ["-machine", "virt"],
        ["-accel", "tcg,thread=single"],
        ["-icount", "shift=1,sleep=off"],
        ["-smp", "1"],
        ["-m", "512"],
    ],
    console: "ttyAMA0",
    forms: &[
        Form { name: "pmu", hardware: &[["-cpu", "max,pmu=on"]], tests: &["--skip", "absent::"] },
        // Its counters have 32 bits instead of 64.
        Form { name: "pmu-narrow", hardware: &[["-cpu", "cortex-a57"]], tests: &["exact::", "own::"] },
        Form { name: "pmu-off", hardware: &[["-cpu", "max,pmu=off"]], tests: &["absent::"] },
    ],
};

impl Machine {
    /// The machine called `name`; the error lists those that exist.
    pub(crate) fn from_name(name: &str) -> Result<&'static Self> {
        match MACHINES.iter().find(|machine| machine.name == name) {
            Some(machine) => Ok(machine),
            None => bail!("there is no machine `{name}`; the machines are {}", names()),
        }
    }
}

/// The names of all machines.
pub(crate) fn names() -> String {
    MACHINES.each_ref().map(|machine| machine.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_machine_lists_the_machines() {
        assert_eq!(Machine::from_name("topology").unwrap().target, "x86_64-unknown-linux-musl");
        let message = Machine::from_name("mainframe").unwrap_err().to_string();
        assert!(message.contains("`mainframe`") && message.ends_with("topology, pmu"), "{message}");
    }
}
