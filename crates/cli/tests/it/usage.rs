//! What was typed wrongly: one line that names the culprit and the remedy, before any load.

use crate::command::{Finished, run, skip, tailcore};
use crate::peers;

/// The line on standard error, which has to be the only one apart from clap's hints.
#[track_caller]
fn complaint(finished: &Finished) -> &str {
    assert_eq!(finished.code, Some(2), "{finished:#?}");
    assert_eq!(finished.stdout, "");
    let mut lines = finished.stderr.lines();
    let line = lines.next().unwrap_or_else(|| panic!("no complaint: {finished:#?}"));
    if line.starts_with("error: ") {
        let is_hint = |line: &str| {
            let line = line.trim_start();
            line.is_empty() || ["tip: ", "Usage: ", "For more "].iter().any(|start| line.starts_with(start))
        };
        assert!(lines.all(is_hint), "{finished:#?}");
    } else {
        assert!(line.starts_with("tailcore: "), "{finished:#?}");
        assert_eq!(lines.count(), 0, "{finished:#?}");
    }
    line
}

#[track_caller]
fn assert_names(finished: &Finished, parts: &[&str]) {
    let line = complaint(finished);
    for part in parts {
        assert!(line.contains(part), "`{part}` in: {line}");
    }
}

/// A target that is well-formed, and on which nobody listens: who connects fails with status 1.
fn nobody() -> String {
    format!("memcached://{}", peers::deserted())
}

#[test]
fn a_bad_target_is_named_with_what_would_be_right() {
    for target in ["redis://127.0.0.1:11211", "127.0.0.1:11211", "memcached://127.0.0.1", "memcached://:0"] {
        assert_names(&tailcore(["run", target]), &[target, ":"]);
    }
    assert_names(&tailcore(["run", "redis://h:1"]), &["unknown scheme", "memcached://HOST:PORT"]);
    assert_names(&tailcore(["run", "memcached://h"]), &["HOST:PORT"]);
}

#[test]
fn a_bad_option_is_named_with_what_would_be_right() {
    let target = nobody();
    let table: [(&str, &[&str]); 18] = [
        ("--rate 0", &["--rate", "= 0", "20k"]),
        ("--rate nan", &["--rate", "NaN", "20k"]),
        ("--rate inf", &["--rate", "inf", "20k"]),
        ("--rate fast", &["--rate", "`fast`", "20k"]),
        ("--duration 10", &["--duration", "10", "unit is missing", "10s"]),
        ("--duration 0s", &["--duration", "0", "10s"]),
        ("--timeout 0s", &["--timeout", "0s"]),
        ("--threads 0", &["--threads", "= 0", "at least one"]),
        ("--threads 4 --connections 2", &["--connections", "= 2", "4 threads"]),
        ("--pin 1048575", &["CPU 1048575", "online CPUs are"]),
        ("--pin 0-", &["--pin", "`0-`", "0-3,8"]),
        ("--get-ratio 2", &["--get-ratio", "= 2", "between 0 and 1"]),
        ("--key-dist zipf:-1", &["--key-dist", "-1", "zipf:0.99"]),
        ("--key-dist normal", &["--key-dist", "normal", "uniform", "zipf:0.99"]),
        ("--keys 0", &["--keys", "= 0", "1 to"]),
        ("--value-size 2M", &["--value-size", "2000000", "1000000"]),
        ("--max-in-flight 0", &["--max-in-flight", "= 0", "at least one"]),
        ("--arrivals bursts", &["--arrivals", "bursts", "poisson", "constant"]),
    ];
    for (options, parts) in table {
        assert_names(&run(&target, options), parts);
    }
}

#[test]
fn a_negative_rate_is_refused_for_being_negative() {
    // `use '-- -5'` would be a remedy for another fault.
    assert_names(&run(&nobody(), "--rate -5"), &["--rate", "-5", "20k"]);
}

#[test]
fn an_unknown_event_is_named_with_the_way_to_the_list() {
    let target = nobody();
    assert_names(&run(&target, "-e cyles"), &["--events", "cyles", "cycles"]);
    assert_names(&run(&target, "-e no-such-event"), &["--events", "no-such-event", "tailcore events"]);
}

/// The hard limit of open files, from `proc_pid_limits(5)`; `None` if there is none.
fn hard_limit_of_files() -> Option<u32> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(4)?.parse().ok()
}

#[test]
fn more_connections_than_open_files_are_refused_with_both_numbers() {
    let Some(connections) = hard_limit_of_files().and_then(|limit| limit.checked_add(1)) else {
        let test = "more_connections_than_open_files_are_refused_with_both_numbers";
        return skip(test, "limits", "there is no limit of open files that an option could exceed");
    };
    let finished = run(&nobody(), &format!("--connections {connections}"));
    let (asked, limit) = (connections.to_string(), (connections - 1).to_string());
    assert_names(&finished, &[&asked, &limit, "ulimit -n", "--connections"]);
}

#[test]
fn an_unwritable_result_is_refused_before_anybody_is_connected_to() {
    let target = nobody();
    for option in ["--json", "--hgrm"] {
        let finished = run(&target, &format!("{option} /no/such/folder/x.json"));
        assert_names(&finished, &["/no/such/folder/x.json", "folder that exists"]);
        assert!(!finished.stderr.contains("connect"), "{}", finished.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let finished = run(&target, &format!("--json {path}"));
    assert_names(&finished, &[path, "is a directory"]);
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0);
}

#[test]
fn the_other_commands_refuse_as_clearly() {
    let stalls = ["serve", "--listen", "127.0.0.1:0", "--stall", "2s", "--every", "1s"];
    assert_names(&tailcore(stalls), &["--stall", "2s", "--every", "1s"]);
    assert_names(&tailcore(["serve", "--listen", "here"]), &["--listen", "'here'"]);
    for factor in ["0", "nan", "1000"] {
        assert_names(&tailcore(["demo", "--scale", factor, "--out", "/nowhere"]), &["--scale", "up to 100"]);
    }
    assert_names(&tailcore(["demo", "--out", "/dev/null"]), &["/dev/null", "--out"]);
    assert_names(&tailcore(["frobnicate"]), &["frobnicate"]);
}
