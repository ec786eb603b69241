//! The system calls of this crate. `unsafe` is allowed again here, and only here, because the
//! affinity calls take a raw pointer to a mask whose length the kernel does not fix: libc's safe
//! looking `cpu_set_t` stops at 1 024 CPUs.
#![allow(unsafe_code)]

use std::ffi::c_ulong;
use std::io;

/// The thread id with which the affinity calls mean the calling thread.
const SELF: libc::pid_t = 0;

/// Fills `words` with the calling thread's affinity mask, least significant word first; see
/// sched_getaffinity(2). `EINVAL`: the buffer is shorter than the kernel's own mask.
pub(crate) fn sched_getaffinity(words: &mut [c_ulong]) -> io::Result<()> {
    let bytes = size_of_val(words);
    let mask = words.as_mut_ptr().cast::<libc::cpu_set_t>();
    // SAFETY: `mask` points to `bytes` writable bytes, and the kernel and libc write no more.
    let result = unsafe { libc::sched_getaffinity(SELF, bytes, mask) };
    check(result)
}

/// Sets the calling thread's affinity mask, least significant word first; see
/// sched_setaffinity(2). CPUs that the cpuset does not allow are dropped without an error as long
/// as one is left.
pub(crate) fn sched_setaffinity(words: &[c_ulong]) -> io::Result<()> {
    let bytes = size_of_val(words);
    let mask = words.as_ptr().cast::<libc::cpu_set_t>();
    // SAFETY: `mask` points to `bytes` readable bytes, and the kernel and libc read no more.
    let result = unsafe { libc::sched_setaffinity(SELF, bytes, mask) };
    check(result)
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

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
