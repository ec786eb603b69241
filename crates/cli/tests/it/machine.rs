//! What the machine is and what it can count: `topo` and `events`.

use serde_json::Value;

use crate::command::tailcore;

#[test]
fn the_tree_shows_this_machine() {
    let finished = tailcore(["topo"]).expect(&[0]);
    assert!(finished.stdout.starts_with("machine: "), "{}", finished.stdout);
    assert!(finished.stdout.contains("CPU"), "{}", finished.stdout);
    assert_eq!(finished.stderr, "");
}

#[test]
fn the_machine_as_json_has_all_its_parts() {
    let machine = tailcore(["topo", "--json"]).expect(&[0]).json();
    for key in ["cpus", "allowed", "packages", "cores", "numa", "caches"] {
        assert!(machine.get(key).is_some(), "{key} in {machine:#}");
    }
    assert_ne!(machine["cpus"], "");
    assert_ne!(machine["allowed"], "");
}

/// Files of a machine of two cores of two threads; CPU 3 is outside the recorded mask.
fn four_cpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/online", "0-3\n");
    for cpu in 0..4 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        write(&format!("{dir}/topology/core_cpus_list"), if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" });
        write(&format!("{dir}/topology/package_cpus_list"), "0-3\n");
        write(&format!("{dir}/cpufreq/scaling_governor"), "powersave\n");
        write(&format!("{dir}/cpufreq/affected_cpus"), &format!("{cpu}\n"));
    }
    write("proc/irq/31/smp_affinity_list", "1\n");
    write("proc/irq/31/eth0-rx/spurious", "");
    write("sys/class/net/eth0/device/msi_irqs/31", "msix\n");
    write("proc/self/status", "Cpus_allowed_list:\t0-2\n");
    folder
}

#[test]
fn the_tree_tells_frequencies_and_interrupts_of_the_network() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    let finished = tailcore(["topo", "--root", root]).expect(&[0]);
    for line in ["frequency of CPUs 0-3: powersave", "interrupts of eth0: 31 on CPU 1", "CPU 3: not in"] {
        assert!(finished.stdout.contains(line), "{line} in {}", finished.stdout);
    }
    let machine = tailcore(["topo", "--root", root, "--json"]).expect(&[0]).json();
    assert_eq!(machine["frequencies"]["policies"].as_array().unwrap().len(), 4);
    assert_eq!(machine["interrupts"]["interrupts"][0]["interface"], "eth0");
    assert_eq!(machine["excluded"][0]["reason"], "not_in_affinity_mask");
}

#[test]
fn a_placement_is_shown_before_it_is_used() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    let places = "server:2=smt-pair,client:1=client-on-rest";
    let placement = tailcore(["topo", "--root", root, "--place", places, "--json"]).expect(&[0]).json();
    let text = placement.to_string();
    assert!(text.contains("smt-pair") && text.contains("client-on-rest"), "{text}");
    let finished = tailcore(["topo", "--root", root, "--place", places]).expect(&[0]);
    let cpus: Vec<&str> =
        finished.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(cpus, ["0", "2", "1"], "{}", finished.stdout);

    let finished = tailcore(["topo", "--root", root, "--place", "server:2=one-node"]).expect(&[1]);
    assert!(finished.stderr.contains("one-node"), "{}", finished.stderr);
    let finished = tailcore(["topo", "--root", root, "--place", "server:2=heap"]).expect(&[2]);
    assert!(finished.stderr.contains("heap") && finished.stderr.contains("smt-pair"), "{}", finished.stderr);
}

#[test]
fn placements_that_differ_are_listed() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    // On one core, or on two.
    let found = tailcore(["topo", "--root", root, "--distinct", "2", "--json"]).expect(&[0]).json();
    assert_eq!(found["placements"], serde_json::json!(["0,2", "0-1"]));
    assert_eq!(found["exact"], true);
    let finished = tailcore(["topo", "--root", root, "--distinct", "2"]).expect(&[0]);
    assert!(finished.stdout.starts_with("2 placements of 2 threads that differ"), "{}", finished.stdout);
    let finished = tailcore(["topo", "--root", root, "--distinct", "3"]).expect(&[0]);
    assert!(finished.stdout.starts_with("1 placement of 3 threads that differs"), "{}", finished.stdout);
    let finished = tailcore(["topo", "--root", root, "--distinct", "4"]).expect(&[2]);
    assert!(finished.stderr.contains("only 3 are allowed"), "{}", finished.stderr);
}

#[test]
fn all_sets_of_a_rule_of_packages_are_listed() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    // A second package, of which nothing is told but that it is there.
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    for cpu in 0..4 {
        let package = if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" };
        let dir = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        write(&format!("{dir}/package_cpus_list"), package);
        write(&format!("{dir}/core_cpus_list"), &format!("{cpu}\n"));
    }
    let found = tailcore(["topo", "--root", root, "--sets", "1=1-per-package", "--json"]).expect(&[0]).json();
    let expected = serde_json::json!({"threads": 1, "rule": "1-per-package", "sets": ["0", "1"]});
    assert_eq!(found, expected);
    let finished = tailcore(["topo", "--root", root, "--sets", "2=1-per-package"]).expect(&[0]);
    assert_eq!(finished.stdout, "1 set of CPUs for 2 threads by 1-per-package:\n  0-1\n");
    // CPU 3 is not allowed.
    let finished = tailcore(["topo", "--root", root, "--sets", "4=2-per-package"]).expect(&[1]);
    assert!(finished.stderr.contains("it needs 2 packages with 2 allowed cores each"), "{}", finished.stderr);
    for typed in ["4=pack", "4", "x=2-per-package", "4=0-per-package"] {
        let finished = tailcore(["topo", "--root", root, "--sets", typed]).expect(&[2]);
        assert_eq!(finished.stdout, "");
    }
    tailcore(["topo", "--sets", "2=1-per-package", "--distinct", "2"]).expect(&[2]);
}

#[test]
fn two_programs_on_the_same_package_are_shown() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    let places = "server:2=smt-pair,co-runner:1=same-package";
    let placement = tailcore(["topo", "--root", root, "--place", places, "--json"]).expect(&[0]).json();
    assert_eq!(placement[1]["threads"][0]["cpu"], 1, "{placement:#}");
    // Once a request without end: an error, and no allocation of that size.
    let finished = tailcore(["topo", "--root", root, "--place", "server:4000000000=dummy"]).expect(&[1]);
    assert!(finished.stderr.contains("65536 threads at most"), "{}", finished.stderr);
}

#[test]
fn the_picture_goes_to_standard_output_instead_of_the_tree() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    let finished = tailcore(["topo", "--root", root, "--svg", "-"]).expect(&[0]);
    assert!(
        finished.stdout.starts_with("<svg") || finished.stdout.starts_with("<?xml"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.ends_with("</svg>\n"), "{}", finished.stdout);
    let finished = tailcore(["topo", "--root", root, "--svg", "-", "--json"]).expect(&[2]);
    assert_eq!(finished.stdout, "");
    assert!(finished.stderr.contains("--svg - and --json"), "{}", finished.stderr);
}

#[test]
fn the_picture_is_a_file() {
    let folder = four_cpus();
    let root = folder.path().to_str().unwrap();
    let picture = folder.path().join("machine.svg");
    tailcore(["topo", "--root", root, "--svg", picture.to_str().unwrap()]).expect(&[0]);
    let text = std::fs::read_to_string(&picture).unwrap();
    assert!(text.starts_with("<svg") || text.starts_with("<?xml"), "{text}");
    assert!(text.trim_end().ends_with("</svg>"), "{text}");
    let nowhere = folder.path().join("no/such/folder/machine.svg");
    let finished = tailcore(["topo", "--svg", nowhere.to_str().unwrap()]).expect(&[2]);
    assert_eq!(finished.stdout, "");
}

#[test]
fn a_folder_that_is_no_machine_is_named_with_what_it_should_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let missing = folder.path().join("missing");
    for root in [path, missing.to_str().unwrap()] {
        let finished = tailcore(["topo", "--root", root]).expect(&[1]);
        assert_eq!(finished.stdout, "");
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        for part in ["tailcore: ", root, "sys/devices/system/cpu"] {
            assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
        }
    }
}

#[test]
fn every_event_is_listed_with_a_meaning_or_a_reason() {
    let finished = tailcore(["events"]).expect(&[0]);
    for event in ["task-clock", "page-faults", "cycles", "instructions"] {
        assert!(finished.stdout.contains(event), "{event} in {}", finished.stdout);
    }
    let events = tailcore(["events", "--json"]).expect(&[0]).json();
    let events = events.as_array().unwrap();
    assert!(!events.is_empty());
    for event in events {
        for key in ["event", "kind", "description", "outcome"] {
            assert!(event[key].as_str().is_some_and(|text| !text.is_empty()), "{key} in {event:#}");
        }
        let is_available = event["outcome"] == "available";
        let reason = event.get("reason").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(is_available, reason.is_empty(), "{event:#}");
    }
}

#[test]
fn a_pattern_selects_events_by_name() {
    let finished = tailcore(["events", "cycles"]).expect(&[0]);
    assert!(finished.stdout.contains("cycles") && !finished.stdout.contains("task-clock"), "{finished:#?}");
    for pattern in ["cycles", "CYCLES"] {
        let events = tailcore(["events", pattern, "--json"]).expect(&[0]).json();
        let names: Vec<_> = events.as_array().unwrap().iter().filter_map(|e| e["event"].as_str()).collect();
        assert!(names.contains(&"cycles"), "{names:?}");
        assert!(names.iter().all(|name| name.to_lowercase().contains("cycles")), "{names:?}");
    }
}

#[test]
fn a_pattern_that_selects_nothing_is_said() {
    let finished = tailcore(["events", "zzz"]).expect(&[0]);
    assert!(finished.stdout.contains("zzz") && finished.stdout.contains("tailcore events"), "{finished:#?}");
    assert_eq!(tailcore(["events", "zzz", "--json"]).expect(&[0]).json(), Value::Array(Vec::new()));
}
