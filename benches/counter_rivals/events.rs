//! The events that everyone reads.

/// By the names that the kernel's tools have for them.
pub(crate) const NAMES: [&str; 8] = [
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
];

/// The place of a clock that always runs.
pub(crate) const TASK_CLOCK: usize = 0;
/// The place of what touching fresh memory counts.
pub(crate) const FAULTS: usize = 1;
