//! What the numbers in a page mean: a narrow register as a 64-bit count, and clock cycles as ns.

/// The value of a register of `width` bits as a signed number of 64.
///
/// The kernel starts a counter below zero and gives an offset that makes up for it, so the register must be
/// extended by its sign; taken as it is, the sum would be off by 2^`width`. A width that is not from 1 to 63
/// leaves the value alone.
pub(crate) fn sign_extend(raw: u64, width: u16) -> u64 {
    match 64_u32.checked_sub(width.into()) {
        None | Some(0 | 64) => raw,
        Some(unused) => (((raw << unused) as i64) >> unused) as u64,
    }
}

/// How a page turns the clock of the processor into the time since the page was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageClock {
    /// ns per cycle, times 2^`shift`.
    pub mult: u32,
    /// The bits after the binary point of `mult`.
    pub shift: u16,
    /// What to add to the clock's ns, modulo 2^64, to have those since the page was written.
    pub offset_ns: u64,
    /// Where the clock is narrower than 64 bits: its value when the scale was set, and the mask of its bits.
    pub short: Option<(u64, u64)>,
}

impl PageClock {
    /// The time since the page was written, when the clock shows `cycles`, ns modulo 2^64.
    pub(crate) fn since_written_ns(&self, cycles: u64) -> u64 {
        let cycles = match self.short {
            Some((start, mask)) => start.wrapping_add(cycles.wrapping_sub(start) & mask),
            None => cycles,
        };
        // 64 × 32 bits always fit; bits above the 64th are those of a clock that wrapped.
        let scaled = u128::from(cycles) * u128::from(self.mult);
        let ns = scaled.checked_shr(self.shift.into()).unwrap_or(0) as u64;
        self.offset_ns.wrapping_add(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula of the kernel's header, in its own words.
    fn kernel_ns(cycles: u64, clock: &PageClock) -> u64 {
        let quotient = cycles >> clock.shift;
        let remainder = cycles & ((1 << clock.shift) - 1);
        clock
            .offset_ns
            .wrapping_add(quotient.wrapping_mul(clock.mult.into()))
            .wrapping_add(remainder.wrapping_mul(clock.mult.into()) >> clock.shift)
    }

    #[test]
    fn a_register_below_zero_stays_below_zero() {
        for width in [32, 40, 48, 64] {
            let bits = u64::MAX >> (64 - width);
            assert_eq!(sign_extend(bits, width), u64::MAX, "{width}");
            assert_eq!(sign_extend(bits >> 1, width), bits >> 1, "{width}");
            assert_eq!(sign_extend(0, width), 0, "{width}");
        }
    }

    #[test]
    fn an_impossible_width_changes_nothing() {
        for width in [0, 64, 65, u16::MAX] {
            assert_eq!(sign_extend(0x8000_0000_0000_0001, width), 0x8000_0000_0000_0001, "{width}");
        }
    }

    #[test]
    fn a_clock_that_wrapped_since_goes_on() {
        let clock = PageClock { mult: 1, shift: 0, offset_ns: 0, short: Some((0x1_00ff_fff0, 0x00ff_ffff)) };
        assert_eq!(clock.since_written_ns(0x00ff_fff8), 0x1_00ff_fff8);
        assert_eq!(clock.since_written_ns(0x0000_0010), 0x1_0100_0010);
    }

    #[test]
    fn an_impossible_shift_does_not_panic() {
        let clock = PageClock { mult: u32::MAX, shift: u16::MAX, offset_ns: 5, short: None };
        assert_eq!(clock.since_written_ns(u64::MAX), 5);
    }

    proptest! {
        /// The kernel writes `count - start`; the register started at `start` and has counted since.
        #[test]
        fn offset_and_register_give_the_count(
            width in prop::sample::select(vec![32_u16, 40, 48, 64]),
            count in any::<u64>(),
            left in any::<u64>(),
            events in any::<u64>(),
        ) {
            let half = 1_u64 << (width - 1);
            let start = (left % half).wrapping_neg();
            let events = events % half;
            let raw = start.wrapping_add(events) & (u64::MAX >> (64 - width));
            let offset = count.wrapping_sub(start);
            prop_assert_eq!(offset.wrapping_add(sign_extend(raw, width)), count.wrapping_add(events));
        }

        #[test]
        fn bits_above_the_width_do_not_matter(raw in any::<u64>(), width in 1_u16..64) {
            let upper = u64::MAX << width;
            prop_assert_eq!(sign_extend(raw | upper, width), sign_extend(raw & !upper, width));
        }

        #[test]
        fn ns_are_those_of_the_kernels_formula(
            cycles in any::<u64>(),
            mult in any::<u32>(),
            shift in 0_u16..=32,
            offset_ns in any::<u64>(),
        ) {
            let clock = PageClock { mult, shift, offset_ns, short: None };
            prop_assert_eq!(clock.since_written_ns(cycles), kernel_ns(cycles, &clock));
        }

        /// However often the narrow clock wrapped before the scale was set, less than one wrap later the
        /// time is that of the wide clock.
        #[test]
        fn a_narrow_clock_is_as_good_as_a_wide_one(
            start in any::<u64>(),
            bits in 24_u32..=56,
            since in any::<u64>(),
            mult in any::<u32>(),
        ) {
            let mask = (1_u64 << bits) - 1;
            let wide = start.wrapping_add(since & mask);
            let short = PageClock { mult, shift: 24, offset_ns: 0, short: Some((start, mask)) };
            let full = PageClock { short: None, ..short };
            prop_assert_eq!(short.since_written_ns(wide & mask), full.since_written_ns(wide));
        }
    }
}
