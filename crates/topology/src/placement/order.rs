//! The two orders by distance: near and far.

use super::error::Shortage;
use super::floor::{Floor, Slot, deal};
use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind};
use crate::topology::Topology;

/// A core with the way to it: the position of its part at each level, and last its own.
struct Reached<'a> {
    path: Vec<usize>,
    slot: &'a Slot,
}

/// Fills the smallest part with enough CPUs, core by core.
pub(super) fn pack(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    let reached = reach(floor);
    let depth_max = reached.first().map_or(0, |core| core.path.len());
    for depth in (0..=depth_max).rev() {
        for part in reached.chunk_by(|a, b| a.path[..depth] == b.path[..depth]) {
            let cpus: Vec<u32> = part.iter().flat_map(|core| core.slot.cpus.iter().copied()).collect();
            if cpus.len() >= threads {
                return Ok(cpus.into_iter().take(threads).collect());
            }
        }
    }
    Err(Shortage::Cpus { free: floor.free_cpus() })
}

/// Round robin over the parts of each level; second siblings after the first of every core.
pub(super) fn spread(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    let free = floor.free_cpus();
    if free < threads {
        return Err(Shortage::Cpus { free });
    }
    let cores: Vec<&[u32]> = apart(&reach(floor), 0).into_iter().map(|slot| slot.cpus.as_slice()).collect();
    Ok(deal(&cores).into_iter().take(threads).collect())
}

/// The cores of one part so that neighbours are far from each other.
fn apart<'a>(part: &[Reached<'a>], depth: usize) -> Vec<&'a Slot> {
    if let [only] = part {
        return vec![only.slot];
    }
    let parts = part.chunk_by(|a, b| a.path[depth] == b.path[depth]);
    deal(&parts.map(|part| apart(part, depth + 1)).collect::<Vec<_>>())
}

/// The free cores in the order of their paths: those of one part stand together.
fn reach<'a>(floor: &'a Floor<'_>) -> Vec<Reached<'a>> {
    let levels = levels(floor.topology);
    let path = |(index, slot): (usize, &'a Slot)| {
        // Cores of no known part of a level stand together, behind the known parts.
        let position = |parts: &Vec<&CpuSet>| parts.iter().position(|part| part.contains(slot.lowest()));
        let mut path: Vec<usize> = levels.iter().map(|parts| position(parts).unwrap_or(usize::MAX)).collect();
        path.push(index);
        Reached { path, slot }
    };
    let mut reached: Vec<Reached<'_>> = floor.free().into_iter().enumerate().map(path).collect();
    reached.sort_by(|a, b| a.path.cmp(&b.path));
    reached
}

/// The ways in which the machine is divided, coarsest first. Which of node, die and package is
/// the larger differs between machines, and even firmware settings; the number of parts tells.
fn levels(topology: &Topology) -> Vec<Vec<&CpuSet>> {
    let mut levels: Vec<Vec<&CpuSet>> = vec![
        topology.packages().iter().map(|package| &package.cpus).collect(),
        topology.numa_nodes().iter().map(|node| &node.cpus).filter(|cpus| !cpus.is_empty()).collect(),
        topology.dies().iter().map(|die| &die.cpus).collect(),
        last_level_caches(topology).map(|cache| &cache.cpus).collect(),
        topology.clusters().iter().map(|cluster| &cluster.cpus).collect(),
    ];
    levels.sort_by_key(Vec::len);
    levels
}

/// The caches of the highest level, if that is 3 or more; a level below belongs to few cores.
pub(super) fn last_level_caches(topology: &Topology) -> impl Iterator<Item = &Cache> {
    let data = || topology.caches().iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let highest = data().map(|cache| cache.level).max().filter(|&level| level >= 3);
    data().filter(move |cache| Some(cache.level) == highest)
}
