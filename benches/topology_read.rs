//! What it costs to read a machine's topology: this one, and one of 256 CPUs built of files.
//!
//! With `TAILCORE_TOPOLOGY_ROOT=DIR` the machine whose files are in DIR is read as well, to compare
//! with other programs on a recorded machine.
//!
//! `cargo bench -p tailcore-benches --bench topology_read`

use std::fs;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use tailcore_topology::Topology;
use tempfile::TempDir;

fn topology_read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("topology_read");
    group.bench_function("this_machine", |b| b.iter(|| Topology::read().expect("it has CPUs")));

    let big = big_machine();
    let topology = Topology::read_from(big.path()).expect("it has CPUs");
    assert_eq!((topology.cores().len(), topology.problems().len()), (64, 0));
    group.bench_function("256_cpus", |b| b.iter(|| Topology::read_from(big.path()).expect("it has CPUs")));

    if let Some(root) = std::env::var_os("TAILCORE_TOPOLOGY_ROOT").map(PathBuf::from) {
        group.bench_function("recorded", |b| b.iter(|| Topology::read_from(&root).expect("it has CPUs")));
    }
    group.finish();
}

/// 8 packages of 8 cores of 4 threads, four caches to a core: the shape of a big POWER machine.
fn big_machine() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let devices = dir.path().join("sys/devices/system");
    write(&devices.join("cpu/online"), "0-255");
    for cpu in 0..256_u32 {
        let of = |size: u32| format!("{}-{}", cpu / size * size, cpu / size * size + size - 1);
        let dir = devices.join(format!("cpu/cpu{cpu}"));
        write(&dir.join("topology/thread_siblings_list"), &of(4));
        write(&dir.join("topology/core_siblings_list"), &of(32));
        write(&dir.join("topology/physical_package_id"), &(cpu / 32).to_string());
        let caches = [
            ("1", "Data", "32K"),
            ("1", "Instruction", "32K"),
            ("2", "Unified", "256K"),
            ("3", "Unified", "4M"),
        ];
        for (index, (level, kind, size)) in caches.into_iter().enumerate() {
            let dir = dir.join(format!("cache/index{index}"));
            let files = [("level", level), ("type", kind), ("size", size), ("coherency_line_size", "128")];
            for (name, text) in files {
                write(&dir.join(name), text);
            }
            write(&dir.join("ways_of_associativity"), "8");
            write(&dir.join("shared_cpu_list"), &of(4));
        }
    }
    for node in 0..8_u32 {
        let dir = devices.join(format!("node/node{node}"));
        write(&dir.join("cpulist"), &format!("{}-{}", node * 32, node * 32 + 31));
        write(&dir.join("meminfo"), &format!("Node {node} MemTotal: 1048576 kB"));
        write(&dir.join("distance"), "10 20 20 20 40 40 40 40");
    }
    dir
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file stands in a directory")).expect("it can be made");
    fs::write(path, format!("{text}\n")).expect("it can be written");
}

criterion_group!(benches, topology_read);
criterion_main!(benches);
