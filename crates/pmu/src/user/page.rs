//! The page that the kernel shares for one counter, `struct perf_event_mmap_page`.
//!
//! Every field is an atomic, because the kernel writes while we read. All loads are relaxed: the memory is
//! read-only, where other loads are not defined, and the order is a matter of the reader's fences.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release, fence};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release, fence};

use super::arithmetic::PageClock;

/// The counter may be read by the thread it counts: `cap_user_rdpmc`.
const READABLE: u64 = 1 << 2;
/// The clock can be turned into ns: `cap_user_time`.
const CLOCK: u64 = 1 << 3;
/// The clock may be narrower than 64 bits: `cap_user_time_short`.
const SHORT_CLOCK: u64 = 1 << 5;

/// The start of the page; what follows concerns samples.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Page {
    version: AtomicU32,
    compat_version: AtomicU32,
    lock: AtomicU32,
    index: AtomicU32,
    /// A signed number; sums of it are taken modulo 2^64 anyway.
    offset: AtomicU64,
    time_enabled: AtomicU64,
    time_running: AtomicU64,
    capabilities: AtomicU64,
    pmc_width: AtomicU16,
    time_shift: AtomicU16,
    time_mult: AtomicU32,
    time_offset: AtomicU64,
    time_zero: AtomicU64,
    size: AtomicU32,
    reserved: AtomicU32,
    time_cycles: AtomicU64,
    time_mask: AtomicU64,
}

/// What a page says of its counter, in plain numbers; for simulated kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageState {
    /// The oldest version of the layout that this page can be read as; 0 to this day.
    pub compat_version: u32,
    /// The register that counts the event, plus 1; 0 if none does.
    pub index: u32,
    /// The count without what the register has counted; modulo 2^64.
    pub offset: u64,
    /// How long the counter was enabled when the page was written, ns.
    pub time_enabled_ns: u64,
    /// How long it ran when the page was written, ns.
    pub time_running_ns: u64,
    /// Whether the thread may read the register: `cap_user_rdpmc`.
    pub readable: bool,
    /// The width of the register: `pmc_width`.
    pub width_bits: u16,
    /// How to tell the time since the page was written; `None`: without `cap_user_time`.
    pub clock: Option<PageClock>,
}

impl Page {
    /// The sequence number; odd while the kernel writes.
    #[inline]
    pub(crate) fn lock(&self) -> u32 {
        self.lock.load(Relaxed)
    }

    pub(crate) fn compat_version(&self) -> u32 {
        self.compat_version.load(Relaxed)
    }

    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.capabilities.load(Relaxed) & READABLE != 0
    }

    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index.load(Relaxed)
    }

    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.offset.load(Relaxed)
    }

    #[inline]
    pub(crate) fn width_bits(&self) -> u16 {
        self.pmc_width.load(Relaxed)
    }

    /// How long the counter was enabled, and how long it ran, when the page was written; ns.
    #[inline]
    pub(crate) fn times_ns(&self) -> (u64, u64) {
        (self.time_enabled.load(Relaxed), self.time_running.load(Relaxed))
    }

    #[inline]
    pub(crate) fn clock(&self) -> Option<PageClock> {
        let capabilities = self.capabilities.load(Relaxed);
        (capabilities & CLOCK != 0).then(|| PageClock {
            mult: self.time_mult.load(Relaxed),
            shift: self.time_shift.load(Relaxed),
            offset_ns: self.time_offset.load(Relaxed),
            short: (capabilities & SHORT_CLOCK != 0)
                .then(|| (self.time_cycles.load(Relaxed), self.time_mask.load(Relaxed))),
        })
    }

    /// Writes as the kernel does: the sequence number is odd during `change`. For one writer at a time.
    pub(crate) fn write(&self, change: impl FnOnce(&Page)) {
        let lock = self.lock.load(Relaxed);
        self.lock.store(lock.wrapping_add(1), Relaxed);
        fence(Release);
        change(self);
        self.lock.store(lock.wrapping_add(2), Release);
    }

    /// Sets all fields, inside of [`write`](Self::write).
    pub(crate) fn set(&self, state: &PageState) {
        let capabilities = u64::from(state.readable) * READABLE
            + u64::from(state.clock.is_some()) * CLOCK
            + u64::from(state.clock.is_some_and(|clock| clock.short.is_some())) * SHORT_CLOCK;
        self.compat_version.store(state.compat_version, Relaxed);
        self.index.store(state.index, Relaxed);
        self.offset.store(state.offset, Relaxed);
        self.time_enabled.store(state.time_enabled_ns, Relaxed);
        self.time_running.store(state.time_running_ns, Relaxed);
        self.capabilities.store(capabilities, Relaxed);
        self.pmc_width.store(state.width_bits, Relaxed);
        if let Some(clock) = state.clock {
            self.time_mult.store(clock.mult, Relaxed);
            self.time_shift.store(clock.shift, Relaxed);
            self.time_offset.store(clock.offset_ns, Relaxed);
            let (cycles, mask) = clock.short.unwrap_or_default();
            self.time_cycles.store(cycles, Relaxed);
            self.time_mask.store(mask, Relaxed);
        }
    }

    /// Sets what a context switch changes most, inside of [`write`](Self::write).
    #[cfg(test)]
    pub(crate) fn set_offset(&self, offset: u64) {
        self.offset.store(offset, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use perf_event_open_sys::bindings::perf_event_mmap_page as Kernel;
    use std::mem::offset_of;

    #[test]
    fn every_field_is_where_the_kernel_has_it() {
        let fields = [
            (offset_of!(Page, version), offset_of!(Kernel, version), 0),
            (offset_of!(Page, compat_version), offset_of!(Kernel, compat_version), 4),
            (offset_of!(Page, lock), offset_of!(Kernel, lock), 8),
            (offset_of!(Page, index), offset_of!(Kernel, index), 12),
            (offset_of!(Page, offset), offset_of!(Kernel, offset), 16),
            (offset_of!(Page, time_enabled), offset_of!(Kernel, time_enabled), 24),
            (offset_of!(Page, time_running), offset_of!(Kernel, time_running), 32),
            (offset_of!(Page, capabilities), offset_of!(Kernel, __bindgen_anon_1), 40),
            (offset_of!(Page, pmc_width), offset_of!(Kernel, pmc_width), 48),
            (offset_of!(Page, time_shift), offset_of!(Kernel, time_shift), 50),
            (offset_of!(Page, time_mult), offset_of!(Kernel, time_mult), 52),
            (offset_of!(Page, time_offset), offset_of!(Kernel, time_offset), 56),
            (offset_of!(Page, time_zero), offset_of!(Kernel, time_zero), 64),
            (offset_of!(Page, size), offset_of!(Kernel, size), 72),
            (offset_of!(Page, reserved), offset_of!(Kernel, __reserved_1), 76),
            (offset_of!(Page, time_cycles), offset_of!(Kernel, time_cycles), 80),
            (offset_of!(Page, time_mask), offset_of!(Kernel, time_mask), 88),
        ];
        for (ours, theirs, documented) in fields {
            assert_eq!((ours, theirs), (documented, documented));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let clock = PageClock { mult: 1, shift: 2, offset_ns: 3, short: Some((4, 5)) };
        let state = PageState {
            compat_version: 6,
            index: 7,
            offset: 8,
            time_enabled_ns: 9,
            time_running_ns: 10,
            readable: true,
            width_bits: 11,
            clock: Some(clock),
        };
        let page = Page::default();
        page.write(|page| page.set(&state));
        assert_eq!((page.lock(), page.compat_version(), page.index(), page.offset()), (2, 6, 7, 8));
        assert_eq!((page.times_ns(), page.width_bits()), ((9, 10), 11));
        assert_eq!((page.is_readable(), page.clock()), (true, Some(clock)));

        page.write(|page| page.set(&PageState { clock: Some(PageClock { short: None, ..clock }), ..state }));
        assert_eq!(page.clock().unwrap().short, None);
        page.write(|page| page.set(&PageState::default()));
        assert_eq!((page.is_readable(), page.clock()), (false, None));
    }

    #[test]
    fn the_capabilities_are_the_bits_of_the_kernel() {
        let mut theirs =
            perf_event_open_sys::bindings::perf_event_mmap_page__bindgen_ty_1__bindgen_ty_1::default();
        theirs.set_cap_user_rdpmc(1);
        theirs.set_cap_user_time(1);
        theirs.set_cap_user_time_short(1);
        let bits = theirs._bitfield_1.get(0, 64);
        assert_eq!(bits, READABLE | CLOCK | SHORT_CLOCK);
    }
}
