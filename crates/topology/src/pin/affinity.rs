//! Pinning of one thread, and what the kernel says about it.

use std::ffi::c_ulong;
use std::io;

use super::mask;
use crate::cpuset::CpuSet;
use crate::error::{AffinityError, PinError};
use crate::sys;

/// Binds the calling thread to one logical CPU and reads the mask back.
///
/// Threads that it starts afterwards inherit the mask; threads that already run keep theirs. Pin
/// before you allocate: memory lands on the NUMA node of the CPU that touches it first. See
/// sched_setaffinity(2).
///
/// # Errors
///
/// [`PinError::Refused`] when the kernel says no, [`PinError::NotApplied`] when it says yes and
/// another mask is in force, [`PinError::ReadBack`] when that cannot be known.
pub fn pin_current_thread(cpu: u32) -> Result<(), PinError> {
    pin_thread(current_tid(), &CpuSet::from_iter([cpu]))
}

/// Binds a thread, of this process or another, to a set of logical CPUs and reads the mask back.
///
/// Only that thread moves: given the id of a process, its main thread alone (see
/// [`pin_process`](super::pin_process)). A thread that runs elsewhere is moved before the call
/// returns. Nothing is undone after an error: see [`PinGuard`](super::PinGuard) for that.
///
/// # Errors
///
/// [`PinError::Empty`] for an empty set, [`PinError::Gone`] for a thread that does not exist (0 is
/// none), [`PinError::Refused`] when the kernel says no, [`PinError::NotApplied`] when it says yes
/// and another mask is in force, [`PinError::ReadBack`] when that cannot be known.
pub fn pin_thread(tid: u32, cpus: &CpuSet) -> Result<(), PinError> {
    let words = mask::of(cpus)?;
    let id = kernel_id(tid).ok_or(PinError::Gone { tid })?;
    sys::sched_setaffinity(id, &words).map_err(|source| refusal(tid, cpus, source))?;
    match affinity_of(tid) {
        Ok(actual) => confirm(tid, cpus, actual),
        Err(AffinityError::Gone { tid }) => Err(PinError::Gone { tid }),
        Err(unknown) => Err(unknown.into()),
    }
}

fn refusal(tid: u32, cpus: &CpuSet, source: io::Error) -> PinError {
    match source.raw_os_error() {
        Some(libc::ESRCH) => PinError::Gone { tid },
        _ => PinError::Refused { tid, cpus: cpus.clone(), source },
    }
}

/// Compares the mask asked for with the mask in force.
fn confirm(tid: u32, asked: &CpuSet, actual: CpuSet) -> Result<(), PinError> {
    if actual == *asked {
        return Ok(());
    }
    Err(PinError::NotApplied { tid, asked: asked.clone(), actual })
}

/// Reads the calling thread's affinity mask; see sched_getaffinity(2).
///
/// The mask of a thread that has been pinned is one CPU. To learn what the process may use, ask
/// before pinning, as [`Topology::read`](crate::Topology::read) does.
///
/// # Errors
///
/// [`AffinityError::Mask`] carries the kernel's answer.
pub fn current_affinity() -> Result<CpuSet, AffinityError> {
    affinity_of(current_tid())
}

/// Reads the affinity mask of a thread, of this process or another; see sched_getaffinity(2).
///
/// Given the id of a process, this is the mask of its main thread.
///
/// # Errors
///
/// [`AffinityError::Gone`] for a thread that does not exist (0 is none); [`AffinityError::Mask`]
/// carries any other answer of the kernel.
pub fn affinity_of(tid: u32) -> Result<CpuSet, AffinityError> {
    let id = kernel_id(tid).ok_or(AffinityError::Gone { tid })?;
    read_mask(id).map(|words| mask::cpus(&words)).map_err(|source| match source.raw_os_error() {
        Some(libc::ESRCH) => AffinityError::Gone { tid },
        _ => AffinityError::Mask { tid, source },
    })
}

/// Reads a mask that is at least as long as the kernel's own.
pub(super) fn read_mask(id: libc::pid_t) -> io::Result<Vec<c_ulong>> {
    mask::growing(|words| sys::sched_getaffinity(id, words))
}

/// Gives the id for the kernel; none for one that no thread can have. 0 is left out because the
/// kernel takes it for the calling thread, which is not what a thread id read from somewhere means.
fn kernel_id(tid: u32) -> Option<libc::pid_t> {
    libc::pid_t::try_from(tid).ok().filter(|&id| id != sys::SELF)
}

/// Gives the logical CPU that the calling thread runs on at this moment; see sched_getcpu(3).
///
/// # Errors
///
/// [`AffinityError::Cpu`] carries the kernel's answer.
pub fn current_cpu() -> Result<u32, AffinityError> {
    sys::sched_getcpu().map_err(|source| AffinityError::Cpu { tid: current_tid(), source })
}

/// Gives the kernel's id of the calling thread; see gettid(2).
#[must_use]
pub fn current_tid() -> u32 {
    sys::gettid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_in_force_that_differs_is_an_error() {
        let asked = CpuSet::from_iter([2, 5]);
        assert!(confirm(7, &asked, asked.clone()).is_ok());
        for actual in [vec![], vec![2], vec![2, 3], vec![2, 3, 5]] {
            let actual: CpuSet = actual.into_iter().collect();
            let error = confirm(7, &asked, actual.clone()).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(&format!(
                    "thread 7 to CPU 2,5, but its affinity mask reads back as `{actual}`"
                )),
                "{message}"
            );
            assert!(matches!(error, PinError::NotApplied { tid: 7, .. }));
        }
    }

    #[test]
    fn a_refusal_says_what_helps() {
        let of = |errno| refusal(7, &CpuSet::from_iter([1]), io::Error::from_raw_os_error(errno));
        assert!(matches!(of(libc::ESRCH), PinError::Gone { tid: 7 }));
        assert!(of(libc::EINVAL).to_string().contains("is online and inside"));
        assert!(of(libc::EPERM).to_string().contains("CAP_SYS_NICE"));
    }
}
