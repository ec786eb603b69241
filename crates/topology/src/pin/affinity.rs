//! Pinning of the calling thread, and what the kernel says about it.

use std::ffi::c_ulong;
use std::io;

use crate::cpulist::CPU_MAX;
use crate::cpuset::CpuSet;
use crate::error::{AffinityError, PinError};
use crate::sys;

/// The first mask asked for holds as many CPUs as libc's fixed type does.
const MASK_BITS_MIN: u32 = 1 << 10;

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
    if cpu > CPU_MAX {
        return Err(PinError::OutOfRange { cpu });
    }
    let tid = current_tid();
    sys::sched_setaffinity(&mask_of(cpu)).map_err(|source| PinError::Refused { tid, cpu, source })?;
    confirm(tid, cpu, current_affinity()?)
}

/// Compares the mask asked for with the mask in force.
fn confirm(tid: u32, cpu: u32, actual: CpuSet) -> Result<(), PinError> {
    if actual.iter().eq([cpu]) { Ok(()) } else { Err(PinError::NotApplied { tid, cpu, actual }) }
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
    growing_mask(sys::sched_getaffinity).map_err(|source| AffinityError::Mask { tid: current_tid(), source })
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

/// Calls `read` with an ever larger mask: how many CPUs the kernel was built for is told only by
/// its refusal of a shorter one.
fn growing_mask(read: impl Fn(&mut [c_ulong]) -> io::Result<()>) -> io::Result<CpuSet> {
    let mut bits = MASK_BITS_MIN;
    loop {
        let mut words = vec![0; (bits / c_ulong::BITS) as usize];
        match read(&mut words) {
            Ok(()) => return Ok(cpus_of(&words)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && bits <= CPU_MAX => {
                bits *= 2;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The shortest mask that holds the CPU; the kernel takes the missing rest as zeros.
fn mask_of(cpu: u32) -> Vec<c_ulong> {
    let word = (cpu / c_ulong::BITS) as usize;
    let mut words = vec![0; word + 1];
    words[word] = 1 << (cpu % c_ulong::BITS);
    words
}

fn cpus_of(words: &[c_ulong]) -> CpuSet {
    (0_u32..)
        .zip(words)
        .flat_map(|(index, &word)| {
            (0..c_ulong::BITS)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| index * c_ulong::BITS + bit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_reach_beyond_1024_cpus() {
        for cpu in [0, 63, 64, 1023, 1024, 8191, CPU_MAX] {
            assert!(cpus_of(&mask_of(cpu)).iter().eq([cpu]), "{cpu}");
        }
    }

    #[test]
    fn the_mask_grows_until_the_kernel_accepts_it() {
        let kernel_of_5000_cpus = |words: &mut [c_ulong]| {
            if words.len() * (c_ulong::BITS as usize) < 5000 {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            words[4999 / c_ulong::BITS as usize] = 1 << (4999 % c_ulong::BITS);
            Ok(())
        };
        let set = growing_mask(kernel_of_5000_cpus).unwrap();
        assert!(set.iter().eq([4999]));
    }

    #[test]
    fn the_mask_does_not_grow_for_ever_nor_for_another_error() {
        for errno in [libc::EINVAL, libc::EPERM] {
            let error = growing_mask(|_| Err(io::Error::from_raw_os_error(errno))).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(errno));
        }
    }

    #[test]
    fn a_mask_in_force_that_differs_is_an_error() {
        assert!(confirm(7, 2, [2].into_iter().collect()).is_ok());
        for actual in [vec![], vec![1], vec![2, 3]] {
            let error = confirm(7, 2, actual.into_iter().collect()).unwrap_err();
            assert!(matches!(error, PinError::NotApplied { tid: 7, cpu: 2, .. }));
        }
    }
}
