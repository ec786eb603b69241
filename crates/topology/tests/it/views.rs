//! JSON and text.

use serde_json::json;

use crate::fixture::{CPU, Machine};

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
    let expected = json!({
        "cpus": "0-1",
        "allowed": "0",
        "offline": "2",
        "excluded": [
            {"cpus": "2", "reason": "offline"},
            {"cpus": "1", "reason": "not_in_affinity_mask"},
        ],
        "packages": [{"os_index": 0, "cpus": "0-1"}],
        "dies": [],
        "cores": ["0-1"],
        "numa": {"4": {"cpus": "0-1", "memory_bytes": 1024}},
        "caches": [
            {"level": 1, "kind": "instruction", "size_bytes": 32768, "line_bytes": 64, "cpus": "0-1"},
            {"level": 2, "kind": "unified", "size_bytes": 1_048_576, "line_bytes": 64, "cpus": "0-1"},
        ],
        "smt": "on",
        "isolated": "",
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
package 0: CPUs 0-1,4-5
  L3 16 MiB: CPUs 0-1,4-5
    core: CPUs 0,4; L1d 32 KiB
    core: CPUs 1,5; L1d 32 KiB
package 8442: CPUs 2-3,6
  L3 16 MiB: CPUs 2-3,6
    core: CPUs 2,6; L1d 32 KiB
    core: CPU 3; L1d 32 KiB
NUMA node 0: CPUs 0-1,4-5, 2 MiB
NUMA node 2: CPUs 2-3,6, 1 MiB
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
package unknown: CPUs 0-1
  core: CPUs 0-1
problem: ";
    assert!(tree.starts_with(expected), "{tree}");
}

#[test]
fn a_cache_that_cores_share_below_the_last_level_says_with_whom() {
    let machine = Machine::of_cores(&["0", "1"]);
    for cpu in 0..2 {
        machine.cache(cpu, "index2 2 Unified 2M", "0-1");
    }
    let tree = machine.read().tree().to_string();
    let line = "    core: CPU 0; L1d 48 KiB; L1i 32 KiB; L2 2 MiB (0-1)\n";
    assert!(tree.contains(line), "{tree}");
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
