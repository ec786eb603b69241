//! Children that are pinned from their first instruction on.

use std::process::Command;

use super::{affinity, mask};
use crate::cpuset::CpuSet;
use crate::error::{AffinityError, PinError};
use crate::sys;

/// Pinning of a child process before its program starts.
///
/// ```
/// use std::process::Command;
/// use tailcore_topology::{PinnedCommand, affinity_of, current_affinity};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cpus = current_affinity()?.iter().take(1).collect();
/// let mut child = Command::new("sleep").arg("60").pinned_to(&cpus)?.spawn()?;
/// assert_eq!(affinity_of(child.id())?, cpus);
/// # child.kill()?;
/// # child.wait()?;
/// # Ok(())
/// # }
/// ```
pub trait PinnedCommand {
    /// Lets the child start on these logical CPUs, and every thread of it with it.
    ///
    /// The mask is set and compared with the one in force between fork(2) and execve(2). If the
    /// kernel refuses it or drops a CPU from it, the program does not start and `spawn` returns
    /// the kernel's error; `EINVAL` means that a CPU is offline or outside the cpuset. After a
    /// spawn, [`affinity_of`](crate::affinity_of) the child's id tells the mask once more.
    ///
    /// This is better than pinning a process that runs already: its threads cannot escape, and
    /// its memory lands on the right NUMA node.
    ///
    /// # Errors
    ///
    /// [`PinError::Empty`] and [`PinError::OutOfRange`] for a set that no thread can have;
    /// [`PinError::ReadBack`] if the length of the kernel's masks cannot be learned.
    fn pinned_to(&mut self, cpus: &CpuSet) -> Result<&mut Self, PinError>;
}

impl PinnedCommand for Command {
    fn pinned_to(&mut self, cpus: &CpuSet) -> Result<&mut Self, PinError> {
        let mut words = mask::of(cpus)?;
        let own = affinity::read_mask(sys::SELF);
        let own = own.map_err(|source| AffinityError::Mask { tid: affinity::current_tid(), source })?;
        words.resize(words.len().max(own.len()), 0);
        sys::pin_before_exec(self, words);
        Ok(self)
    }
}
