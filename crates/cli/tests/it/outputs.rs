//! Where results go: files, standard output, and devices that refuse them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::account::{check, count, status};
use crate::command::{BINARY, Finished, Running, SMALL, read_json, run, run_args, skip, tailcore};
use crate::server::Server;

const FULL: &str = "/dev/full";

/// The rows of an `.hgrm` and its footer's total count.
fn parse_hgrm(text: &str) -> (Vec<[f64; 4]>, u64) {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
    assert_eq!(lines.next(), Some(""));
    let (mut rows, mut total) = (Vec::new(), None);
    for line in lines {
        if line.starts_with('#') {
            let counted = line.split_once("Total count    =").map(|(_, rest)| rest.trim_end_matches(']'));
            total = total.or(counted.map(|count| count.trim().parse().unwrap()));
        } else {
            let row: Vec<f64> = line.split_whitespace().map(|field| field.parse().unwrap()).collect();
            rows.push(row.try_into().unwrap());
        }
    }
    (rows, total.expect("the footer gives the total count"))
}

/// A small run whose standard output takes nothing.
fn run_to_full(target: &str, options: &[&str]) -> Finished {
    let mut command = Command::new(BINARY);
    command.args(run_args(target, SMALL)).args(options);
    let full = File::options().write(true).open(FULL).unwrap();
    Running::spawn(command, full.into()).finish()
}

fn has_full(test: &str) -> bool {
    let exists = Path::new(FULL).exists();
    if !exists {
        skip(test, FULL, "this system has no /dev/full");
    }
    exists
}

#[test]
fn a_dash_puts_nothing_but_json_on_standard_output() {
    let server = Server::start();
    let finished = run(&server.target(), &format!("{SMALL} --json -"));
    let result = finished.json();
    check(&result);
    let finished = finished.expect(&[status(&result)]);
    assert_eq!(finished.stderr, "");
}

#[test]
fn an_hgrm_climbs_to_the_count_of_the_latencies() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (hgrm, json) = (folder.path().join("a.hgrm"), folder.path().join("a.json"));
    let files = ["--hgrm", hgrm.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let finished = tailcore(run_args(&server.target(), SMALL).chain(files)).expect(&[0, 3]);
    let result = read_json(&json, &finished);
    check(&result);
    let (rows, total) = parse_hgrm(&fs::read_to_string(&hgrm).unwrap());
    assert_eq!(total, count(&result, "/latency_ns/sojourn/count"));
    assert_eq!(rows.last().unwrap()[1..], [1.0, total as f64, f64::INFINITY]);
    for column in 0..4 {
        assert!(rows.is_sorted_by(|a, b| a[column] <= b[column]), "column {column}: {rows:?}");
    }
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "only the results are left: {names:?}");
}

#[test]
fn an_old_result_is_replaced_and_a_failed_run_leaves_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "old").unwrap();
    let nobody = format!("memcached://{}", crate::peers::deserted());
    let file = ["--json", path.to_str().unwrap()];
    tailcore(run_args(&nobody, SMALL).chain(file)).expect(&[1]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");

    let server = Server::start();
    let finished = tailcore(run_args(&server.target(), SMALL).chain(file)).expect(&[0, 3]);
    check(&read_json(&path, &finished));
}

#[test]
fn a_full_disk_does_not_lose_the_result() {
    if !has_full("a_full_disk_does_not_lose_the_result") {
        return;
    }
    let server = Server::start();
    let finished = run(&server.target(), &format!("{SMALL} --json {FULL}")).expect(&[1]);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    for part in ["tailcore: ", FULL, "No space left", "standard output"] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
    let start = finished.stdout.find("\n{").expect("the JSON follows the table");
    check(&serde_json::from_str(&finished.stdout[start..]).unwrap());
}

#[test]
fn a_full_standard_output_is_reported_with_its_cause() {
    if !has_full("a_full_standard_output_is_reported_with_its_cause") {
        return;
    }
    let server = Server::start();
    let finished = run_to_full(&server.target(), &["--json", "-"]).expect(&[1]);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    for part in ["tailcore: ", "standard output", "No space left"] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
}

#[test]
fn a_full_standard_output_does_not_lose_the_files() {
    if !has_full("a_full_standard_output_does_not_lose_the_files") {
        return;
    }
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let finished = run_to_full(&server.target(), &["--json", path.to_str().unwrap()]).expect(&[1]);
    check(&read_json(&path, &finished));
}

#[test]
fn two_results_do_not_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let (path, server) = (path.to_str().unwrap(), Server::start());
    let finished = tailcore(run_args(&server.target(), SMALL).chain(["--json", path, "--hgrm", path]));
    let finished = finished.expect(&[2]);
    assert!(finished.stderr.contains("--json") && finished.stderr.contains("--hgrm"), "{finished:#?}");
}
