//! Whole processes, CPUs and control groups.

use std::path::Path;
use std::{fs, thread};

use tailcore_pmu::{Counters, Options, Outcome, Target};

use crate::guest::{PMU, events, exact, in_guest, measure};
use crate::sys::spin;

const ROUNDS: u64 = 1_000_000;

/// Counters of the instructions in user mode that `target` runs.
fn opened(target: Target, options: &Options) -> Counters {
    let mut counters = Counters::open_groups(target, &[events("instructions:u")], options);
    counters.enable();
    counters
}

/// Their count while `work` happens.
fn count(target: Target, options: &Options, work: impl FnOnce()) -> u64 {
    let [count] = exact(&measure(&mut opened(target, options), work));
    count
}

/// Runs the loop in a thread of its own.
fn spin_elsewhere() {
    thread::scope(|scope| scope.spawn(|| spin(ROUNDS)).join().unwrap());
}

#[test]
fn a_thread_is_counted_without_or_with_the_threads_that_it_creates() {
    if !in_guest(PMU) {
        return;
    }
    let alone = count(Target::CurrentThread, &Options::default(), spin_elsewhere);
    assert!(alone < 2 * ROUNDS, "{alone}");
    let together = count(Target::CurrentThread, &Options::default().inherit(), spin_elsewhere);
    assert!(together > 2 * ROUNDS, "{together}");
}

#[test]
fn a_process_and_a_cpu_are_counted_with_all_that_runs_there() {
    if !in_guest(PMU) {
        return;
    }
    for target in [Target::Process(std::process::id()), Target::Cpu(0), Target::AllCpus] {
        let counted = count(target.clone(), &Options::default(), spin_elsewhere);
        assert!((2 * ROUNDS..4 * ROUNDS).contains(&counted), "{target:?}: {counted}");
    }
}

#[test]
fn a_control_group_is_counted_while_something_runs_in_it() {
    if !in_guest(PMU) {
        return;
    }
    let root = Path::new("/sys/fs/cgroup");
    let write = |file: &str, text| fs::write(root.join(file), text).unwrap();
    // Only with the first controller, whichever that is, do groups below the root get counters.
    write("cgroup.subtree_control", "+pids");
    fs::create_dir(root.join("counted")).unwrap();
    let target = Target::Cgroup { directory: root.join("counted"), cpu: None };
    let mut counters = opened(target, &Options::default());
    let mut outcome = || measure(&mut counters, || spin(ROUNDS)).remove(0).outcome;
    let outside = outcome();
    write("counted/cgroup.procs", "0");
    let inside = outcome();
    write("cgroup.procs", "0");
    fs::remove_dir(root.join("counted")).unwrap();
    write("cgroup.subtree_control", "-pids");
    assert!(matches!(outside, Outcome::NotScheduled { .. }), "{outside:?}");
    assert!(matches!(inside, Outcome::Counted { count } if count > 2 * ROUNDS), "{inside:?}");
}
