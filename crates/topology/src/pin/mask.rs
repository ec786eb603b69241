//! Affinity masks as the kernel takes them: words, least significant first, of any number.

use std::ffi::c_ulong;
use std::io;

use crate::cpulist::CPU_MAX;
use crate::cpuset::CpuSet;
use crate::error::PinError;

/// The first mask asked for holds as many CPUs as libc's fixed type does.
const MASK_BITS_MIN: u32 = 1 << 10;

/// Gives the shortest mask that holds the CPUs; the kernel takes the missing rest as zeros.
pub(super) fn of(cpus: &CpuSet) -> Result<Vec<c_ulong>, PinError> {
    let mut words = Vec::new();
    for cpu in cpus {
        if cpu > CPU_MAX {
            return Err(PinError::OutOfRange { cpu });
        }
        let word = (cpu / c_ulong::BITS) as usize;
        if word >= words.len() {
            words.resize(word + 1, 0);
        }
        words[word] |= 1 << (cpu % c_ulong::BITS);
    }
    if words.is_empty() { Err(PinError::Empty) } else { Ok(words) }
}

/// Gives the CPUs of a mask.
pub(super) fn cpus(words: &[c_ulong]) -> CpuSet {
    (0_u32..)
        .zip(words)
        .flat_map(|(index, &word)| {
            (0..c_ulong::BITS)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| index * c_ulong::BITS + bit)
        })
        .collect()
}

/// Calls `read` with an ever larger mask: how many CPUs the kernel was built for is told only by
/// its refusal of a shorter one.
pub(super) fn growing(read: impl Fn(&mut [c_ulong]) -> io::Result<()>) -> io::Result<Vec<c_ulong>> {
    let mut bits = MASK_BITS_MIN;
    loop {
        let mut words = vec![0; (bits / c_ulong::BITS) as usize];
        match read(&mut words) {
            Ok(()) => return Ok(words),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && bits <= CPU_MAX => {
                bits *= 2;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_mask_and_its_set_are_inverse(
            dense in proptest::collection::vec(0..130_u32, 1..40),
            sparse in proptest::collection::vec(0..=CPU_MAX, 0..4),
        ) {
            let set: CpuSet = dense.into_iter().chain(sparse).collect();
            let words = of(&set).unwrap();
            prop_assert_eq!(cpus(&words), set);
            prop_assert_ne!(words.last(), Some(&0), "no longer than needed");
        }

        #[test]
        fn any_words_are_a_set(words in proptest::collection::vec(any::<c_ulong>(), 0..40)) {
            let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(cpus(&words).len(), ones as usize);
        }
    }

    #[test]
    fn masks_reach_beyond_1024_cpus() {
        for cpu in [0, 63, 64, 1023, 1024, 8191, CPU_MAX] {
            assert!(cpus(&of(&CpuSet::from_iter([cpu])).unwrap()).iter().eq([cpu]), "{cpu}");
        }
    }

    #[test]
    fn an_empty_set_and_a_number_beyond_every_kernel_are_refused() {
        assert!(matches!(of(&CpuSet::new()), Err(PinError::Empty)));
        let beyond = of(&CpuSet::from_iter([3, CPU_MAX + 1]));
        assert!(matches!(beyond, Err(PinError::OutOfRange { cpu }) if cpu == CPU_MAX + 1));
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
        let words = growing(kernel_of_5000_cpus).unwrap();
        assert!(cpus(&words).iter().eq([4999]));
    }

    #[test]
    fn the_mask_does_not_grow_for_ever_nor_for_another_error() {
        for errno in [libc::EINVAL, libc::EPERM] {
            let error = growing(|_| Err(io::Error::from_raw_os_error(errno))).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(errno));
        }
    }
}
