//! The placements of some threads that differ by more than a symmetry of the machine.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cpuset::CpuSet;
use crate::topology::Topology;
use crate::view::words::count;

use hierarchy::Hierarchy;
use structure::Structure;
use symmetry::Symmetries;

mod hierarchy;
mod structure;
mod symmetry;

/// Placements of which no two are the same but for the numbers of the CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DistinctPlacements {
    /// A placement of each class: as many allowed logical CPUs as there are threads. From packed
    /// to spread: what fills the part with the lowest CPUs comes first.
    pub placements: Vec<CpuSet>,
    /// Whether each class is there once.
    pub exactness: Exactness,
}

/// How far [`DistinctPlacements`] can be trusted not to repeat a class. No class is ever missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exactness {
    /// Each class is there once.
    Exact,
    /// Some classes may be there more than once: parts of this machine cross each other, or have
    /// irregular NUMA distances, and have more symmetries than are listed.
    MayRepeat,
}

/// Placements that cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnumerateError {
    /// There are fewer allowed logical CPUs than threads.
    #[error(
        "{threads} threads need a logical CPU each, but only {allowed} {} allowed; enumerate fewer \
         threads, or allow more CPUs",
        if *.allowed == 1 { "is" } else { "are" }
    )]
    NotEnough {
        /// The number of threads.
        threads: usize,
        /// The number of allowed logical CPUs.
        allowed: usize,
    },
    /// There are more placements than was wished for.
    #[error(
        "there are more than {limit} placements of {} that differ; enumerate fewer \
         threads, or raise the limit",
        count(*.threads, "thread")
    )]
    TooMany {
        /// The number of threads.
        threads: usize,
        /// The limit.
        limit: usize,
    },
}

/// Lists the placements of `threads` threads on allowed logical CPUs, one of each class.
///
/// Two placements are of one class when a symmetry of the machine maps one to the other: they
/// differ in the numbers of their CPUs and in nothing that the topology tells. Two threads on two
/// packages of two cores of two SMT siblings have 28 placements in 3 classes: on one core, on two
/// cores of a package, and on two packages. Threads are alike: which of them runs where is not
/// looked at.
///
/// A symmetry keeps packages, dies, clusters, NUMA nodes, cores and caches, the caches' sizes,
/// the distances between nodes, and which CPUs are allowed, isolated, tickless (`nohz_full=`), and
/// of which kind. CPUs that are not allowed get no thread, yet they are
/// neighbours: a core with a forbidden sibling is not like one without. Of a node's memory it
/// keeps only whether there is any and whether this process may take it, for the sizes of like
/// nodes differ slightly.
///
/// The result depends on the topology alone. It grows fast: when unsure, take a `limit` of what
/// there is time to measure.
///
/// # Errors
///
/// [`EnumerateError`] when there are fewer allowed CPUs than threads, or more placements than
/// `limit`. A machine whose parts cross each other is no error; see [`Exactness`].
///
/// ```
/// use tailcore_topology::{Topology, distinct_placements};
///
/// let topology = Topology::read()?;
/// let alone = distinct_placements(&topology, 1, 100)?;
/// // One for each kind of place; a machine of equal CPUs has one.
/// assert!(alone.placements.iter().all(|cpus| cpus.len() == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn distinct_placements(
    topology: &Topology,
    threads: usize,
    limit: usize,
) -> Result<DistinctPlacements, EnumerateError> {
    let allowed = topology.allowed().len();
    if threads > allowed {
        return Err(EnumerateError::NotEnough { threads, allowed });
    }
    let structure = Structure::of(topology);
    let hierarchy = Hierarchy::of(&structure);
    let symmetries = Symmetries::of(&structure, &hierarchy);
    let task = Task { threads, limit };
    let classes = Classes::of(&hierarchy, &task, allowed)?;
    let units: Vec<usize> =
        hierarchy.units.iter().copied().filter(|&unit| classes.capacity(unit) > 0).collect();
    let kinds: Vec<usize> = units.iter().map(|&unit| hierarchy.nodes[unit].kind).collect();
    let whole = classes.combine(&kinds, threads, &Rule::Listed(&symmetries.listed))?;
    Ok(DistinctPlacements {
        placements: whole.iter().map(|class| classes.cpus(&units, class)).collect(),
        exactness: if symmetries.complete { Exactness::Exact } else { Exactness::MayRepeat },
    })
}

struct Task {
    threads: usize,
    limit: usize,
}

/// Some threads on one of several children.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    child: usize,
    threads: usize,
    /// Which of the classes of that child's kind with as many threads.
    class: usize,
}

/// Threads on children, ascending by child; those without threads are not in it.
type Class = Vec<Part>;

/// Which children may change places.
enum Rule<'a> {
    /// Those of one kind.
    OfOneKind,
    /// As these permutations say. Should they be fewer than there are, no class is lost: its
    /// first member is preferred to all others and stays.
    Listed(&'a BTreeSet<Vec<usize>>),
}

/// The classes of threads on each kind of node.
struct Classes<'a> {
    hierarchy: &'a Hierarchy,
    task: &'a Task,
    /// By kind, then by number of threads; empty for numbers that no placement has there.
    of_kind: Vec<Vec<Vec<Class>>>,
}

impl<'a> Classes<'a> {
    /// Lists them from the leaves up.
    ///
    /// A number of threads that the rest of the machine cannot make up to the whole is left out.
    /// So each class listed here is part of a placement, and no two of the same one: more than
    /// `limit` here are more than `limit` of the whole.
    fn of(hierarchy: &'a Hierarchy, task: &'a Task, allowed: usize) -> Result<Self, EnumerateError> {
        let mut classes = Self { hierarchy, task, of_kind: Vec::new() };
        for kind in &hierarchy.kinds {
            let least = task.threads.saturating_sub(allowed - kind.capacity);
            let most = task.threads.min(kind.capacity);
            let of_threads = |threads| match kind.children.as_slice() {
                _ if threads < least.max(1) => Ok(Vec::new()),
                [] => Ok(vec![Class::new()]),
                children => classes.combine(children, threads, &Rule::OfOneKind),
            };
            let by_threads = (0..=most).map(of_threads).collect::<Result<Vec<_>, _>>()?;
            classes.of_kind.push(by_threads);
        }
        Ok(classes)
    }

    fn capacity(&self, node: usize) -> usize {
        self.hierarchy.kinds[self.hierarchy.nodes[node].kind].capacity
    }

    /// Lists the classes of `threads` threads on children of the given kinds, the preferred ones
    /// first: most threads on the first child, and so on.
    fn combine(
        &self,
        kinds: &[usize],
        threads: usize,
        rule: &Rule<'_>,
    ) -> Result<Vec<Class>, EnumerateError> {
        let mut found = Vec::new();
        let mut pending = vec![(0, Class::new())];
        while let Some((next, class)) = pending.pop() {
            let left = threads - class.iter().map(|part| part.threads).sum::<usize>();
            let decided = if left == 0 { kinds.len() } else { next };
            if rule.prefers_another(&class, decided) {
                continue;
            }
            if left > 0 {
                let options = self.options(kinds, (next, left), (rule, class.last()));
                // Last in, first out: what is preferred is put there last.
                pending.extend(options.into_iter().rev().map(|part| (next + 1, with(&class, part))));
            } else if found.len() < self.task.limit {
                found.push(class);
            } else {
                let Task { threads, limit } = *self.task;
                return Err(EnumerateError::TooMany { threads, limit });
            }
        }
        Ok(found)
    }

    /// What the child `next` can have of the `left` threads such that the children after it can
    /// take the rest; what is preferred first. Among children of one kind that may change places,
    /// none has what is preferred to what the one before has.
    fn options(
        &self,
        kinds: &[usize],
        (next, left): (usize, usize),
        (rule, last): (&Rule<'_>, Option<&Part>),
    ) -> Vec<Part> {
        let Some((kind, after)) = kinds[next..].split_first() else {
            return Vec::new();
        };
        let capacity = |kind: &usize| self.hierarchy.kinds[*kind].capacity;
        let ordered = matches!(rule, Rule::OfOneKind);
        let alike = if ordered { after.iter().take_while(|other| *other == kind).count() } else { 0 };
        let room: usize = after[alike..].iter().map(capacity).sum();
        let bound = match last {
            _ if !ordered || next == 0 || kinds[next - 1] != *kind => None,
            Some(part) if part.child + 1 == next => Some(*part),
            _ => return vec![Part { child: next, threads: 0, class: 0 }],
        };
        let most = left.min(bound.map_or(capacity(kind), |part| part.threads));
        let mut options = Vec::new();
        for threads in (0..=most).rev() {
            if left - threads > threads * alike + room {
                break;
            }
            let first = bound.filter(|part| part.threads == threads).map_or(0, |part| part.class);
            let count = if threads == 0 { 1 } else { self.of_kind[*kind][threads].len() };
            options.extend((first..count).map(|class| Part { child: next, threads, class }));
        }
        options
    }

    /// The CPUs of a class of threads on the given nodes.
    fn cpus(&self, nodes: &[usize], class: &Class) -> CpuSet {
        let mut pending: Vec<(usize, Part)> = class.iter().map(|&part| (nodes[part.child], part)).collect();
        let mut cpus = Vec::with_capacity(self.task.threads);
        while let Some((node, part)) = pending.pop() {
            let node = &self.hierarchy.nodes[node];
            cpus.extend(node.cpu);
            let parts = &self.of_kind[node.kind][part.threads][part.class];
            pending.extend(parts.iter().map(|&part| (node.children[part.child], part)));
        }
        cpus.into_iter().collect()
    }
}

impl Rule<'_> {
    /// Says whether a permutation maps the class to one that is preferred, whatever is put on the
    /// children that are not yet `decided`.
    fn prefers_another(&self, class: &Class, decided: usize) -> bool {
        let Self::Listed(permutations) = self else {
            return false; // The options were in order from the start.
        };
        if permutations.is_empty() {
            return false;
        }
        let mut ranks = vec![(Reverse(0), 0); decided];
        for part in class {
            ranks[part.child] = (Reverse(part.threads), part.class);
        }
        permutations.iter().any(|permutation| {
            let images = permutation.iter().map_while(|&child| ranks.get(child));
            let differs = images.zip(&ranks).find(|(image, rank)| image != rank);
            differs.is_some_and(|(image, rank)| image < rank)
        })
    }
}

/// The class with a part more, if that has threads.
fn with(class: &Class, part: Part) -> Class {
    let mut class = class.clone();
    class.extend(Some(part).filter(|part| part.threads > 0));
    class
}
