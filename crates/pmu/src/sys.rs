//! The kernel of this machine: the three system calls, and nothing else.
//!
//! perf_event_open(2), its ioctl(2) and read(2) into a caller's buffer have no safe form in the standard
//! library, so this file allows unsafe code; everything above it is safe.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;

use crate::facts;
use crate::kernel::{Errno, EventAttr, Kernel, SystemFacts, Target};

/// The kernel of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

const READ_FORMAT: u32 = bindings::PERF_FORMAT_GROUP
    | bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
    | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING;

impl Kernel for Linux {
    fn open(
        &self,
        attr: &EventAttr,
        target: Target,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        let pid = pid_of(target)?;
        let group = leader.map_or(-1, |fd| fd.as_raw_fd());
        let mut attr = raw_attr(attr);
        let fd = again(|| {
            // SAFETY: the struct is initialised, says its own size, and outlives the call. It asks for a
            // count only: no sampling, no signal and no buffer that the kernel would write to
            // later.
            unsafe {
                perf::perf_event_open(&raw mut attr, pid, -1, group, bindings::PERF_FLAG_FD_CLOEXEC.into())
            }
        })?;
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        again(|| {
            // SAFETY: the descriptor is open while it is borrowed; the argument is a number, not a pointer.
            unsafe { perf::ioctls::ENABLE(leader.as_raw_fd(), bindings::PERF_IOC_FLAG_GROUP) }
        })?;
        Ok(())
    }

    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let fd = leader.as_raw_fd();
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        loop {
            // SAFETY: the kernel writes at most `length` bytes to `start`: exactly the buffer we hold
            // exclusively.
            let got = unsafe { libc::read(fd, start, length) };
            match usize::try_from(got) {
                Ok(got) => return Ok(got),
                Err(_) => match last_errno() {
                    Errno(libc::EINTR) => {}
                    errno => return Err(errno),
                },
            }
        }
    }

    fn facts(&self) -> SystemFacts {
        facts::read(Path::new("/"))
    }
}

/// The `pid` argument: 0 is the calling thread, and negative numbers mean other things than a thread.
fn pid_of(target: Target) -> Result<libc::pid_t, Errno> {
    match target {
        Target::CurrentThread => Ok(0),
        Target::Thread(tid) => {
            libc::pid_t::try_from(tid).ok().filter(|&pid| pid > 0).ok_or(Errno(libc::ESRCH))
        }
    }
}

fn raw_attr(attr: &EventAttr) -> bindings::perf_event_attr {
    let mut raw = bindings::perf_event_attr::default();
    raw.size = u32::try_from(size_of_val(&raw)).unwrap_or(0);
    raw.type_ = attr.type_;
    raw.config = attr.config;
    raw.read_format = READ_FORMAT.into();
    raw.set_exclude_user(attr.exclude_user.into());
    raw.set_exclude_kernel(attr.exclude_kernel.into());
    raw.set_exclude_hv(attr.exclude_hv.into());
    raw.set_disabled(attr.disabled.into());
    raw.set_enable_on_exec(attr.enable_on_exec.into());
    raw
}

/// Makes a call that gives -1 on failure, and repeats it when a signal interrupted it.
fn again(mut call: impl FnMut() -> libc::c_int) -> Result<libc::c_int, Errno> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result);
        }
        let errno = last_errno();
        if errno != Errno(libc::EINTR) {
            return Err(errno);
        }
    }
}

fn last_errno() -> Errno {
    Errno(io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tid_is_never_mistaken_for_a_wildcard() {
        assert_eq!(pid_of(Target::CurrentThread), Ok(0));
        assert_eq!(pid_of(Target::Thread(7)), Ok(7));
        for tid in [0, 1 << 31, u32::MAX] {
            assert_eq!(pid_of(Target::Thread(tid)), Err(Errno(libc::ESRCH)), "{tid}");
        }
    }

    #[test]
    fn the_attribute_struct_carries_every_field() {
        let raw = raw_attr(&EventAttr {
            type_: 3,
            config: 0x1_0002,
            exclude_user: true,
            disabled: true,
            ..EventAttr::default()
        });
        assert_eq!((raw.type_, raw.config, raw.read_format), (3, 0x1_0002, 1 | 2 | 8));
        assert!(raw.size >= 64);
        assert_eq!((raw.disabled(), raw.exclude_user()), (1, 1));
        assert_eq!((raw.exclude_kernel(), raw.exclude_hv(), raw.enable_on_exec()), (0, 0, 0));
    }
}
