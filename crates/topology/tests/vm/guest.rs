//! Recognises the emulated machine, and changes it for as long as a test needs; no tests.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, process, thread};

use tailcore_topology::{CpuSet, Topology};

const CPU_DIR: &str = "/sys/devices/system/cpu";
const CGROUP_DIR: &str = "/sys/fs/cgroup";

/// Says whether this is the emulated machine; if not, the calling test must return.
pub(crate) fn in_guest() -> bool {
    let here = env::var("TAILCORE_VM").is_ok_and(|machine| machine == "topology");
    if !here {
        let thread = thread::current();
        let name = thread.name().unwrap_or("a test");
        // Written past the test runner, which keeps what a passing test prints to itself.
        writeln!(io::stderr(), "skipped {name}: not in the emulated machine (cargo xtask vm topology)").ok();
    }
    here
}

/// Reads the machine; the files of a stock kernel give no reason for a problem.
#[track_caller]
pub(crate) fn read() -> Topology {
    let topology = Topology::read().unwrap();
    assert_eq!(topology.problems(), []);
    topology
}

/// A set of logical CPUs from its list.
pub(crate) fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

/// Runs `work` in a thread whose pins end with it.
pub(crate) fn in_thread_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().expect("the thread does not panic"))
}

#[track_caller]
fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A switch of the machine in another position, until dropped.
pub(crate) struct Switched {
    path: PathBuf,
    before: &'static str,
}

impl Switched {
    /// Switches a logical CPU off.
    pub(crate) fn cpu_off(cpu: u32) -> Self {
        Self::to("0", "1", &format!("cpu{cpu}/online"))
    }

    /// Switches off all logical CPUs but one of each core.
    pub(crate) fn smt_off() -> Self {
        Self::to("off", "on", "smt/control")
    }

    fn to(now: &str, before: &'static str, file: &str) -> Self {
        let path = Path::new(CPU_DIR).join(file);
        write(&path, now);
        Self { path, before }
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        write(&self.path, self.before);
    }
}

/// A control group with this process in it, until dropped.
pub(crate) struct Group {
    /// The groups of the path, the outermost first.
    folders: Vec<PathBuf>,
}

impl Group {
    /// Makes the groups of `path` (`/outer/inner`), writes `settings` to the outermost, and moves
    /// this process into the innermost.
    pub(crate) fn enter(path: &str, settings: &[(&str, &str)]) -> Self {
        let mut folder = PathBuf::from(CGROUP_DIR);
        let mut group = Self { folders: Vec::new() };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            write(&folder.join("cgroup.subtree_control"), "+cpu +cpuset");
            folder.push(name);
            fs::create_dir(&folder).unwrap();
            group.folders.push(folder.clone());
        }
        for (file, text) in settings {
            write(&group.folders[0].join(file), text);
        }
        move_into(&folder);
        group
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        move_into(Path::new(CGROUP_DIR));
        for folder in self.folders.iter().rev() {
            fs::remove_dir(folder).unwrap();
        }
    }
}

fn move_into(folder: &Path) {
    write(&folder.join("cgroup.procs"), &process::id().to_string());
}
