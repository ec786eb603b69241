//! The demonstration: all of its tables and files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::account::{check, list};
use crate::command::{Finished, read_json, tailcore};

const RUNS: [&str; 6] =
    ["tcp-2000rps", "tcp-5000rps", "tcp-10000rps", "tcp-20000rps", "tcp-40000rps", "in-process-40000rps"];

fn roles(result: &Value) -> Vec<&str> {
    list(result, "/threads").iter().filter_map(|thread| thread["role"].as_str()).collect()
}

/// The one folder that the demonstration has made for itself.
fn only_folder(parent: &Path) -> PathBuf {
    let folders: Vec<_> = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// One run's two files.
fn check_files(folder: &Path, name: &str, finished: &Finished) -> Value {
    let result = read_json(&folder.join(format!("{name}.json")), finished);
    check(&result);
    let hgrm = fs::read_to_string(folder.join(format!("{name}.hgrm"))).unwrap();
    let total = hgrm.lines().find_map(|line| line.split_once("Total count    =")).unwrap().1;
    let total = total.trim_end_matches(']').trim();
    assert_eq!(total, result["latency_ns"]["sojourn"]["count"].to_string(), "{name}");
    result
}

#[test]
fn the_demo_prints_both_tables_and_writes_every_run() {
    let out = tempfile::tempdir().unwrap();
    let finished = tailcore(["demo", "--scale", "0.05", "--out", out.path().to_str().unwrap()]);
    // Whatever the verdicts: a demonstration only must get through.
    let finished = finished.expect(&[0]);
    assert_eq!(finished.stderr, "");
    let headers = finished.stdout.lines().filter(|line| line.trim_start().starts_with("offered "));
    assert_eq!(headers.count(), 2, "{}", finished.stdout);
    let folder = only_folder(out.path());
    for part in ["Over TCP", "in process", "server (", "client (", folder.to_str().unwrap()] {
        assert!(finished.stdout.contains(part), "{part} in {}", finished.stdout);
    }

    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2 * RUNS.len());
    let results: Vec<Value> = RUNS.iter().map(|name| check_files(&folder, name, &finished)).collect();
    for (name, result) in RUNS.iter().zip(&results) {
        let wanted: &[&str] = if name.starts_with("tcp") { &["server", "client"] } else { &["client"] };
        assert_eq!(roles(result), wanted, "{name}");
        assert_eq!(result["tally"]["misses"], 0, "{name}: all keys are stored first");
    }
}
