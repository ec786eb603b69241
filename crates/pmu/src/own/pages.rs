//! The pages of one group, and how the group was read the last time.

use std::os::fd::BorrowedFd;

use super::ReadPath;
use crate::kernel::Kernel;
use crate::layout::write_group;
use crate::user::{NoUserRead, UserPage, read_group};

#[derive(Debug)]
pub(super) struct GroupPages {
    /// One per member, or none at all.
    pages: Vec<UserPage>,
    /// Room for the counts, so that reading never allocates.
    counts: Vec<u64>,
    path: ReadPath,
}

impl GroupPages {
    /// A group that is always read by read(2).
    pub(super) fn none(reason: NoUserRead) -> GroupPages {
        GroupPages { pages: Vec::new(), counts: Vec::new(), path: ReadPath::SystemCall { reason } }
    }

    /// Maps the pages of all members, or of none: a group is read as one.
    pub(super) fn map<'f>(kernel: &dyn Kernel, members: impl Iterator<Item = BorrowedFd<'f>>) -> GroupPages {
        let pages: Result<Vec<UserPage>, NoUserRead> = members
            .map(|member| {
                let page = kernel.map(member).map_err(|errno| NoUserRead::Map { errno })?;
                match page.never() {
                    Some(reason) => Err(reason),
                    None => Ok(page),
                }
            })
            .collect();
        match pages {
            Ok(pages) => GroupPages { counts: vec![0; pages.len()], pages, path: ReadPath::UserSpace },
            Err(reason) => GroupPages::none(reason),
        }
    }

    pub(super) fn path(&self) -> ReadPath {
        self.path
    }

    /// Fills in the `bytes` that read(2) would give, if that is possible without it.
    #[inline]
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        match read_group(&self.pages, &mut self.counts) {
            Ok(times) => {
                write_group(bytes, (times.enabled_ns, times.running_ns), &self.counts);
                self.path = ReadPath::UserSpace;
                true
            }
            Err(reason) => {
                self.path = ReadPath::SystemCall { reason };
                false
            }
        }
    }
}
