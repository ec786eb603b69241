//! The topology as text for people.

use std::fmt::{self, Display, Formatter};

use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind, Core, NumaNode, Package};
use crate::topology::Topology;

/// The most problems printed; the rest are counted.
const PROBLEMS_MAX: usize = 10;

/// A view of a [`Topology`] that prints as an indented tree: package, last-level cache, core.
///
/// Made by [`Topology::tree`]. The layout is for reading, not for parsing: programs take the
/// serialised form.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    topology: &'a Topology,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(topology: &'a Topology) -> Self {
        Self { topology }
    }

    fn machine(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let machine = self.topology;
        let (online, allowed) = (machine.online(), machine.allowed());
        write!(f, "machine: {} online ({online})", count(online.len(), "logical CPU"))?;
        match allowed.len() {
            all if all == online.len() => write!(f, ", all allowed")?,
            0 => write!(f, ", none allowed")?,
            some => write!(f, ", {some} allowed ({allowed})")?,
        }
        write!(f, "; {}", count(machine.packages().len(), "package"))?;
        if !machine.dies().is_empty() {
            write!(f, ", {}", count(machine.dies().len(), "die"))?;
        }
        write!(f, ", {}", count(machine.cores().len(), "core"))?;
        writeln!(f, "; SMT {}", machine.smt_control().unwrap_or("unknown"))?;
        if !machine.isolated().is_empty() {
            writeln!(f, "isolated: {}", cpus(machine.isolated()))?;
        }
        Ok(())
    }

    fn package(&self, f: &mut Formatter<'_>, package: &Package) -> fmt::Result {
        match package.os_index {
            Some(index) => writeln!(f, "package {index}: {}", cpus(&package.cpus))?,
            None => writeln!(f, "package: {}", cpus(&package.cpus))?,
        }
        self.below_package(f, &package.cpus)
    }

    /// The cores of a package, or of no known package, below the last-level caches they share.
    fn below_package(&self, f: &mut Formatter<'_>, members: &CpuSet) -> fmt::Result {
        let mut rest = members.clone();
        for cache in self.last_level() {
            let sharing = cache.cpus.intersection(&rest);
            if sharing.is_empty() {
                continue;
            }
            writeln!(f, "  {}: {}", Named(cache), cpus(&sharing))?;
            self.cores(f, &sharing, "    ")?;
            rest = rest.difference(&sharing);
        }
        self.cores(f, &rest, "  ")
    }

    fn cores(&self, f: &mut Formatter<'_>, members: &CpuSet, indent: &str) -> fmt::Result {
        for core in self.topology.cores() {
            if core.cpus.first().is_some_and(|cpu| members.contains(cpu)) {
                self.core(f, core, indent)?;
            }
        }
        Ok(())
    }

    /// A core with the caches that are not already a line of their own.
    fn core(&self, f: &mut Formatter<'_>, core: &Core, indent: &str) -> fmt::Result {
        write!(f, "{indent}core: {}", cpus(&core.cpus))?;
        let last = self.last_level().next().map(|cache| cache.level);
        let caches = self.topology.caches().iter();
        for cache in caches.filter(|cache| Some(cache.level) != last) {
            if core.cpus.intersection(&cache.cpus).is_empty() {
                continue;
            }
            write!(f, "; {}", Named(cache))?;
            if cache.cpus != core.cpus {
                write!(f, " ({})", cache.cpus)?;
            }
        }
        writeln!(f)
    }

    /// The caches of the highest level, if that is 3 or more; a level below belongs to cores.
    fn last_level(&self) -> impl Iterator<Item = &'a Cache> {
        let caches = self.topology.caches();
        let highest = caches.last().map(|cache| cache.level);
        let level = highest.filter(|&level| level >= 3);
        let of_level = move |cache: &&Cache| Some(cache.level) == level;
        caches.iter().filter(of_level)
    }

    fn node(f: &mut Formatter<'_>, node: &NumaNode) -> fmt::Result {
        write!(f, "NUMA node {}: {}", node.os_index, cpus(&node.cpus))?;
        match node.memory_bytes {
            Some(bytes) => writeln!(f, ", {}", Bytes(bytes)),
            None => writeln!(f, ", memory unknown"),
        }
    }

    fn problems(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let problems = self.topology.problems();
        for problem in problems.iter().take(PROBLEMS_MAX) {
            writeln!(f, "problem: {problem}")?;
        }
        match problems.len().saturating_sub(PROBLEMS_MAX) {
            0 => Ok(()),
            more => writeln!(f, "and {more} problems more"),
        }
    }
}

impl Display for Tree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.machine(f)?;
        let mut homeless = self.topology.online().clone();
        for package in self.topology.packages() {
            self.package(f, package)?;
            homeless = homeless.difference(&package.cpus);
        }
        if !homeless.is_empty() {
            writeln!(f, "package unknown: {}", cpus(&homeless))?;
            self.below_package(f, &homeless)?;
        }
        for node in self.topology.numa_nodes() {
            Self::node(f, node)?;
        }
        for excluded in self.topology.excluded() {
            writeln!(f, "excluded: {}: {}", cpus(&excluded.cpus), excluded.reason)?;
        }
        self.problems(f)
    }
}

/// A cache as `L1d 48 KiB`.
struct Named<'a>(&'a Cache);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.0.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        write!(f, "L{}{kind}", self.0.level)?;
        match self.0.size_bytes {
            Some(bytes) => write!(f, " {}", Bytes(bytes)),
            None => write!(f, " of unknown size"),
        }
    }
}

/// A number of bytes in the largest binary unit that it fills, with two decimals at most.
struct Bytes(u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let Some((unit, shift)) = units.into_iter().find(|&(_, shift)| self.0 >> shift > 0) else {
            return write!(f, "{} B", self.0);
        };
        // Whole hundredths, rounded down; u128 because of the product.
        let hundredths = (u128::from(self.0) * 100) >> shift;
        let (whole, part) = (hundredths / 100, hundredths % 100);
        match part {
            0 => write!(f, "{whole} {unit}"),
            _ if part % 10 == 0 => write!(f, "{whole}.{} {unit}", part / 10),
            _ => write!(f, "{whole}.{part:02} {unit}"),
        }
    }
}

fn cpus(set: &CpuSet) -> String {
    match set.len() {
        0 => "no CPUs".to_owned(),
        1 => format!("CPU {set}"),
        _ => format!("CPUs {set}"),
    }
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (48 << 10, "48 KiB"),
            (1_310_720, "1.25 MiB"),
            (5 << 19, "2.5 MiB"),
            (33_269_227_520, "30.98 GiB"),
            (u64::MAX, "16777215.99 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
