//! So many cores in each of some packages.

use super::error::{PlacementError, Shortage};
use super::floor::{Floor, Slot, Taken, of_one_kind};
use super::rule::Rule;
use crate::topology::Topology;

/// The most sets that are listed.
const SETS_MAX: usize = 65_536;

/// Gives all sets of logical CPUs that a study of `cores` cores per package measures with so
/// many threads, on an otherwise empty machine; one CPU per core, the lowest.
///
/// Comparing the sets shows whether the machine's packages and cores are alike: if they are, a
/// number from one set holds for all.
///
/// - If every package is needed, set j has the j-th `cores` cores of each: as many sets as
///   there are packages, or as fit.
/// - If fewer are, there is a set for every combination of packages, in lexicographic order,
///   with the first `cores` cores of each.
///
/// Source: A. M. Bernal Montana, *Characterization of Cloud-Based Applications for Different Memory
/// Resource Sharing Scenarios*, M.Sc. thesis, University of Texas at San Antonio, 2017. These are the
/// core sets of its tables 2 and 3, for 4 and 8 threads on 4 packages of 8 cores. Its co-runs have
/// two programs on the same packages: a set as a [`Rule::List`] for one, [`Rule::SamePackage`] for the
/// other.
///
/// Inside a set the packages come one after the other. Packages with fewer than `cores` allowed
/// cores do not count.
///
/// # Errors
///
/// [`PlacementError::Impossible`] if `threads` is not a positive multiple of `cores`, if there are
/// too few packages, or none are known, or if there are more than 65 536 combinations.
pub fn per_package_sets(
    topology: &Topology,
    cores: usize,
    threads: usize,
) -> Result<Vec<Vec<u32>>, PlacementError> {
    let taken = Taken::new();
    of_one_kind(topology, &taken, |floor| Shape::new(floor, cores, threads)?.sets()).map_err(|reason| {
        PlacementError::Impossible { role: None, rule: Rule::PerPackage { cores }, threads, reason }
    })
}

/// The first of the sets that is free.
pub(super) fn first_free(floor: &Floor<'_>, cores: usize, threads: usize) -> Result<Vec<u32>, Shortage> {
    let shape = Shape::new(floor, cores, threads)?;
    shape.first_free().ok_or(Shortage::SetsTaken)
}

struct Shape {
    /// The cores of each package that has enough, free or not.
    packages: Vec<Vec<Slot>>,
    /// Cores of each package.
    cores: usize,
    /// Packages of each set.
    needed: usize,
}

impl Shape {
    fn new(floor: &Floor<'_>, cores: usize, threads: usize) -> Result<Self, Shortage> {
        if cores == 0 || threads == 0 || !threads.is_multiple_of(cores) {
            return Err(Shortage::NotAMultiple { of: cores });
        }
        if floor.topology.packages().is_empty() {
            return Err(Shortage::NoPackages);
        }
        let packages = floor.topology.packages().iter().map(|package| floor.only(&package.cpus).cores);
        let packages: Vec<_> = packages.filter(|slots| slots.len() >= cores).collect();
        let (needed, usable) = (threads / cores, packages.len());
        if needed > usable {
            return Err(Shortage::Packages { needed, cores, usable });
        }
        Ok(Self { packages, cores, needed })
    }

    fn needs_all(&self) -> bool {
        self.needed == self.packages.len()
    }

    /// For each j the j-th block of cores of every package, as long as all have one.
    fn blocks(&self) -> impl Iterator<Item = Vec<&[Slot]>> {
        let shortest = self.packages.iter().map(Vec::len).min().unwrap_or(0);
        let block = |j: usize| {
            let range = j * self.cores..(j + 1) * self.cores;
            self.packages.iter().map(|slots| &slots[range.clone()]).collect()
        };
        (0..shortest / self.cores).map(block)
    }

    fn first_blocks(&self) -> impl Iterator<Item = &[Slot]> {
        self.packages.iter().map(|slots| &slots[..self.cores])
    }

    fn sets(&self) -> Result<Vec<Vec<u32>>, Shortage> {
        if self.needs_all() {
            return Ok(self.blocks().take(self.packages.len()).map(|set| lowest(&set)).collect());
        }
        let first: Vec<&[Slot]> = self.first_blocks().collect();
        let combinations =
            combinations(&first, self.needed).ok_or(Shortage::TooManySets { most: SETS_MAX })?;
        Ok(combinations.iter().map(|set| lowest(set)).collect())
    }

    fn first_free(&self) -> Option<Vec<u32>> {
        let free = |slots: &&[Slot]| slots.iter().all(|slot| slot.free);
        if self.needs_all() {
            return self.blocks().find(|set| set.iter().all(free)).map(|set| lowest(&set));
        }
        // The first combination without a taken package is the first packages that are not.
        let set: Vec<&[Slot]> = self.first_blocks().filter(free).take(self.needed).collect();
        (set.len() == self.needed).then(|| lowest(&set))
    }
}

fn lowest(blocks: &[&[Slot]]) -> Vec<u32> {
    blocks.iter().flat_map(|slots| slots.iter().map(Slot::lowest)).collect()
}

/// All ways to take `count` of the items, in lexicographic order of position; `None` if they
/// are more than [`SETS_MAX`].
fn combinations<T: Copy>(items: &[T], count: usize) -> Option<Vec<Vec<T>>> {
    let mut found: Vec<Vec<usize>> = vec![vec![]];
    for length in 1..=count {
        let longer = found.iter().flat_map(|taken| {
            let next = taken.last().map_or(0, |last| last + 1);
            // Enough items must remain for the rest.
            (next..=items.len() - (count - length) - 1).map(move |item| [taken.as_slice(), &[item]].concat())
        });
        found = longer.take(SETS_MAX + 1).collect();
        if found.len() > SETS_MAX {
            return None;
        }
    }
    Some(found.into_iter().map(|taken| taken.into_iter().map(|item| items[item]).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_in_lexicographic_order() {
        let pairs = combinations(&['a', 'b', 'c'], 2).unwrap();
        assert_eq!(pairs, [['a', 'b'], ['a', 'c'], ['b', 'c']]);
        assert_eq!(combinations(&[1, 2], 2).unwrap(), [[1, 2]]);
        assert_eq!(combinations(&[0; 16], 8).map(|all| all.len()), Some(12_870));
        assert_eq!(combinations(&[0; 64], 32), None);
    }
}
