//! The system calls of this crate. `unsafe` is allowed again here, and only here: masks and arrays have
//! lengths that the kernel does not fix (libc's safe looking `cpu_set_t` stops at 1 024 CPUs), the memory
//! policy calls have no wrapper in libc, and the standard library opens no file below a directory.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_long, c_ulong, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// The thread id with which the affinity calls mean the calling thread.
pub(crate) const SELF: libc::pid_t = 0;

/// Fills `words` with a thread's affinity mask, least significant word first; see
/// sched_getaffinity(2). `EINVAL`: the buffer is shorter than the kernel's own mask.
pub(crate) fn sched_getaffinity(tid: libc::pid_t, words: &mut [c_ulong]) -> io::Result<()> {
    let bytes = size_of_val(words);
    let mask = words.as_mut_ptr().cast::<libc::cpu_set_t>();
    // SAFETY: `mask` points to `bytes` writable bytes, and the kernel and libc write no more.
    let result = unsafe { libc::sched_getaffinity(tid, bytes, mask) };
    check(result.into())
}

/// Sets a thread's affinity mask, least significant word first; see sched_setaffinity(2). CPUs
/// that the cpuset does not allow are dropped without an error as long as one is left.
pub(crate) fn sched_setaffinity(tid: libc::pid_t, words: &[c_ulong]) -> io::Result<()> {
    let bytes = size_of_val(words);
    let mask = words.as_ptr().cast::<libc::cpu_set_t>();
    // SAFETY: `mask` points to `bytes` readable bytes, and the kernel and libc read no more.
    let result = unsafe { libc::sched_setaffinity(tid, bytes, mask) };
    check(result.into())
}

/// Makes the child pin itself between fork and exec and compare the mask in force. `asked` is as
/// long as the kernel's own mask, so that the one read back can be compared word by word.
pub(crate) fn pin_before_exec(command: &mut Command, asked: Vec<c_ulong>) {
    // Made before the fork: another thread may hold the allocator's lock at that moment, and in
    // the child nobody would ever release it.
    let mut actual = vec![0; asked.len()];
    let pin = move || {
        sched_setaffinity(SELF, &asked)?;
        sched_getaffinity(SELF, &mut actual)?;
        // An error of the operating system is a number: nothing is allocated for it either.
        if actual == asked { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
    };
    // SAFETY: `pin` does two system calls and a comparison of memory that is there already; it
    // takes no lock and allocates nothing.
    unsafe { command.pre_exec(pin) };
}

/// Gives the CPU that the calling thread runs on; see sched_getcpu(3).
pub(crate) fn sched_getcpu() -> io::Result<u32> {
    // SAFETY: the call takes no arguments and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).map_err(|_| io::Error::last_os_error())
}

/// Gives the calling thread's id; see gettid(2).
pub(crate) fn gettid() -> u32 {
    // SAFETY: the call takes no arguments, touches no memory of ours, and always succeeds.
    let tid = unsafe { libc::gettid() };
    tid.unsigned_abs()
}

/// Sets the calling thread's memory policy; see set_mempolicy(2).
pub(crate) fn set_mempolicy(mode: c_int, nodes: &[c_ulong]) -> io::Result<()> {
    let (mode, mask) = (c_long::from(mode), nodes.as_ptr());
    // SAFETY: the kernel reads `max_node(nodes) - 1` bits from `mask`, which is all of them.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, max_node(nodes)) };
    check(result)
}

/// Reads the calling thread's memory policy, or with `MPOL_F_MEMS_ALLOWED` the nodes that it may
/// use; see get_mempolicy(2). Gives the mode and fills `nodes`.
pub(crate) fn get_mempolicy(nodes: &mut [c_ulong], flags: c_int) -> io::Result<c_int> {
    let mut mode: c_int = 0;
    let (mode_out, mask, bits) = (&raw mut mode, nodes.as_mut_ptr(), max_node(nodes));
    let (address, flags) = (ptr::null::<c_void>(), c_long::from(flags));
    // SAFETY: `mode_out` is an int, and the kernel writes no more than `bits` rounded down to whole
    // words into `mask`; without `MPOL_F_ADDR` the address is not looked at.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, mode_out, mask, bits, address, flags) };
    check(result).map(|()| mode)
}

/// Asks on which node each page of this process lies; moves nothing. See move_pages(2): an entry
/// of the answer is a node, or a negated error number.
pub(crate) fn page_nodes(pages: &[*const c_void]) -> io::Result<Vec<c_int>> {
    let mut status: Vec<c_int> = vec![0; pages.len()];
    let (own, count, flags) = (c_long::from(SELF), pages.len() as c_ulong, 0 as c_long);
    let (list, nodes, answer) = (pages.as_ptr(), ptr::null::<c_int>(), status.as_mut_ptr());
    // SAFETY: the kernel reads `count` addresses, which it does not follow itself, and writes
    // `count` ints; a null list of nodes means that nothing is to be moved.
    let result = unsafe { libc::syscall(libc::SYS_move_pages, own, count, list, nodes, answer, flags) };
    check(result).map(|()| status)
}

/// Gives the bytes of a page; see sysconf(3).
pub(crate) fn page_bytes() -> usize {
    // SAFETY: the call touches no memory of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

/// Gives what the memory policy calls take as the length of a mask: one more than its bits,
/// because the kernel takes one off before it looks (`get_nodes` in mm/mempolicy.c).
fn max_node(nodes: &[c_ulong]) -> c_ulong {
    size_of_val(nodes) as c_ulong * 8 + 1
}

fn check(result: c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a file for reading, by its path from an open directory; see openat(2).
pub(crate) fn open_below(directory: BorrowedFd<'_>, path: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: `path` ends with a zero byte and lives through the call.
    let file = unsafe { libc::openat(directory.as_raw_fd(), path.as_ptr(), flags) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Reads at most `most` bytes into the room behind `bytes`, which grows by what was read; see
/// read(2). The room is not filled with zeros first.
pub(crate) fn read_behind(file: BorrowedFd<'_>, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    bytes.reserve(most);
    let room = bytes.spare_capacity_mut();
    // SAFETY: `room` has at least `most` writable bytes after `reserve`.
    let count = unsafe { libc::read(file.as_raw_fd(), room.as_mut_ptr().cast(), most) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has written `count` bytes behind the old length, within the capacity.
    unsafe { bytes.set_len(bytes.len() + count) };
    Ok(count)
}
