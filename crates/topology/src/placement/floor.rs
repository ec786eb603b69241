//! What the rules choose from: the allowed logical CPUs, core by core.

use std::collections::BTreeMap;

use super::error::Shortage;
use super::role::Role;
use crate::cpuset::CpuSet;
use crate::topology::Topology;

/// The logical CPUs that are given away, with the role that has them.
pub(super) type Taken = BTreeMap<u32, Role>;

/// A core as the rules see it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The core's allowed logical CPUs, ascending; never empty.
    pub(super) cpus: Vec<u32>,
    /// Whether no request has a CPU of it.
    pub(super) free: bool,
}

impl Slot {
    pub(super) fn lowest(&self) -> u32 {
        self.cpus[0]
    }
}

/// The cores of a machine or of a part of it, ascending by lowest allowed logical CPU.
pub(super) struct Floor<'a> {
    pub(super) topology: &'a Topology,
    pub(super) taken: &'a Taken,
    pub(super) cores: Vec<Slot>,
}

impl<'a> Floor<'a> {
    pub(super) fn new(topology: &'a Topology, taken: &'a Taken) -> Self {
        let mut rest = topology.allowed().clone();
        let mut cores = Vec::new();
        for core in topology.cores() {
            let cpus = core.cpus.intersection(topology.allowed());
            rest = rest.difference(&cpus);
            cores.extend(slot(cpus.iter().collect(), taken));
        }
        // CPUs of which no file tells the core count as cores of their own.
        cores.extend(rest.iter().filter_map(|cpu| slot(vec![cpu], taken)));
        cores.sort_by_key(Slot::lowest);
        Self { topology, taken, cores }
    }

    /// The same with the CPUs of a part alone.
    pub(super) fn only(&self, part: &CpuSet) -> Self {
        let cut = |slot: &Slot| {
            let cpus: Vec<u32> = slot.cpus.iter().copied().filter(|&cpu| part.contains(cpu)).collect();
            (!cpus.is_empty()).then_some(Slot { cpus, free: slot.free })
        };
        let cores = self.cores.iter().filter_map(cut).collect();
        Self { cores, ..*self }
    }

    pub(super) fn free(&self) -> Vec<&Slot> {
        self.cores.iter().filter(|slot| slot.free).collect()
    }

    /// Counts the allowed logical CPUs of free cores.
    pub(super) fn free_cpus(&self) -> usize {
        self.free().iter().map(|slot| slot.cpus.len()).sum()
    }
}

fn slot(cpus: Vec<u32>, taken: &Taken) -> Option<Slot> {
    let free = !cpus.iter().any(|cpu| taken.contains_key(cpu));
    (!cpus.is_empty()).then_some(Slot { cpus, free })
}

/// Lets `choose` see the cores of one kind, the most capable kind that it can do with. Threads
/// of one request on two kinds of core would be two experiments in one number.
pub(super) fn of_one_kind<T>(
    topology: &Topology,
    taken: &Taken,
    choose: impl Fn(&Floor<'_>) -> Result<T, Shortage>,
) -> Result<T, Shortage> {
    let all = Floor::new(topology, taken);
    let kinds = topology.kinds();
    if kinds.len() < 2 {
        return choose(&all);
    }
    let best_first = kinds.iter().rev();
    let chosen = best_first.filter_map(|kind| choose(&all.only(&kind.cpus)).ok()).next();
    chosen.map_or_else(|| Err(choose(&all).err().unwrap_or(Shortage::OneKind { kinds: kinds.len() })), Ok)
}

/// Gives the first of every row, then the second of every row that has one, and so on.
pub(super) fn deal<T: Copy>(rows: &[impl AsRef<[T]>]) -> Vec<T> {
    let longest = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let round = |index: usize| rows.iter().filter_map(move |row| row.as_ref().get(index).copied());
    (0..longest).flat_map(round).collect()
}
