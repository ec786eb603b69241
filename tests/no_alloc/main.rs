//! The hot paths allocate nothing; a binary of its own, because it replaces the allocator.
//!
//! Only allocations of the thread at work are counted: those of servers, of other tests and of the
//! test framework are somebody else's.

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
