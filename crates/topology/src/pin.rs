//! Pinning: carrying a placement out, checking that the kernel did it, and watching where threads
//! really ran.

mod affinity;
mod child;
mod guard;
mod mask;
mod process;
mod procfs;
mod residence;

pub use affinity::{affinity_of, current_affinity, current_cpu, current_tid, pin_current_thread, pin_thread};
pub use child::PinnedCommand;
pub use guard::{PinGuard, ThreadPinGuard};
pub use process::pin_process;
pub use residence::{Migrations, Residence, ResidenceWatch, WatchError};
