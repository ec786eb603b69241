//! Cores, dies and packages: disjoint groups of CPUs, keyed on the kernel's lists.

use crate::cpuset::CpuSet;
use crate::model::{Cluster, Core, Die, Package};

use crate::read::files::{CPU_DIR, Files, Form, Forms, list, mask};
use crate::read::parse;

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
    groups
        .filter(|die| packages.iter().all(|package| package.cpus != *die))
        .map(|cpus| Die { cpus })
        .collect()
}

/// Reads the clusters of the described CPUs, ascending. The kernel gives every CPU a cluster; one
/// that is no more than a core, or as much as a die or package, marks no boundary and is left out.
pub(crate) fn clusters(
    files: &mut Files<'_>,
    cpus: &CpuSet,
    others: (&[Core], &[Die], &[Package]),
) -> Vec<Cluster> {
    let (cores, dies, packages) = others;
    let groups = read(files, cpus, &CLUSTER).into_iter();
    groups
        .filter(|cluster| cores.iter().all(|core| !cluster.is_subset(&core.cpus)))
        .filter(|cluster| dies.iter().all(|die| die.cpus != *cluster))
        .filter(|cluster| packages.iter().all(|package| package.cpus != *cluster))
        .map(|cpus| Cluster { cpus })
        .collect()
}

fn read(files: &mut Files<'_>, cpus: &CpuSet, kind: &Kind) -> Vec<CpuSet> {
    let mut forms = Forms::of(kind.forms);
    let mut partition = Partition::default();
    let mut unknown = CpuSet::new();
    for cpu in cpus {
        let dir = format!("{CPU_DIR}/cpu{cpu}/topology");
        let Some(listed) = files.cpus(&dir, &mut forms) else {
            unknown.insert(cpu);
            if partition.groups.is_empty() && !kind.required {
                break; // The kernel is older than these files: no CPU has one.
            }
            continue;
        };
        // Lists may still name CPUs that have gone offline since.
        if let Err(conflict) = partition.add(cpu, listed.intersection(cpus)) {
            files.problem(&forms.path(&dir), format_args!("the {} of CPU {cpu} {conflict}", kind.name));
        }
    }
    if let Some(cpu) = unknown.first().filter(|_| kind.required) {
        let message = format!("no usable file tells the {} of CPUs {unknown}", kind.name);
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
    /// Takes what CPU `cpu` says its group is; tells how that conflicts with what is known.
    fn add(&mut self, cpu: u32, group: CpuSet) -> Result<(), String> {
        if !group.contains(cpu) {
            return Err(format!("is said to be `{group}`, without CPU {cpu} itself"));
        }
        if self.covered.contains(cpu) {
            if self.groups.contains(&group) {
                return Ok(());
            }
            let message = format!("is said to be `{group}`, but another CPU's file puts it elsewhere");
            return Err(message);
        }
        let rest = group.difference(&self.covered);
        let conflict = (rest != group)
            .then(|| format!("is said to be `{group}`, but other files put a part of it elsewhere"));
        self.covered = self.covered.union(&rest);
        self.groups.push(rest);
        conflict.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn partition_of(claims: &[(u32, &str)]) -> (String, usize) {
        let mut partition = Partition::default();
        let added = claims.iter().map(|&(cpu, group)| partition.add(cpu, group.parse().unwrap()));
        let conflicts = added.filter(Result::is_err).count();
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
                let _ = partition.add(cpu, group);
                prop_assert!(!own || partition.covered.contains(cpu));
            }
            let members: usize = partition.groups.iter().map(CpuSet::len).sum();
            prop_assert_eq!(members, partition.covered.len());
            prop_assert!(partition.groups.iter().all(|group| !group.is_empty()));
        }
    }
}
