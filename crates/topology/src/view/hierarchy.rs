//! The parts of a machine, each inside the smallest that holds it: what the tree and the picture
//! both show.
//!
//! No order of levels is assumed: on some machines a package holds NUMA nodes, on others a node
//! holds packages, and there are cores that hold two first-level caches.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind, Cluster, Core, Die, NumaNode, Package};
use crate::topology::Topology;

/// The most parts that may be inside each other. Real machines need less than ten; without a limit,
/// absurd files could exhaust the stack of whoever walks the hierarchy.
const DEPTH_MAX: usize = 32;

/// A part of a machine that has logical CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'a> {
    Package(&'a Package),
    NumaNode(&'a NumaNode),
    Die(&'a Die),
    Cluster(&'a Cluster),
    Cache(&'a Cache),
    Core(&'a Core),
}

impl<'a> Part<'a> {
    pub(super) fn cpus(self) -> &'a CpuSet {
        match self {
            Self::Package(package) => &package.cpus,
            Self::NumaNode(node) => &node.cpus,
            Self::Die(die) => &die.cpus,
            Self::Cluster(cluster) => &cluster.cpus,
            Self::Cache(cache) => &cache.cpus,
            Self::Core(core) => &core.cpus,
        }
    }

    /// Which of several parts with the same CPUs is the outer one: the lower.
    fn rank(self) -> (u8, Reverse<u8>, Option<CacheKind>) {
        let flat = |rank| (rank, Reverse(0), None);
        match self {
            Self::Package(_) => flat(0),
            Self::NumaNode(_) => flat(1),
            Self::Die(_) => flat(2),
            Self::Cache(cache) => {
                let rank = if cache.level > 2 { 3 } else { 5 };
                (rank, Reverse(cache.level), Some(cache.kind))
            }
            Self::Cluster(_) => flat(4),
            Self::Core(_) => flat(6),
        }
    }
}

/// A set of CPUs, and all the parts that are exactly this set, outer ones first.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) cpus: CpuSet,
    pub(super) parts: Vec<Part<'a>>,
    /// Smaller sets inside, ascending by lowest CPU; no two overlap.
    pub(super) children: Vec<Node<'a>>,
}

impl Node<'_> {
    /// The CPUs that are in none of the children.
    pub(super) fn own_cpus(&self) -> CpuSet {
        let children = self.children.iter();
        children.fold(self.cpus.clone(), |rest, child| rest.difference(&child.cpus))
    }

    pub(super) fn is_core(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Core(_)))
    }
}

/// The whole machine.
#[derive(Debug)]
pub(super) struct Hierarchy<'a> {
    /// All online CPUs; no part itself.
    pub(super) machine: Node<'a>,
    /// The parts that overlap another without one being inside the other, and those without CPUs.
    pub(super) beside: Vec<Part<'a>>,
}

impl<'a> Hierarchy<'a> {
    /// Nests the parts of a machine. Where two of them are at odds, packages and cores win over
    /// NUMA nodes, those over dies, and those over caches and clusters.
    pub(super) fn new(topology: &'a Topology) -> Self {
        let packages = topology.packages().iter().map(Part::Package);
        let cores = topology.cores().iter().map(Part::Core);
        let nodes = topology.numa_nodes().iter().map(Part::NumaNode);
        let dies = topology.dies().iter().map(Part::Die);
        let caches = topology.caches().iter().rev().map(Part::Cache);
        let clusters = topology.clusters().iter().map(Part::Cluster);
        let parts = packages.chain(cores).chain(nodes).chain(dies).chain(caches).chain(clusters);
        Self::of(topology.online(), parts)
    }

    fn of(online: &CpuSet, parts: impl Iterator<Item = Part<'a>>) -> Self {
        let mut family = Family::default();
        let beside = parts.filter(|&part| !family.accepts(part)).collect();
        Self { machine: family.nest(online), beside }
    }
}

/// Sets of which any two are apart or one inside the other.
#[derive(Default)]
struct Family<'a> {
    sets: Vec<(&'a CpuSet, Vec<Part<'a>>)>,
    by_set: HashMap<&'a CpuSet, usize>,
    /// Which of the sets a CPU is in.
    by_cpu: HashMap<u32, Vec<usize>>,
}

impl<'a> Family<'a> {
    fn accepts(&mut self, part: Part<'a>) -> bool {
        let cpus = part.cpus();
        if let Some(&same) = self.by_set.get(cpus) {
            self.sets[same].1.push(part);
            return true;
        }
        if cpus.is_empty() || !self.fits(cpus) {
            return false;
        }
        let new = self.sets.len();
        for cpu in cpus {
            self.by_cpu.entry(cpu).or_default().push(new);
        }
        self.by_set.insert(cpus, new);
        self.sets.push((cpus, vec![part]));
        true
    }

    fn fits(&self, cpus: &CpuSet) -> bool {
        let mut common = BTreeMap::<usize, usize>::new();
        for cpu in cpus {
            let sets = self.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
            if sets.len() >= DEPTH_MAX {
                return false;
            }
            for &set in sets {
                *common.entry(set).or_default() += 1;
            }
        }
        common.into_iter().all(|(set, common)| common == cpus.len() || common == self.sets[set].0.len())
    }

    fn nest(mut self, online: &CpuSet) -> Node<'a> {
        self.sets.sort_by_key(|(cpus, _)| (Reverse(cpus.len()), cpus.first()));
        // From the largest down, so that the last set seen of a CPU is the smallest around it.
        let mut innermost = HashMap::<u32, usize>::new();
        let mut inside: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (index, (cpus, _)) in self.sets.iter().enumerate() {
            let parent = cpus.first().and_then(|cpu| innermost.get(&cpu)).copied();
            inside.entry(parent).or_default().push(index);
            innermost.extend(cpus.iter().map(|cpu| (cpu, index)));
        }
        let children = self.children(None, &inside);
        Node { cpus: online.clone(), parts: Vec::new(), children }
    }

    fn children(&self, parent: Option<usize>, inside: &BTreeMap<Option<usize>, Vec<usize>>) -> Vec<Node<'a>> {
        let node = |&index: &usize| {
            let (cpus, mut parts) = self.sets[index].clone();
            parts.sort_by_key(|part| part.rank());
            Node { cpus: cpus.clone(), parts, children: self.children(Some(index), inside) }
        };
        let mut nodes: Vec<Node<'a>> = inside.get(&parent).into_iter().flatten().map(node).collect();
        nodes.sort_by_key(|node| node.cpus.first());
        nodes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cores(lists: &[&str]) -> Vec<Core> {
        lists.iter().map(|list| Core { cpus: list.parse().unwrap() }).collect()
    }

    fn shown(node: &Node<'_>) -> String {
        let children: Vec<String> = node.children.iter().map(shown).collect();
        format!("{}×{}({})", node.cpus, node.parts.len(), children.join(" "))
    }

    fn nest(cores: &[Core]) -> (String, Vec<&CpuSet>) {
        let online: CpuSet = "0-7".parse().unwrap();
        let hierarchy = Hierarchy::of(&online, cores.iter().map(Part::Core));
        let beside = hierarchy.beside.iter().map(|part| part.cpus()).collect();
        (shown(&hierarchy.machine), beside)
    }

    #[test]
    fn sets_nest_whatever_their_order_and_equal_ones_share_a_node() {
        let sets = cores(&["4-5", "2-3", "0-3", "2-3", "0-7"]);
        assert_eq!(nest(&sets), ("0-7×0(0-7×1(0-3×1(2-3×2()) 4-5×1()))".to_owned(), vec![]));
    }

    #[test]
    fn what_overlaps_an_earlier_set_stays_beside() {
        let sets = cores(&["0-3", "2-5", "4-7", ""]);
        assert_eq!(nest(&sets), ("0-7×0(0-3×1() 4-7×1())".to_owned(), vec![&sets[1].cpus, &sets[3].cpus]));
    }

    #[test]
    fn a_chain_of_absurd_length_is_cut() {
        let chain: Vec<Core> = (0..100).map(|last| Core { cpus: (0..=last).collect() }).collect();
        let (shown, beside) = nest(&chain);
        assert_eq!((shown.matches('(').count(), beside.len()), (1 + DEPTH_MAX, 100 - DEPTH_MAX));
    }

    fn count(node: &Node<'_>) -> usize {
        node.parts.len() + node.children.iter().map(count).sum::<usize>()
    }

    fn stands(node: &Node<'_>, machine: bool) {
        let members: usize = node.children.iter().map(|child| child.cpus.len()).sum();
        assert_eq!(members + node.own_cpus().len(), node.cpus.len(), "overlap in {}", shown(node));
        for child in &node.children {
            assert!(child.cpus.is_subset(&node.cpus) && (machine || child.cpus != node.cpus));
            assert!(child.parts.iter().all(|part| *part.cpus() == child.cpus));
            stands(child, false);
        }
    }

    proptest! {
        #[test]
        fn no_part_is_lost_and_children_lie_apart_inside_their_parent(
            sets in proptest::collection::vec(proptest::collection::btree_set(0..8_u32, 0..6), 0..12)
        ) {
            let cores: Vec<Core> =
                sets.into_iter().map(|set| Core { cpus: set.into_iter().collect() }).collect();
            let online: CpuSet = "0-7".parse().unwrap();
            let hierarchy = Hierarchy::of(&online, cores.iter().map(Part::Core));
            prop_assert_eq!(count(&hierarchy.machine) + hierarchy.beside.len(), cores.len());
            stands(&hierarchy.machine, true);
        }
    }
}
