//! Pins of other threads, processes and children, pins that end, and the watch over where threads
//! ran. Whatever is pinned was started by the test.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use tailcore_topology::{
    AffinityError, CpuSet, Migrations, PinError, PinGuard, PinnedCommand, Residence, ResidenceWatch,
    ThreadPinGuard, WatchError, affinity_of, current_affinity, current_cpu, current_tid, pin_process,
    pin_thread,
};

use crate::fixture::Machine;

/// No thread has this id: ids stop at 4 194 304.
const NOBODY: u32 = 2_147_483_647;

/// Tells the tests that are children of other tests that they are.
pub(crate) const CHILD: &str = "TAILCORE_TEST_CHILD";

fn first_allowed() -> CpuSet {
    current_affinity().unwrap().iter().take(1).collect()
}

fn last_allowed() -> CpuSet {
    current_affinity().unwrap().iter().last().into_iter().collect()
}

/// Runs `work` with the id of a thread that waits until it is done.
fn with_a_waiting_thread<T>(work: impl FnOnce(u32) -> T) -> T {
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        scope.spawn(move || {
            tell.send(current_tid()).unwrap();
            released.recv().unwrap_err();
        });
        let outcome = work(told.recv().unwrap());
        drop(release);
        outcome
    })
}

/// Starts a test of this binary as a child process and waits until it says `ready`. It ends when
/// its standard input does.
pub(crate) fn child_test(name: &str, value: impl AsRef<std::ffi::OsStr>) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(CHILD, value)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.as_mut().unwrap());
    let ready = out.lines().map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(ready, "the child came as far as it should");
    child
}

pub(crate) fn say_ready_and_wait_for_the_end() {
    println!("\nready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn another_thread_is_pinned_to_a_set_and_the_caller_is_not() {
    let before = current_affinity().unwrap();
    with_a_waiting_thread(|tid| {
        for cpus in [first_allowed(), last_allowed(), before.clone()] {
            pin_thread(tid, &cpus).unwrap();
            assert_eq!(affinity_of(tid).unwrap(), cpus);
            assert_eq!(current_affinity().unwrap(), before);
        }
    });
}

#[test]
fn a_set_that_the_kernel_narrows_is_not_applied() {
    // The kernel has masks of nr_cpu_ids bits and drops the rest as it drops forbidden CPUs.
    let asked = first_allowed().union(&CpuSet::from_iter([1_000_000]));
    with_a_waiting_thread(|tid| {
        let error = pin_thread(tid, &asked).unwrap_err();
        let message = error.to_string();
        let PinError::NotApplied { tid: named, asked: wanted, actual } = error else { panic!("{message}") };
        assert_eq!((named, wanted, actual), (tid, asked.clone(), first_allowed()));
        assert!(message.contains(&tid.to_string()) && message.contains("1000000"), "{message}");
    });
}

#[test]
fn an_empty_set_and_threads_that_do_not_exist_are_typed_errors() {
    let own = current_tid();
    let before = current_affinity().unwrap();
    assert!(matches!(pin_thread(own, &CpuSet::new()), Err(PinError::Empty)));
    assert!(matches!(pin_process(own, &CpuSet::new()), Err(PinError::Empty)));
    assert!(matches!(PinGuard::pin(&CpuSet::new()), Err(PinError::Empty)));
    // To the kernel, 0 would be the caller.
    for tid in [0, NOBODY, u32::MAX] {
        assert!(matches!(pin_thread(tid, &before), Err(PinError::Gone { tid: gone }) if gone == tid));
        assert!(matches!(affinity_of(tid), Err(AffinityError::Gone { tid: gone }) if gone == tid));
        assert!(matches!(ThreadPinGuard::pin(tid, &before), Err(PinError::Gone { .. })));
    }
    assert!(matches!(pin_process(NOBODY, &before), Err(PinError::ProcessGone { pid: NOBODY })));
    assert_eq!(current_affinity().unwrap(), before);
}

#[test]
fn guards_restore_in_reverse_order() {
    let before = current_affinity().unwrap();
    {
        let outer = PinGuard::pin(&first_allowed()).unwrap();
        assert_eq!(*outer.former(), before);
        let only = current_affinity().unwrap();
        assert_eq!(only.first(), Some(current_cpu().unwrap()));
        // A mask may grow again as long as the cpuset allows it.
        let inner = PinGuard::pin(&before).unwrap();
        assert_eq!(*inner.former(), only);
        assert_eq!(current_affinity().unwrap(), before);
        inner.restore().unwrap();
        assert_eq!(current_affinity().unwrap(), only);
    }
    assert_eq!(current_affinity().unwrap(), before);
}

#[test]
fn a_guard_that_cannot_be_made_leaves_the_former_mask() {
    let before = current_affinity().unwrap();
    let narrowed = last_allowed().union(&CpuSet::from_iter([1_000_000]));
    assert!(matches!(PinGuard::pin(&narrowed), Err(PinError::NotApplied { .. })));
    assert_eq!(current_affinity().unwrap(), before);
}

#[test]
fn a_guard_of_another_thread_restores_it_and_forgives_its_end() {
    let before = current_affinity().unwrap();
    let left = with_a_waiting_thread(|tid| {
        let pin = ThreadPinGuard::pin(tid, &first_allowed()).unwrap();
        assert_eq!((pin.tid(), pin.former()), (tid, &before));
        assert_eq!(affinity_of(tid).unwrap(), first_allowed());
        drop(pin);
        assert_eq!(affinity_of(tid).unwrap(), before);
        ThreadPinGuard::pin(tid, &first_allowed()).unwrap()
    });
    left.restore().unwrap();
}

#[test]
#[ignore = "the child process of another test"]
fn child_of_four_threads() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    thread::scope(|scope| {
        let (release, released) = mpsc::channel::<()>();
        let released = std::sync::Arc::new(std::sync::Mutex::new(released));
        for _ in 0..3 {
            let released = released.clone();
            scope.spawn(move || released.lock().unwrap().recv().unwrap_err());
        }
        say_ready_and_wait_for_the_end();
        drop(release);
    });
}

#[test]
fn every_thread_of_a_process_is_pinned() {
    let mut child = child_test("pinning::child_of_four_threads", "threads");
    let (pid, before) = (child.id(), affinity_of(child.id()).unwrap());
    let cpus = last_allowed();
    let pinned = pin_process(pid, &cpus).unwrap();
    assert!(pinned.len() >= 4 && pinned.contains(&pid), "{pinned:?}");
    let watch = ResidenceWatch::of_process(pid).unwrap();
    assert!(watch.tids().eq(pinned.iter().copied()), "no thread is left out");
    assert!(watch.report().iter().all(|thread| thread.affinity == cpus));

    // What the answer is for: the main thread alone would have been the classic mistake.
    pin_thread(pid, &before).unwrap();
    assert!(pinned.iter().filter(|&&tid| tid != pid).all(|&tid| affinity_of(tid).unwrap() == cpus));

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(matches!(pin_process(pid, &cpus), Err(PinError::ProcessGone { .. })));
    assert!(matches!(ResidenceWatch::of_process(pid), Err(WatchError::Gone { .. })));
}

#[test]
fn a_child_starts_pinned() {
    for cpus in [first_allowed(), last_allowed(), current_affinity().unwrap()] {
        let before = current_affinity().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "cat /proc/self/status; read end"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.pinned_to(&cpus).unwrap().spawn().unwrap();
        assert_eq!(affinity_of(child.id()).unwrap(), cpus);
        assert_eq!(current_affinity().unwrap(), before, "the parent stays where it is");
        drop(child.stdin.take());
        let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(
            output.contains(&format!("Cpus_allowed_list:\t{cpus}\n")),
            "and so do its children: {output}"
        );
    }
}

#[test]
fn a_child_that_cannot_be_pinned_does_not_start() {
    let absent = CpuSet::from_iter([1_000_000]);
    for cpus in [absent.clone(), first_allowed().union(&absent)] {
        let spawned = Command::new("true").pinned_to(&cpus).unwrap().spawn();
        assert_eq!(spawned.unwrap_err().raw_os_error(), Some(libc::EINVAL), "{cpus}");
    }
    assert!(matches!(Command::new("true").pinned_to(&CpuSet::new()), Err(PinError::Empty)));
}

#[test]
fn a_watched_thread_was_where_it_was_pinned() {
    let (cpus, own) = (last_allowed(), current_tid());
    let _pin = PinGuard::pin(&cpus).unwrap();
    let mut watch = ResidenceWatch::new(std::process::id(), &[own]).unwrap();
    for _ in 0..3 {
        thread::yield_now();
        watch.sample().unwrap();
    }
    let [Residence { tid, samples: 4, cpus_seen, affinity, migrations, ended: false, .. }] =
        &watch.report()[..]
    else {
        panic!("{watch:?}");
    };
    assert_eq!((*tid, cpus_seen, affinity), (own, &cpus, &cpus));
    match migrations {
        Migrations::Counted(count) => assert_eq!(*count, 0, "a thread on one CPU does not move"),
        reason => skipped!("the count of migrations: {reason:?}"),
    }
}

#[test]
fn migrations_and_switches_are_counted_exactly() {
    let (first, last) = (first_allowed(), last_allowed());
    if first == last {
        skipped!("migrations_and_switches_are_counted_exactly: it needs two allowed CPUs");
        return;
    }
    let _pin = PinGuard::pin(&first).unwrap();
    let mut watch = ResidenceWatch::new(std::process::id(), &[current_tid()]).unwrap();
    for cpus in [&last, &first, &last] {
        // A pin to a CPU where the thread is not moves it there before the call returns.
        pin_thread(current_tid(), cpus).unwrap();
    }
    watch.sample().unwrap();
    let report = watch.report().remove(0);
    // The sample between was never taken: the CPUs seen are a lower bound, the count is not.
    assert_eq!(report.cpus_seen, first.union(&last));
    assert!(report.voluntary_switches + report.involuntary_switches >= 3, "{report:?}");
    match report.migrations.counted() {
        Some(count) => assert_eq!(count, 3, "{report:?}"),
        None => skipped!("the count of migrations: {:?}", report.migrations),
    }
}

/// Writes what proc tells of thread 32 of process 31.
fn write_thread(machine: &Machine, cpu: u32, switches: u64) {
    let between = vec!["0"; 18].join(" ");
    let after = vec!["0"; 16].join(" ");
    let stat = format!("32 (a) b (c)) S {between} 777 {after} {cpu} 0 0\n");
    machine.file("proc/31/task/32/stat", stat);
    let status = format!(
        "Name:\ta) b (c)\nCpus_allowed_list:\t0-7\nvoluntary_ctxt_switches:\t{switches}\n\
         nonvoluntary_ctxt_switches:\t1\n"
    );
    machine.file("proc/31/task/32/status", status);
}

#[test]
fn a_watch_tells_what_changed_between_its_first_and_last_sample() {
    let machine = Machine::empty();
    let sched = |count| machine.file("proc/31/task/32/sched", format!("se.nr_migrations  :  {count}\n"));
    write_thread(&machine, 3, 10);
    sched(5);
    let mut watch = ResidenceWatch::new_from(machine.root(), 31, &[32]).unwrap();
    write_thread(&machine, 6, 14);
    sched(7);
    watch.sample().unwrap();
    let mut report = watch.report().remove(0);
    assert_eq!(report.name, "a) b (c)");
    assert_eq!(report.cpus_seen.to_string(), "3,6");
    assert_eq!((report.samples, report.migrations), (2, Migrations::Counted(2)));
    assert_eq!((report.voluntary_switches, report.involuntary_switches), (4, 0));
    assert_eq!(report.affinity.to_string(), "0-7");

    // The end of a thread leaves what was known of it.
    machine.remove("proc/31/task/32");
    watch.sample().unwrap();
    watch.sample().unwrap();
    report.ended = true;
    assert_eq!(watch.report(), [report]);
}

#[test]
fn a_kernel_that_counts_no_migrations_gives_a_reason_and_not_zero() {
    let machine = Machine::empty();
    write_thread(&machine, 0, 0);
    let migrations = |machine: &Machine| {
        let watch = ResidenceWatch::of_process_from(machine.root(), 31).unwrap();
        watch.report()[0].migrations
    };
    assert_eq!(migrations(&machine), Migrations::NoFile);
    machine.file("proc/31/task/32/sched", "nr_switches : 4\n");
    assert_eq!(migrations(&machine), Migrations::NotTold);
}

#[test]
fn threads_that_cannot_be_watched_are_named() {
    let machine = Machine::empty();
    let error = |tid| ResidenceWatch::new_from(machine.root(), 31, &[tid]).unwrap_err();
    assert!(matches!(error(32), WatchError::Gone { tid: 32, .. }));
    write_thread(&machine, 0, 0);
    machine.file("proc/31/task/32/status", "Name:\ta\n");
    let message = error(32).to_string();
    assert!(message.contains("proc/31/task/32/status"), "{message}");
    assert!(matches!(error(32), WatchError::Malformed { .. }));
}
