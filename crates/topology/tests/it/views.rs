//! JSON, text and pictures.

use serde_json::json;
use tailcore_topology::{Directory, Hypervisor, Interrupts, unseen};

use crate::fixture::{CPU, Machine, NODE};

#[test]
fn json_has_exactly_these_keys_and_shapes() {
    let machine = Machine::bare(3);
    machine.file(&format!("{CPU}/online"), "0-1\n");
    machine.allowed("0");
    for cpu in 0..2 {
        machine.cpu(cpu, "0-1", "0-1");
        machine.cache(cpu, "index0 1 Instruction 32K", "0-1");
        machine.cache(cpu, "index1 2 Unified 1M", "0-1");
    }
    machine.file(&format!("{CPU}/smt/control"), "on\n");
    machine.file(&format!("{CPU}/isolated"), "x\n");
    machine.node(4, "0-1", 1);
    machine.file(&format!("{NODE}/node4/distance"), "10\n");
    machine.file(&format!("{CPU}/cpu0/cache/index0/ways_of_associativity"), "8\n");
    machine.file(&format!("{CPU}/cpu0/cache/index1/ways_of_associativity"), "0\n");
    let expected = json!({
        "cpus": "0-1",
        "allowed": "0",
        "offline": "2",
        "present": "0-2",
        "possible": "0-2",
        "cpu_quota": {"state": "unknown", "why": "no control-group file system with a CPU controller is mounted"},
        "excluded": [
            {"cpus": "2", "reason": "offline"},
            {"cpus": "1", "reason": "not_in_affinity_mask"},
        ],
        "packages": [{"os_index": 0, "cpus": "0-1"}],
        "dies": [],
        "clusters": [],
        "cores": ["0-1"],
        "cpukinds": [],
        "numa": {"4": {"cpus": "0-1", "memory_bytes": 1024, "distances": {"4": 10}}},
        "allowed_nodes": [0],
        "caches": [
            {"level": 1, "kind": "instruction", "size_bytes": 32768, "line_bytes": 64, "ways": 8, "cpus": "0-1"},
            {"level": 2, "kind": "unified", "size_bytes": 1_048_576, "line_bytes": 64, "ways": null, "cpus": "0-1"},
        ],
        "smt": "on",
        "isolated": "",
        "nohz_full": "",
        "problems": [{
            "path": machine.path(&format!("{CPU}/isolated")),
            "message": "`x` in a CPU list is neither a CPU number nor a range; write it like `0-3,8`",
        }],
    });
    assert_eq!(serde_json::to_value(machine.read()).unwrap(), expected);
}

#[test]
fn the_tree_of_a_machine_with_packages_and_limits() {
    let machine = Machine::two_packages();
    machine.file(&format!("{CPU}/online"), "0-6\n");
    machine.file(&format!("{CPU}/isolated"), "6\n");
    machine.allowed("1-3,5-6");
    let expected = "\
machine: 7 logical CPUs online (0-6), 5 allowed (1-3,5-6); 2 packages, 4 cores; SMT on
isolated: CPU 6
memory: from NUMA nodes 0 only
unknown: whether all cores are alike
package 0, NUMA node 0 (2 MiB), L3 16 MiB: CPUs 0-1,4-5
  2 × core with L1d 32 KiB: CPUs 0,4 | 1,5
package 8442, NUMA node 2 (1 MiB), L3 16 MiB: CPUs 2-3,6
  core with L1d 32 KiB: CPUs 2,6
  core with L1d 32 KiB: CPU 3
excluded: CPU 7: offline
excluded: CPUs 0,4: not in this process's affinity mask
";
    assert_eq!(machine.read().tree().to_string(), expected);
}

#[test]
fn the_tree_of_a_machine_that_tells_little() {
    let machine = Machine::bare(2);
    machine.topology(0, "core_cpus_list", "0-1");
    machine.topology(1, "core_cpus_list", "0-1");
    let tree = machine.read().tree().to_string();
    let expected = "\
machine: 2 logical CPUs online (0-1), all allowed; 0 packages, 1 core; SMT unknown
unknown: packages, caches, NUMA nodes, whether all cores are alike
core: CPUs 0-1
problem: ";
    assert!(tree.starts_with(expected), "{tree}");
}

#[test]
fn cores_below_a_cache_that_they_share_are_inside_it() {
    let machine = Machine::of_cores(&["0", "1", "2", "3"]);
    for cpu in 0..4 {
        let pair = if cpu < 2 { "0-1" } else { "2-3" };
        machine.cache(cpu, "index2 2 Unified 2M", pair);
    }
    let tree = machine.read().tree().to_string();
    let expected = "
package 0, L3 8 MiB: CPUs 0-3
  2 × L2 2 MiB: CPUs 0-1 | 2-3
    4 × core with L1d 48 KiB, L1i 32 KiB: CPUs 0-3
";
    assert!(tree.ends_with(expected), "{tree}");
}

#[test]
fn many_equal_cores_are_one_line_that_still_tells_the_siblings() {
    let cores: Vec<String> = (0..16).map(|cpu| format!("{cpu},{}", cpu + 16)).collect();
    let cores: Vec<&str> = cores.iter().map(String::as_str).collect();
    let tree = Machine::of_cores(&cores).read().tree().to_string();
    let expected = "\
  16 × core with L2 1.25 MiB, L1d 48 KiB, L1i 32 KiB: CPUs 0,16 | 1,17 | … | 15,31\n";
    assert!(tree.ends_with(expected), "{tree}");
}

#[test]
fn a_node_that_cuts_through_packages_comes_below_the_tree_and_so_does_one_of_memory() {
    let machine = Machine::two_packages();
    machine.node(0, "0-2,4-6", 2048);
    machine.node(2, "3,7", 1024);
    machine.node(5, "", 4096);
    for (node, distances) in [(0, "10 21 40"), (2, "21 10 40"), (5, "40 40 10")] {
        machine.file(&format!("{NODE}/node{node}/distance"), format!("{distances}\n"));
    }
    let tree = machine.read().tree().to_string();
    let expected = "
  NUMA node 2 (1 MiB), core with L1d 32 KiB: CPUs 3,7
does not nest: NUMA node 0 (2 MiB): CPUs 0-2,4-6
NUMA node 5 (4 MiB): no CPUs
NUMA distances    0    2    5
  from 0         10   21   40
  from 2         21   10   40
  from 5         40   40   10
";
    assert!(tree.ends_with(expected), "{tree}");
}

#[test]
fn kinds_and_what_is_set_aside_are_told_above_the_tree() {
    let machine = hybrid();
    let tree = machine.read().tree().to_string();
    for line in [
        "kind 0, cpu_atom: CPUs 4-7; up to 3.9 GHz; told by counting units\n",
        "kind 1, cpu_core: CPUs 0-3; up to 5.2 GHz; told by counting units\n",
        "nohz_full: CPU 7\n",
        "quota: 2.5 CPUs (250000 of 100000 us, group /x)\n",
        "  2 × core (cpu_core) with L2 1.25 MiB, L1d 48 KiB, L1i 32 KiB: CPUs 0-1 | 2-3\n",
        "  4 × core (cpu_atom) with L2 1.25 MiB, L1d 48 KiB, L1i 32 KiB: CPUs 4-7\n",
    ] {
        assert!(tree.contains(line), "{tree}");
    }
}

#[test]
fn what_a_hypervisor_makes_up_and_a_container_hides_is_said() {
    let machine = Machine::of_cores(&["0,1"]);
    let lines = || {
        let source = Directory::new(machine.root());
        unseen(&Hypervisor::read(&source), &Interrupts::read(&source))
    };
    let starts = |starts: &[&str]| {
        let lines = lines();
        let all = lines.iter().zip(starts).all(|(line, start)| line.starts_with(start));
        assert!(lines.len() == starts.len() && all, "{lines:?}");
    };
    starts(&["whether this is a virtual machine", "interrupts; /proc/irq shows none"]);
    machine.file("proc/cpuinfo", "flags : fpu hypervisor\n");
    machine.file("proc/irq/9/smp_affinity_list", "0\n");
    machine.file("proc/irq/9/eth0-rx/x", "");
    starts(&["this is a virtual machine; packages, caches and SMT are", "interrupts of the network; "]);
    machine.file("proc/cpuinfo", "flags : fpu\n");
    machine.file("sys/class/net/eth0/device/msi_irqs/9", "msix\n");
    starts(&[]);
}

#[test]
fn a_long_list_of_problems_is_cut_short() {
    let machine = Machine::of_cores(&["0", "1", "2", "3", "4", "5"]);
    for cpu in 0..6 {
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index0/level"), "one\n");
        machine.file(&format!("{CPU}/cpu{cpu}/cache/index1/level"), "one\n");
    }
    let topology = machine.read();
    assert_eq!(topology.problems().len(), 12);
    let tree = topology.tree().to_string();
    assert_eq!(tree.matches("\nproblem: ").count(), 10);
    assert!(tree.ends_with("\nand 2 problems more\n"), "{tree}");
}

/// Two cores of one kind and four of another, with a quota and a CPU without a tick.
fn hybrid() -> Machine {
    let machine = Machine::of_cores(&["0,1", "2,3", "4", "5", "6", "7"]);
    machine.file("sys/devices/cpu_core/cpus", "0-3\n");
    machine.file("sys/devices/cpu_atom/cpus", "4-7\n");
    for cpu in 0..8 {
        let max_khz = if cpu < 4 { "5200000\n" } else { "3900000\n" };
        machine.file(&format!("{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"), max_khz);
    }
    machine.file(&format!("{CPU}/nohz_full"), "7\n");
    machine.file("proc/self/cgroup", "0::/x\n");
    machine.file("proc/self/mountinfo", "24 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    machine.file("sys/fs/cgroup/x/cpu.max", "250000 100000\n");
    machine
}

/// Machines that differ in what the picture has to show.
fn pictured() -> Vec<Machine> {
    let limited = Machine::two_packages();
    limited.file(&format!("{CPU}/online"), "0-6\n");
    limited.file(&format!("{CPU}/isolated"), "6\n");
    limited.allowed("1-3,5-6");
    limited.node(2, "", 1024);
    let cores: Vec<String> = (0..13).map(|cpu| format!("{cpu},{}", cpu + 13)).collect();
    let cores: Vec<&str> = cores.iter().map(String::as_str).collect();
    vec![Machine::bare(1), Machine::bare(5), Machine::of_cores(&cores), hybrid(), limited]
}

/// The text between `start` and `end`, wherever that occurs.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let pieces = text.split(start).skip(1);
    pieces.map(|piece| piece.split(end).next().unwrap_or_default()).collect()
}

#[test]
fn every_present_cpu_is_one_box_of_the_picture() {
    for machine in pictured() {
        let topology = machine.read();
        let svg = topology.svg().to_string();
        let mut shown: Vec<u32> =
            between(&svg, ">P#", "<").into_iter().map(|number| number.parse().unwrap()).collect();
        shown.sort_unstable();
        assert_eq!(shown, topology.present().iter().collect::<Vec<_>>());
    }
}

/// Checks that each tag is closed by its own name, and that no text holds what only tags may.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!text.contains('>') && !text.contains('\u{1b}'), "{text}");
        for entity in text.split('&').skip(1) {
            let names = ["amp;", "lt;", "gt;", "quot;"];
            assert!(names.iter().any(|name| entity.starts_with(name)), "{text}");
        }
        let name = tag.split([' ', '\n']).next();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "in {tag}"),
            None if tag.ends_with('/') => {}
            None => open.extend(name),
        }
    }
    assert!(open.is_empty(), "{open:?} are left open");
}

#[test]
fn the_picture_is_well_formed_whatever_the_files_say() {
    for machine in pictured() {
        machine.file(&format!("{CPU}/smt/control"), "<on> & \"off\"\n");
        let svg = machine.read().svg().to_string();
        assert_well_formed(&svg);
        assert!(svg.contains("&lt;on&gt;"), "{svg}");
    }
}

/// The edges of every rectangle: left, top, right, bottom.
fn rectangles(svg: &str) -> Vec<[u32; 4]> {
    let number = |tag: &str, name: &str| {
        let value = between(tag, &format!(" {name}=\""), "\"")[0];
        value.parse::<u32>().expect("a length in whole pixels")
    };
    let tags = between(svg, "<rect", "/>").into_iter().filter(|tag| !tag.contains("hatch"));
    tags.map(|tag| {
        let [x, y] = ["x", "y"].map(|name| number(tag, name));
        [x, y, x + number(tag, "width"), y + number(tag, "height")]
    })
    .collect()
}

#[test]
fn boxes_of_the_picture_are_apart_or_one_inside_the_other() {
    for machine in pictured() {
        let boxes = rectangles(&machine.read().svg().to_string());
        for (index, a) in boxes.iter().enumerate() {
            for b in &boxes[..index] {
                let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                let inside =
                    |a: &[u32; 4], b: &[u32; 4]| a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3];
                assert!(apart || inside(a, b) || inside(b, a), "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn the_picture_marks_cpus_by_kind_and_by_what_they_are_barred_from() {
    let machines = pictured();
    let [.., hybrid, limited] = &machines[..] else { unreachable!("there are five") };
    let boxes = |machine: &Machine, class: &str| {
        machine.read().svg().to_string().matches(&format!("<rect class=\"cpu{class}\"")).count()
    };
    // One more each, in the legend.
    assert_eq!((boxes(hybrid, " kind0"), boxes(hybrid, " kind1")), (4 + 1, 4 + 1));
    assert_eq!((boxes(limited, " offline"), boxes(limited, " isolated")), (1 + 1, 1 + 1));
    assert_eq!((boxes(limited, " excluded"), boxes(limited, "")), (2 + 1, 4 + 1));
}
