//! The bytes that reading a group gives, checked before they are believed.

use crate::kernel::Errno;

const WORD: usize = size_of::<u64>();
/// The number of members and the two times come before the values.
const HEADER_WORDS: usize = 3;

/// The number of bytes that a group of `members` gives.
pub(crate) fn bytes_of(members: usize) -> usize {
    (HEADER_WORDS + members) * WORD
}

/// Why a read gave no counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The kernel gave nothing: the group is in its error state, as a pinned one is that lost its place.
    Dead,
    /// The kernel gave another number of bytes than the group has.
    Length { got: usize, want: usize },
    /// The kernel speaks of another number of members.
    Members { got: u64, want: usize },
    /// read(2) failed.
    Read(Errno),
}

/// One group, read: the times in ns, and the members' values in the order of opening.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupRead<'a> {
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
    values: &'a [u8],
}

impl<'a> GroupRead<'a> {
    /// Reads the layout of a group of `members` from what the kernel gave.
    pub(crate) fn parse(bytes: &'a [u8], members: usize) -> Result<GroupRead<'a>, Fault> {
        if bytes.is_empty() {
            return Err(Fault::Dead);
        }
        let want = bytes_of(members);
        let bad_length = Fault::Length { got: bytes.len(), want };
        if bytes.len() != want {
            return Err(bad_length);
        }
        let (header, values) = bytes.split_at(HEADER_WORDS * WORD);
        let mut words = words(header);
        let (Some(got), Some(enabled_ns), Some(running_ns)) = (words.next(), words.next(), words.next())
        else {
            return Err(bad_length);
        };
        if usize::try_from(got) != Ok(members) {
            return Err(Fault::Members { got, want: members });
        }
        Ok(GroupRead { enabled_ns, running_ns, values })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = u64> + use<'a> {
        words(self.values)
    }
}

/// Writes the bytes of a group as read(2) gives them; `bytes` has room for exactly that.
pub(crate) fn write_group(bytes: &mut [u8], times_ns: (u64, u64), counts: &[u64]) {
    let header = [counts.len() as u64, times_ns.0, times_ns.1];
    let (words, _) = bytes.as_chunks_mut::<WORD>();
    for (word, value) in words.iter_mut().zip(header.iter().chain(counts)) {
        *word = value.to_ne_bytes();
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
    bytes.as_chunks().0.iter().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn a_whole_group_is_read_in_order() {
        let bytes = bytes(&[2, 100, 50, 7, 8]);
        let group = GroupRead::parse(&bytes, 2).unwrap();
        assert_eq!((group.enabled_ns, group.running_ns), (100, 50));
        assert_eq!(group.values().collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn what_is_written_is_what_the_kernel_would_give() {
        let mut written = [0xff; 40];
        write_group(&mut written, (100, 50), &[7, 8]);
        assert_eq!(written[..], bytes(&[2, 100, 50, 7, 8]));
    }

    #[test]
    fn anything_else_is_a_fault() {
        let cases = [
            (vec![], Fault::Dead),
            (vec![1; 39], Fault::Length { got: 39, want: 40 }),
            (vec![1; 48], Fault::Length { got: 48, want: 40 }),
            (vec![1], Fault::Length { got: 1, want: 40 }),
            (bytes(&[3, 1, 1, 0, 0]), Fault::Members { got: 3, want: 2 }),
            (bytes(&[u64::MAX, 1, 1, 0, 0]), Fault::Members { got: u64::MAX, want: 2 }),
        ];
        for (bytes, fault) in cases {
            assert_eq!(GroupRead::parse(&bytes, 2).err(), Some(fault));
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), members in 0_usize..20) {
            if let Ok(group) = GroupRead::parse(&bytes, members) {
                prop_assert_eq!(group.values().count(), members);
            }
        }

        #[test]
        fn whole_groups_come_back(times in any::<(u64, u64)>(), values in prop::collection::vec(any::<u64>(), 1..20)) {
            let mut words = vec![values.len() as u64, times.0, times.1];
            words.extend(&values);
            let bytes = bytes(&words);
            let group = GroupRead::parse(&bytes, values.len()).unwrap();
            prop_assert_eq!((group.enabled_ns, group.running_ns), times);
            prop_assert_eq!(group.values().collect::<Vec<_>>(), values);
        }
    }
}
