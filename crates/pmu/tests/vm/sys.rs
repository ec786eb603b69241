//! A known number of instructions, which only assembly can promise.
#![allow(unsafe_code)]

/// Runs two instructions per round, and takes at least one round.
#[cfg(target_arch = "aarch64")]
pub(crate) fn spin(rounds: u64) {
    let rounds = rounds.max(1);
    // SAFETY: the loop changes its own register and the flags, and ends when the register is 0.
    unsafe {
        std::arch::asm!("2:", "subs {0}, {0}, #1", "b.ne 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
}

/// Elsewhere the tests skip themselves, but build.
#[cfg(not(target_arch = "aarch64"))]
pub(crate) fn spin(rounds: u64) {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}
