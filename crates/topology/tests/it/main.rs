//! The crate as its users see it. One binary; each module says what belongs in it.

/// Pinning of threads of this very process, on whatever machine runs the tests.
mod affinity;
/// Noise audits of built trees.
mod audit;
/// Placements that differ, against trying every permutation.
mod enumerate;
/// Builds small sysfs trees; no tests.
mod fixture;
/// Files of random content: whatever they hold, nothing panics and the invariants stand.
mod hostile;
/// Frequencies and interrupts.
mod devices;
/// Machines whose cores are not all alike.
mod kinds;
/// What a process may use, and why not the rest.
mod limits;
/// From roles to logical CPUs, over built trees.
mod placement;
/// What is read from built trees, one oddity of real machines at a time.
mod reading;
/// How many files are opened for it.
mod effort;
/// Recorded real machines against what another implementation says of them.
mod recorded;
/// Named rules, over built trees.
mod rules;
/// JSON and text.
mod views;
/// Memory policies of threads of this process, and where its memory lies.
mod memory;
/// Pins of other threads, processes and children, pins that end, and where threads ran.
mod pinning;
/// Interrupts steered and restored, over built trees.
mod steering;
