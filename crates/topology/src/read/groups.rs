//! Cores, clusters, dies and packages: disjoint groups of CPUs, keyed on the kernel's lists.

use crate::cpuset::CpuSet;
use crate::model::{Cluster, Core, Die, Package};

use crate::read::files::{CPU_DIR, Files, Form, Forms, list, mask};
use crate::read::parse;
use crate::view::words::cpus as named;

/// What one kind of group is called, and where its lists stand, best first.
struct Kind {
    name: &'static str,
    forms: &'static [Form],
    /// Whether it is a problem when no file tells.
    required: bool,
}

const CORE: Kind = Kind {
    name: "core",
    forms: &[
        mask("core_cpus"),
        list("core_cpus_list"),
        mask("thread_siblings"),
        list("thread_siblings_list"),
    ],
    required: true,
};

const PACKAGE: Kind = Kind {
    name: "package",
    forms: &[
        mask("package_cpus"),
        list("package_cpus_list"),
        mask("core_siblings"),
        list("core_siblings_list"),
    ],
    required: true,
};

/// Kernels since 5.2 have these files.
const DIE: Kind = Kind { name: "die", forms: &[mask("die_cpus"), list("die_cpus_list")], required: false };

/// Kernels since 5.16 have these files.
const CLUSTER: Kind =
    Kind { name: "cluster", forms: &[mask("cluster_cpus"), list("cluster_cpus_list")], required: false };

/// Reads the cores of the described CPUs, ascending.
pub(crate) fn cores(files: &mut Files<'_>, cpus: &CpuSet) -> Vec<Core> {
    let groups = read(files, cpus, &CORE).into_iter();
    groups.map(|cpus| Core { cpus }).collect()
}

/// Reads the packages of the described CPUs, ascending.
pub(crate) fn packages(files: &mut Files<'_>, cpus: &CpuSet) -> Vec<Package> {
    let groups = read(files, cpus, &PACKAGE).into_iter();
    let mut os_index = |cpus: &CpuSet| {
        let path = format!("{CPU_DIR}/cpu{}/topology/physical_package_id", cpus.first()?);
        files.optional(&path, parse::number)
    };
    let package = |cpus| Package { os_index: os_index(&cpus), cpus };
    groups.map(package).collect()
}

/// Reads the dies of the described CPUs, ascending. The kernel gives every package at least one
/// die; one that is its whole package marks no boundary and is left out.
pub(crate) fn dies(files: &mut Files<'_>, cpus: &CpuSet, packages: &[Package]) -> Vec<Die> {
    let groups = read(files, cpus, &DIE).into_iter();
    let parts = groups.filter(|die| packages.iter().all(|package| package.cpus != *die));
    parts.filter(|die| !is_default(files, die)).map(|cpus| Die { cpus }).collect()
}

/// Says whether a die is only what the kernel answers on an architecture that has none to tell of: id
/// −1, and each CPU a die of its own.
fn is_default(files: &mut Files<'_>, die: &CpuSet) -> bool {
    let id = die
        .first()
        .and_then(|cpu| files.optional(&format!("{CPU_DIR}/cpu{cpu}/topology/die_id"), parse::number::<i64>));
    id == Some(-1)
}

/// Reads the clusters of the described CPUs, ascending. The kernel gives every CPU a cluster; one
/// that is no more than a core marks no boundary and is left out.
pub(crate) fn clusters(files: &mut Files<'_>, cpus: &CpuSet, cores: &[Core]) -> Vec<Cluster> {
    let groups = read(files, cpus, &CLUSTER).into_iter();
    let more = groups.filter(|cluster| cores.iter().all(|core| !cluster.is_subset(&core.cpus)));
    more.map(|cpus| Cluster { cpus }).collect()
}

/// Leaves out the clusters that mark no boundary because they are as much as a die or package, and
/// those that cross one.
pub(crate) fn boundaries(mut clusters: Vec<Cluster>, dies: &[Die], packages: &[Package]) -> Vec<Cluster> {
    let larger = || dies.iter().map(|die| &die.cpus).chain(packages.iter().map(|package| &package.cpus));
    // Strictly inside of it, or apart.
    let fits = |cluster: &CpuSet, part: &CpuSet| {
        (cluster.is_subset(part) && cluster != part) || cluster.intersection(part).is_empty()
    };
    clusters.retain(|cluster| larger().all(|part| fits(&cluster.cpus, part)));
    clusters
}

fn read(files: &mut Files<'_>, cpus: &CpuSet, kind: &Kind) -> Vec<CpuSet> {
    let mut forms = Forms::of(kind.forms);
    let mut partition = Partition::default();
    let mut unknown = CpuSet::new();
    let problems_before = files.problems();
    for cpu in cpus {
        let dir = format!("{CPU_DIR}/cpu{cpu}/topology");
        let Some(listed) = files.cpus(&dir, &mut forms) else {
            unknown.insert(cpu);
            let missing = files.problems() == problems_before;
            if partition.groups.is_empty() && !kind.required && missing {
                break; // The kernel is older than these files: no CPU has one.
            }
            continue;
        };
        // Files may still name CPUs that have gone offline since.
        let claim = listed.intersection(cpus);
        let Some(conflict) = partition.conflict(cpu, &claim) else {
            partition.add(cpu, &claim);
            continue;
        };
        files.problem(&forms.path(&dir), format_args!("the {} of CPU {cpu} {conflict}", kind.name));
        // The other form should say the same. In a recording it may be the one that is right.
        let others = files.other_forms(&dir, &forms).into_iter().map(|listed| listed.intersection(cpus));
        let better = others.into_iter().find(|claim| partition.conflict(cpu, claim).is_none());
        partition.add(cpu, &better.unwrap_or(claim));
    }
    if let Some(cpu) = unknown.first().filter(|_| kind.required) {
        let message = format!("no usable file tells the {} of {}", kind.name, named(&unknown));
        files.problem(&format!("{CPU_DIR}/cpu{cpu}/topology"), message);
    }
    partition.groups
}

/// Groups that never overlap, whatever the files say: where they contradict each other, the group
/// named first, by the lowest CPU, keeps its members.
#[derive(Default)]
struct Partition {
    groups: Vec<CpuSet>,
    covered: CpuSet,
}

impl Partition {
    /// Tells how what CPU `cpu` says its group is conflicts with what is known.
    fn conflict(&self, cpu: u32, group: &CpuSet) -> Option<String> {
        if !group.contains(cpu) {
            return Some(format!("is said to be `{group}`, without CPU {cpu} itself"));
        }
        if self.groups.contains(group) {
            return None;
        }
        if self.covered.contains(cpu) {
            return Some(format!("is said to be `{group}`, but another CPU's file puts it elsewhere"));
        }
        let overlaps = !group.intersection(&self.covered).is_empty();
        overlaps.then(|| format!("is said to be `{group}`, but other files put a part of it elsewhere"))
    }

    /// Takes what CPU `cpu` says its group is, less what others have.
    fn add(&mut self, cpu: u32, group: &CpuSet) {
        if group.contains(cpu) && !self.covered.contains(cpu) {
            let rest = group.difference(&self.covered);
            self.covered = self.covered.union(&rest);
            self.groups.push(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn partition_of(claims: &[(u32, &str)]) -> (String, usize) {
        let mut partition = Partition::default();
        let mut conflicts = 0;
        for &(cpu, group) in claims {
            let group = group.parse().unwrap();
            conflicts += usize::from(partition.conflict(cpu, &group).is_some());
            partition.add(cpu, &group);
        }
        let groups: Vec<String> = partition.groups.iter().map(CpuSet::to_string).collect();
        (groups.join(" "), conflicts)
    }

    #[test]
    fn groups_are_deduplicated_by_set() {
        let claims = [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")];
        assert_eq!(partition_of(&claims), ("0,2 1,3".to_owned(), 0));
    }

    #[test]
    fn contradictions_are_told_and_do_not_overlap() {
        let claims = [(0, "0-1"), (1, "1-2"), (2, "1-2"), (3, "0"), (4, "4")];
        assert_eq!(partition_of(&claims), ("0-1 2 4".to_owned(), 3));
    }

    proptest! {
        #[test]
        fn groups_never_overlap(
            claims in proptest::collection::vec(proptest::collection::btree_set(0..12_u32, 0..6), 12)
        ) {
            let mut partition = Partition::default();
            for (cpu, group) in (0_u32..).zip(claims) {
                let group: CpuSet = group.into_iter().collect();
                let own = group.contains(cpu);
                partition.add(cpu, &group);
                prop_assert!(!own || partition.covered.contains(cpu));
            }
            let members: usize = partition.groups.iter().map(CpuSet::len).sum();
            prop_assert_eq!(members, partition.covered.len());
            prop_assert!(partition.groups.iter().all(|group| !group.is_empty()));
        }
    }
}
