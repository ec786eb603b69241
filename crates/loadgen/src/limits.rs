//! The process's limits that a run can hit.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::LoadError;

/// Files that the process needs beside its connections and counters: standard streams, pollers, results.
const OTHER_FILES: u64 = 64;

/// Makes room for `connections` sockets and `counters` opened events, raising the soft limit of open files if need be.
///
/// # Errors
///
/// [`LoadError::OpenFiles`] if the hard limit is too low.
pub fn ensure_open_files(connections: u32, counters: usize) -> Result<(), LoadError> {
    let needed = u64::from(connections) + counters as u64 + OTHER_FILES;
    // A kernel that does not tell its limit will tell at the first socket that fails.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    if needed <= soft {
        return Ok(());
    }
    let refused = LoadError::OpenFiles { connections, needed, limit: hard };
    if needed > hard {
        return Err(refused);
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|_| refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_the_hard_limit_are_refused_by_number() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let Ok(beyond) = u32::try_from(hard) else { return };
        let message = ensure_open_files(beyond, 9).unwrap_err().to_string();
        assert!(message.contains(&hard.to_string()) && message.contains("ulimit -n"), "{message}");
        ensure_open_files(1, 9).unwrap();
    }
}
