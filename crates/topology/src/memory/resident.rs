//! The NUMA nodes on which a process's memory lies, from `/proc/PID/numa_maps`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::MemoryError;

/// The memory of a process by NUMA node; see numa(7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryPerNode {
    /// The bytes on each node by its number; nodes that hold none are left out. Pages that are
    /// shared with other processes count in each of them.
    pub bytes: BTreeMap<u32, u64>,
    /// Pages of a size that the kernel does not tell, which `bytes` leaves out; old kernels tell no
    /// sizes at all.
    pub pages_of_unknown_size: u64,
}

impl MemoryPerNode {
    /// Gives the bytes on all nodes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes.values().fold(0, |total, &bytes| total.saturating_add(bytes))
    }
}

/// Reads on which nodes the memory of a process lies. `std::process::id()` asks about this one.
///
/// The kernel walks all pages of the process for this, some milliseconds per gigabyte, and holds its
/// map of memory meanwhile: ask before or after a run, not during one.
///
/// # Errors
///
/// [`MemoryError::ProcessGone`], [`MemoryError::NoNumaMaps`], or [`MemoryError::Unreadable`]: the
/// memory of another user's process needs a privilege.
pub fn memory_per_node(pid: u32) -> Result<MemoryPerNode, MemoryError> {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let path = dir.join("numa_maps");
    match fs::read(&path) {
        Ok(maps) => Ok(parse_numa_maps(&String::from_utf8_lossy(&maps))),
        Err(error) => Err(unreadable(pid, &dir, error)),
    }
}

fn unreadable(pid: u32, dir: &Path, source: std::io::Error) -> MemoryError {
    let path = dir.join("numa_maps");
    let missing = source.kind() == std::io::ErrorKind::NotFound;
    match source.raw_os_error() {
        Some(libc::ESRCH) => MemoryError::ProcessGone { pid },
        _ if missing && dir.exists() => MemoryError::NoNumaMaps { path },
        _ if missing => MemoryError::ProcessGone { pid },
        _ => MemoryError::Unreadable { path, source },
    }
}

/// Sums up the text of a `numa_maps`: on each line, `N0=123` pages of `kernelpagesize_kB=4`.
///
/// Everything else is passed over, malformed counts included: the file has grown new words before.
#[must_use]
pub fn parse_numa_maps(maps: &str) -> MemoryPerNode {
    let mut sum = MemoryPerNode::default();
    for line in maps.lines() {
        let words = line.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        let mut kilobytes: Option<u64> = None;
        let mut counts = Vec::new();
        for (key, value) in words {
            if key == "kernelpagesize_kB" {
                kilobytes = value.parse().ok();
            } else if let Some(count) = node_count(key, value) {
                counts.push(count);
            }
        }
        for (node, pages) in counts {
            if let Some(kilobytes) = kilobytes {
                let bytes = sum.bytes.entry(node).or_default();
                *bytes = bytes.saturating_add(pages.saturating_mul(kilobytes).saturating_mul(1024));
            } else {
                sum.pages_of_unknown_size = sum.pages_of_unknown_size.saturating_add(pages);
            }
        }
    }
    sum.bytes.retain(|_, &mut bytes| bytes > 0);
    sum
}

fn node_count(key: &str, pages: &str) -> Option<(u32, u64)> {
    let digits = key.strip_prefix('N')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| Some((digits.parse().ok()?, pages.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_are_counted_in_their_own_size() {
        let maps = "\
5613d8051000 default file=/usr/bin/cat mapped=2 N0=2 kernelpagesize_kB=4
7f0000000000 bind:0-1 anon=3 dirty=3 N0=1 N2=2 kernelpagesize_kB=4
7f0100000000 default file=/dev/hugepages/x\\040N7=9 huge anon=1 dirty=1 N2=1 kernelpagesize_kB=2048
7fff00000000 default stack anon=4 dirty=4 active=0 N0=0 kernelpagesize_kB=4
ffffffffff600000 default
";
        let sum = parse_numa_maps(maps);
        assert_eq!(sum.bytes, BTreeMap::from([(0, 3 * 4096), (2, 2 * 4096 + 2048 * 1024)]));
        assert_eq!(sum.pages_of_unknown_size, 0);
        assert_eq!(sum.total_bytes(), 5 * 4096 + 2048 * 1024);
    }

    #[test]
    fn pages_of_unknown_size_are_no_bytes() {
        let sum = parse_numa_maps("7f00 default anon=5 N0=2 N1=3\n7f10 default N0=1 kernelpagesize_kB=x\n");
        assert_eq!(sum, MemoryPerNode { bytes: BTreeMap::new(), pages_of_unknown_size: 6 });
    }

    #[test]
    fn words_that_only_look_like_counts_are_passed_over() {
        let sum = parse_numa_maps("7f00 default N=1 N+1=2 Nx=3 N0=-4 N1=5x NN0=1 kernelpagesize_kB=4");
        assert_eq!(sum, MemoryPerNode::default());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([N0-9a-z=:\\- \n]|kernelpagesize_kB=|N0=|18446744073709551615){0,60}") {
            let _ = parse_numa_maps(&text).total_bytes();
        }

        #[test]
        fn sums_what_was_written(lines in proptest::collection::vec((0..4_u32, 1..1000_u64, 0..2_usize), 0..20)) {
            let mut expected = BTreeMap::new();
            let mut text = String::new();
            for (node, pages, size) in lines {
                let kilobytes = [4, 2048][size];
                *expected.entry(node).or_insert(0) += pages * kilobytes * 1024;
                text.push_str(&format!("7f00 default anon={pages} N{node}={pages} kernelpagesize_kB={kilobytes}\n"));
            }
            prop_assert_eq!(parse_numa_maps(&text).bytes, expected);
        }
    }
}
