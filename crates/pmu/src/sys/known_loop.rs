//! A loop whose number of instructions is known because it is written in assembly.
#![allow(unsafe_code)]

/// Enough rounds for a million instructions and a fraction of a millisecond.
pub(super) const ROUNDS: u64 = 500_000;

/// Runs `rounds` (at least one) of the loop and gives the number of instructions that this took; `None` where
/// the loop is not written for the architecture, which is kept busy all the same.
pub(super) fn run(rounds: u64) -> Option<u64> {
    turn(rounds.max(1)).then(|| rounds.max(1) * 2)
}

#[cfg(target_arch = "x86_64")]
fn turn(rounds: u64) -> bool {
    // SAFETY: the two instructions change one register, which is declared, and the flags.
    unsafe {
        std::arch::asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
    true
}

#[cfg(target_arch = "aarch64")]
fn turn(rounds: u64) -> bool {
    // SAFETY: the two instructions change one register, which is declared, and the flags.
    unsafe {
        std::arch::asm!("2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) rounds => _, options(nomem, nostack));
    }
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn turn(rounds: u64) -> bool {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_ends_and_tells_two_instructions_per_round() {
        let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        for (rounds, instructions) in [(0, 2), (1, 2), (1000, 2000)] {
            assert_eq!(run(rounds), known.then_some(instructions));
        }
    }
}
