//! The table of event names: what may be typed, and the numbers the kernel wants for it.
//!
//! Everything an event needs is a row here. A name that is missing is a row to add, never a branch.
//! The numbers are those of perf_event_open(2), fields `type` and `config`.

use serde::{Deserialize, Serialize};

use crate::meaning::Meaning;
use crate::vendor;

/// `perf_event_attr.type` of generic hardware events.
pub(crate) const TYPE_HARDWARE: u32 = 0;
/// `perf_event_attr.type` of events that the kernel counts itself.
pub(crate) const TYPE_SOFTWARE: u32 = 1;
/// `perf_event_attr.type` of tracepoints.
pub(crate) const TYPE_TRACEPOINT: u32 = 2;
/// `perf_event_attr.type` of breakpoints.
pub(crate) const TYPE_BREAKPOINT: u32 = 5;
/// `perf_event_attr.type` of generic cache events.
pub(crate) const TYPE_HW_CACHE: u32 = 3;
/// `perf_event_attr.type` of event codes passed to the processor's PMU unchanged.
pub(crate) const TYPE_RAW: u32 = 4;
/// `perf_event_attr.config` of the software event that never counts: it only shows whether opening is
/// allowed.
pub(crate) const SOFTWARE_DUMMY: u64 = 9;

/// The family of an event: who counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EventKind {
    /// A generic event that the processor counts.
    Hardware,
    /// A generic cache, TLB or branch-predictor event that the processor counts.
    Cache,
    /// An event that the kernel counts; needs no PMU.
    Software,
    /// A code of the processor's manual, given as `rHEX`.
    Raw,
    /// A portable name, counted by another event on each type of core.
    Portable,
    /// An event by its vendor's name.
    Vendor,
    /// An event of a PMU that the kernel lists in sysfs.
    Pmu,
    /// A place in the kernel; needs no PMU.
    Tracepoint,
    /// Accesses to an address, counted by the debug registers; needs no PMU.
    Breakpoint,
}

impl EventKind {
    /// Whether the event occupies a counter of the processor.
    pub fn needs_pmu(self) -> bool {
        !matches!(self, EventKind::Software | EventKind::Tracepoint | EventKind::Breakpoint)
    }
}

/// What the kernel's exclude bits do to an event: the difference between a count and a lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modes {
    /// Happens in user and in kernel mode, and can be counted in one of them alone.
    Separable,
    /// Happens inside the kernel only: counted in user mode alone it would always be 0.
    KernelOnly,
    /// A clock: the kernel ignores the exclude bits, so the count always covers both modes.
    Whole,
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Another accepted spelling, if any.
    pub(crate) alias: Option<&'static str>,
    pub(crate) kind: EventKind,
    pub(crate) config: u64,
    pub(crate) modes: Modes,
    pub(crate) description: &'static str,
}

impl Entry {
    const fn alias(mut self, alias: &'static str) -> Entry {
        self.alias = Some(alias);
        self
    }

    const fn modes(mut self, modes: Modes) -> Entry {
        self.modes = modes;
        self
    }

    /// `perf_event_attr.type` of this row.
    pub(crate) fn type_(&self) -> u32 {
        match self.kind {
            EventKind::Hardware => TYPE_HARDWARE,
            EventKind::Software => TYPE_SOFTWARE,
            EventKind::Cache => TYPE_HW_CACHE,
            _ => TYPE_RAW,
        }
    }

    fn spellings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.alias)
    }
}

const fn row(kind: EventKind, config: u64, name: &'static str, description: &'static str) -> Entry {
    Entry { name, alias: None, kind, config, modes: Modes::Separable, description }
}

const fn hw(config: u64, name: &'static str, description: &'static str) -> Entry {
    row(EventKind::Hardware, config, name, description)
}

const fn sw(config: u64, name: &'static str, description: &'static str) -> Entry {
    row(EventKind::Software, config, name, description)
}

/// Which cache: the low byte of a cache event's `config`.
const L1D: u64 = 0;
const L1I: u64 = 1;
const LL: u64 = 2;
const DTLB: u64 = 3;
const ITLB: u64 = 4;
const BPU: u64 = 5;
const NODE: u64 = 6;
/// Which operation and result: the two bytes above it.
const READ: u64 = 0;
const WRITE: u64 = 1 << 8;
const PREFETCH: u64 = 2 << 8;
const MISS: u64 = 1 << 16;

const fn cache(config: u64, name: &'static str, description: &'static str) -> Entry {
    row(EventKind::Cache, config, name, description)
}

/// Every named event, in the order in which a list of them reads best.
#[rustfmt::skip] // One row, one line.
pub(crate) static TABLE: &[Entry] = &[
    hw(0, "cycles", "core clock cycles while not halted").alias("cpu-cycles"),
    hw(1, "instructions", "instructions retired"),
    hw(2, "cache-references", "cache lookups of the level that cache-misses counts"),
    hw(3, "cache-misses", "misses of the last level on Intel, of L2 on AMD Zen, L1D refills on Arm"),
    hw(4, "branches", "branch instructions retired").alias("branch-instructions"),
    hw(5, "branch-misses", "mispredicted branches retired"),
    hw(6, "bus-cycles", "cycles of a fixed-rate bus or reference clock"),
    hw(7, "stalled-cycles-frontend", "cycles in which no instruction could be issued for want of decoded ones"),
    hw(8, "stalled-cycles-backend", "cycles in which no instruction could be issued for want of resources or data"),
    hw(9, "ref-cycles", "cycles at the nominal frequency while not halted"),

    cache(L1D | READ, "L1-dcache-loads", "loads that looked up the L1 data cache"),
    cache(L1D | READ | MISS, "L1-dcache-load-misses", "loads or fills that missed the L1 data cache"),
    cache(L1D | WRITE, "L1-dcache-stores", "stores that looked up the L1 data cache"),
    cache(L1D | WRITE | MISS, "L1-dcache-store-misses", "stores that missed the L1 data cache"),
    cache(L1D | PREFETCH, "L1-dcache-prefetches", "prefetches into the L1 data cache"),
    cache(L1D | PREFETCH | MISS, "L1-dcache-prefetch-misses", "prefetches that missed the L1 data cache"),
    cache(L1I | READ, "L1-icache-loads", "fetches from the L1 instruction cache"),
    cache(L1I | READ | MISS, "L1-icache-load-misses", "fetches that missed the L1 instruction cache"),
    cache(L1I | PREFETCH, "L1-icache-prefetches", "prefetches into the L1 instruction cache"),
    cache(L1I | PREFETCH | MISS, "L1-icache-prefetch-misses", "prefetches that missed the L1 instruction cache"),
    cache(LL | READ, "LLC-loads", "loads that reached the last-level cache"),
    cache(LL | READ | MISS, "LLC-load-misses", "loads that missed the last-level cache"),
    cache(LL | WRITE, "LLC-stores", "stores that reached the last-level cache"),
    cache(LL | WRITE | MISS, "LLC-store-misses", "stores that missed the last-level cache"),
    cache(LL | PREFETCH, "LLC-prefetches", "prefetches that reached the last-level cache"),
    cache(LL | PREFETCH | MISS, "LLC-prefetch-misses", "prefetches that missed the last-level cache"),
    cache(DTLB | READ, "dTLB-loads", "loads that looked up the data TLB"),
    cache(DTLB | READ | MISS, "dTLB-load-misses", "loads that missed the data TLB"),
    cache(DTLB | WRITE, "dTLB-stores", "stores that looked up the data TLB"),
    cache(DTLB | WRITE | MISS, "dTLB-store-misses", "stores that missed the data TLB"),
    cache(DTLB | PREFETCH, "dTLB-prefetches", "prefetches that looked up the data TLB"),
    cache(DTLB | PREFETCH | MISS, "dTLB-prefetch-misses", "prefetches that missed the data TLB"),
    cache(ITLB | READ, "iTLB-loads", "fetches that looked up the instruction TLB"),
    cache(ITLB | READ | MISS, "iTLB-load-misses", "fetches that missed the instruction TLB"),
    cache(BPU | READ, "branch-loads", "lookups of the branch predictor"),
    cache(BPU | READ | MISS, "branch-load-misses", "lookups that the branch predictor missed"),
    cache(NODE | READ, "node-loads", "loads served by memory of any NUMA node"),
    cache(NODE | READ | MISS, "node-load-misses", "loads served by memory of a remote NUMA node"),
    cache(NODE | WRITE, "node-stores", "stores to memory of any NUMA node"),
    cache(NODE | WRITE | MISS, "node-store-misses", "stores to memory of a remote NUMA node"),
    cache(NODE | PREFETCH, "node-prefetches", "prefetches from memory of any NUMA node"),
    cache(NODE | PREFETCH | MISS, "node-prefetch-misses", "prefetches from memory of a remote NUMA node"),

    sw(1, "task-clock", "nanoseconds for which the thread ran").modes(Modes::Whole),
    sw(0, "cpu-clock", "nanoseconds for which the thread ran, by the processor's own clock").modes(Modes::Whole),
    sw(3, "context-switches", "times the thread was taken off its CPU").alias("cs").modes(Modes::KernelOnly),
    sw(4, "cpu-migrations", "times the thread moved to another CPU").alias("migrations").modes(Modes::KernelOnly),
    sw(11, "cgroup-switches", "times the CPU went over to a task of another control group").modes(Modes::KernelOnly),
    sw(2, "page-faults", "page faults, minor and major").alias("faults"),
    sw(5, "minor-faults", "page faults served without I/O"),
    sw(6, "major-faults", "page faults that had to wait for I/O"),
    sw(7, "alignment-faults", "unaligned accesses that the kernel repaired; x86 has none"),
    sw(8, "emulation-faults", "instructions that the kernel emulated; x86 has none"),
];

/// The row of a name or alias; letter case does not matter.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.spellings().any(|s| s.eq_ignore_ascii_case(name)))
}

/// Up to three known names that `name` may have been meant to be, nearest first.
pub(crate) fn near(name: &str) -> Vec<&'static str> {
    let portable = Meaning::all().iter().map(Meaning::name);
    let known = TABLE.iter().flat_map(Entry::spellings).chain(portable).chain(vendor::names());
    crate::near::near(name, known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn spellings_and_numbers_are_unique() {
        let mut spellings = HashSet::new();
        let mut numbers = HashSet::new();
        for entry in TABLE {
            for spelling in entry.spellings() {
                assert!(spellings.insert(spelling.to_ascii_lowercase()), "{spelling}");
            }
            assert!(numbers.insert((entry.type_(), entry.config)), "{}", entry.name);
            assert!(!entry.description.is_empty() && !entry.description.contains('\n'));
        }
    }

    #[test]
    fn no_portable_name_is_hidden_by_a_generic_one() {
        for meaning in Meaning::all() {
            assert_eq!(find(meaning.name()), None, "{}", meaning.name());
        }
    }

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        assert_eq!(near("cyles").first(), Some(&"cycles"));
        assert_eq!(near("cache-miss").first(), Some(&"cache-misses"));
        assert_eq!(near("l1-dcache-load-miss").first(), Some(&"L1-dcache-load-misses"));
        assert!(near("ctx-switches").contains(&"context-switches"));
        assert!(near("frobnicate").is_empty());
        assert!(near("").is_empty());
        assert!(near(&"x".repeat(10_000)).is_empty());
    }
}
