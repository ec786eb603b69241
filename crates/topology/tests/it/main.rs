//! The crate as its users see it. One binary; each module says what belongs in it.

/// Says that a test is skipped: past the runner, which keeps what a passing test prints to itself.
macro_rules! skipped {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), "skipped {}", format_args!($($text)*)).ok();
    }};
}

/// Pinning of threads of this very process, on whatever machine runs the tests.
mod affinity;
/// Noise audits of built trees.
mod audit;
/// Frequencies and interrupts.
mod devices;
/// The tables of the documentation, against what the rules give.
mod documented;
/// How many files are opened for it.
mod effort;
/// Placements that differ, against trying every permutation.
mod enumerate;
/// Builds small sysfs trees; no tests.
mod fixture;
/// Files of random content: whatever they hold, nothing panics and the invariants stand.
mod hostile;
/// Machines whose cores are not all alike.
mod kinds;
/// What a process may use, and why not the rest.
mod limits;
/// Memory policies of threads of this process, and where its memory lies.
mod memory;
/// Pins of other threads, processes and children, pins that end, and where threads ran.
mod pinning;
/// From roles to logical CPUs, over built trees.
mod placement;
/// Rules on machines of random shape and numbering.
mod random_rules;
/// What is read from built trees, one oddity of real machines at a time.
mod reading;
/// Recorded real machines against what another implementation says of them.
mod recorded;
/// Named rules, over built trees.
mod rules;
/// Interrupts steered and restored, over built trees.
mod steering;
/// JSON and text.
mod views;
