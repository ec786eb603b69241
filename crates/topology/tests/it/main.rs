//! The crate as its users see it. One binary; each module says what belongs in it.

/// Pinning of threads of this very process, on whatever machine runs the tests.
mod affinity;
/// Builds small sysfs trees; no tests.
mod fixture;
/// Files of random content: whatever they hold, nothing panics and the invariants stand.
mod hostile;
/// From roles to logical CPUs, over built trees.
mod placement;
/// What is read from built trees, one oddity of real machines at a time.
mod reading;
/// Recorded real machines against what another implementation says of them.
mod recorded;
/// JSON and text.
mod views;
