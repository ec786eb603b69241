//! The hot paths allocate nothing; a binary of its own, because it replaces the allocator.
//!
//! Only allocations of the thread at work are counted: those of servers, of other tests and of the
//! test framework are somebody else's.

/// Says that a test is skipped: past the runner, which keeps what a passing test prints to itself.
macro_rules! skipped {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), "skipped {}", format_args!($($text)*)).ok();
    }};
}

/// Reading the counters of a thread.
mod counters;
/// Whole runs of the engine, in process and over TCP.
mod engine;
/// A simulated kernel whose counters can be read from user space.
#[path = "../../crates/pmu/tests/it/paged.rs"]
#[expect(dead_code, reason = "more is used where it is from")]
mod paged;
/// The allocator that counts.
mod sys;

#[global_allocator]
static ALLOCATOR: sys::Counting = sys::Counting;
