//! Pinning of all threads of a process.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::affinity::pin_thread;
use super::mask;
use crate::cpuset::CpuSet;
use crate::error::PinError;

/// How often the threads of a process are listed before it counts as never still.
const LISTINGS_MAX: u32 = 64;

/// Binds every thread of a process to a set of logical CPUs, reads each mask back, and gives the
/// threads that were pinned, ascending.
///
/// sched_setaffinity(2) with the id of a process moves its main thread only, and so does
/// `taskset -p` without `-a`: a server with a pool of threads stays where it was. Here the threads
/// are listed again until no new one appears, because a thread that is not pinned yet may start
/// another. Threads started later inherit the mask of the one that starts them. A thread that ends
/// meanwhile is no error; it is in the answer if it was pinned before.
///
/// The kernel gives all threads the same set. To give each its own CPU, list them with
/// [`ResidenceWatch`](crate::ResidenceWatch) and pin them one by one. Where you start the process
/// yourself, [`PinnedCommand`](crate::PinnedCommand) is better.
///
/// # Errors
///
/// [`PinError::ProcessGone`], [`PinError::NeverStill`], [`PinError::Listing`], and those of
/// [`pin_thread`](crate::pin_thread). Threads pinned before the error stay pinned.
pub fn pin_process(pid: u32, cpus: &CpuSet) -> Result<Vec<u32>, PinError> {
    mask::of(cpus)?; // A set that no thread can have is refused before any thread is moved.
    let list = || threads_of(Path::new("/"), pid).map_err(|source| listing_failed(pid, source));
    pin_until_still(pid, list, |tid| pin_thread(tid, cpus))
}

/// Lists the threads of a process, ascending, from the proc file system below `root`.
pub(super) fn threads_of(root: &Path, pid: u32) -> io::Result<Vec<u32>> {
    let mut tids = Vec::new();
    for entry in fs::read_dir(root.join(format!("proc/{pid}/task")))? {
        let name = entry?.file_name();
        tids.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    tids.sort_unstable();
    Ok(tids)
}

fn listing_failed(pid: u32, source: io::Error) -> PinError {
    // Without a proc file system nothing can be said of the process.
    if gone(&source) && Path::new("/proc/self").exists() {
        return PinError::ProcessGone { pid };
    }
    PinError::Listing { path: format!("/proc/{pid}/task").into(), source }
}

/// Says whether an error of a file below `/proc/PID` means that nobody of that id is left.
pub(super) fn gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn pin_until_still(
    pid: u32,
    list: impl Fn() -> Result<Vec<u32>, PinError>,
    pin: impl Fn(u32) -> Result<(), PinError>,
) -> Result<Vec<u32>, PinError> {
    let (mut seen, mut pinned) = (BTreeSet::new(), Vec::new());
    for _ in 0..LISTINGS_MAX {
        let mut still = true;
        for tid in list()? {
            if !seen.insert(tid) {
                continue;
            }
            still = false;
            match pin(tid) {
                Ok(()) => pinned.push(tid),
                Err(PinError::Gone { .. }) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        if still {
            pinned.sort_unstable();
            return if pinned.is_empty() { Err(PinError::ProcessGone { pid }) } else { Ok(pinned) };
        }
    }
    Err(PinError::NeverStill { pid, listings: LISTINGS_MAX })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn threads_that_appear_meanwhile_are_pinned_and_threads_that_end_are_not_missed() {
        let listings = [vec![10, 11], vec![5, 10, 11, 12], vec![5, 10, 12]];
        let turn = Cell::new(0);
        let list = || Ok(listings[turn.replace(turn.get() + 1)].clone());
        let pin = |tid| if tid == 11 { Err(PinError::Gone { tid }) } else { Ok(()) };
        assert_eq!(pin_until_still(10, list, pin).unwrap(), [5, 10, 12]);
        assert_eq!(turn.get(), 3, "listed until a listing brought nothing new");
    }

    #[test]
    fn a_process_that_never_rests_is_given_up() {
        let turn = Cell::new(0);
        let list = || Ok(vec![turn.replace(turn.get() + 1)]);
        let error = pin_until_still(9, list, |_| Ok(())).unwrap_err();
        assert!(matches!(error, PinError::NeverStill { pid: 9, listings: LISTINGS_MAX }));
        assert_eq!(turn.get(), LISTINGS_MAX);
    }

    #[test]
    fn a_refusal_ends_it_and_a_process_without_a_thread_has_gone() {
        let refused = |tid| Err(PinError::OutOfRange { cpu: tid });
        let error = pin_until_still(9, || Ok(vec![1, 2]), refused).unwrap_err();
        assert!(matches!(error, PinError::OutOfRange { cpu: 1 }));
        let gone = |tid| Err(PinError::Gone { tid });
        let error = pin_until_still(9, || Ok(vec![1, 2]), gone).unwrap_err();
        assert!(matches!(error, PinError::ProcessGone { pid: 9 }));
    }
}
