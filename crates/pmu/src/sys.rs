//! The kernel of this machine: the three system calls, and a loop to keep it busy.
//!
//! perf_event_open(2), its ioctl(2) and read(2) into a caller's buffer have no safe form in the standard
//! library, so this file allows unsafe code; everything above it is safe.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;

use crate::facts;
use crate::kernel::{Errno, EventAttr, Kernel, Place, SystemFacts};
use crate::places;
use crate::user::{NoUserRead, UserAccess, UserPage};

mod known_loop;
pub(crate) mod registers;
mod user;

pub(crate) use user::Mapping;

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
        place: &Place,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        let place = RawPlace::of(place)?;
        let group = leader.map_or(-1, |fd| fd.as_raw_fd());
        let mut attr = raw_attr(attr);
        let fd = again(|| {
            // SAFETY: the struct is initialised, says its own size, and outlives the call. It asks for a
            // count only: no sampling, no signal and no buffer that the kernel would write to
            // later.
            unsafe { perf::perf_event_open(&raw mut attr, place.pid, place.cpu, group, place.flags.into()) }
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

    fn threads(&self, pid: u32) -> Result<Vec<u32>, Errno> {
        places::threads(Path::new("/"), pid)
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        places::online_cpus(Path::new("/"))
    }

    fn work(&self) -> Option<u64> {
        known_loop::run(known_loop::ROUNDS)
    }

    fn user_access(&self) -> Result<UserAccess, NoUserRead> {
        user::access()
    }

    fn map(&self, counter: BorrowedFd<'_>) -> Result<UserPage, Errno> {
        user::map(counter)
    }
}

/// The arguments of perf_event_open(2) that say where.
#[derive(Debug)]
struct RawPlace {
    /// 0 is the calling thread, -1 anybody; a descriptor if the flag says so.
    pid: libc::pid_t,
    /// -1 is any.
    cpu: libc::c_int,
    flags: u32,
    /// Kept open for the call; the kernel takes a reference of its own.
    _directory: Option<File>,
}

impl RawPlace {
    fn of(place: &Place) -> Result<RawPlace, Errno> {
        let flags = bindings::PERF_FLAG_FD_CLOEXEC;
        let raw = |pid, cpu| RawPlace { pid, cpu, flags, _directory: None };
        Ok(match place {
            Place::CurrentThread => raw(0, -1),
            Place::Thread(tid) => raw(positive(*tid)?, -1),
            Place::Cpu(cpu) => raw(-1, cpu_of(*cpu)?),
            Place::Cgroup { directory, cpu } => {
                let cpu = cpu_of(*cpu)?;
                let directory = File::open(directory).map_err(|error| match errno_of(&error) {
                    // As the kernel says of a directory that is no control group.
                    Errno(libc::ENOENT | libc::ENOTDIR) => Errno(libc::EBADF),
                    errno => errno,
                })?;
                RawPlace {
                    pid: directory.as_raw_fd(),
                    cpu,
                    flags: flags | bindings::PERF_FLAG_PID_CGROUP,
                    _directory: Some(directory),
                }
            }
        })
    }
}

/// A thread id for the kernel, which takes 0 and negative numbers for other things than a thread.
fn positive(tid: u32) -> Result<libc::pid_t, Errno> {
    libc::pid_t::try_from(tid).ok().filter(|&pid| pid > 0).ok_or(Errno(libc::ESRCH))
}

/// A CPU number for the kernel, which takes negative ones for "any".
fn cpu_of(cpu: u32) -> Result<libc::c_int, Errno> {
    libc::c_int::try_from(cpu).map_err(|_| Errno(libc::ENODEV))
}

fn raw_attr(attr: &EventAttr) -> bindings::perf_event_attr {
    let mut raw = bindings::perf_event_attr::default();
    raw.size = u32::try_from(size_of_val(&raw)).unwrap_or(0);
    raw.type_ = attr.type_;
    raw.config = attr.config;
    raw.__bindgen_anon_3.config1 = attr.config1;
    raw.__bindgen_anon_4.config2 = attr.config2;
    raw.config3 = attr.config3;
    raw.bp_type = attr.bp_type;
    raw.read_format = READ_FORMAT.into();
    raw.set_exclude_user(attr.exclude_user.into());
    raw.set_exclude_kernel(attr.exclude_kernel.into());
    raw.set_exclude_hv(attr.exclude_hv.into());
    raw.set_inherit(attr.inherit.into());
    raw.set_pinned(attr.pinned.into());
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
    errno_of(&io::Error::last_os_error())
}

fn errno_of(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_mistaken_for_a_wildcard() {
        let place = |place| RawPlace::of(&place).map(|raw| (raw.pid, raw.cpu));
        assert_eq!(place(Place::CurrentThread), Ok((0, -1)));
        assert_eq!(place(Place::Thread(7)), Ok((7, -1)));
        assert_eq!(place(Place::Cpu(7)), Ok((-1, 7)));
        for tid in [0, 1 << 31, u32::MAX] {
            assert_eq!(place(Place::Thread(tid)), Err(Errno(libc::ESRCH)), "{tid}");
        }
        for cpu in [1 << 31, u32::MAX] {
            assert_eq!(place(Place::Cpu(cpu)), Err(Errno(libc::ENODEV)), "{cpu}");
        }
        let nowhere = Place::Cgroup { directory: "/nonexistent".into(), cpu: 0 };
        assert_eq!(place(nowhere), Err(Errno(libc::EBADF)));
    }

    #[test]
    fn the_attribute_struct_carries_every_field() {
        let raw = raw_attr(&EventAttr {
            type_: 3,
            config: 0x1_0002,
            config1: 11,
            config2: 12,
            config3: 13,
            bp_type: 2,
            exclude_user: true,
            inherit: true,
            pinned: true,
            disabled: true,
            ..EventAttr::default()
        });
        assert_eq!((raw.config3, raw.bp_type, raw.inherit(), raw.pinned()), (13, 2, 1, 1));
        assert_eq!((raw.type_, raw.config, raw.read_format), (3, 0x1_0002, 1 | 2 | 8));
        assert!(raw.size >= 64);
        assert_eq!((raw.disabled(), raw.exclude_user()), (1, 1));
        assert_eq!((raw.exclude_kernel(), raw.exclude_hv(), raw.enable_on_exec()), (0, 0, 0));
    }
}
