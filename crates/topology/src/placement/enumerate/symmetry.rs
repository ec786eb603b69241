//! The symmetries of units that links hold together, found by trying.

use std::collections::{BTreeMap, BTreeSet};

use super::hierarchy::Hierarchy;
use super::structure::{Element, Label, Set, Structure};

/// More units than this are not tried: no real machine has as many that are irregular.
const MAX_UNITS: usize = 256;
/// More symmetries than this are not listed.
const MAX_LISTED: usize = 4096;
/// More images of single units than this are not tried.
const MAX_STEPS: usize = 4_000_000;

/// Symmetries of the units that can hold threads, numbered by their order among each other.
pub(super) struct Symmetries {
    /// Where each unit goes. The identity is in it or not.
    pub(super) listed: BTreeSet<Vec<usize>>,
    /// Whether these are all.
    pub(super) complete: bool,
}

impl Symmetries {
    pub(super) fn of(structure: &Structure, hierarchy: &Hierarchy) -> Self {
        let count = hierarchy.units.len();
        if !(2..=MAX_UNITS).contains(&count) {
            return Self { listed: BTreeSet::new(), complete: count < 2 };
        }
        let mut search = Search::of(structure, hierarchy);
        search.extend(0);
        Self { listed: search.found, complete: !search.exhausted }
    }
}

struct Search {
    /// What a symmetry must preserve of each unit with itself and with each other.
    colours: Vec<Vec<usize>>,
    links: BTreeMap<Set, Vec<Vec<Label>>>,
    /// The units in the order in which images are chosen.
    order: Vec<usize>,
    /// How many of them, in that order, are tried with every image; one image of the rest will do.
    tried: usize,
    /// The units that can hold threads.
    usable: Vec<usize>,
    image: Vec<usize>,
    used: Vec<bool>,
    found: BTreeSet<Vec<usize>>,
    steps: usize,
    exhausted: bool,
}

impl Search {
    fn of(structure: &Structure, hierarchy: &Hierarchy) -> Self {
        let count = hierarchy.units.len();
        let usable = |unit: usize| hierarchy.kinds[hierarchy.nodes[hierarchy.units[unit]].kind].capacity > 0;
        let rank = |unit: usize| match lone_memory(structure, hierarchy, unit) {
            // Distances leave few choices, so they are looked at first.
            Some(memory) if matches!(structure.elements[memory], Element::Memory { attached: true, .. }) => 0,
            _ if usable(unit) => 1,
            _ => 2,
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&unit| rank(unit));
        let mut links: BTreeMap<Set, Vec<Vec<Label>>> = BTreeMap::new();
        for (units, labels) in &hierarchy.links {
            links.entry(units.clone()).or_default().push(labels.clone());
        }
        links.values_mut().for_each(|labels| labels.sort_unstable());
        Self {
            colours: colours(structure, hierarchy),
            links,
            tried: order.iter().filter(|&&unit| rank(unit) < 2).count(),
            order,
            usable: (0..count).filter(|&unit| usable(unit)).collect(),
            image: vec![0; count],
            used: vec![false; count],
            found: BTreeSet::new(),
            steps: 0,
            exhausted: false,
        }
    }

    /// Chooses the images from the given position of the order on; says whether there were any.
    fn extend(&mut self, position: usize) -> bool {
        let Some(&unit) = self.order.get(position) else {
            return self.accept();
        };
        let mut any = false;
        for image in 0..self.order.len() {
            if self.used[image] || self.colours[unit][unit] != self.colours[image][image] {
                continue;
            }
            self.steps += 1;
            self.exhausted |= self.steps > MAX_STEPS || self.found.len() > MAX_LISTED;
            if self.exhausted || (any && position >= self.tried) {
                return any;
            }
            let before = &self.order[..position];
            let colour =
                |other: &usize| (self.colours[unit][*other], self.colours[image][self.image[*other]]);
            if before.iter().map(colour).all(|(ours, theirs)| ours == theirs) {
                self.image[unit] = image;
                self.used[image] = true;
                any |= self.extend(position + 1);
                self.used[image] = false;
            }
        }
        any
    }

    /// Checks what colours of pairs do not tell: that each link becomes one of the same labels.
    fn accept(&mut self) -> bool {
        let image = |units: &Set| units.iter().map(|&unit| self.image[unit]).collect::<Set>();
        let preserved =
            self.links.iter().all(|(units, labels)| self.links.get(&image(units)) == Some(labels));
        if preserved {
            let number = |unit: &usize| self.usable.binary_search(&self.image[*unit]).ok();
            // A kind tells whether a unit is usable, so each image is.
            self.found.extend(self.usable.iter().map(number).collect::<Option<Vec<_>>>());
        }
        preserved
    }
}

/// Numbers what each pair of units has in common: the labels of their links, the distances, and
/// the kind of a unit that is paired with itself.
fn colours(structure: &Structure, hierarchy: &Hierarchy) -> Vec<Vec<usize>> {
    let count = hierarchy.units.len();
    let mut common: Vec<Vec<Vec<&[Label]>>> = vec![vec![Vec::new(); count]; count];
    for (units, labels) in &hierarchy.links {
        for &a in units {
            units.iter().for_each(|&b| common[a][b].push(labels));
        }
    }
    let memories: Vec<Option<usize>> =
        (0..count).map(|unit| lone_memory(structure, hierarchy, unit)).collect();
    let mut known = BTreeMap::new();
    let mut colours = vec![vec![0; count]; count];
    for (a, row) in common.into_iter().enumerate() {
        for (b, mut labels) in row.into_iter().enumerate() {
            labels.sort_unstable();
            let kind = (a == b).then(|| hierarchy.nodes[hierarchy.units[a]].kind);
            let both = memories[a].zip(memories[b]);
            let distances = both.map(|(a, b)| (structure.distance(a, b), structure.distance(b, a)));
            let next = known.len();
            colours[a][b] = *known.entry((kind, distances, labels)).or_insert(next);
        }
    }
    colours
}

/// The memory that is all of a unit.
fn lone_memory(structure: &Structure, hierarchy: &Hierarchy, unit: usize) -> Option<usize> {
    let elements = &hierarchy.members[unit];
    let first = elements.first().copied().filter(|_| elements.len() == 1);
    first.filter(|&element| matches!(structure.elements[element], Element::Memory { .. }))
}
