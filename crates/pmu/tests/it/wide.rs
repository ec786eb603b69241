//! Processes, CPUs and control groups of this machine.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use tailcore_pmu::{Counters, Options, Outcome, Reading, Target};

use crate::{events, measure};

/// The count, if there is one; what forbids counting here is printed with the name of the test.
fn count(test: &str, reading: &Reading) -> Option<u64> {
    match &reading.outcome {
        Outcome::Counted { count } => Some(*count),
        Outcome::Forbidden { reason } | Outcome::Unsupported { reason } => {
            skipped!("{test}: {}: {reason}", reading.event);
            None
        }
        other => panic!("{}: {other:?}", reading.event),
    }
}

/// A shell that waits for [`go`], and then is another program.
fn waiting_shell(then: &str) -> Child {
    let script = format!("read line; {then}");
    let command = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn();
    command.unwrap()
}

fn go(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
}

/// CPU time of the calling thread by the scheduler's account, ns.
fn cpu_time_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Not a test: the child of the test below. Its two threads print how long they ran.
#[test]
#[ignore = "is run by another test, as a process of its own"]
fn two_threads_spin() {
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    let spin = || {
        for i in 0..20_000_000_u64 {
            black_box(i);
        }
        println!("ran {}", cpu_time_ns());
    };
    let threads = [thread::spawn(spin), thread::spawn(spin)];
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_process_is_counted_with_the_threads_that_it_creates_later() {
    const NAME: &str = "a_process_is_counted_with_the_threads_that_it_creates_later";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wide::two_threads_spin", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("ready")));
    let mut counters = Counters::open(Target::Process(child.id()), &events("task-clock"));
    counters.enable();
    let mut ran = Vec::new();
    let readings = measure(&mut counters, || {
        go(&mut child);
        ran.extend(lines.filter_map(|line| line.split_once("ran ")?.1.parse::<u64>().ok()));
        child.wait().unwrap();
    });
    if let Some(clock) = count(NAME, &readings[0]) {
        assert_eq!(ran.len(), 2);
        assert!(ran.iter().all(|&thread| thread > 0 && clock > thread), "{clock} of {ran:?}");
    }
}

#[test]
fn a_command_is_counted_from_its_exec_on() {
    const NAME: &str = "a_command_is_counted_from_its_exec_on";
    let mut child = waiting_shell("exec sh -c 'sh -c : ; sh -c :'");
    let options = Options::default().on_exec();
    let list = [events("page-faults,task-clock")];
    let mut counters = Counters::open_groups(Target::Process(child.id()), &list, &options);
    let mut start = counters.snapshot();
    counters.read(&mut start);
    assert!(start.totals(0).is_none_or(|totals| totals.enabled_ns == 0), "{start:?}");
    go(&mut child);
    assert!(child.wait().unwrap().success());
    let mut end = counters.snapshot();
    counters.read(&mut end);
    for reading in counters.interval(&start, &end) {
        assert!(count(NAME, &reading).is_none_or(|count| count > 0), "{reading:?}");
    }
}

#[test]
fn a_cpu_is_counted_whoever_runs_there() {
    const NAME: &str = "a_cpu_is_counted_whoever_runs_there";
    for (target, all) in [(Target::Cpu(0), false), (Target::AllCpus, true)] {
        let mut counters = Counters::open(target, &events("cpu-clock,context-switches"));
        counters.enable();
        // Somebody is switched in and out somewhere: this thread.
        let readings = measure(&mut counters, || {
            for _ in 0..20 {
                thread::sleep(std::time::Duration::from_micros(100));
            }
        });
        assert!(count(NAME, &readings[0]).is_none_or(|clock| clock > 0), "{readings:?}");
        let switches = count(NAME, &readings[1]);
        assert!(!all || switches.is_none_or(|switches| switches >= 20), "{readings:?}");
    }
    let mut counters = Counters::open(Target::Cpu(u32::MAX), &events("cpu-clock"));
    assert_eq!(count("no_such_cpu", &measure(&mut counters, || {})[0]), None);
}

/// A control group that lasts as long as the test.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn new(name: &str) -> Option<ControlGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let is_ours = |kind: &str, options: &str| {
            kind == "cgroup2" || kind == "cgroup" && options.split(',').any(|option| option == "perf_event")
        };
        mounts.lines().find_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let (path, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let directory = Path::new(path).join(format!("{name}-{}", std::process::id()));
            let made = is_ours(kind, options) && fs::create_dir(&directory).is_ok();
            made.then(|| ControlGroup(directory))
        })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Processes that have ended may take the kernel a moment to forget.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_control_group_is_counted_and_its_neighbour_is_not() {
    const NAME: &str = "a_control_group_is_counted_and_its_neighbour_is_not";
    let groups = (ControlGroup::new("tailcore-busy"), ControlGroup::new("tailcore-idle"));
    let (Some(busy), Some(idle)) = groups else {
        skipped!("{NAME}: no writable control group hierarchy with the perf_event controller");
        return;
    };
    let mut child = waiting_shell("sh -c : ; sh -c :");
    let open = |group: &ControlGroup| {
        let target = Target::Cgroup { directory: group.0.clone(), cpu: None };
        let mut counters = Counters::open(target, &events("page-faults"));
        counters.enable();
        counters
    };
    let (mut of_busy, mut of_idle) = (open(&busy), open(&idle));
    let moved = fs::write(busy.0.join("cgroup.procs"), child.id().to_string());
    let mut of_neighbour = Vec::new();
    let readings = measure(&mut of_busy, || {
        of_neighbour = measure(&mut of_idle, || {
            go(&mut child);
            assert!(child.wait().unwrap().success());
        });
    });
    if let Err(error) = moved {
        skipped!("{NAME}: {}: {error}", busy.0.display());
        return;
    }
    assert!(count(NAME, &readings[0]).is_none_or(|faults| faults > 0), "{readings:?}");
    let counted = matches!(of_neighbour[0].outcome, Outcome::Counted { count: 1.. } | Outcome::Scaled { .. });
    assert!(!counted, "{of_neighbour:?}");
}

#[test]
fn a_directory_that_is_no_control_group_has_a_reason() {
    let directory = std::env::temp_dir();
    let target = Target::Cgroup { directory: directory.clone(), cpu: Some(0) };
    let mut counters = Counters::open(target, &events("page-faults"));
    let readings = measure(&mut counters, || {});
    let (Outcome::Unsupported { reason } | Outcome::Forbidden { reason }) = &readings[0].outcome else {
        panic!("{readings:?}");
    };
    let named = reason.contains(&directory.display().to_string());
    assert!(named || reason.contains("perf_event_paranoid") || reason.contains("security"), "{reason}");
}
