//! Pins that end: the former mask comes back when a guard is dropped.

use std::marker::PhantomData;

use super::affinity::{affinity_of, current_tid, pin_thread};
use super::procfs;
use crate::cpuset::CpuSet;
use crate::error::{AffinityError, PinError};

/// A pin of the calling thread that lasts as long as this value.
///
/// Guards nest: Rust drops them in reverse order, and each brings back the mask it found. The guard
/// stays on its thread, because only there is that order kept.
///
/// ```
/// use tailcore_topology::{PinGuard, current_affinity};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let before = current_affinity()?;
/// let pin = PinGuard::pin(&before.iter().take(1).collect())?;
/// assert_eq!(current_affinity()?.len(), 1);
/// pin.restore()?;
/// assert_eq!(current_affinity()?, before);
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail
/// fn needs_send<T: Send>() {}
/// needs_send::<tailcore_topology::PinGuard>();
/// ```
#[derive(Debug)]
#[must_use = "the pin ends when the guard is dropped"]
pub struct PinGuard {
    pin: ThreadPinGuard,
    stays: PhantomData<*const ()>,
}

impl PinGuard {
    /// Pins the calling thread.
    ///
    /// # Errors
    ///
    /// Those of [`pin_thread`](crate::pin_thread); the thread then has its former mask.
    pub fn pin(cpus: &CpuSet) -> Result<Self, PinError> {
        let pin = ThreadPinGuard::pin(current_tid(), cpus)?;
        Ok(Self { pin, stays: PhantomData })
    }

    /// Gives the mask that will be restored.
    #[must_use]
    pub fn former(&self) -> &CpuSet {
        self.pin.former()
    }

    /// Restores the former mask and says whether that worked; a drop cannot.
    ///
    /// # Errors
    ///
    /// Those of [`pin_thread`](crate::pin_thread): CPUs of the former mask may be offline by now.
    pub fn restore(self) -> Result<(), PinError> {
        self.pin.restore()
    }
}

/// A pin of any thread, of this process or another, that lasts as long as this value.
///
/// A thread that has ended meanwhile is nothing to restore and no error, also when another thread
/// has got its id. Of several guards for one thread, drop the youngest first.
#[derive(Debug)]
#[must_use = "the pin ends when the guard is dropped"]
pub struct ThreadPinGuard {
    tid: u32,
    former: CpuSet,
    /// When the thread was started, where proc tells: what tells it from a later one of its id.
    started: Option<u64>,
    restored: bool,
}

impl ThreadPinGuard {
    /// Pins a thread.
    ///
    /// # Errors
    ///
    /// Those of [`pin_thread`](crate::pin_thread); the thread then has its former mask.
    pub fn pin(tid: u32, cpus: &CpuSet) -> Result<Self, PinError> {
        let former = affinity_of(tid).map_err(|error| match error {
            AffinityError::Gone { tid } => PinError::Gone { tid },
            unknown => PinError::ReadBack(unknown),
        })?;
        let started = procfs::start_of(tid);
        // Before the pin, so that a mask which is set and then not as asked is taken back too.
        let guard = Self { tid, former, started, restored: false };
        pin_thread(tid, cpus)?;
        Ok(guard)
    }

    /// Gives the thread.
    #[must_use]
    pub fn tid(&self) -> u32 {
        self.tid
    }

    /// Gives the mask that will be restored.
    #[must_use]
    pub fn former(&self) -> &CpuSet {
        &self.former
    }

    /// Restores the former mask and says whether that worked; a drop cannot.
    ///
    /// # Errors
    ///
    /// Those of [`pin_thread`](crate::pin_thread), except that the thread has gone.
    pub fn restore(mut self) -> Result<(), PinError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), PinError> {
        self.restored = true;
        let now = procfs::start_of(self.tid);
        if self.started.zip(now).is_some_and(|(then, now)| then != now) {
            return Ok(()); // The thread has ended, and another one has its id.
        }
        match pin_thread(self.tid, &self.former) {
            Err(PinError::Gone { .. }) => Ok(()),
            outcome => outcome,
        }
    }
}

impl Drop for ThreadPinGuard {
    fn drop(&mut self) {
        if !self.restored {
            self.put_back().ok(); // Nobody is left to be told; `restore` is for those who ask.
        }
    }
}
