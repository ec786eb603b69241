//! The registers that a thread may read itself: counters and the clock of the processor.
//!
//! Every assembler block may touch memory as far as the compiler knows, so none of them moves across the
//! loads and fences of the reader.

pub(crate) use here::{counter, cycles, settle};

/// x86_64: `rdpmc`, and `rdtsc` as the clock.
#[cfg(target_arch = "x86_64")]
mod here {
    use std::arch::asm;

    /// This bit of the number stands for the shares of the top-down method instead of a count.
    const SHARES: u32 = 1 << 29;

    /// Waits for the instructions before, and holds back those behind.
    #[inline]
    pub(crate) fn settle() {
        // SAFETY: a fence changes no state.
        unsafe { asm!("lfence", options(nostack, preserves_flags)) };
    }

    /// The time stamp counter.
    #[inline]
    pub(crate) fn cycles() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: reads a register into two others, where the kernel offers the clock for this.
        unsafe { asm!("rdtsc", out("rax") low, out("rdx") high, options(nostack, preserves_flags)) };
        high << 32 | low
    }

    /// The counter with this index; where the page of the counter does not allow it, the processor traps and
    /// the program ends.
    #[inline]
    pub(crate) fn counter(index: u32) -> Option<u64> {
        let number = index.checked_sub(1).filter(|number| number & SHARES == 0)?;
        let (low, high): (u64, u64);
        // SAFETY: reads a register into two others; at worst the processor traps, which is no access to
        // memory.
        unsafe {
            asm!(
                "rdpmc",
                in("ecx") number,
                out("rax") low,
                out("rdx") high,
                options(nostack, preserves_flags)
            );
        }
        Some(high << 32 | low)
    }
}

/// aarch64: `mrs`, and the virtual counter as the clock.
#[cfg(target_arch = "aarch64")]
mod here {
    use std::arch::asm;

    /// Waits for the instructions before, and holds back those behind.
    #[inline]
    pub(crate) fn settle() {
        // SAFETY: a barrier changes no state.
        unsafe { asm!("isb", options(nostack, preserves_flags)) };
    }

    /// Reads one system register.
    macro_rules! read {
        ($name:literal) => {{
            let value: u64;
            // SAFETY: reads a register into another; at worst the processor traps, which is no access to
            // memory.
            unsafe { asm!(concat!("mrs {}, ", $name), out(reg) value, options(nostack, preserves_flags)) };
            value
        }};
    }

    /// The virtual counter of the generic timer.
    #[inline]
    pub(crate) fn cycles() -> u64 {
        read!("cntvct_el0")
    }

    /// Reads the event counter whose index is one of the list; the number in a name cannot be computed.
    macro_rules! event_counter {
        ($index:expr, $($at:literal => $name:literal)*) => {
            match $index {
                $($at => Some(read!($name)),)*
                _ => None,
            }
        };
    }

    /// The counter with this index; where the page of the counter does not allow it, the processor traps and
    /// the program ends.
    ///
    /// An index is the number of the register plus 1; that of the cycle counter is 31.
    #[inline]
    pub(crate) fn counter(index: u32) -> Option<u64> {
        event_counter!(index,
            1 => "pmevcntr0_el0" 2 => "pmevcntr1_el0" 3 => "pmevcntr2_el0" 4 => "pmevcntr3_el0"
            5 => "pmevcntr4_el0" 6 => "pmevcntr5_el0" 7 => "pmevcntr6_el0" 8 => "pmevcntr7_el0"
            9 => "pmevcntr8_el0" 10 => "pmevcntr9_el0" 11 => "pmevcntr10_el0" 12 => "pmevcntr11_el0"
            13 => "pmevcntr12_el0" 14 => "pmevcntr13_el0" 15 => "pmevcntr14_el0" 16 => "pmevcntr15_el0"
            17 => "pmevcntr16_el0" 18 => "pmevcntr17_el0" 19 => "pmevcntr18_el0" 20 => "pmevcntr19_el0"
            21 => "pmevcntr20_el0" 22 => "pmevcntr21_el0" 23 => "pmevcntr22_el0" 24 => "pmevcntr23_el0"
            25 => "pmevcntr24_el0" 26 => "pmevcntr25_el0" 27 => "pmevcntr26_el0" 28 => "pmevcntr27_el0"
            29 => "pmevcntr28_el0" 30 => "pmevcntr29_el0" 31 => "pmevcntr30_el0" 32 => "pmccntr_el0")
    }
}

/// Other architectures: no page is ever mapped, so nothing of this is called.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod here {
    pub(crate) fn settle() {}

    pub(crate) fn cycles() -> u64 {
        0
    }

    pub(crate) fn counter(_index: u32) -> Option<u64> {
        None
    }
}
