//! Threads, their placement and their counters: counted, or with the reason why not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::account::{check, list, status};
use crate::command::{BINARY, SMALL, finish, read_json, run_args, run_with_json, skip};
use crate::server::Server;

/// The user that owns nothing.
const NOBODY: &str = "65534";

#[test]
fn unpinned_threads_have_no_cpu() {
    let server = Server::start();
    let (finished, result) = run_with_json(&server.target(), &format!("{SMALL} --pin none"));
    let finished = finished.expect(&[status(&result)]);
    check(&result);
    assert!(result["threads"][0]["cpu"].is_null(), "{result:#}");
    assert_eq!(result["plan"]["pin"], "none");
    assert!(finished.stdout.contains("any CPU"), "{}", finished.stdout);
}

#[test]
fn a_listed_cpu_is_where_the_thread_runs() {
    let server = Server::start();
    let (finished, anywhere) = run_with_json(&server.target(), &format!("{SMALL} -e none"));
    finished.expect(&[0, 3]);
    let allowed = anywhere["environment"]["allowed_cpus"].as_str().unwrap();
    let first = allowed.split(['-', ',']).next().unwrap();
    let (finished, result) = run_with_json(&server.target(), &format!("{SMALL} --pin {first}"));
    finished.expect(&[status(&result)]);
    check(&result);
    assert_eq!(result["threads"][0]["cpu"].to_string(), first);
}

#[test]
fn no_events_are_no_counters() {
    let server = Server::start();
    let (finished, result) = run_with_json(&server.target(), &format!("{SMALL} -e none"));
    finished.expect(&[status(&result)]);
    check(&result);
    assert_eq!(list(&result, "/threads/0/counters").len(), 0, "{result:#}");
    assert!(result["overhead"]["counter_read_ns"].is_null(), "{result:#}");
}

#[test]
fn every_event_that_was_asked_for_has_an_outcome() {
    let server = Server::start();
    let (finished, result) =
        run_with_json(&server.target(), &format!("{SMALL} --threads 2 -e task-clock,cycles"));
    let finished = finished.expect(&[status(&result)]);
    check(&result); // each absence has its reason
    assert_eq!(list(&result, "/threads").len(), 2);
    for thread in list(&result, "/threads") {
        let events: Vec<_> = list(thread, "/counters").iter().map(|counter| &counter["event"]).collect();
        assert_eq!(events, ["task-clock", "cycles"]);
    }
    for event in ["task-clock", "cycles"] {
        assert!(finished.stdout.contains(event), "{event} in {}", finished.stdout);
    }
}

/// Whether this test may become another user.
fn can_become_nobody() -> Result<(), &'static str> {
    let probe = Command::new("setpriv").args(["--reuid", NOBODY, "--clear-groups", "true"]).output();
    match probe {
        Err(_) => Err("there is no setpriv"),
        Ok(output) if !output.status.success() => Err("only root may become another user"),
        Ok(_) => Ok(()),
    }
}

/// Copies the binary to where anybody may start it.
///
/// By another process: a thread that starts a program while this process still has the copy open
/// for writing would make it busy (`ETXTBSY`).
fn copy_for_anybody(folder: &Path) -> String {
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    let copy = folder.join("tailcore");
    assert!(Command::new("cp").args([Path::new(BINARY), &copy]).status().unwrap().success());
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    copy.to_str().unwrap().to_owned()
}

#[test]
fn an_unprivileged_user_gets_counts_or_reasons() {
    if let Err(why) = can_become_nobody() {
        return skip("an_unprivileged_user_gets_counts_or_reasons", "setpriv", why);
    }
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (binary, path) = (copy_for_anybody(folder.path()), folder.path().join("result.json"));
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", NOBODY, "--clear-groups", &binary])
        .args(run_args(&server.target(), SMALL))
        .args(["--json", path.to_str().unwrap()])
        .current_dir(folder.path());
    let finished = finish(command);
    let result = read_json(&path, &finished);
    finished.expect(&[status(&result)]);
    check(&result);
    assert!(!list(&result, "/threads/0/counters").is_empty(), "{result:#}");
}

#[test]
fn an_unprivileged_user_is_told_which_file_may_not_be_written() {
    if let Err(why) = can_become_nobody() {
        return skip("an_unprivileged_user_is_told_which_file_may_not_be_written", "setpriv", why);
    }
    let (folder, closed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = closed.path().join("result.json");
    let nobody = format!("memcached://{}", crate::peers::deserted());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", NOBODY, "--clear-groups", &copy_for_anybody(folder.path())])
        .args(run_args(&nobody, SMALL))
        .args(["--json", path.to_str().unwrap()])
        .current_dir(folder.path());
    let finished = finish(command).expect(&[2]);
    for part in [path.to_str().unwrap(), "ermission denied"] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
}
