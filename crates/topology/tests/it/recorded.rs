//! Recorded real machines against what another implementation says of them.
//!
//! The recordings are not part of this repository. `TAILCORE_TOPOLOGY_DUMPS` names the folder that
//! holds them (`NAME.tar.bz2` with the files, `NAME.json` with what is in them).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tailcore_topology::Topology;

/// Where the recordings stand when no variable names a folder.
const DEFAULT_DUMPS: &str = "../../../shared/topology-dumps";

fn dumps() -> Result<PathBuf, String> {
    let named = std::env::var_os("TAILCORE_TOPOLOGY_DUMPS").map(PathBuf::from);
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join(DEFAULT_DUMPS);
    let dir = named.unwrap_or(default);
    if !dir.is_dir() {
        return Err(format!("no recordings in {}", dir.display()));
    }
    for tool in ["tar", "bzip2"] {
        let mut command = Command::new(tool);
        command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_err() {
            return Err(format!("no program `{tool}` to unpack them with"));
        }
    }
    Ok(dir)
}

/// Unpacks a recording, and reads the one folder that is in it.
fn read(archive: &Path) -> Topology {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let mut tar = Command::new("tar");
    tar.arg("-xjf").arg(archive).arg("-C").arg(dir.path());
    assert!(tar.status().expect("tar starts").success(), "{tar:?}");
    let mut entries = fs::read_dir(dir.path()).expect("it can be listed");
    let root = entries.next().expect("a recording has a folder");
    Topology::read_from(&root.expect("it can be listed").path()).expect("it has online CPUs")
}

/// The parts under `key`, sorted: the order is not part of what is compared. Of each part, the
/// properties that the oracle knows are.
fn parts(json: &Value, key: &str) -> Vec<String> {
    let part = |(label, entry): (&str, &Value)| {
        let known = ["os_index", "level", "kind", "size_bytes", "line_bytes", "memory_bytes", "cpus"];
        let values = known.iter().filter_map(|&name| Some(format!("{name} {}", entry.get(name)?)));
        match entry {
            Value::String(list) => list.clone(),
            _ => format!("{label} {}", values.collect::<Vec<_>>().join(", ")),
        }
    };
    let mut parts: Vec<String> = match &json[key] {
        Value::Array(entries) => entries.iter().map(|entry| part(("", entry))).collect(),
        Value::Object(entries) => entries.iter().map(|(label, entry)| part((label, entry))).collect(),
        other => panic!("{key}: {other}"),
    };
    parts.sort_unstable();
    parts
}

/// The known difference of definition: without a directory of nodes, the other implementation
/// makes one node of the whole machine, and this one makes none.
fn makes_up_a_node(oracle: &Value, ours: &Topology) -> bool {
    let nodes = oracle["numa"].as_object().expect("nodes by number");
    let whole = |node: &Value| node["cpus"] == ours.online().to_string();
    ours.numa_nodes().is_empty() && nodes.len() == 1 && nodes.values().all(whole)
}

/// What is compared and known to differ, with who is right.
const KNOWN: [(&str, &str); 3] = [
    // The kernel calls the two halves of a module of this processor SMT siblings; the other
    // implementation takes them for cores, by processor model. Placement does better with the
    // kernel: the halves share their floating point unit and L2.
    ("64amd64-4s2n4ca2co", "cores"),
    // The sharing masks are empty. The other implementation guesses; here it is a problem.
    ("8ia64-2s2c2t", "caches"),
    // Edited by hand to have nodes that overlap; the other implementation merges and drops some.
    ("fakeheterocpunuma", "numa"),
];

/// Tells the differences between a recording as read here and its oracle.
fn differences(name: &str, oracle: &Value, topology: &Topology) -> Vec<String> {
    let ours = serde_json::to_value(topology).expect("a topology serialises");
    let mut differences = Vec::new();
    for key in ["cpus", "allowed"] {
        if ours[key] != oracle[key] {
            differences.push(format!("{name}: {key}: {} {}", ours[key], oracle[key]));
        }
    }
    for key in ["packages", "dies", "cores", "numa", "caches"] {
        let known = KNOWN.contains(&(name, key));
        let made_up = key == "numa" && makes_up_a_node(oracle, topology);
        let (ours, oracle) = (parts(&ours, key), parts(oracle, key));
        if ours != oracle && !known && !made_up {
            differences.push(format!("{name}: {key}: {ours:?} {oracle:?}"));
        }
    }
    differences
}

#[test]
fn recorded_machines_match_the_other_implementation() {
    let dir = match dumps() {
        Ok(dir) => dir,
        Err(reason) => {
            skipped!("recorded_machines_match_the_other_implementation: {reason}");
            return;
        }
    };
    let mut compared = 0;
    let mut found = Vec::new();
    for entry in fs::read_dir(&dir).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let text = fs::read_to_string(&path).expect("an oracle can be read");
        let oracle: Value = serde_json::from_str(&text).expect("an oracle is JSON");
        let topology = read(&path.with_extension("tar.bz2"));
        found.extend(differences(name.expect("a name is text"), &oracle, &topology));
        compared += 1;
    }
    assert!(compared > 0, "no recordings in {}", dir.display());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
