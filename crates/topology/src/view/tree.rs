//! The topology as text for people.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use crate::cpuset::CpuSet;
use crate::model::NumaNode;
use crate::topology::Topology;

use crate::view::hierarchy::{Hierarchy, Node, Part};
use crate::view::words;

/// The most problems printed; the rest are counted.
const PROBLEMS_MAX: usize = 10;

/// The most columns of a line that can be broken.
const COLUMNS_MAX: usize = 110;

/// The most NUMA nodes whose distances are printed as a matrix.
const MATRIX_MAX: usize = 16;

/// A view of a [`Topology`] that prints as an indented tree: packages, NUMA nodes, dies, caches,
/// clusters and cores, each inside the smallest that holds it.
///
/// Parts that are alike are one line: `8 × core with L1d 32 KiB: CPUs 0,8 | 1,9 | … | 7,15` has a
/// set for each core, and the `…` stands for sets at the same distance. Parts that overlap without
/// one being inside the other come below the tree.
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

    /// What is inside some nodes of the same shape, a line for each shape.
    fn children(&self, f: &mut Formatter<'_>, parents: &[&Node<'_>], depth: usize) -> fmt::Result {
        let mut groups: Vec<(String, Vec<&Node<'_>>)> = Vec::new();
        for child in parents.iter().flat_map(|parent| &parent.children) {
            let shape = self.shape(child);
            match groups.iter_mut().find(|(known, _)| foldable(child) && *known == shape) {
                Some((_, group)) => group.push(child),
                None => groups.push((shape, vec![child])),
            }
        }
        for (_, mut group) in groups {
            group.sort_by_key(|node| node.cpus.first());
            write_line(f, 2 * depth, (&self.label(&group), &sets(&group)))?;
            self.children(f, &group, depth + 1)?;
        }
        Ok(())
    }

    /// What makes nodes alike: everything but their CPUs' numbers and their own.
    fn shape(&self, node: &Node<'_>) -> String {
        let parts = node.parts.iter().map(|&part| match part {
            Part::Package(_) => "package".to_owned(),
            part => words::part(part),
        });
        let parts: Vec<String> = parts.collect();
        let children: Vec<String> = node.children.iter().map(|child| self.shape(child)).collect();
        format!("{}{}:{}({})", parts.join(","), self.kind(node), node.cpus.len(), children.join(" "))
    }

    /// Labels some nodes of the same shape.
    fn label(&self, group: &[&Node<'_>]) -> String {
        let node = group[0];
        let (mut outer, mut caches) = (Vec::new(), Vec::new());
        for (position, &part) in node.parts.iter().enumerate() {
            match part {
                Part::Package(_) if group.len() > 1 => outer.push(packages(group, position)),
                Part::Cache(_) if node.is_core() => caches.push(words::part(part)),
                Part::Core(_) => outer.push(format!("core{}", self.kind(node))),
                _ => outer.push(words::part(part)),
            }
        }
        let times = if group.len() > 1 { format!("{} × ", group.len()) } else { String::new() };
        let caches = if caches.is_empty() { String::new() } else { format!(" with {}", caches.join(", ")) };
        format!("{times}{}{caches}", outer.join(", "))
    }

    /// The kind of a core, where cores differ, as ` (cpu_atom)`.
    fn kind(&self, node: &Node<'_>) -> String {
        let mut kinds = self.topology.kinds().iter().enumerate();
        let kind = kinds.find(|(_, kind)| node.cpus.is_subset(&kind.cpus));
        match kind.filter(|_| node.is_core() && self.topology.kinds().len() > 1) {
            Some((index, kind)) => format!(" ({})", words::kind_name(index, kind)),
            None => String::new(),
        }
    }

    /// How far the NUMA nodes are from each other, where there are some and the firmware tells.
    fn distances(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nodes = self.topology.numa_nodes();
        let known: BTreeSet<u32> = nodes.iter().flat_map(|node| node.distances.values().copied()).collect();
        if nodes.len() < 2 || known.is_empty() {
            return Ok(());
        }
        if let Some((own, other)) = two_distances(nodes) {
            return writeln!(f, "NUMA distances: {own} to itself, {other} to every other");
        }
        if nodes.len() > MATRIX_MAX {
            let known: Vec<String> = known.iter().map(u32::to_string).collect();
            return writeln!(f, "NUMA distances: {}; the JSON form has the matrix", known.join(", "));
        }
        let row = |name: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!(" {cell:>4}")).collect();
            format!("{name:<14}{cells}")
        };
        let columns = nodes.iter().map(|node| node.os_index.to_string()).collect();
        writeln!(f, "{}", row("NUMA distances", columns))?;
        for from in nodes {
            let distance = |to| from.distances.get(to).map_or_else(|| "?".to_owned(), u32::to_string);
            let cells = nodes.iter().map(|to| distance(&to.os_index)).collect();
            writeln!(f, "{}", row(&format!("  from {}", from.os_index), cells))?;
        }
        Ok(())
    }

    fn problems(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let problems = self.topology.problems();
        for problem in problems.iter().take(PROBLEMS_MAX) {
            writeln!(f, "problem: {}", words::plain(&problem.to_string()))?;
        }
        match problems.len().saturating_sub(PROBLEMS_MAX) {
            0 => Ok(()),
            more => writeln!(f, "and {more} problems more"),
        }
    }
}

impl Display for Tree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hierarchy = Hierarchy::new(self.topology);
        writeln!(f, "machine: {}", words::summary(self.topology))?;
        for remark in words::remarks(self.topology) {
            writeln!(f, "{remark}")?;
        }
        self.children(f, &[&hierarchy.machine], 0)?;
        for part in &hierarchy.beside {
            let nesting = if part.cpus().is_empty() { "" } else { "does not nest: " };
            writeln!(f, "{nesting}{}: {}", words::part(*part), words::cpus(part.cpus()))?;
        }
        self.distances(f)?;
        for excluded in self.topology.excluded() {
            let reason = words::plain(&excluded.reason.to_string());
            writeln!(f, "excluded: {}: {reason}", words::cpus(&excluded.cpus))?;
        }
        self.problems(f)
    }
}

/// The distance of every node to itself and to every other, where there are just these two.
fn two_distances(nodes: &[NumaNode]) -> Option<(u32, u32)> {
    let between = |from: &NumaNode, to: &NumaNode| from.distances.get(&to.os_index).copied();
    let (own, other) = (between(&nodes[0], &nodes[0])?, between(&nodes[0], &nodes[1])?);
    let expected = |from: &NumaNode, to: &NumaNode| if from.os_index == to.os_index { own } else { other };
    let mut pairs = nodes.iter().flat_map(|from| nodes.iter().map(move |to| (from, to)));
    pairs.all(|(from, to)| between(from, to) == Some(expected(from, to))).then_some((own, other))
}

/// Whether a node may share a line. NUMA nodes differ in memory, and packages and dies are few
/// and worth a line, unless they are cores as well, as in many virtual machines.
fn foldable(node: &Node<'_>) -> bool {
    let worth_a_line = |part: &Part<'_>| match part {
        Part::NumaNode(_) => true,
        Part::Package(_) | Part::Die(_) => !node.is_core(),
        _ => false,
    };
    !node.parts.iter().any(worth_a_line)
}

/// The numbers of some packages as `package (0-3)`.
fn packages(group: &[&Node<'_>], position: usize) -> String {
    let number = |node: &&Node<'_>| match node.parts.get(position) {
        Some(Part::Package(package)) => package.os_index.and_then(|index| u32::try_from(index).ok()),
        _ => None,
    };
    let numbers: Option<Vec<u32>> = group.iter().map(number).collect();
    match numbers {
        Some(numbers) => format!("package ({})", words::numbers(&numbers)),
        None => "package".to_owned(),
    }
}

/// The CPUs of some nodes: one list where that says it all, or else a list for each.
fn sets(group: &[&Node<'_>]) -> String {
    let sets: Vec<&CpuSet> = group.iter().map(|node| &node.cpus).collect();
    if sets.iter().all(|set| set.len() == 1) || sets.len() == 1 {
        return words::cpus(&sets.iter().flat_map(|set| set.iter()).collect());
    }
    let [first, second, .., last] = sets[..] else {
        return format!("CPUs {} | {}", words::list(sets[0]), words::list(sets[1]));
    };
    if sets.len() > 4 && is_progression(&sets) {
        let [first, second, last] = [first, second, last].map(words::list);
        return format!("CPUs {first} | {second} | … | {last}");
    }
    let lists: Vec<String> = sets.iter().copied().map(words::list).collect();
    format!("CPUs {}", lists.join(" | "))
}

/// Says whether each set is the one before it, all its CPUs moved by the same distance.
fn is_progression(sets: &[&CpuSet]) -> bool {
    let distance = |a: u32, b: u32| i64::from(b) - i64::from(a);
    let mut steps = sets.windows(2).flat_map(|pair| {
        let same_size = pair[0].len() == pair[1].len();
        let steps = pair[0].iter().zip(pair[1]).map(move |(a, b)| distance(a, b));
        steps.map(move |step| same_size.then_some(step))
    });
    let first = steps.next().flatten();
    first.is_some() && steps.all(|step| step == first)
}

/// Writes a label and its sets, on lines of their own where one is too short.
fn write_line(f: &mut Formatter<'_>, indent: usize, (label, sets): (&str, &str)) -> fmt::Result {
    write!(f, "{:indent$}{label}:", "")?;
    if indent + label.chars().count() + ": ".len() + sets.chars().count() <= COLUMNS_MAX {
        return writeln!(f, " {sets}");
    }
    let indent = indent + 4;
    let mut column = COLUMNS_MAX; // The first set starts a line.
    for (index, set) in sets.split(" | ").enumerate() {
        let width = set.chars().count() + " | ".len();
        let bar = if index > 0 { " |" } else { "" };
        if column + width > COLUMNS_MAX {
            write!(f, "{bar}\n{:indent$}{set}", "")?;
            column = indent + width;
        } else {
            write!(f, "{bar} {set}")?;
            column += width;
        }
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lists: &[&str]) -> String {
        let nodes: Vec<Node<'_>> = lists
            .iter()
            .map(|list| Node { cpus: list.parse().unwrap(), parts: vec![], children: vec![] })
            .collect();
        sets(&nodes.iter().collect::<Vec<_>>())
    }

    #[test]
    fn lists_of_sets_are_short_and_lose_nothing() {
        for (lists, text) in [
            (&["0-3"][..], "CPUs 0-3"),
            (&["0", "1", "2", "7"], "CPUs 0-2,7"),
            (&["0-1", "2-3"], "CPUs 0-1 | 2-3"),
            (&["0,4", "1,5", "2,6", "3,7"], "CPUs 0,4 | 1,5 | 2,6 | 3,7"),
            (&["0,5", "1,6", "2,7", "3,8", "4,9"], "CPUs 0,5 | 1,6 | … | 4,9"),
            (&["0,5", "1,6", "2,7", "3,9", "4,8"], "CPUs 0,5 | 1,6 | 2,7 | 3,9 | 4,8"),
            (&["0-1", "2-3", "4-5", "6-7", "8"], "CPUs 0-1 | 2-3 | 4-5 | 6-7 | 8"),
        ] {
            assert_eq!(list(lists), text);
        }
    }
}
