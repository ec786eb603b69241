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
