//! The page of a counter, mapped.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::kernel::Errno;
use crate::user::{Architecture, NoUserRead, Page, UserAccess, UserPage, read_access};

/// A page that the kernel keeps up to date; unmapped on drop.
///
/// It is neither `Send` nor `Sync`: what it says is true for the thread that the counter counts.
#[derive(Debug)]
pub(crate) struct Mapping {
    page: NonNull<Page>,
    length: usize,
}

impl Mapping {
    fn new(counter: BorrowedFd<'_>) -> Result<Mapping, Errno> {
        // SAFETY: no pointers are involved.
        let length = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let length = usize::try_from(length).unwrap_or(4096);
        let (access, sharing) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: the kernel chooses an address where nothing else is; the descriptor is open while it is
        // borrowed.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, sharing, counter.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(Errno(io::Error::last_os_error().raw_os_error().unwrap_or(0)));
        }
        let page = NonNull::new(start.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(Mapping { page, length })
    }

    #[inline]
    pub(crate) fn page(&self) -> &Page {
        // SAFETY: a whole page is mapped there until `self` is dropped, and aligned to its size, so it has
        // room for the struct. All fields are atomics, valid for any bits, which the kernel writes and we
        // only load, relaxed and at most 8 bytes wide: that is defined for read-only memory on the
        // architectures for which pages are mapped.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly this range was mapped by `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.length) };
    }
}

/// Whether this machine lets a thread read its own counters.
pub(super) fn access() -> Result<UserAccess, NoUserRead> {
    read_access(Path::new("/"), Architecture::HERE)
}

/// Maps the page of `counter`.
pub(super) fn map(counter: BorrowedFd<'_>) -> Result<UserPage, Errno> {
    match Architecture::HERE {
        Architecture::Other => Err(Errno(libc::ENOSYS)),
        Architecture::X86 | Architecture::Arm64 => Mapping::new(counter).map(UserPage::mapped),
    }
}
