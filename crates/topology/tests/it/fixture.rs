//! Small sysfs trees in temporary directories.

use std::fs;
use std::path::{Path, PathBuf};

use tailcore_topology::Topology;
use tempfile::TempDir;

/// Where the logical CPUs are, below the root.
pub(crate) const CPU: &str = "sys/devices/system/cpu";

/// Where the NUMA nodes are, below the root.
pub(crate) const NODE: &str = "sys/devices/system/node";

/// The files of a machine; gone when dropped.
pub(crate) struct Machine {
    dir: TempDir,
}

impl Machine {
    /// A root without a file.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        Self { dir }
    }

    /// `present` CPUs, all online, of which nothing else is told.
    pub(crate) fn bare(present: u32) -> Self {
        let machine = Self::empty();
        let all = format!("0-{}\n", present - 1);
        for name in ["online", "present", "possible"] {
            machine.file(&format!("{CPU}/{name}"), &all);
        }
        for cpu in 0..present {
            fs::create_dir_all(machine.path(&format!("{CPU}/cpu{cpu}"))).expect("can be made");
        }
        machine
    }

    /// One package with a core for each of the lists, with L1, L2 and L3 caches.
    pub(crate) fn of_cores(cores: &[&str]) -> Self {
        let lists = cores.iter().map(|list| numbers(list));
        let count = lists.map(|cpus| cpus.len()).sum::<usize>();
        let count = u32::try_from(count).expect("a small machine");
        let machine = Self::bare(count);
        let all = format!("0-{}", count - 1);
        for core in cores {
            for cpu in numbers(core) {
                machine.cpu(cpu, core, &all);
                machine.cache(cpu, "index0 1 Data 48K", core);
                machine.cache(cpu, "index1 1 Instruction 32K", core);
                machine.cache(cpu, "index2 2 Unified 1280K", core);
                machine.cache(cpu, "index3 3 Unified 8M", &all);
            }
        }
        machine
    }

    /// Two packages of two cores with two SMT siblings each, siblings four apart as firmware
    /// likes it; a NUMA node for each package, numbered 0 and 2. `core_id` repeats.
    pub(crate) fn two_packages() -> Self {
        let machine = Self::bare(8);
        for cpu in 0..8 {
            let core = format!("{},{}", cpu % 4, cpu % 4 + 4);
            let package = if cpu % 4 < 2 { "0-1,4-5" } else { "2-3,6-7" };
            machine.cpu(cpu, &core, package);
            machine.topology(cpu, "core_id", &format!("{}", cpu % 2));
            let id = if cpu % 4 < 2 { "0" } else { "8442" };
            machine.topology(cpu, "physical_package_id", id);
            machine.cache(cpu, "index0 1 Data 32K", &core);
            machine.cache(cpu, "index1 3 Unified 16384K", package);
        }
        machine.node(0, "0-1,4-5", 2048);
        machine.node(2, "2-3,6-7", 1024);
        machine.file(&format!("{CPU}/smt/control"), "on\n");
        machine
    }

    /// Writes what CPU `cpu` says of its core and package.
    pub(crate) fn cpu(&self, cpu: u32, core: &str, package: &str) {
        self.topology(cpu, "core_cpus_list", core);
        self.topology(cpu, "package_cpus_list", package);
        self.topology(cpu, "die_cpus_list", package);
        self.topology(cpu, "physical_package_id", "0");
    }

    /// Writes one file of `cpuN/topology`.
    pub(crate) fn topology(&self, cpu: u32, name: &str, text: &str) {
        self.file(&format!("{CPU}/cpu{cpu}/topology/{name}"), format!("{text}\n"));
    }

    /// Writes `cpuN/cache/indexM`; `what` is the index, the level, the type and the size.
    pub(crate) fn cache(&self, cpu: u32, what: &str, sharing: &str) {
        let (index, what) = what.split_once(' ').expect("an index comes first");
        let dir = format!("{CPU}/cpu{cpu}/cache/{index}");
        for (name, text) in ["level", "type", "size"].iter().zip(what.split(' ')) {
            self.file(&format!("{dir}/{name}"), format!("{text}\n"));
        }
        self.file(&format!("{dir}/shared_cpu_list"), format!("{sharing}\n"));
        self.file(&format!("{dir}/coherency_line_size"), "64\n");
    }

    /// Writes a NUMA node.
    pub(crate) fn node(&self, node: u32, cpus: &str, memory_kib: u64) {
        self.file(&format!("{NODE}/node{node}/cpulist"), format!("{cpus}\n"));
        let memory = format!("Node {node} MemTotal:  {memory_kib} kB\nNode {node} MemFree: 1 kB\n");
        self.file(&format!("{NODE}/node{node}/meminfo"), &memory);
    }

    /// Writes the affinity mask of the process that recorded the files.
    pub(crate) fn allowed(&self, list: &str) {
        let status = format!("Name:\tcat\nCpus_allowed_list:\t{list}\nMems_allowed_list:\t0\n");
        self.file("proc/self/status", &status);
    }

    /// Writes any file, and the directories above it.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        let parent = path.parent().expect("a file stands in a directory");
        fs::create_dir_all(parent).expect("a directory can be made");
        fs::write(path, content).expect("a file can be written");
    }

    /// Takes a file or a directory away.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.expect("it was there");
    }

    /// A path below the root, absolute.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// The root.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Reads the machine.
    pub(crate) fn read(&self) -> Topology {
        Topology::read_from(self.root()).expect("it has online CPUs")
    }
}

/// The numbers of a list such as `0,4`; no ranges.
fn numbers(list: &str) -> Vec<u32> {
    let numbers = list.split(',').map(str::parse);
    numbers.collect::<Result<_, _>>().expect("a list of numbers")
}
