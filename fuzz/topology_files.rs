//! Reads a machine whose files hold what the fuzzer likes, then looks at it from every side.
//!
//! The input is text in lines: `path`, a tab, and the content with `|` for a line break. Without a
//! path that starts with a slash, the content belongs to the next of a list of known paths, so that
//! short inputs reach every parser.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use libfuzzer_sys::fuzz_target;
use tailcore_topology::audit::Audit;
use tailcore_topology::{CpuSet, Frequencies, Interrupts, Source, Topology};

fuzz_target!(|text: &str| {
    let files = Files::parse(text);
    let Ok(topology) = Topology::read_source(&files) else {
        return;
    };
    invariants_stand(&topology);
    let _ = (topology.tree().to_string(), topology.svg().to_string());
    let frequencies = Frequencies::read(&files, &topology);
    assert!(disjoint(frequencies.policies.iter().map(|policy| &policy.cpus)));
    let _ = Interrupts::read(&files);
    let _ = Audit::read_source(&files, &topology, topology.allowed());
});

/// Paths that are read, of a machine of three CPUs, in the order in which lines without a path
/// fill them.
const KNOWN: [&str; 40] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/core_cpus",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu1/topology/package_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/package_cpus",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/die_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/cluster_cpus_list",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
    "sys/devices/system/cpu/cpu1/cache/index0/shared_cpu_map",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu0/cpufreq/affected_cpus",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/node/node0/cpumap",
    "sys/devices/system/node/node1/cpulist",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/distance",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/self/cpuset",
    "proc/self/mountinfo",
    "proc/mounts",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "sys/fs/cgroup/cpu.max",
    "proc/irq/3/smp_affinity_list",
];

/// The files of one input.
struct Files {
    files: BTreeMap<String, String>,
}

impl Files {
    fn parse(text: &str) -> Self {
        let mut known = KNOWN.iter();
        let mut files = BTreeMap::new();
        for line in text.lines() {
            let (path, content) = match line.strip_prefix('/').and_then(|line| line.split_once('\t')) {
                Some((path, content)) => (path, content),
                None => match known.next() {
                    Some(path) => (*path, line),
                    None => break,
                },
            };
            files.insert(path.to_owned(), content.replace('|', "\n"));
        }
        Self { files }
    }
}

impl Source for Files {
    fn read(&self, path: &str, text: &mut String) -> io::Result<()> {
        text.push_str(self.files.get(path).ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let below = format!("{path}/");
        let children = self.files.keys().filter_map(|file| file.strip_prefix(&below)?.split('/').next());
        let children: BTreeSet<&str> = children.collect();
        if children.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(children.into_iter().map(str::to_owned).collect())
    }
}

fn invariants_stand(topology: &Topology) {
    let online = topology.online();
    assert!(!online.is_empty());
    assert!(online.is_subset(topology.present()) && topology.present().is_subset(topology.possible()));
    assert!(topology.allowed().is_subset(online));
    let cores = topology.cores().iter().map(|core| &core.cpus);
    let packages = topology.packages().iter().map(|package| &package.cpus);
    let kinds = topology.kinds().iter().map(|kind| &kind.cpus);
    let nodes = topology.numa_nodes().iter().map(|node| &node.cpus);
    assert!(disjoint(cores) && disjoint(packages) && disjoint(kinds) && disjoint(nodes));
    let excluded = topology.excluded().iter().map(|excluded| &excluded.cpus);
    assert!(disjoint(excluded.chain([topology.allowed()])));
}

fn disjoint<'a>(sets: impl Iterator<Item = &'a CpuSet> + Clone) -> bool {
    let members: usize = sets.clone().map(CpuSet::len).sum();
    members == sets.fold(CpuSet::new(), |union, set| union.union(set)).len()
}
