//! The command among others in a shell: help, no arguments, closed pipes.

use std::io;
use std::process::Command;

use crate::command::{BINARY, Finished, Running, tailcore};

/// Runs the command into a pipe that nobody reads, as `| head` leaves it behind.
fn into_closed_pipe(args: &[&str]) -> Finished {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(BINARY);
    command.args(args);
    Running::spawn(command, writer.into()).finish()
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&["topo"][..], &["topo", "--json"], &["events"], &["events", "--json"], &["--help"]] {
        let finished = into_closed_pipe(args).expect(&[0]);
        assert_eq!(finished.stderr, "", "{args:?}");
    }
}

#[test]
fn a_server_outlives_the_reader_of_its_first_line() {
    let finished = into_closed_pipe(&["serve", "--listen", "127.0.0.1:0", "--for", "10ms"]).expect(&[0]);
    assert_eq!(finished.stderr, "");
}

#[test]
fn no_arguments_ask_for_some() {
    let finished = tailcore([]).expect(&[2]);
    assert_eq!(finished.stdout, "");
    for part in ["Usage: tailcore", "demo", "run", "serve", "topo", "events"] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [&["--help"][..], &["-h"], &["help", "run"], &["run", "--help"], &["demo", "--help"]] {
        let finished = tailcore(args.iter().copied()).expect(&[0]);
        assert!(finished.stdout.contains("Usage: tailcore"), "{}", finished.stdout);
        assert_eq!(finished.stderr, "");
    }
    assert!(tailcore(["--help"]).stdout.contains("Exit status of run: 0 valid"));
    let version = tailcore(["--version"]).expect(&[0]).stdout;
    assert_eq!(version.trim_end(), format!("tailcore {}", env!("CARGO_PKG_VERSION")));
}
