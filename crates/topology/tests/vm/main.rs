//! The crate on a machine with SMT and two NUMA nodes, and with the rights of its owner. Run by
//! `cargo xtask vm topology`, which emulates that machine; on any other, every test skips itself.
//!
//! A binary of its own, because it is all there is in the emulated machine, and because its tests
//! change the machine: it runs them one at a time. Each leaves the machine as it was.

/// Control groups: cpusets that narrow the process, and quotas.
mod cgroups;
/// Recognises the machine, and changes it for as long as a test needs; no tests.
mod guest;
/// Logical CPUs that are switched off and on again.
mod hotplug;
/// Interrupts that are steered, and where they are served then.
mod interrupts;
/// What the topology says of the machine.
mod machine;
/// Memory policies, and on which node the memory lies then.
mod memory;
/// Threads that are pinned, and where they run then.
mod pinning;
