//! Files of random content: whatever they hold, nothing panics and the invariants stand.

use proptest::collection::vec;
use proptest::prelude::*;
use tailcore_topology::{CpuSet, Role, Topology, place};

use crate::fixture::{CPU, Machine, NODE};

/// Every file that is read, of a machine of four CPUs.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = ["self/status", "self/cgroup", "self/cpuset", "self/mountinfo", "mounts"]
        .map(|name| format!("proc/{name}"))
        .into();
    paths.push("sys/fs/cgroup/cpuset.cpus.effective".to_owned());
    paths.push("sys/fs/cgroup/cpu.max".to_owned());
    paths.push("sys/devices/cpu_core/cpus".to_owned());
    paths.push("sys/bus/event_source/devices/cpu_atom/cpus".to_owned());
    for name in ["online", "present", "possible", "isolated", "nohz_full", "smt/control"] {
        paths.push(format!("{CPU}/{name}"));
    }
    for name in ["cpulist", "cpumap", "meminfo", "distance"] {
        paths.push(format!("{NODE}/node0/{name}"));
    }
    for cpu in 0..4 {
        for name in [
            "online",
            "topology/core_cpus_list",
            "topology/core_cpus",
            "topology/package_cpus_list",
            "topology/physical_package_id",
            "topology/die_cpus_list",
            "cache/index0/level",
            "cache/index0/type",
            "cache/index0/size",
            "cache/index0/coherency_line_size",
            "cache/index0/shared_cpu_list",
            "cache/index1/shared_cpu_map",
            "cache/index0/ways_of_associativity",
            "topology/cluster_cpus_list",
            "cpu_capacity",
            "cpufreq/cpuinfo_max_freq",
            "regs/identification/midr_el1",
        ] {
            paths.push(format!("{CPU}/cpu{cpu}/{name}"));
        }
    }
    paths
}

/// Raw bytes, text near to what belongs there, and lists that are right but contradict others.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..40),
        "[0-9a-fKMx,\\- \n]{0,20}".prop_map(String::into_bytes),
        vec(0..6_u32, 1..5).prop_map(|cpus| CpuSet::from_iter(cpus).to_string().into_bytes()),
        Just(b"Data\n".to_vec()),
        Just(b"0::/a/b\n6:cpuset,cpu:/\n".to_vec()),
        Just(
            b"1 2 0:9 / /sys/fs/cgroup rw - cgroup2 x rw\n1 2 0:9 /a / rw - cgroup x rw,cpu,cpuset\n"
                .to_vec()
        ),
        Just(b"Cpus_allowed_list: 0-4294967295\n".to_vec()),
        Just(b"Node 0 MemTotal: 18446744073709551615 kB\n".to_vec()),
    ]
}

fn disjoint<'a>(sets: impl Iterator<Item = &'a CpuSet> + Clone) -> bool {
    let members: usize = sets.clone().map(CpuSet::len).sum();
    let union = sets.fold(CpuSet::new(), |union, set| union.union(set));
    members == union.len()
}

fn invariants_stand(topology: &Topology) {
    let online = topology.online();
    assert!(!online.is_empty());
    assert!(online.is_subset(topology.present()));
    assert!(topology.present().is_subset(topology.possible()));
    assert!(topology.allowed().is_subset(online));
    assert!(topology.isolated().is_subset(online));
    assert!(topology.cpu_quota().limit().is_none_or(|quota| quota.period_us > 0));
    let excluded = topology.excluded().iter().map(|excluded| &excluded.cpus);
    assert!(disjoint(excluded.clone().chain([topology.allowed()])));
    assert_eq!(excluded.map(CpuSet::len).sum::<usize>() + topology.allowed().len(), topology.present().len());
    assert!(topology.offline().intersection(online).is_empty());
    let cores = topology.cores().iter().map(|core| &core.cpus);
    let packages = topology.packages().iter().map(|package| &package.cpus);
    let dies = topology.dies().iter().map(|die| &die.cpus);
    let caches = topology.caches().iter().map(|cache| &cache.cpus);
    let clusters = topology.clusters().iter().map(|cluster| &cluster.cpus);
    let kinds = topology.kinds().iter().map(|kind| &kind.cpus);
    assert!(disjoint(cores.clone()) && disjoint(packages.clone()) && disjoint(dies.clone()));
    assert!(disjoint(clusters.clone()) && disjoint(kinds.clone()));
    assert!(disjoint(topology.numa_nodes().iter().map(|node| &node.cpus)));
    for set in cores.chain(packages).chain(dies).chain(clusters).chain(kinds).chain(caches) {
        assert!(!set.is_empty() && set.is_subset(online), "{set}");
    }
}

/// As many roles as there are allowed CPUs, up to a few, each get one of those, none twice.
fn placement_stands(topology: &Topology) {
    let roles = vec![Role::Server; topology.allowed().len().min(8)];
    let placed = place(topology, &"auto".parse().unwrap(), &roles).unwrap();
    let cpus: CpuSet = placed.into_iter().flatten().collect();
    assert_eq!(cpus.len(), roles.len());
    assert!(cpus.is_subset(topology.allowed()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_panics_on_what_files_hold(
        changes in vec((proptest::sample::select(paths()), content()), 0..40)
    ) {
        let machine = Machine::of_cores(&["0,1", "2,3"]);
        for (path, content) in changes {
            machine.file(&path, content);
        }
        if let Ok(topology) = Topology::read_from(machine.root()) {
            invariants_stand(&topology);
            placement_stands(&topology);
            prop_assert!(!topology.tree().to_string().is_empty());
            prop_assert!(topology.svg().to_string().ends_with("</svg>\n"));
            prop_assert!(serde_json::to_string(&topology).is_ok());
        }
    }
}
