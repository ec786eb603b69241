//! Sets of logical CPUs.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::cpulist::{self, ParseCpuListError};

/// A set of logical CPUs, by the numbers that the kernel gives them.
///
/// There is no upper limit on a number that [`insert`](Self::insert) takes; the text forms stop
/// at 1 048 575, so that a mistyped list is an error and not a machine. Printed, parsed and
/// serialised in the kernel's list format.
///
/// ```
/// use tailcore_topology::CpuSet;
///
/// let set: CpuSet = "8,0-3".parse()?;
/// assert_eq!(set.to_string(), "0-3,8");
/// assert_eq!(CpuSet::from_mask("0000010f")?, set);
/// # Ok::<(), tailcore_topology::ParseCpuListError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Inclusive, ascending, with a gap of at least one number between neighbours: one set has
    /// one representation, which makes the derived `Eq` and `Hash` right.
    ranges: Vec<(u32, u32)>,
}

impl CpuSet {
    /// Makes an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// Makes a set of inclusive ranges given in any order, overlapping or not.
    pub(crate) fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => {
                    previous.1 = previous.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self { ranges: merged }
    }

    /// Parses the hexadecimal mask of older sysfs files: words of 32 bits, most significant
    /// first, separated by commas (`ffffffff,00000001`).
    ///
    /// # Errors
    ///
    /// [`ParseCpuListError`] names the word that is not hexadecimal or lies beyond CPU 1 048 575.
    pub fn from_mask(mask: &str) -> Result<Self, ParseCpuListError> {
        cpulist::parse_mask(mask)
    }

    /// Adds a CPU; says whether it was new.
    pub fn insert(&mut self, cpu: u32) -> bool {
        if self.contains(cpu) {
            return false;
        }
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.push((cpu, cpu));
        *self = Self::from_ranges(ranges);
        true
    }

    /// Takes a CPU out; says whether it was there.
    pub fn remove(&mut self, cpu: u32) -> bool {
        if !self.contains(cpu) {
            return false;
        }
        *self = self.difference(&Self::from_ranges(vec![(cpu, cpu)]));
        true
    }

    /// Says whether a CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        let after = self.ranges.partition_point(|&(first, _)| first <= cpu);
        after > 0 && self.ranges[after - 1].1 >= cpu
    }

    /// Counts the CPUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|&(first, last)| (last - first) as usize + 1).sum()
    }

    /// Says whether there is no CPU in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Gives the lowest CPU.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|&(first, _)| first)
    }

    /// Visits the CPUs in ascending order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { current: None, rest: self.ranges.iter() }
    }

    /// Gives the CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut left, mut right) = (self.ranges.as_slice(), other.ranges.as_slice());
        let mut common = Vec::new();
        while let (Some(&(a_first, a_last)), Some(&(b_first, b_last))) = (left.first(), right.first()) {
            let (first, last) = (a_first.max(b_first), a_last.min(b_last));
            if first <= last {
                common.push((first, last));
            }
            if a_last <= b_last {
                left = &left[1..];
            } else {
                right = &right[1..];
            }
        }
        Self { ranges: common }
    }

    /// Gives the CPUs that are in at least one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_ranges([self.ranges.as_slice(), other.ranges.as_slice()].concat())
    }

    /// Gives the CPUs of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut kept = Vec::new();
        let mut holes = other.ranges.as_slice();
        for &(first, last) in &self.ranges {
            // u64, because the number after the last u32 has to exist.
            let (mut start, end) = (u64::from(first), u64::from(last));
            while let Some(&(hole_first, hole_last)) = holes.first() {
                if hole_first > last {
                    break;
                }
                if u64::from(hole_first) > start {
                    kept.push((start as u32, hole_first - 1));
                }
                start = start.max(u64::from(hole_last) + 1);
                if hole_last > last {
                    break; // It may reach into the next range as well.
                }
                holes = &holes[1..];
            }
            if start <= end {
                kept.push((start as u32, last));
            }
        }
        Self { ranges: kept }
    }

    /// Says whether every CPU of this set is in the other.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.intersection(other) == *self
    }
}

/// The CPUs of a [`CpuSet`], ascending.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    current: Option<RangeInclusive<u32>>,
    rest: std::slice::Iter<'a, (u32, u32)>,
}

impl Iterator for Iter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(cpu) = self.current.as_mut().and_then(Iterator::next) {
                return Some(cpu);
            }
            let &(first, last) = self.rest.next()?;
            self.current = Some(first..=last);
        }
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = u32;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self::from_ranges(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        *self = self.union(&cpus.into_iter().collect());
    }
}

impl FromStr for CpuSet {
    type Err = ParseCpuListError;

    fn from_str(list: &str) -> Result<Self, ParseCpuListError> {
        cpulist::parse_list(list)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for &(first, last) in &self.ranges {
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Few numbers, so that neighbours and overlaps are common, and the two ends of u32.
    fn cpus() -> impl Strategy<Value = BTreeSet<u32>> {
        let number = prop_oneof![0..40_u32, Just(1023), Just(1024), (u32::MAX - 3)..=u32::MAX];
        proptest::collection::btree_set(number, 0..24)
    }

    fn set(cpus: &BTreeSet<u32>) -> CpuSet {
        cpus.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn behaves_as_a_btree_set(a in cpus(), b in cpus()) {
            let (x, y) = (set(&a), set(&b));
            prop_assert!(x.iter().eq(a.iter().copied()));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.first(), a.first().copied());
            prop_assert_eq!(x.is_empty(), a.is_empty());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(x.intersection(&y), set(&(&a & &b)));
            prop_assert_eq!(x.union(&y), set(&(&a | &b)));
            prop_assert_eq!(x.difference(&y), set(&(&a - &b)));
            for cpu in b {
                prop_assert_eq!(x.contains(cpu), a.contains(&cpu));
            }
        }

        #[test]
        fn inserts_and_removes_as_a_btree_set(start in cpus(), steps in cpus()) {
            let (mut ours, mut naive) = (set(&start), start);
            for cpu in steps {
                if cpu % 2 == 0 {
                    prop_assert_eq!(ours.insert(cpu), naive.insert(cpu));
                } else {
                    prop_assert_eq!(ours.remove(cpu), naive.remove(&cpu));
                }
                prop_assert_eq!(&ours, &set(&naive));
            }
        }
    }

    #[test]
    fn serialises_as_its_list() {
        let set: CpuSet = [0, 1, 2, 9].into_iter().collect();
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, "\"0-2,9\"");
        assert_eq!(serde_json::from_str::<CpuSet>(&json).unwrap(), set);
        assert!(serde_json::from_str::<CpuSet>("\"2-0\"").is_err());
    }
}
