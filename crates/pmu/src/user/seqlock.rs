//! Reading the pages of a group as of one moment.
//!
//! The kernel offers no such thing, but it rewrites the page of every member whenever the group leaves or
//! enters its counters. So: read all sequence numbers, then all counters, then all sequence numbers again.
//! If none has changed, no counter was moved in between, and the counts belong together.

#[cfg(not(loom))]
use std::sync::atomic::{Ordering::Acquire, fence};

#[cfg(loom)]
use loom::sync::atomic::{Ordering::Acquire, fence};

use super::access::NoUserRead;
use super::arithmetic::sign_extend;
use super::page::Page;

/// How often a read starts again before the kernel is asked instead. A thread that is switched out this
/// often within a hundred ns has other worries; and a page that stays locked must not hang it.
const TRIES: usize = if cfg!(loom) { 2 } else { 8 };

/// One counter as the thread sees it that owns it.
pub(crate) trait Source {
    /// What the kernel says of the counter.
    fn page(&self) -> &Page;

    /// Waits until the instructions before have happened, and starts none of those behind: reading a
    /// register is not ordered with anything else.
    fn settle(&self);

    /// The clock of the processor.
    fn cycles(&self) -> u64;

    /// The register which the page calls `index`; `None` if it does not hold a count.
    ///
    /// May be called only if the page has said in this same round that it is readable: otherwise the
    /// processor traps.
    fn counter(&self, index: u32) -> Option<u64>;
}

/// The times of a group, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

/// Reads all members of a group, the leader first, into `counts`, of which there are as many.
///
/// The times are the leader's, as in read(2). On an error, `counts` holds nothing of use, and read(2) is the
/// way to read this group this time.
pub(crate) fn read_group<S: Source>(group: &[S], counts: &mut [u64]) -> Result<Times, NoUserRead> {
    for _ in 0..TRIES {
        let Some(before) = locks(group) else { continue };
        fence(Acquire);
        let times = round(group, counts)?;
        fence(Acquire);
        if locks(group) == Some(before) {
            return Ok(times);
        }
    }
    Err(NoUserRead::Unsettled)
}

/// The sum of the sequence numbers; `None` if the kernel is writing one of the pages.
///
/// The numbers only grow, so the sum changes when any of them does.
#[inline]
fn locks<S: Source>(group: &[S]) -> Option<u64> {
    let mut sum = 0;
    for source in group {
        let lock = source.page().lock();
        if lock % 2 != 0 {
            return None;
        }
        sum += u64::from(lock);
    }
    Some(sum)
}

/// Reads everything once, whether or not it belongs together.
///
/// A refusal is not checked against the locks: asking the kernel is right in any case.
#[inline]
fn round<S: Source>(group: &[S], counts: &mut [u64]) -> Result<Times, NoUserRead> {
    let leader = group.first().ok_or(NoUserRead::NotCounting)?;
    // Before anything slow, because this is how most refusals look.
    if leader.page().index() == 0 {
        return Err(NoUserRead::NotCounting);
    }
    let clock = leader.page().clock().ok_or(NoUserRead::NoClock)?;
    let (enabled_ns, running_ns) = leader.page().times_ns();
    leader.settle();
    let since_ns = clock.since_written_ns(leader.cycles());
    for (source, count) in group.iter().zip(counts) {
        *count = count_of(source)?;
    }
    leader.settle();
    // The time since the page was written counts always, not only where counters take turns: without it two
    // reads on the same page would be no time apart.
    Ok(Times { enabled_ns: enabled_ns.wrapping_add(since_ns), running_ns: running_ns.wrapping_add(since_ns) })
}

/// The count of one member.
#[inline]
fn count_of<S: Source>(source: &S) -> Result<u64, NoUserRead> {
    let page = source.page();
    let (offset, width) = (page.offset(), page.width_bits());
    let index = page.index();
    if index == 0 {
        return Err(NoUserRead::NotCounting);
    }
    if !page.is_readable() {
        return Err(NoUserRead::NotReadable);
    }
    let raw = source.counter(index).ok_or(NoUserRead::NotACount { index })?;
    Ok(offset.wrapping_add(sign_extend(raw, width)))
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
