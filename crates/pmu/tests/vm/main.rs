//! The crate on machines whose PMU counts exactly, and on one without a PMU. Run by `cargo xtask vm pmu`,
//! which emulates them; on any other, every test skips itself.
//!
//! A binary of its own, because it is all there is in the emulated machine. There an instruction takes two
//! cycles, always, and no time passes beside the instructions.

/// The machine without a PMU, which runs this module alone.
mod absent;
/// More events than counters.
mod crowded;
/// Counts of work that is known, to the digit.
mod exact;
/// Recognises the machine, and measures in it; no tests.
mod guest;
/// Events by name, and those that count nothing.
mod named;
/// Reads without a system call.
mod own;
/// A known number of instructions; no tests.
mod sys;
/// Whole processes, CPUs and control groups.
mod targets;
