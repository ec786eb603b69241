//! `tailcore stat`: counts of commands whose doings are known, their streams, signals and exit statuses.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command::{BINARY, Finished, Running, finish, skip, tailcore};

/// Events that every kernel with perf events counts.
const EVENTS: &str = "task-clock,page-faults,context-switches";

/// `tailcore stat --json` of a shell line, with further options.
#[track_caller]
fn stat_sh(options: &[&str], line: &str) -> Finished {
    let head = ["stat", "--json"].into_iter().chain(options.iter().copied());
    tailcore(head.chain(["--", "sh", "-c", line]))
}

/// The objects on standard error; the last one is of the whole command.
#[track_caller]
fn lines(finished: &Finished) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {finished:#?}"));
    finished.stderr.lines().map(parse).collect()
}

#[track_caller]
fn whole(finished: &Finished) -> Value {
    lines(finished).pop().unwrap_or_else(|| panic!("nothing was printed: {finished:#?}"))
}

/// The exact count of an event; `None` where this system does not count it, and says why.
#[track_caller]
fn count(object: &Value, event: &str) -> Option<u64> {
    let events = object["events"].as_array().unwrap();
    let reading = events.iter().find(|it| it["event"] == event).unwrap_or_else(|| panic!("{object:#}"));
    match reading["outcome"].as_str().unwrap() {
        "counted" => Some(reading["count"].as_u64().unwrap()),
        "forbidden" | "unsupported" => {
            assert!(reading["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{reading:#}");
            assert!(reading.get("count").is_none(), "{reading:#}");
            None
        }
        _ => panic!("{reading:#}"),
    }
}

/// The same, where the test is for nothing without.
#[track_caller]
fn counted(test: &str, object: &Value, event: &str) -> Option<u64> {
    let count = count(object, event);
    if count.is_none() {
        skip(test, "perf", &format!("{event} is not counted here"));
    }
    count
}

#[test]
fn the_result_has_its_parts() {
    let finished = stat_sh(&["-e", "task-clock,cycles:u,page-faults"], "exit 0").expect(&[0]);
    let result = whole(&finished);
    assert_eq!(result["format"], "tailcore.stat/1");
    assert_eq!(result["command"], serde_json::json!(["sh", "-c", "exit 0"]));
    assert_eq!(result["ended"], serde_json::json!({ "exit_status": 0 }));
    for key in ["elapsed_ns", "user_ns", "system_ns"] {
        assert!(result[key].is_u64(), "{key} in {result:#}");
    }
    let events = result["events"].as_array().unwrap();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["task-clock", "cycles:u", "page-faults"]);
    for event in events {
        assert_eq!(event.get("count").is_some(), event.get("reason").is_none(), "{event:#}");
        assert!(event["scope"].is_string(), "{event:#}");
    }
    if let Some(ns) = counted("the_result_has_its_parts", &result, "task-clock") {
        assert!(ns > 0 && count(&result, "page-faults") > Some(0), "{result:#}");
    }
}

#[test]
fn child_processes_are_counted() {
    let of = |line| whole(&stat_sh(&["-e", "page-faults"], line).expect(&[0]));
    let test = "child_processes_are_counted";
    let Some(alone) = counted(test, &of("exit 0"), "page-faults") else { return };
    let many = count(&of("for i in 1 2 3 4 5 6 7 8; do /bin/true; done"), "page-faults").unwrap();
    // Each exec has to fault its own pages in: far more than 10 of them.
    assert!(many > alone + 8 * 10, "{alone} without children, {many} with 8");
}

#[test]
fn the_table_has_counts_and_reasons() {
    let finished = tailcore(["stat", "-e", "page-faults,r08a2", "--", "sh", "-c", "exit 3"]).expect(&[3]);
    assert_eq!(finished.stdout, "");
    for part in ["counted of `sh -c exit 3` (exit status 3):", "page-faults", "r8a2", "elapsed ", "user "] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
    let is_counted = !finished.stderr.contains("\u{2013}");
    assert_ne!(is_counted, finished.stderr.contains("not counted: "), "{}", finished.stderr);
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    for status in [0, 1, 2, 3, 7, 126, 255] {
        let finished = stat_sh(&["-e", "page-faults"], &format!("exit {status}")).expect(&[status]);
        assert_eq!(whole(&finished)["ended"]["exit_status"], status);
    }
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("INT", 2)] {
        let finished = stat_sh(&["-e", "page-faults"], &format!("kill -{signal} $$")).expect(&[128 + number]);
        assert_eq!(whole(&finished)["ended"]["signal"], number);
    }
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    for (name, why) in [("/no/such/command", "No such file"), (text.to_str().unwrap(), "Permission denied")] {
        let finished = tailcore(["stat", "--json", "--", name, "-x"]).expect(&[127]);
        assert_eq!(finished.stdout, "");
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        for part in ["tailcore: cannot run", name, why] {
            assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
        }
    }
}

#[test]
fn what_is_typed_wrongly_starts_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let set = folder.path().join("bad.set");
    std::fs::write(&set, "set x\nabout y\nevents cycles\n").unwrap();
    let table: [(&[&str], &str); 8] = [
        (&["-e", "cyles"], "cycles"),
        (&["-e", "{cycles,instructions"], "brace"),
        (&["--set", "no-such-set"], "tailbench-haswell"),
        (&["--set", set.to_str().unwrap()], "line 3"),
        (&["--set", "smt", "-e", "cycles"], "cannot be used with"),
        (&["--interval", "10us"], "1ms"),
        (&["--interval", "1s", "--per-thread"], "cannot be used with"),
        (&["-o", "/no/such/folder/file"], "/no/such/folder/file"),
    ];
    for (options, part) in table {
        let finished =
            tailcore(["stat"].iter().chain(options).copied().chain(["--", "touch", trace.to_str().unwrap()]));
        let finished = finished.expect(&[2]);
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
        assert!(!trace.exists(), "{options:?}");
    }
    tailcore(["stat"]).expect(&[2]);
}

#[test]
fn streams_arguments_and_environment_are_the_commands() {
    let mut command = Command::new(BINARY);
    let line = r#"cat; printf '%s|' "$0" "$@" "$GREETING"; ls /proc/self/fd | wc -l >&2"#;
    command.args(["stat", "--json", "-e", "page-faults", "-o", "/dev/null", "--"]);
    command.args(["sh", "-c", line, "--json", "-e", "two words", ""]).env("GREETING", "hello");
    let plain = {
        let mut command = Command::new("sh");
        command.args(["-c", line, "--json", "-e", "two words", ""]).env("GREETING", "hello");
        command
    };
    let run = |mut command: Command| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"from standard input\n").unwrap();
        drop(writer);
        command.stdin(reader);
        finish(command).expect(&[0])
    };
    let (counted, plain) = (run(command), run(plain));
    assert_eq!(counted.stdout, "from standard input\n--json|-e|two words||hello|");
    // The same number of open files: nothing of ours is left in the command.
    assert_eq!((counted.stdout, counted.stderr), (plain.stdout, plain.stderr));
}

#[test]
fn the_file_holds_the_result_and_standard_error_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let finished = stat_sh(&["-e", EVENTS, "-o", path.to_str().unwrap()], "echo mine >&2").expect(&[0]);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", "mine\n"));
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(result["format"], "tailcore.stat/1");
    // No half of one is left where the command does not start.
    let path = folder.path().join("other.json");
    tailcore(["stat", "-o", path.to_str().unwrap(), "--", "no-such-command"]).expect(&[127]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn intervals_are_differences_that_add_up() {
    // Long enough for several intervals on any machine; fewer would do.
    let line = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done";
    let finished = stat_sh(&["-e", EVENTS, "--interval", "5ms"], line).expect(&[0]);
    let mut objects = lines(&finished);
    let whole = objects.pop().unwrap();
    assert!(!objects.is_empty(), "{finished:#?}");
    let mut end = 0;
    for interval in &objects {
        assert_eq!(interval["format"], "tailcore.stat.interval/1");
        assert_eq!(interval["start_ns"], end, "{interval:#}");
        end += interval["length_ns"].as_u64().unwrap();
    }
    assert_eq!(end, whole["elapsed_ns"].as_u64().unwrap());
    for event in EVENTS.split(',') {
        let Some(total) = counted("intervals_are_differences_that_add_up", &whole, event) else { return };
        // An interval in which nothing ran has no count, and nothing happened in it.
        let of = |interval: &Value| {
            let events = interval["events"].as_array().unwrap();
            let reading = events.iter().find(|it| it["event"] == event).unwrap();
            match reading["outcome"].as_str().unwrap() {
                "counted" => reading["count"].as_u64().unwrap(),
                "not_scheduled" => 0,
                _ => panic!("{reading:#}"),
            }
        };
        assert_eq!(objects.iter().map(of).sum::<u64>(), total, "{event}");
    }
}

#[test]
fn an_interval_is_a_line_while_the_command_runs() {
    let mut command = Command::new(BINARY);
    command.args(["stat", "-e", EVENTS, "--interval", "10ms", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let header = lines.next().unwrap().unwrap();
    assert!(header.trim_start().starts_with("until"), "{header}");
    // `cat` ends only after the line is read.
    let line = lines.next().unwrap().unwrap();
    drop(child.stdin.take());
    assert!(line.split_whitespace().next().unwrap().ends_with('s'), "{line}");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.last().unwrap().starts_with("elapsed "), "{rest:#?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn signals_go_to_the_command_and_its_counts_are_still_printed() {
    // Without a terminal, whose keys would reach the command by themselves.
    let folder = tempfile::tempdir().unwrap();
    for (signal, trapped) in [("TERM", "5"), ("INT", "6"), ("HUP", "7")] {
        let ready = folder.path().join(signal);
        let line =
            format!("trap 'exit {trapped}' {signal}; : > {}; while :; do sleep 0.01; done", ready.display());
        let mut command = Command::new("setsid");
        command.args([BINARY, "stat", "--json", "-e", "page-faults", "--", "sh", "-c", &line]);
        let running = Running::spawn(command, Stdio::piped());
        wait_for(&ready);
        running.signal(signal);
        let finished = running.finish().expect(&[trapped.parse().unwrap()]);
        assert_eq!(whole(&finished)["format"], "tailcore.stat/1", "{signal}");
    }
}

#[test]
fn times_are_those_of_the_command_alone() {
    // A shell that has had a child, of 60 ms and more, becomes `tailcore`.
    let line = r#"timeout 0.06 sh -c 'while :; do :; done'; exec "$0" stat --json -e page-faults -- true"#;
    let mut command = Command::new("sh");
    command.args(["-c", line, BINARY]);
    let whole = whole(&finish(command).expect(&[0]));
    let used = whole["user_ns"].as_u64().unwrap() + whole["system_ns"].as_u64().unwrap();
    let elapsed = whole["elapsed_ns"].as_u64().unwrap();
    // `true` has one thread; the kernel tells its time to the tick at worst, 10 ms.
    assert!(used < elapsed + 20_000_000, "{whole:#}");
}

#[test]
fn ignored_signals_stay_ignored() {
    let mut command = Command::new("sh");
    let line = r#"trap '' HUP INT; exec "$0" stat --json -e page-faults -- grep SigIgn /proc/self/status"#;
    command.args(["-c", line, BINARY]);
    let finished = finish(command).expect(&[0]);
    let mask = finished.stdout.split_whitespace().last().unwrap();
    let mask = u64::from_str_radix(mask, 16).unwrap();
    // SIGHUP is signal 1, SIGINT 2.
    assert_eq!(mask & 0b11, 0b11, "{}", finished.stdout);
}

#[test]
fn each_thread_is_counted_by_itself() {
    let test = "each_thread_is_counted_by_itself";
    let args = ["stat", "--json", "--per-thread", "-e", "task-clock,context-switches,cycles", "--"];
    let serve = [BINARY, "serve", "--listen", "127.0.0.1:0", "--for", "1s"];
    let finished = tailcore(args.into_iter().chain(serve)).expect(&[0]);
    let whole = whole(&finished);
    let threads = whole["threads"].as_array().unwrap();
    assert_eq!(threads[0]["name"], "tailcore", "{whole:#}");
    assert_eq!(threads[0]["found_ns"], 0);
    if counted(test, &whole, "task-clock").is_none() {
        return;
    }
    assert!(threads.len() >= 2, "the server has a thread of its own: {whole:#}");
    let (seen, all) = (&whole["unseen"]["seen_ns"], &whole["unseen"]["whole_ns"]);
    let sum: u64 = threads.iter().filter_map(|thread| count(thread, "task-clock")).sum();
    assert_eq!(seen.as_u64(), Some(sum), "{whole:#}");
    assert_eq!(all.as_u64(), count(&whole, "task-clock"), "{whole:#}");
    // The whole follows the threads too.
    assert!(all.as_u64() > count(&threads[0], "task-clock"), "{whole:#}");
    let table = tailcore(["stat", "--per-thread", "-e", EVENTS, "--", "true"]).expect(&[0]).stderr;
    assert!(table.contains("not seen: ") && table.contains("found at"), "{table}");
}

#[test]
fn what_children_do_is_not_seen_per_thread_and_told() {
    let line = "for i in 1 2 3 4 5 6 7 8; do /bin/true; done";
    let whole = whole(&stat_sh(&["--per-thread", "-e", EVENTS], line).expect(&[0]));
    let test = "what_children_do_is_not_seen_per_thread_and_told";
    if counted(test, &whole, "task-clock").is_none() {
        return;
    }
    assert_eq!(whole["threads"].as_array().unwrap().len(), 1);
    let (seen, all) = (&whole["unseen"]["seen_ns"], &whole["unseen"]["whole_ns"]);
    assert!(seen.as_u64() < all.as_u64(), "{whole:#}");
}

#[test]
fn a_set_has_its_metrics_with_values_or_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.set");
    let set = "set mine\nabout Faults.\nevent page-faults\nevent context-switches\nevent cycles\n\
        metric faults-per-second [faults per second] = page-faults / seconds\n\
        metric per-busy-second [faults per second] = page-faults / busy-seconds\n\
        metric per-cycle [faults per cycle] = page-faults / cycles\n\
        metric per-request [faults per request] = page-faults / requests\n";
    std::fs::write(&path, set).unwrap();
    let path = path.to_str().unwrap();
    let whole = whole(&stat_sh(&["--set", path], "exit 0").expect(&[0]));
    assert_eq!(whole["set"], "mine");
    let metrics = whole["metrics"].as_array().unwrap();
    assert_eq!(metrics.len(), 4);
    assert_eq!(metrics[3]["outcome"], "missing");
    assert!(metrics[3]["reason"].as_str().unwrap().contains("tailcore run"), "{whole:#}");
    let Some(faults) = counted("a_set_has_its_metrics_with_values_or_reasons", &whole, "page-faults") else {
        return;
    };
    let seconds = whole["elapsed_ns"].as_f64().unwrap() / 1e9;
    let value = metrics[0]["value"].as_f64().unwrap();
    assert!((value / (faults as f64 / seconds) - 1.0).abs() < 1e-9, "{whole:#}");
    // It was never on a CPU for longer than it took.
    assert!(metrics[1]["value"].as_f64().unwrap() > value, "{whole:#}");
    let table = tailcore(["stat", "--set", path, "--", "true"]).expect(&[0]).stderr;
    assert!(table.contains("faults-per-second") && table.contains("requests"), "{table}");
}

#[test]
fn every_built_in_set_can_be_asked_for() {
    for set in ["tailbench-haswell", "udp-westmere", "smt", "memory"] {
        let whole = whole(&stat_sh(&["--set", set], "exit 0").expect(&[0]));
        assert_eq!(whole["set"], set);
        assert!(!whole["metrics"].as_array().unwrap().is_empty(), "{whole:#}");
    }
}

/// Waits until the command has made a file.
fn wait_for(path: &Path) {
    let started = std::time::Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < crate::command::HANG_LIMIT, "{} does not appear", path.display());
        std::thread::sleep(crate::command::LOOK_EVERY);
    }
}
