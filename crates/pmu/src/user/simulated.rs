//! A page and a register that a simulated kernel writes to.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::page::{Page, PageState};

/// What a simulated kernel shares of one counter: the page, the register behind it, and the clock.
///
/// Reading it behaves like the real thing, sequence number included, so a simulated kernel may write while
/// another thread reads.
#[derive(Debug, Default)]
pub struct SimulatedPage {
    page: Page,
    register: AtomicU64,
    cycles: AtomicU64,
    register_reads: AtomicU64,
}

impl SimulatedPage {
    /// Writes the page as the kernel does when it moves the counter. For one writer at a time.
    pub fn write(&self, state: &PageState) {
        self.page.write(|page| page.set(state));
    }

    /// Lets the register have counted up to `raw`.
    pub fn set_register(&self, raw: u64) {
        self.register.store(raw, Relaxed);
    }

    /// What the register holds.
    pub fn register(&self) -> u64 {
        self.register.load(Relaxed)
    }

    /// Lets the clock of the processor show `cycles`.
    pub fn set_cycles(&self, cycles: u64) {
        self.cycles.store(cycles, Relaxed);
    }

    /// How often the register was read so far; on a real processor each one without permission would have
    /// ended the program.
    pub fn register_reads(&self) -> u64 {
        self.register_reads.load(Relaxed)
    }

    pub(crate) fn page(&self) -> &Page {
        &self.page
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    /// Like x86, where one register with a number of its own holds shares instead of a count.
    pub(crate) fn counter(&self, index: u32) -> Option<u64> {
        self.register_reads.fetch_add(1, Relaxed);
        (index <= SimulatedPage::LAST_INDEX).then(|| self.register())
    }

    /// The largest index of a register that holds a count.
    pub const LAST_INDEX: u32 = 64;
}
