//! Sets of NUMA nodes.

use std::ffi::c_ulong;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::cpulist::quoted;
use crate::cpuset::{CpuSet, Iter};

/// The highest node number: no kernel is built for more than 1 024 nodes (`NODES_SHIFT` is 10).
pub(super) const NODE_MAX: u32 = (1 << 10) - 1;

/// A set of NUMA nodes, by the numbers that the kernel gives them; see
/// [`NumaNode::os_index`](crate::NumaNode::os_index).
///
/// A type of its own, because node 1 and CPU 1 have nothing in common. Printed, parsed and
/// serialised in the kernel's list format.
///
/// ```
/// use tailcore_topology::NodeSet;
///
/// let nodes: NodeSet = "2,0-1".parse()?;
/// assert_eq!(nodes.to_string(), "0-2");
/// # Ok::<(), tailcore_topology::ParseNodeSetError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(CpuSet);

/// Text that is not a set of NUMA nodes, with the part that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{token}` in a list of NUMA nodes is no node number or range up to {NODE_MAX}; write it like `0-1,3`"
)]
#[non_exhaustive]
pub struct ParseNodeSetError {
    /// The offending part of the text, shortened and with control characters escaped.
    pub token: String,
}

impl NodeSet {
    /// Makes an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(CpuSet::new())
    }

    /// Says whether a node is in the set.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0.contains(node)
    }

    /// Counts the nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Says whether there is no node in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Visits the nodes in ascending order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.0.iter()
    }

    /// Gives the nodes of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0))
    }

    /// A mask as the kernel takes it, of the largest kernel's length. Nodes beyond that are not in
    /// it: whoever sets a policy has compared the set with the nodes allowed before.
    pub(super) fn mask(&self) -> Vec<c_ulong> {
        let mut words = empty_mask();
        for node in self.iter().take_while(|&node| node <= NODE_MAX) {
            words[(node / c_ulong::BITS) as usize] |= 1 << (node % c_ulong::BITS);
        }
        words
    }

    pub(super) fn of_mask(words: &[c_ulong]) -> Self {
        let bit = |node: &u32| words[(node / c_ulong::BITS) as usize] >> (node % c_ulong::BITS) & 1 == 1;
        let bits = u32::try_from(words.len()).unwrap_or(u32::MAX).saturating_mul(c_ulong::BITS);
        (0..bits).filter(bit).collect()
    }
}

/// A mask that is long enough for every kernel, which refuses to fill one shorter than its own.
pub(super) fn empty_mask() -> Vec<c_ulong> {
    vec![0; ((NODE_MAX + 1) / c_ulong::BITS) as usize]
}

impl FromIterator<u32> for NodeSet {
    fn from_iter<I: IntoIterator<Item = u32>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}

impl FromStr for NodeSet {
    type Err = ParseNodeSetError;

    fn from_str(list: &str) -> Result<Self, ParseNodeSetError> {
        let nodes: CpuSet = list.parse().map_err(|error: crate::ParseCpuListError| ParseNodeSetError {
            token: error.token().to_owned(),
        })?;
        let beyond =
            |part: &&str| part.parse().is_ok_and(|part: CpuSet| part.iter().any(|node| node > NODE_MAX));
        match list.trim().split(',').find(beyond) {
            Some(part) => Err(ParseNodeSetError { token: quoted(part) }),
            None => Ok(Self(nodes)),
        }
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeSet({self})")
    }
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrong_lists_speak_of_nodes_and_name_the_token() {
        for (text, token) in [("0,x", "x"), ("1024", "1024"), ("3-1", "3-1"), ("0-1048575", "0-1048575")] {
            let error = text.parse::<NodeSet>().unwrap_err();
            assert_eq!(error.token, token);
            let message = error.to_string();
            assert!(message.contains("NUMA nodes") && !message.contains("CPU"), "{message}");
        }
        assert!("".parse::<NodeSet>().unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn mask_and_set_are_inverse(nodes in proptest::collection::btree_set(0..=NODE_MAX, 0..30)) {
            let set: NodeSet = nodes.into_iter().collect();
            prop_assert_eq!(NodeSet::of_mask(&set.mask()), set.clone());
            prop_assert_eq!(set.to_string().parse::<NodeSet>().unwrap(), set);
        }

        #[test]
        fn no_text_and_no_number_panics(text in "[0-9,\\- x]{0,30}", node in any::<u32>()) {
            let _ = text.parse::<NodeSet>();
            let _ = NodeSet::from_iter([node]).mask();
        }
    }
}
