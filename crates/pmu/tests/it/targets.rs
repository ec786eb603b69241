//! Counting more than a thread: processes, CPUs, control groups, and how counters are opened.

use tailcore_pmu::{Calibration, Counters, Options, Outcome, Reading, Scope, Target, calibrate_with};

use crate::fake::{Fake, GONE, Rule, rate};
use crate::{events, measure};

fn open(kernel: &Fake, target: Target, list: &str, options: &Options) -> Counters {
    let mut counters = Counters::open_groups_with(kernel.clone(), target, &[events(list)], options);
    counters.enable();
    counters
}

fn reason(reading: &Reading) -> &str {
    match &reading.outcome {
        Outcome::Unsupported { reason } | Outcome::Forbidden { reason } | Outcome::Dead { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_threads_of_a_process_are_added_up_and_their_offspring_is_inherited() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters =
        open(&kernel, Target::Process(7), "cycles,instructions,page-faults", &Options::default());
    // Two threads; the third has ended since they were listed.
    assert_eq!(kernel.group_sizes(), [2, 2, 1, 1]);
    assert!(kernel.opened().iter().all(|attr| attr.inherit));
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    for (reading, config) in readings.iter().zip([0, 1, 2]) {
        assert_eq!(reading.outcome, Outcome::Counted { count: 2 * 1000 * rate(config) });
    }
    // Only one of them runs: the other has done nothing, which is known.
    let only = |place: &tailcore_pmu::Place| *place == tailcore_pmu::Place::Thread(7);
    let readings = measure(&mut counters, || kernel.run_where(only, 1000, 500));
    assert_eq!(readings[0].outcome, Outcome::Scaled { count: 1000 * rate(0), running: 0.5 });
    assert_eq!(readings[2].outcome, Outcome::Counted { count: 1000 * rate(2) });
}

#[test]
fn a_process_that_is_not_there_is_a_reason_for_each_event() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = open(&kernel, Target::Process(GONE), "cycles,cs", &Options::default());
    for reading in measure(&mut counters, || {}) {
        assert!(reason(&reading).contains("no such thread"), "{reading:?}");
    }
}

#[test]
fn cpus_are_counted_one_by_one_and_added_up() {
    let kernel = Fake::new(Rule::Counters(4));
    for (target, cpus) in [(Target::AllCpus, 4), (Target::Cpu(2), 1)] {
        let mut counters = open(&kernel, target, "cycles,cs", &Options::default().inherit());
        assert_eq!(kernel.groups().len(), 2 * cpus);
        assert!(kernel.opened().iter().all(|attr| !attr.inherit), "a CPU has no children");
        let readings = measure(&mut counters, || kernel.run(1000, 1000));
        assert_eq!(readings[0].outcome, Outcome::Counted { count: cpus as u64 * 1000 * rate(0) });
    }
    let mut counters = open(&kernel, Target::Cpu(9), "cycles", &Options::default());
    assert!(reason(&measure(&mut counters, || {})[0]).contains("logical CPU 9 is offline"));
    let paranoid = Fake::new(Rule::Paranoid2);
    let mut counters = open(&paranoid, Target::AllCpus, "cycles", &Options::default());
    let readings = measure(&mut counters, || {});
    assert!(reason(&readings[0]).contains("forbids counting what others do on a CPU"), "{readings:?}");
}

#[test]
fn a_control_group_is_counted_on_each_cpu() {
    let kernel = Fake::new(Rule::Counters(4));
    let group = |directory: &str, cpu| Target::Cgroup { directory: directory.into(), cpu };
    for (cpu, cpus) in [(None, 4), (Some(1), 1)] {
        let mut counters = open(&kernel, group("/", cpu), "cycles", &Options::default());
        let readings = measure(&mut counters, || kernel.run(1000, 1000));
        assert_eq!(readings[0].outcome, Outcome::Counted { count: cpus * 1000 * rate(0) });
    }
    let mut counters = open(&kernel, group("/nonexistent", None), "cycles", &Options::default());
    assert!(reason(&measure(&mut counters, || {})[0]).contains("/nonexistent is no control group"));
}

#[test]
fn counting_from_exec_on_needs_no_enabling() {
    let kernel = Fake::new(Rule::Counters(4));
    let events = [events("cycles")];
    let options = Options::default().on_exec();
    let mut counters = Counters::open_groups_with(kernel.clone(), Target::Process(7), &events, &options);
    assert!(kernel.opened().iter().all(|attr| attr.disabled && attr.enable_on_exec && attr.inherit));
    let readings = measure(&mut counters, || kernel.run(10, 10));
    let Outcome::NotScheduled { reason } = &readings[0].outcome else { panic!("{readings:?}") };
    assert!(!reason.contains("enable"), "{reason}");
}

#[test]
fn a_pinned_group_has_its_counters_or_is_dead() {
    let kernel = Fake::new(Rule::Counters(4));
    let options = Options::default().pinned();
    let mut pinned = open(&kernel, Target::CurrentThread, "cycles,instructions,branches", &options);
    let mut other = open(&kernel, Target::CurrentThread, "cycles,instructions", &Options::default());
    let leaders: Vec<bool> = kernel.opened().iter().map(|attr| attr.pinned).collect();
    assert_eq!(leaders, [true, false, false, false, false]);
    let readings = measure(&mut pinned, || kernel.run(1000, 1000));
    assert!(readings.iter().all(|r| matches!(r.outcome, Outcome::Counted { .. })), "{readings:?}");
    let readings = measure(&mut other, || kernel.run(1000, 1000));
    assert!(readings.iter().all(|r| matches!(r.outcome, Outcome::NotScheduled { .. })), "{readings:?}");
    kernel.steal(2);
    let readings = measure(&mut pinned, || kernel.run(1000, 1000));
    assert!(readings.iter().all(|r| reason(r).contains("0 bytes")), "{readings:?}");
}

#[test]
fn a_counter_that_is_stolen_midway_is_scaled_and_then_not_scheduled() {
    let kernel = Fake::new(Rule::Counters(4));
    let mut counters = open(&kernel, Target::CurrentThread, "cycles,instructions", &Options::default());
    let readings = measure(&mut counters, || {
        kernel.run(1000, 1000);
        kernel.steal(3);
        kernel.run(3000, 3000);
    });
    assert_eq!(readings[1].outcome, Outcome::Scaled { count: 4000 * rate(1), running: 0.25 });
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    assert!(matches!(readings[1].outcome, Outcome::NotScheduled { .. }), "{readings:?}");
}

#[test]
fn a_starved_virtual_pmu_is_suspect() {
    let kernel = Fake::new(Rule::Starved);
    let calibration = calibrate_with(&kernel);
    assert!(matches!(calibration, Calibration::Suspect { .. }), "{calibration:?}");
    let options = Options::default().calibrated(calibration);
    let mut counters = open(&kernel, Target::CurrentThread, "cycles,page-faults", &options);
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    let Outcome::Suspect { count, running, reason } = &readings[0].outcome else { panic!("{readings:?}") };
    assert_eq!((*count, *running), (1000 * rate(0) / 1000, 1.0));
    assert!(reason.contains("of a loop of") && reason.contains(':'), "{reason}");
    // The kernel's own events are not the PMU's.
    assert_eq!(readings[1].outcome, Outcome::Counted { count: 1000 * rate(2) });
    assert_eq!(readings[0].scope, Scope::UserAndKernel);
}

#[test]
fn a_sound_pmu_is_sound_and_none_is_unknown() {
    let calibration = calibrate_with(&Fake::new(Rule::Counters(4)));
    assert_eq!(calibration, Calibration::Sound { ratio: 1.0 });
    let kernel = Fake::new(Rule::Counters(4));
    let options = Options::default().calibrated(calibration);
    let mut counters = open(&kernel, Target::CurrentThread, "cycles", &options);
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    assert_eq!(readings[0].outcome, Outcome::Counted { count: 1000 * rate(0) });
    for rule in [Rule::NoPmu, Rule::Paranoid3, Rule::Seccomp(libc::EPERM)] {
        let calibration = calibrate_with(&Fake::new(rule));
        let Calibration::Unknown { reason } = &calibration else { panic!("{calibration:?}") };
        assert!(reason.contains(':'), "{reason}");
    }
}
