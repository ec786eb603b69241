//! Pinning: carrying a placement out, and checking that the kernel did it.

mod affinity;

pub use affinity::{current_affinity, current_cpu, current_tid, pin_current_thread};
