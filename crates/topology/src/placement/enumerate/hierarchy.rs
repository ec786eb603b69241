//! The sets of a machine as a forest in which equal subtrees have equal kinds.

use std::collections::{BTreeMap, BTreeSet};

use super::structure::{Element, Label, Set, Structure};

/// A machine as units, each of which is a tree of nested sets.
///
/// A machine whose sets are all nested is one unit. Sets that cross others, and NUMA nodes with
/// irregular distances, are no part of any tree: they are the [`links`](Self::links), and the
/// units are what they do not cut.
pub(super) struct Hierarchy {
    /// Children come before their parents.
    pub(super) nodes: Vec<Node>,
    /// Kinds of children come before those of their parents.
    pub(super) kinds: Vec<Kind>,
    /// The node of each unit, ascending by the lowest element.
    pub(super) units: Vec<usize>,
    /// The elements of each unit.
    pub(super) members: Vec<Set>,
    /// The sets that hold or cut more than one unit, as units.
    pub(super) links: Vec<(Set, Vec<Label>)>,
}

/// A set of elements in a tree, or a single element.
pub(super) struct Node {
    pub(super) kind: usize,
    /// The children that can hold threads, in the order of their kinds in the kind of this node.
    pub(super) children: Vec<usize>,
    /// The logical CPU, where this is one that may be used.
    pub(super) cpu: Option<u32>,
    /// The lowest usable CPU in it; `u32::MAX` where there is none.
    lowest: u32,
}

/// What nodes have in common that a symmetry can map to each other, if it may map their parents.
pub(super) struct Kind {
    /// The number of usable CPUs.
    pub(super) capacity: usize,
    /// The kinds of the children that can hold threads; equal ones are neighbours.
    pub(super) children: Vec<usize>,
    /// The lowest usable CPU in any node of the kind.
    lowest: u32,
}

impl Hierarchy {
    pub(super) fn of(structure: &Structure) -> Self {
        let (members, linking) = units(structure);
        let unit_of = unit_of(&members, structure.elements.len());
        let mut links = Vec::new();
        let mut nested: BTreeMap<&Set, &[Label]> = members.iter().map(|unit| (unit, [].as_slice())).collect();
        for (index, (set, labels)) in structure.sets.iter().enumerate() {
            if linking.contains(&index) {
                links.push((set.iter().map(|&element| unit_of[element]).collect(), labels.clone()));
            } else {
                nested.insert(set, labels);
            }
        }
        let mut forest = Forest::of(structure);
        let mut ascending: Vec<_> = nested.into_iter().collect();
        ascending.sort_by_key(|(set, _)| set.len());
        for (set, labels) in ascending {
            forest.join(set, labels);
        }
        let Forest { mut nodes, mut kinds, top, .. } = forest;
        arrange(&mut nodes, &mut kinds);
        let units = members.iter().filter_map(|unit| unit.first()).map(|&element| top[element]).collect();
        Self { nodes, kinds, units, members, links }
    }
}

/// What makes a kind.
type Signature<'a> = (Option<&'a Element>, &'a [Label], Vec<usize>);

/// Trees under construction, from the leaves up.
struct Forest<'a> {
    nodes: Vec<Node>,
    kinds: Vec<Kind>,
    known: BTreeMap<Signature<'a>, usize>,
    /// The largest tree so far that holds each element.
    top: Vec<usize>,
}

impl<'a> Forest<'a> {
    fn of(structure: &'a Structure) -> Self {
        let (nodes, kinds, known) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut forest = Self { nodes, kinds, known, top: Vec::new() };
        for (index, element) in structure.elements.iter().enumerate() {
            let usable = matches!(element, Element::Cpu { usable: true, .. });
            let cpu = structure.cpus.get(index).copied().filter(|_| usable);
            let capacity = usize::from(usable);
            let kind = forest.kind((Some(element), &[], Vec::new()), capacity);
            forest.nodes.push(Node { kind, children: Vec::new(), cpu, lowest: cpu.unwrap_or(u32::MAX) });
            forest.top.push(index);
        }
        forest
    }

    /// Makes one tree of those that make up `set`. Sets come in ascending size and do not cross.
    fn join(&mut self, set: &Set, labels: &'a [Label]) {
        let children: BTreeSet<usize> = set.iter().map(|&element| self.top[element]).collect();
        let children: Vec<usize> = children.into_iter().collect();
        let mut kinds: Vec<usize> = children.iter().map(|&child| self.nodes[child].kind).collect();
        kinds.sort_unstable();
        let capacity = kinds.iter().map(|&kind| self.kinds[kind].capacity).sum();
        let kind = self.kind((None, labels, kinds), capacity);
        let lowest = children.iter().map(|&child| self.nodes[child].lowest).min().unwrap_or(u32::MAX);
        for &element in set {
            self.top[element] = self.nodes.len();
        }
        self.nodes.push(Node { kind, children, cpu: None, lowest });
    }

    fn kind(&mut self, signature: Signature<'a>, capacity: usize) -> usize {
        let children = signature.2.clone();
        *self.known.entry(signature).or_insert_with(|| {
            self.kinds.push(Kind { capacity, children, lowest: u32::MAX });
            self.kinds.len() - 1
        })
    }
}

/// Drops the children that can hold no thread, and brings the others in one order in all nodes of
/// a kind: by the lowest CPU of their kind, so that low CPUs are preferred, then by their own.
fn arrange(nodes: &mut [Node], kinds: &mut [Kind]) {
    for node in nodes.iter() {
        let kind = &mut kinds[node.kind];
        kind.lowest = kind.lowest.min(node.lowest);
    }
    let order: Vec<(u32, usize)> = kinds.iter().enumerate().map(|(kind, is)| (is.lowest, kind)).collect();
    let capacity: Vec<usize> = kinds.iter().map(|kind| kind.capacity).collect();
    for kind in kinds {
        kind.children.retain(|&child| capacity[child] > 0);
        kind.children.sort_by_key(|&child| order[child]);
    }
    let own: Vec<(usize, u32)> = nodes.iter().map(|node| (node.kind, node.lowest)).collect();
    for node in nodes {
        node.children.retain(|&child| capacity[own[child].0] > 0);
        node.children.sort_by_key(|&child| (order[own[child].0], own[child].1));
    }
}

/// The units, ascending by lowest element, and the indices of the sets that link them.
fn units(structure: &Structure) -> (Vec<Set>, BTreeSet<usize>) {
    let mut linking = crossing(structure);
    loop {
        let mut links_of = vec![Vec::new(); structure.elements.len()];
        for (index, set) in structure.sets.keys().enumerate().filter(|(index, _)| linking.contains(index)) {
            set.iter().for_each(|&element| links_of[element].push(index));
        }
        let mut atoms: BTreeMap<(Vec<usize>, Option<usize>), Set> = BTreeMap::new();
        for (element, links) in links_of.iter().enumerate() {
            let alone = structure.irregular.get(&element).copied();
            atoms.entry((links.clone(), alone)).or_default().insert(element);
        }
        let mut units: Vec<Set> = atoms.into_values().collect();
        units.sort_unstable();
        let unit_of = unit_of(&units, structure.elements.len());
        let in_one = |set: &Set| set.iter().map(|&element| unit_of[element]).collect::<Set>().len() == 1;
        let cut = structure.sets.keys().enumerate().filter(|(_, set)| !in_one(set));
        let before = linking.len();
        linking.extend(cut.map(|(index, _)| index));
        if linking.len() == before {
            return (units, linking);
        }
    }
}

fn unit_of(units: &[Set], elements: usize) -> Vec<usize> {
    let mut unit_of = vec![0; elements];
    for (unit, members) in units.iter().enumerate() {
        members.iter().for_each(|&element| unit_of[element] = unit);
    }
    unit_of
}

/// The indices of the sets that share some elements with another, while each has more.
fn crossing(structure: &Structure) -> BTreeSet<usize> {
    let mut sets_of = vec![Vec::new(); structure.elements.len()];
    for (index, set) in structure.sets.keys().enumerate() {
        set.iter().for_each(|&element| sets_of[element].push(index));
    }
    let sizes: Vec<usize> = structure.sets.keys().map(BTreeSet::len).collect();
    let mut crossing = BTreeSet::new();
    for (index, set) in structure.sets.keys().enumerate() {
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for &element in set {
            sets_of[element].iter().for_each(|&other| *common.entry(other).or_default() += 1);
        }
        if common.iter().any(|(&other, &shared)| shared < sizes[index].min(sizes[other])) {
            crossing.insert(index);
        }
    }
    crossing
}
