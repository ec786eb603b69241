//! What is read from built trees, one oddity of real machines at a time.

use std::fs;

use tailcore_topology::{CacheKind, CpuSet, Error, ExclusionReason, Topology};

use crate::fixture::{CPU, Machine, NODE};

fn lists<'a>(sets: impl IntoIterator<Item = &'a CpuSet>) -> String {
    let lists: Vec<String> = sets.into_iter().map(CpuSet::to_string).collect();
    lists.join(" ")
}

fn cores(topology: &Topology) -> String {
    lists(topology.cores().iter().map(|core| &core.cpus))
}

fn packages(topology: &Topology) -> String {
    lists(topology.packages().iter().map(|package| &package.cpus))
}

#[track_caller]
fn assert_problem(topology: &Topology, path: &str, message: &str) {
    let found = topology
        .problems()
        .iter()
        .any(|problem| problem.path.ends_with(path) && problem.message.contains(message));
    assert!(found, "{path}: {message} not in {:#?}", topology.problems());
}

#[test]
fn two_packages_with_smt() {
    let topology = Machine::two_packages().read();
    assert_eq!(topology.problems(), []);
    assert_eq!(topology.online().to_string(), "0-7");
    assert_eq!(topology.allowed(), topology.online());
    assert_eq!(topology.excluded(), []);
    // Sets, although `core_id` takes only two values on this machine of four cores.
    assert_eq!(cores(&topology), "0,4 1,5 2,6 3,7");
    assert_eq!(packages(&topology), "0-1,4-5 2-3,6-7");
    let labels = topology.packages().iter().map(|package| package.os_index);
    assert!(labels.eq([Some(0), Some(8442)]));
    assert_eq!(topology.smt_siblings(1).to_string(), "5");
    assert_eq!(topology.smt_siblings(99), CpuSet::new());
    assert_eq!(topology.smt_control(), Some("on"));
}

#[test]
fn distances_are_by_node_number() {
    let machine = Machine::two_packages();
    machine.file(&format!("{NODE}/node0/distance"), "10 21\n");
    machine.file(&format!("{NODE}/node2/distance"), "21 10 10\n");
    let topology = machine.read();
    assert!(topology.numa_nodes()[0].distances.iter().eq([(&0, &10), (&2, &21)]));
    assert!(topology.numa_nodes()[1].distances.is_empty());
    assert_problem(&topology, "node2/distance", "3 columns for 2 nodes");
}

#[test]
fn a_node_that_claims_the_cpus_of_another_is_left_out() {
    let machine = Machine::two_packages();
    machine.node(3, "0,6", 512);
    let topology = machine.read();
    assert!(topology.numa_nodes().iter().map(|node| node.os_index).eq([0, 2]));
    assert_problem(&topology, "node/node3", "some of which node 0 has");
}

#[test]
fn clusters_are_more_than_cores_and_less_than_packages() {
    let machine = Machine::of_cores(&["0", "1", "2", "3", "4,5"]);
    for cpu in 0..6 {
        // The last core is a cluster of its own, as firmware without clusters has it everywhere.
        let cluster = ["0-1", "2-3", "4-5"][cpu as usize / 2];
        machine.topology(cpu, "cluster_cpus_list", cluster);
        machine.topology(cpu, "cluster_id", "65535");
    }
    let topology = machine.read();
    assert_eq!(lists(topology.clusters().iter().map(|cluster| &cluster.cpus)), "0-1 2-3");
    assert_eq!(topology.problems(), []);
}

#[test]
fn a_die_that_is_only_the_kernels_default_is_none() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    for cpu in 0..4 {
        machine.topology(cpu, "die_cpus_list", &cpu.to_string());
        machine.topology(cpu, "die_id", "-1");
    }
    assert_eq!(machine.read().dies(), []);
    for cpu in 0..4 {
        machine.topology(cpu, "die_id", "0");
    }
    assert_eq!(machine.read().dies().len(), 4);
}

#[test]
fn one_malformed_file_does_not_hide_the_dies() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    for cpu in 0..4 {
        machine.topology(cpu, "die_cpus_list", if cpu < 2 { "0-1" } else { "2-3" });
    }
    machine.topology(0, "die_cpus_list", "x");
    assert_eq!(lists(machine.read().dies().iter().map(|die| &die.cpus)), "0-1 2-3");
}

#[test]
fn a_zero_byte_at_the_end_is_no_part_of_a_list() {
    let machine = Machine::of_cores(&["0", "1"]);
    machine.file(&format!("{CPU}/cpu0/topology/core_cpus_list"), "0\n\0");
    machine.file(&format!("{CPU}/online"), "0-1\0\n");
    let topology = machine.read();
    assert_eq!((cores(&topology).as_str(), topology.problems()), ("0 1", [].as_slice()));
}

#[test]
fn the_form_that_contradicts_nobody_is_believed() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.topology(2, "package_cpus", "3");
    machine.topology(2, "package_cpus_list", "2-3");
    for cpu in [0, 1, 3] {
        machine.topology(cpu, "package_cpus", if cpu == 3 { "c" } else { "3" });
    }
    let topology = machine.read();
    assert_eq!(packages(&topology), "0-1 2-3");
    assert_problem(&topology, "cpu2/topology/package_cpus", "without CPU 2");
}

#[test]
fn caches_that_overlap_are_told() {
    let machine = Machine::of_cores(&["0", "1", "2"]);
    for (cpu, sharing) in [(0, "0-1"), (1, "0-1"), (2, "1-2")] {
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index2/shared_cpu_list"), sharing);
    }
    assert_problem(&machine.read(), CPU, "level 2 (Unified) overlap");
}

#[test]
fn an_architecture_without_cache_directories_is_no_problem() {
    let machine = Machine::bare(2);
    for cpu in 0..2 {
        machine.cpu(cpu, &cpu.to_string(), "0-1");
    }
    let topology = machine.read();
    assert_eq!((topology.caches().len(), topology.problems()), (0, [].as_slice()));
}

#[test]
fn cpu_numbers_go_beyond_1024() {
    let machine = Machine::bare(2);
    machine.file(&format!("{CPU}/online"), "1023-1024,4095\n");
    machine.file(&format!("{CPU}/present"), "0-1,1023-1024,4095\n");
    machine.file(&format!("{CPU}/possible"), "0-4095\n");
    for cpu in [1023, 1024, 4095] {
        machine.cpu(cpu, if cpu == 4095 { "4095" } else { "1023-1024" }, "1023-1024,4095");
        machine.cache(cpu, "index0 1 Data 32K", if cpu == 4095 { "4095" } else { "1023-1024" });
    }
    let topology = machine.read();
    assert_eq!(topology.problems(), []);
    assert_eq!(cores(&topology), "1023-1024 4095");
    assert_eq!(topology.allowed().to_string(), "1023-1024,4095");
    assert_eq!(topology.offline().to_string(), "0-1");
}

#[test]
fn numa_nodes_may_be_sparse_and_have_no_cpus() {
    let machine = Machine::two_packages();
    machine.node(5, "", 4096);
    let topology = machine.read();
    let nodes: Vec<_> = topology
        .numa_nodes()
        .iter()
        .map(|node| (node.os_index, node.cpus.to_string(), node.memory_bytes))
        .collect();
    let expected = [
        (0, "0-1,4-5".to_owned(), Some(2 << 20)),
        (2, "2-3,6-7".to_owned(), Some(1 << 20)),
        (5, String::new(), Some(4 << 20)),
    ];
    assert_eq!(nodes, expected);
    assert_eq!(topology.problems(), []);
}

#[test]
fn caches_are_deduplicated_by_level_kind_and_set() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    // Some virtual machines give every CPU an id of its own for the cache that all share.
    for cpu in 0..4 {
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index3/id"), format!("{cpu}\n"));
    }
    let topology = machine.read();
    let caches: Vec<_> =
        topology.caches().iter().map(|cache| (cache.level, cache.kind, cache.cpus.to_string())).collect();
    let expected = [
        (1, CacheKind::Data, "0-1"),
        (1, CacheKind::Data, "2-3"),
        (1, CacheKind::Instruction, "0-1"),
        (1, CacheKind::Instruction, "2-3"),
        (2, CacheKind::Unified, "0-1"),
        (2, CacheKind::Unified, "2-3"),
        (3, CacheKind::Unified, "0-3"),
    ];
    let expected = expected.map(|(level, kind, cpus)| (level, kind, cpus.to_owned()));
    assert_eq!(caches, expected);
    let last = &topology.caches()[6];
    assert_eq!((last.size_bytes, last.line_bytes), (Some(8 << 20), Some(64)));
}

#[test]
fn a_cache_of_untold_size_is_known_all_the_same() {
    let machine = Machine::of_cores(&["0", "1"]);
    for cpu in 0..2 {
        machine.remove(&format!("{CPU}/cpu{cpu}/cache/index3/coherency_line_size"));
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index3/size"), "0K\n");
    }
    let topology = machine.read();
    let last = topology.caches().last().unwrap();
    assert_eq!((last.level, last.size_bytes, last.line_bytes), (3, None, None));
    assert_eq!(topology.problems(), []);
}

#[test]
fn a_package_id_of_minus_one_is_a_label_like_any_other() {
    let machine = Machine::bare(2);
    for cpu in 0..2 {
        machine.cpu(cpu, &cpu.to_string(), &cpu.to_string());
        machine.topology(cpu, "physical_package_id", "-1");
    }
    let topology = machine.read();
    assert_eq!(packages(&topology), "0 1");
    assert_eq!(topology.packages()[0].os_index, Some(-1));
    assert_eq!(topology.packages()[1].os_index, Some(-1));
}

#[test]
fn dies_are_listed_where_they_divide_a_package() {
    let machine = Machine::of_cores(&["0", "1", "2", "3"]);
    assert_eq!(machine.read().dies(), []);
    for (cpu, die) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
        machine.topology(cpu, "die_cpus_list", die);
    }
    let topology = machine.read();
    assert_eq!(lists(topology.dies().iter().map(|die| &die.cpus)), "0-1 2-3");
}

#[test]
fn an_offline_cpu_is_cut_from_stale_lists() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.file(&format!("{CPU}/online"), "0,2-3\n");
    machine.file(&format!("{CPU}/isolated"), "1,3\n");
    machine.file(&format!("{NODE}/node0/cpulist"), "0-3\n");
    machine.file(&format!("{NODE}/node0/meminfo"), "Node 0 MemTotal: 4 kB\n");
    let topology = machine.read();
    assert_eq!(topology.problems(), []);
    assert_eq!(cores(&topology), "0 2-3");
    assert_eq!(packages(&topology), "0,2-3");
    assert_eq!(topology.numa_nodes()[0].cpus.to_string(), "0,2-3");
    assert_eq!(topology.caches().last().unwrap().cpus.to_string(), "0,2-3");
    assert_eq!(topology.isolated().to_string(), "3");
    assert_eq!(topology.offline().to_string(), "1");
    assert_eq!(topology.excluded().len(), 1);
    assert_eq!(topology.excluded()[0].cpus.to_string(), "1");
    assert_eq!(topology.excluded()[0].reason, ExclusionReason::Offline);
}

#[test]
fn empty_slots_are_possible_but_neither_present_nor_offline() {
    let machine = Machine::of_cores(&["0", "1"]);
    machine.file(&format!("{CPU}/possible"), "0-15\n");
    machine.file(&format!("{CPU}/offline"), "2-15\n");
    let topology = machine.read();
    assert_eq!(topology.possible().to_string(), "0-15");
    assert_eq!(topology.present().to_string(), "0-1");
    assert!(topology.offline().is_empty());
    assert_eq!(topology.excluded(), []);
}

#[test]
fn the_recorded_mask_excludes_with_its_reason() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.allowed("1,3-63");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "1,3");
    assert_eq!(topology.excluded().len(), 1);
    assert_eq!(topology.excluded()[0].cpus.to_string(), "0,2");
    let reason = topology.excluded()[0].reason.clone();
    assert_eq!(reason, ExclusionReason::NotInAffinityMask);
}

#[test]
fn old_kernels_have_masks_only_and_no_online_file() {
    let machine = Machine::empty();
    for cpu in 0..4 {
        let core = if cpu < 2 { "00000000,00000003" } else { "00000000,0000000c" };
        machine.topology(cpu, "thread_siblings", core);
        machine.topology(cpu, "core_siblings", "00000000,0000000f");
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index0/level"), "1\n");
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index0/type"), "Data\n");
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index0/shared_cpu_map"), core);
    }
    machine.file(&format!("{CPU}/cpu1/online"), "0\n");
    machine.file(&format!("{CPU}/cpu2/online"), "1\n");
    machine.file(&format!("{NODE}/node0/cpumap"), "0000000f\n");
    let topology = machine.read();
    assert_eq!(topology.online().to_string(), "0,2-3");
    assert_eq!(topology.present().to_string(), "0-3");
    assert_eq!(topology.offline().to_string(), "1");
    assert_eq!(cores(&topology), "0 2-3");
    assert_eq!(packages(&topology), "0,2-3");
    assert_eq!(topology.packages()[0].os_index, None);
    assert_eq!(topology.caches().len(), 2);
    assert_eq!(topology.numa_nodes()[0].cpus.to_string(), "0,2-3");
    assert_problem(&topology, "node0/meminfo", "missing");
}

#[test]
fn missing_files_are_problems_and_the_rest_is_read() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    for cpu in 0..4 {
        machine.remove(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"));
    }
    machine.remove(&format!("{CPU}/cpu1/cache"));
    machine.remove(&format!("{CPU}/cpu2/cache/index0/level"));
    machine.remove(&format!("{CPU}/cpu2/cache/index1/shared_cpu_list"));
    let topology = machine.read();
    assert_eq!(cores(&topology), "");
    assert_eq!(topology.smt_siblings(0), CpuSet::new());
    assert_eq!(packages(&topology), "0-3");
    assert_problem(&topology, "cpu0/topology", "core of CPUs 0-3");
    assert_problem(&topology, "cpu1/cache", "caches of CPU 1");
    assert_problem(&topology, "cpu2/cache/index0/level", "missing");
    assert_problem(&topology, "cpu2/cache/index1", "which CPUs share");
    assert_eq!(topology.problems().len(), 4);
    assert_eq!(topology.caches().len(), 7);
}

#[test]
fn malformed_files_are_problems_and_the_next_source_is_taken() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.topology(2, "core_cpus_list", "3-2");
    machine.topology(2, "thread_siblings_list", "2-3");
    machine.topology(0, "physical_package_id", "zero");
    machine.file(&format!("{CPU}/isolated"), "0-4294967295\n");
    machine.file(&format!("{CPU}/smt/control"), [0xff, 0xfe]);
    // Sparse: it takes no room, and a byte more than a file may have.
    let long = fs::File::create(machine.path(&format!("{CPU}/possible"))).expect("it can be made");
    long.set_len(65 << 20).expect("it can be made longer");
    let topology = machine.read();
    assert_eq!(cores(&topology), "0-1 2-3");
    assert_eq!(topology.packages()[0].os_index, None);
    assert_eq!(topology.possible().to_string(), "0-3");
    assert_problem(&topology, "cpu2/topology/core_cpus_list", "`3-2`");
    assert_problem(&topology, "cpu0/topology/physical_package_id", "`zero`");
    assert_problem(&topology, "cpu/isolated", "0-4294967295");
    assert_problem(&topology, "smt/control", "UTF-8");
    assert_problem(&topology, "cpu/possible", "longer than");
    assert_eq!(topology.problems().len(), 5);
    let root = machine.root();
    assert!(topology.problems().iter().all(|problem| problem.path.starts_with(root)));
}

#[test]
fn contradictory_files_are_problems_and_groups_do_not_overlap() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.topology(1, "core_cpus_list", "1-2");
    machine.topology(3, "package_cpus_list", "0");
    let topology = machine.read();
    assert_eq!(cores(&topology), "0-1 2-3");
    assert_problem(&topology, "cpu1/topology/core_cpus_list", "elsewhere");
    assert_problem(&topology, "cpu3/topology/package_cpus_list", "without CPU 3");
}

#[test]
fn a_core_in_two_packages_is_told_once_for_each_two_families() {
    let machine = Machine::of_cores(&["0,1", "2,3", "4,5", "6,7"]);
    for cpu in 0..8 {
        // Every package ends in the middle of a core, and so do the dies inside of them.
        let package = if cpu < 3 { "0-2" } else { "3-7" };
        machine.topology(cpu, "package_cpus_list", package);
        machine.topology(cpu, "die_cpus_list", if cpu < 5 { package } else { "5-7" });
    }
    for cpu in [3, 4] {
        machine.topology(cpu, "die_cpus_list", "3-4");
    }
    let topology = machine.read();
    // Nothing is repaired by a guess.
    assert_eq!((cores(&topology).as_str(), packages(&topology).as_str()), ("0-1 2-3 4-5 6-7", "0-2 3-7"));
    assert_problem(&topology, "cpu2/topology", "the core of CPU 2 is `2-3` and its package `0-2`");
    assert_problem(&topology, "cpu3/topology", "the core of CPU 3 is `2-3` and its die `3-4`");
    assert_eq!(topology.problems().len(), 2);
}

#[test]
fn packages_smaller_than_a_core_are_told() {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    for cpu in 0..4 {
        machine.topology(cpu, "package_cpus_list", &cpu.to_string());
        machine.topology(cpu, "die_cpus_list", &cpu.to_string());
    }
    let topology = machine.read();
    assert_problem(&topology, "cpu0/topology", "the core of CPU 0 is `0-1` and its package `0`");
    assert_eq!(topology.problems().len(), 1);
}

#[test]
fn dies_and_clusters_that_cross_what_holds_them_are_told() {
    let machine = Machine::of_cores(&["0", "1", "2", "3", "4,5"]);
    for cpu in 0..6 {
        machine.topology(cpu, "package_cpus_list", if cpu < 3 { "0-2" } else { "3-5" });
        machine.topology(cpu, "die_cpus_list", if cpu < 4 { "0-3" } else { "4-5" });
        machine.topology(cpu, "cluster_cpus_list", ["0", "1", "2-4", "2-4", "2-4", "5"][cpu as usize]);
    }
    let topology = machine.read();
    assert_problem(&topology, "cpu0/topology", "the die of CPU 0 is `0-3` and its package `0-2`");
    assert_problem(&topology, "cpu4/topology", "the core of CPU 4 is `4-5` and its cluster `2-4`");
    assert_problem(&topology, "cpu2/topology", "the cluster of CPU 2 is `2-4` and its die `0-3`");
    assert_problem(&topology, "cpu2/topology", "the cluster of CPU 2 is `2-4` and its package `0-2`");
    assert_eq!(topology.problems().len(), 4);
    assert_eq!(topology.clusters(), []);
}

#[test]
fn online_cpus_that_present_and_possible_lack_are_named() {
    let machine = Machine::of_cores(&["0", "1", "2"]);
    machine.file(&format!("{CPU}/present"), "0,3\n");
    machine.file(&format!("{CPU}/possible"), "0-2\n");
    let topology = machine.read();
    assert_eq!(topology.online().to_string(), "0-2");
    assert_eq!(topology.present().to_string(), "0-3");
    assert_eq!(topology.possible().to_string(), "0-3");
    assert_problem(&topology, "cpu/present", "lacks CPUs 1-2, which online has");
    assert_problem(&topology, "cpu/possible", "lacks CPU 3, which present has");
    assert_eq!(topology.problems().len(), 2);
}

#[test]
fn online_cpus_without_a_directory_are_named() {
    let machine = Machine::of_cores(&["0", "1"]);
    machine.file(&format!("{CPU}/online"), "0-1,500000\n");
    let topology = machine.read();
    assert_eq!(topology.online().len(), 3);
    assert_eq!(cores(&topology), "0 1");
    assert_problem(&topology, CPU, "500000");
}

#[test]
fn a_root_without_cpus_is_an_error_that_names_it() {
    let machine = Machine::empty();
    let error = Topology::read_from(machine.root()).unwrap_err();
    assert!(matches!(&error, Error::NoCpus { path } if *path == machine.path(CPU)));
    let message = error.to_string();
    assert!(message.contains(CPU) && !message.contains('\n'), "{message}");
}

#[test]
fn this_machine_keeps_the_invariants() {
    let topology = Topology::read().expect("the tests run where sysfs is mounted");
    assert!(topology.online().is_subset(topology.present()));
    assert!(topology.present().is_subset(topology.possible()));
    assert!(topology.allowed().is_subset(topology.online()));
    assert!(!topology.allowed().is_empty());
}
