//! What a symmetry of a machine must preserve: elements that look different, sets of elements with
//! labels, and distances.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpuset::CpuSet;
use crate::model::{CacheKind, NumaNode};
use crate::topology::Topology;

/// Elements by index.
pub(super) type Set = BTreeSet<usize>;

/// What a symmetry permutes: the online logical CPUs, ascending, and then the memories, one for
/// each NUMA node. A memory is an element because a node without CPUs can tell its neighbours
/// apart; CPUs that may not be used are elements because they are somebody's neighbours, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Cpu {
        usable: bool,
        kind: Option<usize>,
        isolated: bool,
        tickless: bool,
    },
    Memory {
        /// Whether there is any; sizes differ slightly between nodes that are alike.
        present: Option<bool>,
        usable: bool,
        /// Whether its node has CPUs.
        attached: bool,
        own_distance: Option<u32>,
    },
}

/// What a set of elements is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    Package,
    Die,
    Cluster,
    Core,
    Cache {
        level: u8,
        kind: CacheKind,
        size_bytes: Option<u64>,
        line_bytes: Option<u32>,
        ways: Option<u32>,
    },
    Node,
    /// NUMA nodes, so far apart unless a smaller such set holds both.
    Apart(Option<u32>),
    /// NUMA nodes whose distances no nested sets express.
    Irregular,
}

/// The elements of a machine with all that relates them.
pub(super) struct Structure {
    pub(super) elements: Vec<Element>,
    /// The numbers of the logical CPUs; they are the first elements.
    pub(super) cpus: Vec<u32>,
    /// Every set once, with all that it is; the labels are sorted.
    pub(super) sets: BTreeMap<Set, Vec<Label>>,
    /// The memories whose distances the sets do not tell; [`distance`](Self::distance) does.
    pub(super) irregular: Set,
    nodes: Vec<NumaNode>,
}

impl Structure {
    pub(super) fn of(topology: &Topology) -> Self {
        let cpus: Vec<u32> = topology.online().iter().collect();
        let mut elements: Vec<Element> = cpus.iter().map(|&cpu| cpu_element(topology, cpu)).collect();
        let nodes = topology.numa_nodes().to_vec();
        elements.extend(nodes.iter().map(|node| memory_element(topology, node)));
        let (sets, irregular) = (BTreeMap::new(), Set::new());
        let mut structure = Self { elements, cpus, sets, irregular, nodes };
        structure.add_nodes();
        structure.add_parts(topology);
        structure.sets.values_mut().for_each(|labels| labels.sort_unstable());
        structure
    }

    /// The distance between two memories, from the first.
    pub(super) fn distance(&self, from: usize, to: usize) -> Option<u32> {
        let node = |memory| &self.nodes[memory - self.cpus.len()];
        node(from).distances.get(&node(to).os_index).copied()
    }

    fn indices(&self, cpus: &CpuSet) -> Set {
        cpus.iter().filter_map(|cpu| self.cpus.binary_search(&cpu).ok()).collect()
    }

    fn add(&mut self, set: Set, label: Label) {
        if !set.is_empty() {
            self.sets.entry(set).or_default().push(label);
        }
    }

    /// Adds the distances as nested sets, as far as that can be done.
    fn add_nodes(&mut self) {
        let first = self.cpus.len();
        let mut pending: Vec<Vec<usize>> = vec![(first..self.elements.len()).collect()];
        while let Some(memories) = pending.pop() {
            if memories.len() < 2 {
                continue;
            }
            let label = if let Some((distance, parts)) = self.split(&memories) {
                pending.extend(parts);
                Label::Apart(distance)
            } else {
                self.irregular.extend(&memories);
                Label::Irregular
            };
            let cpus = memories.iter().map(|memory| self.indices(&self.nodes[memory - first].cpus));
            let set = cpus.flatten().chain(memories.iter().copied()).collect();
            self.add(set, label);
        }
    }

    /// Parts of the memories such that any two in different parts are equally far apart, with that
    /// distance. There is at most one such distance: all pairs at it connect the parts.
    fn split(&self, memories: &[usize]) -> Option<(Option<u32>, Vec<Vec<usize>>)> {
        let (first, rest) = memories.split_first()?;
        let candidates: BTreeSet<_> = rest.iter().map(|&other| self.distance(*first, other)).collect();
        candidates.into_iter().find_map(|distance| {
            let apart = |a, b| self.distance(a, b) == distance && self.distance(b, a) == distance;
            let parts = connected(memories, |a, b| !apart(a, b));
            (parts.len() > 1).then_some((distance, parts))
        })
    }

    /// Adds packages, nodes, caches and so on.
    fn add_parts(&mut self, topology: &Topology) {
        let mut parts: Vec<(&CpuSet, Label)> = Vec::new();
        parts.extend(topology.packages().iter().map(|part| (&part.cpus, Label::Package)));
        parts.extend(topology.dies().iter().map(|part| (&part.cpus, Label::Die)));
        parts.extend(topology.clusters().iter().map(|part| (&part.cpus, Label::Cluster)));
        parts.extend(topology.cores().iter().map(|part| (&part.cpus, Label::Core)));
        parts.extend(topology.numa_nodes().iter().map(|part| (&part.cpus, Label::Node)));
        for cache in topology.caches() {
            let (level, kind, size_bytes) = (cache.level, cache.kind, cache.size_bytes);
            let (line_bytes, ways) = (cache.line_bytes, cache.ways);
            parts.push((&cache.cpus, Label::Cache { level, kind, size_bytes, line_bytes, ways }));
        }
        let regions = self.regions();
        for (cpus, label) in parts {
            let mut set = self.indices(cpus);
            let within = regions.iter().filter(|(cpus, _)| cpus.is_subset(&set));
            let memories: Set = within.flat_map(|(_, memories)| memories).copied().collect();
            set.extend(memories);
            self.add(set, label);
        }
    }

    /// The nodes and the sets of near nodes, as CPUs and memories. A part that holds all CPUs of a
    /// region is given its memories: without them, a package would cross its own nodes. What the
    /// files say can be told from the result, so it has the same symmetries.
    fn regions(&self) -> Vec<(Set, Set)> {
        let first = self.cpus.len();
        let node = |(index, node): (usize, &NumaNode)| (self.indices(&node.cpus), Set::from([first + index]));
        let near = self.sets.keys().map(|set| {
            let mut cpus = set.clone();
            let memories = cpus.split_off(&first);
            (cpus, memories)
        });
        let regions = self.nodes.iter().enumerate().map(node).chain(near);
        regions.filter(|(cpus, _)| !cpus.is_empty()).collect()
    }
}

fn cpu_element(topology: &Topology, cpu: u32) -> Element {
    Element::Cpu {
        usable: topology.allowed().contains(cpu),
        kind: topology.kinds().iter().position(|kind| kind.cpus.contains(cpu)),
        isolated: topology.isolated().contains(cpu),
        tickless: topology.nohz_full().contains(cpu),
    }
}

fn memory_element(topology: &Topology, node: &NumaNode) -> Element {
    Element::Memory {
        present: node.memory_bytes.map(|bytes| bytes > 0),
        usable: topology.allowed_nodes().is_none_or(|nodes| nodes.contains(&node.os_index)),
        attached: !node.cpus.is_empty(),
        own_distance: node.distances.get(&node.os_index).copied(),
    }
}

/// The connected components of a graph.
fn connected(vertices: &[usize], edge: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut unseen = vertices.to_vec();
    let mut components = Vec::new();
    while let Some(start) = unseen.first().copied() {
        unseen.remove(0);
        let mut component = vec![start];
        let mut next = 0;
        while let Some(&vertex) = component.get(next) {
            let (reached, rest) = unseen.into_iter().partition::<Vec<_>, _>(|&other| edge(vertex, other));
            component.extend(reached);
            unseen = rest;
            next += 1;
        }
        components.push(component);
    }
    components
}
