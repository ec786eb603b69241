//! The NUMA nodes on which a piece of this process's memory lies, from move_pages(2).

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use serde::Serialize;

use super::error::MemoryError;
use crate::sys;

/// How many pages one call asks about.
const BATCH_PAGES: usize = 4096;

/// Where the pages of a piece of memory lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SlicePages {
    /// The bytes of a page here.
    pub page_bytes: usize,
    /// The pages on each node, by the node's number.
    pub by_node: BTreeMap<u32, u64>,
    /// Pages that nobody has written yet, or that are swapped out: they lie nowhere, and will land
    /// where they are touched from. Pages that were only read are among them, because they share
    /// the kernel's page of zeros.
    pub untouched: u64,
    /// Pages of which the kernel did not say where they lie, by its error number.
    pub unknown: BTreeMap<i32, u64>,
}

/// Asks on which NUMA nodes the pages of `memory` lie; moves and touches nothing.
///
/// A page counts if a byte of `memory` is in it. An empty slice has no pages. See move_pages(2).
///
/// # Errors
///
/// [`MemoryError::NoNuma`], [`MemoryError::NotPermitted`], or [`MemoryError::Refused`].
pub fn nodes_of(memory: &[u8]) -> Result<SlicePages, MemoryError> {
    let page_bytes = sys::page_bytes();
    let mut sum = SlicePages { page_bytes, ..SlicePages::default() };
    if memory.is_empty() {
        return Ok(sum); // Its address points nowhere.
    }
    let start = memory.as_ptr().addr();
    let pages: Vec<*const c_void> = (start & !(page_bytes - 1)..start + memory.len())
        .step_by(page_bytes)
        .map(ptr::without_provenance)
        .collect();
    for batch in pages.chunks(BATCH_PAGES) {
        let nodes = sys::page_nodes(batch);
        let nodes = nodes.map_err(|source| MemoryError::of_call("move_pages", source))?;
        nodes.into_iter().for_each(|node| sum.count(node));
    }
    Ok(sum)
}

impl SlicePages {
    /// Counts one page by the kernel's answer: a node, or a negated error number.
    fn count(&mut self, answer: c_int) {
        // EFAULT is the page of zeros; no other page of a slice that we hold can be unmapped.
        let untouched = [-libc::ENOENT, -libc::EFAULT].contains(&answer);
        match u32::try_from(answer) {
            Ok(node) => *self.by_node.entry(node).or_default() += 1,
            Err(_) if untouched => self.untouched += 1,
            Err(_) => *self.unknown.entry(answer.wrapping_neg()).or_default() += 1,
        }
    }

    /// Counts all pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.by_node.values().sum::<u64>() + self.untouched + self.unknown.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_counted_once() {
        let mut sum = SlicePages::default();
        for answer in [0, 2, 0, -libc::ENOENT, -libc::EFAULT, -libc::EBUSY, c_int::MIN] {
            sum.count(answer);
        }
        assert_eq!(sum.by_node, BTreeMap::from([(0, 2), (2, 1)]));
        assert_eq!(sum.untouched, 2);
        assert_eq!(sum.unknown, BTreeMap::from([(libc::EBUSY, 1), (c_int::MIN, 1)]));
        assert_eq!(sum.pages(), 7);
    }
}
