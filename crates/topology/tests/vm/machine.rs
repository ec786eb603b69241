//! What the topology says of the machine. The numbers are those of `xtask/src/vm/machine.rs`.

use tailcore_topology::{Cache, CpuSet};

use crate::guest::{cpus, in_guest, read};

#[test]
fn the_tree_is_printed_for_people_to_look_at() {
    if !in_guest() {
        return;
    }
    let tree = read().tree().to_string();
    println!("{tree}");
    for part in ["8 logical CPUs online (0-7), all allowed; 2 packages, 4 cores; SMT on", "NUMA node 1", "32"]
    {
        assert!(tree.contains(part), "{part}");
    }
}

#[test]
fn cores_are_pairs_of_siblings_in_two_packages() {
    if !in_guest() {
        return;
    }
    let machine = read();
    for set in [machine.online(), machine.present(), machine.possible(), machine.allowed()] {
        assert_eq!(*set, cpus("0-7"));
    }
    assert_eq!(machine.excluded(), []);
    let cores: Vec<&CpuSet> = machine.cores().iter().map(|core| &core.cpus).collect();
    assert_eq!(cores, [&cpus("0-1"), &cpus("2-3"), &cpus("4-5"), &cpus("6-7")]);
    for cpu in 0..8 {
        assert_eq!(machine.smt_siblings(cpu), CpuSet::from_iter([cpu ^ 1]));
    }
    assert_eq!(machine.smt_control(), Some("on"));
    let packages = machine.packages().iter().map(|package| (package.os_index, package.cpus.clone()));
    assert!(packages.eq([(Some(0), cpus("0-3")), (Some(1), cpus("4-7"))]));
    assert_eq!((machine.dies(), machine.clusters()), (&[][..], &[][..]));
}

#[test]
fn each_package_has_a_last_level_cache() {
    if !in_guest() {
        return;
    }
    let machine = read();
    let last: Vec<&Cache> = machine.caches().iter().filter(|cache| cache.level == 3).collect();
    assert!(last.iter().map(|cache| &cache.cpus).eq([&cpus("0-3"), &cpus("4-7")]));
    assert!(last.iter().all(|cache| cache.size_bytes.is_some_and(|bytes| bytes > 0)), "{last:?}");
}

#[test]
fn each_package_is_a_numa_node_with_half_of_the_memory() {
    if !in_guest() {
        return;
    }
    let machine = read();
    let [near, far] = machine.numa_nodes() else { panic!("{:?}", machine.numa_nodes()) };
    assert_eq!((near.os_index, &near.cpus), (0, &cpus("0-3")));
    assert_eq!((far.os_index, &far.cpus), (1, &cpus("4-7")));
    assert!(near.distances.iter().eq([(&0, &10), (&1, &32)]), "{near:?}");
    assert!(far.distances.iter().eq([(&0, &32), (&1, &10)]), "{far:?}");
    for node in [near, far] {
        // The kernel keeps a part of the 512 MiB to itself before it counts.
        let bytes = node.memory_bytes.unwrap();
        assert!((400 << 20..=512 << 20).contains(&bytes), "{node:?}");
    }
    assert_eq!(machine.allowed_nodes(), Some(&[0, 1][..]));
}
