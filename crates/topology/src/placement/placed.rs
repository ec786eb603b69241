//! What came of the requests.

use std::fmt::{self, Display};

use serde::Serialize;

use super::arrange::Request;
use super::role::Role;
use super::rule::Rule;
use crate::cpuset::CpuSet;
use crate::topology::Topology;

/// The logical CPUs of all threads, request by request. Made by [`arrange`](crate::arrange).
///
/// Prints as a table from thread to CPU, core, package and NUMA node; look at it before the
/// run. Serialises as a list with the same contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Placement {
    placed: Vec<Placed>,
}

/// What came of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Placed {
    /// What the threads do.
    pub role: Role,
    /// The rule that placed them.
    pub rule: Rule,
    /// The threads' places, in the order of the threads.
    pub threads: Vec<Place>,
}

/// The place of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The logical CPU.
    pub cpu: u32,
    /// The online logical CPUs of its core, itself included; `None` where no file tells.
    pub core: Option<CpuSet>,
    /// The kernel's label of its package; `None` where no file tells.
    pub package: Option<i64>,
    /// The number of its NUMA node; `None` where the kernel does not tell.
    pub node: Option<u32>,
}

impl Place {
    fn new(topology: &Topology, cpu: u32) -> Self {
        let core = topology.cores().iter().find(|core| core.cpus.contains(cpu));
        let package = topology.packages().iter().find(|package| package.cpus.contains(cpu));
        let node = topology.numa_nodes().iter().find(|node| node.cpus.contains(cpu));
        Self {
            cpu,
            core: core.map(|core| core.cpus.clone()),
            package: package.and_then(|package| package.os_index),
            node: node.map(|node| node.os_index),
        }
    }
}

impl Placed {
    pub(super) fn new(topology: &Topology, request: &Request, cpus: &[u32]) -> Self {
        let threads = cpus.iter().map(|&cpu| Place::new(topology, cpu)).collect();
        Self { role: request.role, rule: request.rule.clone(), threads }
    }

    /// Gives the logical CPU of each thread.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        self.threads.iter().map(|place| place.cpu).collect()
    }
}

impl Placement {
    pub(super) fn new(placed: Vec<Placed>) -> Self {
        Self { placed }
    }

    /// Gives what came of each request, in the order of the requests.
    #[must_use]
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// Visits what came of each request, in the order of the requests.
    pub fn iter(&self) -> std::slice::Iter<'_, Placed> {
        self.placed.iter()
    }

    /// Gives the logical CPU of each thread of a role, in the order of requests and threads;
    /// empty for a role without threads.
    #[must_use]
    pub fn cpus_of(&self, role: Role) -> Vec<u32> {
        let of_role = self.iter().filter(|placed| placed.role == role);
        of_role.flat_map(Placed::cpus).collect()
    }
}

impl<'a> IntoIterator for &'a Placement {
    type Item = &'a Placed;
    type IntoIter = std::slice::Iter<'a, Placed>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let mut rows = vec![["role", "thread", "CPU", "core", "package", "node"].map(str::to_owned)];
        for placed in self {
            rows.extend(placed.threads.iter().enumerate().map(|(thread, place)| {
                [
                    placed.role.to_string(),
                    thread.to_string(),
                    place.cpu.to_string(),
                    known(place.core.as_ref().map(CpuSet::to_string)),
                    known(place.package.map(|package| package.to_string())),
                    known(place.node.map(|node| node.to_string())),
                ]
            }));
        }
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        for [role, cells @ ..] in &rows {
            write!(f, "{role:<0$}", widths[0])?;
            for (cell, width) in cells.iter().zip(&widths[1..]) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
