//! Memory policies of the calling thread: set, read back, and restored.

use std::ffi::c_int;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;

use super::error::MemoryError;
use super::nodes::{NodeSet, ParseNodeSetError, empty_mask};
use crate::cpulist::quoted;
use crate::sys;

/// `MPOL_F_MEMS_ALLOWED` of `linux/mempolicy.h`, which libc lacks.
const MEMS_ALLOWED: c_int = 1 << 2;

/// The node or nodes on which a thread's new pages are to lie; see set_mempolicy(2).
///
/// If unsure: `Local` for threads that are pinned and allocate their own memory, `Bind` for a server
/// whose memory must not spill to another node, `Interleave` for memory that threads on all nodes
/// share.
///
/// Parsed and printed as `default`, `bind:0`, `interleave:0-1`, `preferred:1`, `local`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryPolicy {
    /// The system's own: near the CPU that touches the page first.
    #[default]
    Default,
    /// On these nodes and nowhere else: when they are full, the kernel kills instead.
    Bind(NodeSet),
    /// On these nodes in turn.
    Interleave(NodeSet),
    /// On this node as long as it has room.
    Preferred(u32),
    /// Near the CPU that touches the page first, as long as there is room.
    Local,
    /// A policy that has no name here, or flags; handed to the kernel and back as it is.
    Other {
        /// The mode and its flags, as in `linux/mempolicy.h`.
        mode: i32,
        /// The nodes.
        nodes: NodeSet,
    },
}

/// Text that is not a memory policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseMemoryPolicyError {
    /// There is no policy of this name, or it lacks its nodes, or has some that it does not take.
    #[error(
        "`{text}` is not a memory policy; write `default`, `local`, `bind:NODES`, \
         `interleave:NODES` or `preferred:NODE`, such as `bind:0-1`"
    )]
    Unknown {
        /// The text, shortened and with control characters escaped.
        text: String,
    },
    /// The nodes are not a list.
    #[error(transparent)]
    Nodes(#[from] ParseNodeSetError),
}

impl FromStr for MemoryPolicy {
    type Err = ParseMemoryPolicyError;

    fn from_str(text: &str) -> Result<Self, ParseMemoryPolicyError> {
        let unknown = || ParseMemoryPolicyError::Unknown { text: quoted(text) };
        let (name, list) = text.split_once(':').map_or((text, None), |(name, list)| (name, Some(list)));
        let nodes: Option<NodeSet> = list.map(str::parse).transpose()?;
        match (name, nodes) {
            ("default", None) => Ok(Self::Default),
            ("local", None) => Ok(Self::Local),
            ("bind", Some(nodes)) if !nodes.is_empty() => Ok(Self::Bind(nodes)),
            ("interleave", Some(nodes)) if !nodes.is_empty() => Ok(Self::Interleave(nodes)),
            ("preferred", Some(nodes)) if nodes.len() == 1 => {
                nodes.iter().next().map(Self::Preferred).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Bind(nodes) => write!(f, "bind:{nodes}"),
            Self::Interleave(nodes) => write!(f, "interleave:{nodes}"),
            Self::Preferred(node) => write!(f, "preferred:{node}"),
            Self::Local => f.write_str("local"),
            Self::Other { mode, nodes } => write!(f, "mode {mode:#x}:{nodes}"),
        }
    }
}

/// A policy in the kernel's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Raw {
    mode: c_int,
    nodes: NodeSet,
}

impl Raw {
    fn of(policy: &MemoryPolicy) -> Self {
        let (mode, nodes) = match policy {
            MemoryPolicy::Default => (libc::MPOL_DEFAULT, NodeSet::new()),
            MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, nodes.clone()),
            MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes.clone()),
            MemoryPolicy::Preferred(node) => (libc::MPOL_PREFERRED, NodeSet::from_iter([*node])),
            MemoryPolicy::Local => (libc::MPOL_LOCAL, NodeSet::new()),
            MemoryPolicy::Other { mode, nodes } => (*mode, nodes.clone()),
        };
        Self { mode, nodes }
    }

    fn policy(self) -> MemoryPolicy {
        let Self { mode, nodes } = self;
        match (mode, nodes.iter().next()) {
            (libc::MPOL_DEFAULT, _) => MemoryPolicy::Default,
            (libc::MPOL_BIND, _) => MemoryPolicy::Bind(nodes),
            (libc::MPOL_INTERLEAVE, _) => MemoryPolicy::Interleave(nodes),
            (libc::MPOL_PREFERRED, Some(node)) if nodes.len() == 1 => MemoryPolicy::Preferred(node),
            // Kernels before 5.14 tell a local policy as one that prefers no node.
            (libc::MPOL_PREFERRED, None) | (libc::MPOL_LOCAL, _) => MemoryPolicy::Local,
            _ => MemoryPolicy::Other { mode, nodes },
        }
    }

    fn read() -> Result<Self, MemoryError> {
        let mut words = empty_mask();
        let mode = sys::get_mempolicy(&mut words, 0).map_err(get_failed)?;
        Ok(Self { mode, nodes: NodeSet::of_mask(&words) })
    }

    fn set(&self) -> Result<(), MemoryError> {
        let set = sys::set_mempolicy(self.mode, &self.nodes.mask());
        set.map_err(|source| MemoryError::of_call("set_mempolicy", source))
    }
}

fn get_failed(source: io::Error) -> MemoryError {
    MemoryError::of_call("get_mempolicy", source)
}

/// Reads the calling thread's memory policy; see get_mempolicy(2).
///
/// # Errors
///
/// [`MemoryError::NoNuma`], [`MemoryError::NotPermitted`], or [`MemoryError::Refused`].
pub fn memory_policy() -> Result<MemoryPolicy, MemoryError> {
    Raw::read().map(Raw::policy)
}

/// Gives the NUMA nodes on which the calling thread's memory may lie: those of its cpuset.
///
/// # Errors
///
/// Those of [`memory_policy`].
pub fn allowed_nodes() -> Result<NodeSet, MemoryError> {
    let mut words = empty_mask();
    sys::get_mempolicy(&mut words, MEMS_ALLOWED).map_err(get_failed)?;
    Ok(NodeSet::of_mask(&words))
}

/// Sets the calling thread's memory policy and reads it back; see set_mempolicy(2).
///
/// It governs pages that the thread touches first from now on, and threads that it starts from now
/// on. Other threads, and pages that are there already, stay as they are. No privilege is needed.
///
/// # Errors
///
/// [`MemoryError::NoNodes`] and [`MemoryError::NoSuchNode`] before anything is changed: the kernel
/// itself would drop a missing node without a word as long as another is left.
/// [`MemoryError::NotApplied`] when the policy read back is another one. Otherwise those of
/// [`memory_policy`].
pub fn set_memory_policy(policy: &MemoryPolicy) -> Result<(), MemoryError> {
    let asked = Raw::of(policy);
    if let MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes) = policy
        && nodes.is_empty()
    {
        return Err(MemoryError::NoNodes { policy: policy.clone() });
    }
    // What is in the kernel's own terms may number nodes from another start.
    if !asked.nodes.is_empty() && !matches!(policy, MemoryPolicy::Other { .. }) {
        let allowed = allowed_nodes()?;
        let missing = asked.nodes.difference(&allowed);
        if !missing.is_empty() {
            return Err(MemoryError::NoSuchNode { missing, allowed });
        }
    }
    asked.set()?;
    confirm(policy, Raw::read()?.policy())
}

fn confirm(asked: &MemoryPolicy, actual: MemoryPolicy) -> Result<(), MemoryError> {
    if actual == *asked { Ok(()) } else { Err(MemoryError::NotApplied { asked: asked.clone(), actual }) }
}

/// A memory policy of the calling thread that lasts as long as this value. It stays on its thread.
///
/// Pages that were touched meanwhile stay where they are. Guards nest as those of
/// [`PinGuard`](crate::PinGuard) do.
#[derive(Debug)]
#[must_use = "the policy ends when the guard is dropped"]
pub struct MemoryPolicyGuard {
    /// In the kernel's terms, so that flags and modes unknown here come back as they were.
    former: Raw,
    restored: bool,
    stays: PhantomData<*const ()>,
}

impl MemoryPolicyGuard {
    /// Sets the calling thread's memory policy.
    ///
    /// # Errors
    ///
    /// Those of [`set_memory_policy`]; the thread then has its former policy.
    pub fn set(policy: &MemoryPolicy) -> Result<Self, MemoryError> {
        // Before the change, so that a policy which is set and then not as asked is taken back too.
        let guard = Self { former: Raw::read()?, restored: false, stays: PhantomData };
        set_memory_policy(policy)?;
        Ok(guard)
    }

    /// Gives the policy that will be restored.
    #[must_use]
    pub fn former(&self) -> MemoryPolicy {
        self.former.clone().policy()
    }

    /// Restores the former policy and says whether that worked; a drop cannot.
    ///
    /// # Errors
    ///
    /// Those of [`set_memory_policy`].
    pub fn restore(mut self) -> Result<(), MemoryError> {
        self.restored = true;
        self.former.set()?;
        confirm(&self.former(), Raw::read()?.policy())
    }
}

impl Drop for MemoryPolicyGuard {
    fn drop(&mut self) {
        if !self.restored {
            self.former.set().ok(); // Nobody is left to be told; `restore` is for those who ask.
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(list: &str) -> NodeSet {
        list.parse().unwrap()
    }

    #[test]
    fn policies_are_read_as_they_are_printed() {
        for (text, policy) in [
            ("default", MemoryPolicy::Default),
            ("bind:0", MemoryPolicy::Bind(nodes("0"))),
            ("interleave:0-1,3", MemoryPolicy::Interleave(nodes("0-1,3"))),
            ("preferred:1", MemoryPolicy::Preferred(1)),
            ("local", MemoryPolicy::Local),
        ] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap(), policy);
            assert_eq!(policy.to_string(), text);
            assert_eq!(Raw::of(&policy).policy(), policy, "the kernel's terms lose nothing");
        }
    }

    #[test]
    fn what_is_no_policy_is_named() {
        for text in ["", "bind", "bind:", "interleave:", "preferred:0-1", "preferred:", "local:0", "Bind:0"] {
            let error = text.parse::<MemoryPolicy>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}` is not a memory policy")), "{error}");
        }
        let error = "bind:0,x".parse::<MemoryPolicy>().unwrap_err().to_string();
        assert!(error.starts_with("`x` in a list of NUMA nodes"), "{error}");
    }

    #[test]
    fn the_kernel_has_two_ways_to_say_local() {
        let raw = |mode, list| Raw { mode, nodes: nodes(list) };
        assert_eq!(raw(libc::MPOL_PREFERRED, "").policy(), MemoryPolicy::Local);
        assert_eq!(raw(libc::MPOL_LOCAL, "").policy(), MemoryPolicy::Local);
        assert_eq!(raw(libc::MPOL_PREFERRED, "3").policy(), MemoryPolicy::Preferred(3));
    }

    #[test]
    fn flags_and_unknown_modes_come_back_as_they_were() {
        for mode in [libc::MPOL_BIND | 1 << 15, 5, 6, 99] {
            let raw = Raw { mode, nodes: nodes("0,2") };
            assert!(matches!(raw.clone().policy(), MemoryPolicy::Other { .. }));
            assert_eq!(Raw::of(&raw.clone().policy()), raw);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(bind|interleave|preferred|local|default)?:?[0-9,\\-x]{0,12}") {
            if let Ok(policy) = text.parse::<MemoryPolicy>() {
                prop_assert_eq!(policy.to_string().parse::<MemoryPolicy>().unwrap(), policy);
            }
        }
    }
}
