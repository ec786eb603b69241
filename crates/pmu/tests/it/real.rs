//! The kernel of this machine. What it offers is its own affair; that the answers agree with each other is
//! tested.

use std::hint::black_box;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tailcore_pmu::{
    Calibration, Counters, EventAttr, EventKind, Kernel, Linux, Options, Outcome, Place, Plan, Probe,
    Reading, SOUND, Scope, Target, calibrate, catalogue, default_events,
};

use crate::{events, measure};

/// The count, or `None` where the system gave a reason instead.
fn count(reading: &Reading) -> Option<u64> {
    match &reading.outcome {
        Outcome::Counted { count } => Some(*count),
        Outcome::Scaled { count, running } => {
            assert!(*running > 0.0 && *running < 1.0, "{reading:?}");
            Some(*count)
        }
        Outcome::NotScheduled { reason }
        | Outcome::Unsupported { reason }
        | Outcome::Forbidden { reason } => {
            assert!(reason.contains(':') && !reason.contains('\n'), "{reading:?}");
            None
        }
        other => panic!("{other:?}"),
    }
}

/// Whether the system says that it counts `event` for this process.
fn available(event: &str) -> bool {
    let found = catalogue().into_iter().find(|a| a.event == event);
    matches!(found.map(|a| a.outcome), Some(Probe::Available { .. }))
}

/// The faults of touching 64 MiB: huge pages make fewer, never none. Off x86 a huge page may have 32 MiB or
/// more.
const LEAST_FAULTS: u64 = if cfg!(target_arch = "x86_64") { 32 } else { 1 };

/// Touches `pages` pages which this process has never touched.
fn touch_fresh(pages: usize) {
    // Far above the size from which the allocator maps fresh memory, and gives it back when dropped.
    let mut memory = Vec::<u8>::with_capacity(pages * 4096);
    for room in memory.spare_capacity_mut().chunks_mut(4096) {
        room[0].write(1);
    }
    black_box(&mut memory);
}

fn spin() {
    for i in 0..200_000_u64 {
        black_box(i);
    }
}

#[test]
fn the_events_of_the_kernel_count_on_the_current_thread() {
    let mut counters =
        Counters::open(Target::CurrentThread, &events("page-faults,context-switches,task-clock"));
    counters.enable();
    let readings = measure(&mut counters, || {
        touch_fresh(16 * 1024);
        for _ in 0..20 {
            thread::sleep(Duration::from_micros(200));
        }
        spin();
    });
    for (reading, least) in readings.iter().zip([LEAST_FAULTS, 20, 1]) {
        assert_eq!(count(reading).is_some(), available(&reading.event), "{reading:?}");
        assert!(count(reading).is_none_or(|n| n >= least), "{reading:?}");
    }
}

#[test]
fn a_quiet_interval_is_a_true_zero() {
    let mut counters = Counters::open(Target::CurrentThread, &events("alignment-faults"));
    counters.enable();
    let readings = measure(&mut counters, spin);
    if available("alignment-faults") {
        assert_eq!(readings[0].outcome, Outcome::Counted { count: 0 });
    } else {
        assert_eq!(count(&readings[0]), None);
    }
}

#[test]
fn another_thread_is_counted_by_its_id_and_read_from_here() {
    let (tid_out, tid_in) = mpsc::channel();
    let (go_out, go_in) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        tid_out.send(thread_id()).unwrap();
        go_in.recv().unwrap();
        touch_fresh(16 * 1024);
    });
    let mut counters =
        Counters::open(Target::Thread(tid_in.recv().unwrap()), &events("page-faults,task-clock"));
    counters.enable();
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    touch_fresh(16 * 1024); // Must not be counted: it is this thread's.
    go_out.send(()).unwrap();
    worker.join().unwrap();
    // The counters are read by a third thread, after theirs has ended.
    let counters = thread::spawn(move || {
        counters.read(&mut end);
        counters.interval(&start, &end)
    });
    let readings = counters.join().unwrap();
    assert_eq!(count(&readings[0]).is_some(), available("page-faults"), "{readings:?}");
    if let Some(faults) = count(&readings[0]) {
        assert!((LEAST_FAULTS..=17 * 1024).contains(&faults), "{faults}");
    }
}

/// The kernel's id of this thread, without a system call of our own.
fn thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn the_events_of_the_pmu_count_or_say_why_not() {
    let mut counters = Counters::open(Target::CurrentThread, &default_events());
    counters.enable();
    let readings = measure(&mut counters, spin);
    assert_eq!(readings.len(), default_events().len());
    for (event, reading) in default_events().iter().zip(&readings) {
        assert_eq!(event.to_string(), reading.event);
        let counted = count(reading);
        if event.kind() != EventKind::Software && !available(&reading.event) {
            assert_eq!(counted, None, "{reading:?}");
        }
        if reading.event == "instructions" {
            assert!(counted.is_none_or(|n| n >= 200_000), "{reading:?}");
        }
    }
}

#[test]
fn a_plan_for_this_machine_loses_no_event_and_its_groups_run() {
    let units: Vec<Vec<_>> = default_events().chunks(2).map(<[_]>::to_vec).collect();
    let plan = Plan::new(&units);
    let mut planned: Vec<String> = plan.multiplexed().concat().iter().map(ToString::to_string).collect();
    let mut asked: Vec<String> = default_events().iter().map(ToString::to_string).collect();
    planned.sort();
    asked.sort();
    assert_eq!(planned, asked);
    for pass in plan.passes() {
        let mut counters = Counters::open_groups(Target::CurrentThread, &pass, &Options::default());
        counters.enable();
        for reading in measure(&mut counters, spin) {
            let runs = available(&reading.event) && plan.notes().is_empty();
            assert_eq!(count(&reading).is_some(), runs, "{reading:?} of {plan:?}");
        }
    }
}

#[test]
fn the_pmu_of_this_machine_is_sound_or_says_what_is_wrong() {
    match calibrate() {
        Calibration::Sound { ratio } => assert!(SOUND.contains(&ratio), "{ratio}"),
        Calibration::Suspect { counted, run } => {
            assert!(!SOUND.contains(&(counted as f64 / run as f64)), "{counted} of {run}");
        }
        Calibration::Unknown { reason } => {
            let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
            assert!(!known || !available("instructions"), "{reason}");
            assert!(reason.contains(':') && !reason.contains('\n'), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clock_counts_both_modes_even_where_user_mode_was_asked_for() {
    // Why `task-clock:u` is refused and the scope is always both: if a kernel began to split clocks, this
    // would fail.
    let attr = EventAttr { type_: 1, config: 1, exclude_kernel: true, ..EventAttr::default() };
    let Ok(clock) = Linux.open(&attr, &Place::CurrentThread, None) else {
        assert!(!available("task-clock"));
        return;
    };
    for _ in 0..20_000 {
        black_box(std::fs::metadata("/").is_ok());
    }
    let mut buffer = [0_u8; 32];
    assert_eq!(Linux.read(clock.as_fd(), &mut buffer), Ok(32));
    let word = |at: usize| u64::from_ne_bytes(buffer[at * 8..][..8].try_into().unwrap());
    // Far more than half of this loop is spent in the kernel.
    let (enabled, counted) = (word(1), word(3));
    assert!(counted >= enabled / 10 * 9, "{counted} of {enabled}");
}

#[test]
fn no_thread_has_this_id() {
    for tid in [0, u32::MAX] {
        let mut counters = Counters::open(Target::Thread(tid), &events("page-faults"));
        assert!(!counters.is_any_open());
        assert_eq!(count(&measure(&mut counters, || {})[0]), None);
    }
}

#[test]
fn descriptors_are_closed_on_drop() {
    let mine = || {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .filter(|link| link.to_string_lossy().contains("perf_event"))
            .count()
    };
    // Other tests run at the same time and hold counters too: a leak of 300 stands out.
    for _ in 0..300 {
        drop(Counters::open(Target::CurrentThread, &events("task-clock")));
    }
    assert!(mine() < 250, "{}", mine());
}

#[test]
fn scopes_follow_the_system() {
    for known in catalogue() {
        if let Probe::Available { scope } = known.outcome {
            assert_ne!(scope, Scope::Kernel, "{}", known.event);
            let in_kernel = ["context-switches", "cpu-migrations", "task-clock", "cpu-clock"];
            assert!(scope == Scope::UserAndKernel || !in_kernel.contains(&known.event.as_str()));
        }
    }
}
