//! What can go wrong with placing memory and with asking where it lies.

use std::io;
use std::path::PathBuf;

use super::nodes::NodeSet;
use super::policy::MemoryPolicy;

/// Memory that is not placed as asked, or of which the kernel does not say where it lies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The policy names no node at all.
    #[error("the memory policy `{policy}` names no NUMA node; name at least one")]
    NoNodes {
        /// The policy asked for.
        policy: MemoryPolicy,
    },
    /// The policy names nodes that do not exist or that the cpuset does not allow. Nothing changed.
    #[error("NUMA node {missing} cannot hold this thread's memory; it may use node {allowed}")]
    NoSuchNode {
        /// The nodes that cannot be used.
        missing: NodeSet,
        /// The nodes that the thread may use.
        allowed: NodeSet,
    },
    /// The kernel was built without NUMA (`ENOSYS`).
    #[error("the kernel was built without NUMA support, so {call} is missing; all memory is on one node")]
    NoNuma {
        /// The system call.
        call: &'static str,
    },
    /// A filter of system calls, or the lack of a privilege, stands before the call (`EPERM`).
    #[error(
        "{call} is not permitted here; allow it in the sandbox's system call filter, or grant \
         CAP_SYS_NICE as container runtimes ask for it"
    )]
    NotPermitted {
        /// The system call.
        call: &'static str,
    },
    /// The kernel refused for another reason.
    #[error("{call} failed: {source}; name NUMA nodes that have memory")]
    Refused {
        /// The system call.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The call succeeded, but the policy read back is another one. It is in force.
    #[error("asked for the memory policy `{asked}`, but `{actual}` is in force; name nodes with memory only")]
    NotApplied {
        /// The policy asked for.
        asked: MemoryPolicy,
        /// The policy in force.
        actual: MemoryPolicy,
    },
    /// There is no such process.
    #[error("process {pid} has gone; ask while it runs")]
    ProcessGone {
        /// The process asked about.
        pid: u32,
    },
    /// The kernel does not tell where the pages of processes lie.
    #[error("there is no {}: the kernel was built without NUMA support; all memory is on one node", path.display())]
    NoNumaMaps {
        /// The file that is missing.
        path: PathBuf,
    },
    /// The file is there and could not be read.
    #[error("failed to read {}: {source}; run as the user of that process or with CAP_SYS_PTRACE", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl MemoryError {
    /// Gives a system call's refusal its meaning.
    pub(super) fn of_call(call: &'static str, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOSYS) => Self::NoNuma { call },
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted { call },
            _ => Self::Refused { call, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_helps() {
        for (errno, part) in [
            (libc::ENOSYS, "without NUMA"),
            (libc::EPERM, "CAP_SYS_NICE"),
            (libc::EINVAL, "set_mempolicy failed"),
        ] {
            let error = MemoryError::of_call("set_mempolicy", io::Error::from_raw_os_error(errno));
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
