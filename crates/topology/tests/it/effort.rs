//! How many files are opened to read a machine: what makes its reading fast or slow.

use std::cell::Cell;
use std::io;

use tailcore_topology::{Directory, Source, Topology};

use crate::fixture::{CPU, Machine, NODE};

/// Counts what is opened, there or not.
struct Counting {
    directory: Directory,
    opened: Cell<usize>,
}

impl Source for Counting {
    fn read(&self, path: &str, text: &mut String) -> io::Result<()> {
        self.opened.set(self.opened.get() + 1);
        self.directory.read(path, text)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.opened.set(self.opened.get() + 1);
        self.directory.list(path)
    }
}

/// 256 CPUs as a big POWER machine has them: 8 nodes of 8 cores of 4 threads, four caches each.
fn big() -> Machine {
    let machine = Machine::bare(256);
    for cpu in 0..256 {
        let first = cpu / 4 * 4;
        let core = format!("{}-{}", first, first + 3);
        let node = cpu / 32 * 32;
        machine.cpu(cpu, &core, &format!("{}-{}", node, node + 31));
        for index in
            ["index0 1 Data 32K", "index1 1 Instruction 32K", "index2 2 Unified 256K", "index3 3 Unified 4M"]
        {
            machine.cache(cpu, index, &core);
        }
    }
    for node in 0..8 {
        machine.node(node, &format!("{}-{}", node * 32, node * 32 + 31), 1 << 20);
        machine.file(&format!("{NODE}/node{node}/distance"), "10 20 20 20 40 40 40 40\n");
    }
    machine
}

#[test]
fn twelve_files_for_each_cpu_are_enough() {
    let machine = big();
    let counting = Counting { directory: Directory::new(machine.root()), opened: Cell::new(0) };
    let topology = Topology::read_source(&counting).expect("it has online CPUs");
    assert_eq!(topology, machine.read());
    assert_eq!((topology.cores().len(), topology.caches().len()), (64, 256));
    let opened = counting.opened.get();
    assert!(opened <= 12 * 256, "{opened} files");
}

#[test]
fn a_source_need_not_be_a_directory() {
    struct OneFile;
    impl Source for OneFile {
        fn read(&self, path: &str, text: &mut String) -> io::Result<()> {
            if path != format!("{CPU}/online") {
                return Err(io::ErrorKind::NotFound.into());
            }
            text.push_str("0-1,2000\n");
            Ok(())
        }

        fn list(&self, _: &str) -> io::Result<Vec<String>> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
    let topology = Topology::read_source(&OneFile).expect("it has online CPUs");
    assert_eq!(topology.allowed().to_string(), "0-1,2000");
    // Absolute, where the source gives no other name.
    assert_eq!(topology.problems()[0].path.to_str(), Some("/sys/devices/system/cpu"));
}
