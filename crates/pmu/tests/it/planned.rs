//! More events than counters: what stays together, and what the trial finds out.

use proptest::prelude::*;
use tailcore_pmu::{Counters, Event, Options, Outcome, Plan, PlanNote, Target, calibrate_with};

use crate::fake::{Fake, LITTLE, Rule, rate};
use crate::{events, measure};

/// Units as they are typed: `cycles,instructions branches`.
fn units(typed: &str) -> Vec<Vec<Event>> {
    typed.split_whitespace().map(events).collect()
}

fn names(groups: &[Vec<Event>]) -> Vec<String> {
    groups.iter().map(|group| group.iter().map(Event::to_string).collect::<Vec<_>>().join(",")).collect()
}

const FOUR_UNITS: &str = "cycles,instructions branches,branch-misses cache-misses,cache-references r1,r2,r3";

#[test]
fn units_fill_the_counters_and_stay_together() {
    let cases = [
        (
            Rule::Counters(4),
            vec!["cycles,instructions,branches,branch-misses", "cache-misses,cache-references", "r1,r2,r3"],
        ),
        (
            Rule::Counters(6),
            vec!["cycles,instructions,branches,branch-misses,cache-misses,cache-references", "r1,r2,r3"],
        ),
        (
            Rule::Counters(8),
            vec!["cycles,instructions,branches,branch-misses,cache-misses,cache-references", "r1,r2,r3"],
        ),
        // Six are there, and six are accepted; five are free.
        (
            Rule::Watchdog(6),
            vec!["cycles,instructions,branches,branch-misses", "cache-misses,cache-references,r1,r2,r3"],
        ),
        // Seven are accepted.
        (
            Rule::OffByOne(6),
            vec!["cycles,instructions,branches,branch-misses,cache-misses,cache-references", "r1,r2,r3"],
        ),
    ];
    for (rule, expected) in cases {
        let kernel = Fake::new(rule);
        let plan = Plan::with(&kernel, &units(FOUR_UNITS));
        assert_eq!(names(plan.groups()), expected, "{rule:?}");
        assert_eq!(plan.notes(), [], "{rule:?}");
        assert!(kernel.groups().is_empty(), "the trials left counters open");
    }
}

#[test]
fn seven_events_on_six_counters_are_planned_and_not_zeroed() {
    for rule in [Rule::OffByOne(6), Rule::Watchdog(7)] {
        let kernel = Fake::new(rule);
        let all = events("r1,r2,r3,r4,r5,r6,r7");
        let singles: Vec<Vec<Event>> = all.iter().map(|event| vec![event.clone()]).collect();
        let plan = Plan::with(&kernel, &singles);
        assert_eq!(names(plan.groups()), ["r1,r2,r3,r4,r5,r6", "r7"]);
        let mut counters = Counters::open_groups_with(
            kernel.clone(),
            Target::CurrentThread,
            &plan.multiplexed(),
            &Options::default(),
        );
        counters.enable();
        for (reading, config) in measure(&mut counters, || kernel.run(1000, 1000)).iter().zip(1..) {
            let expected = Outcome::Scaled { count: 1000 * rate(config), running: 0.5 };
            assert_eq!(reading.outcome, expected, "{reading:?}");
        }
    }
}

#[test]
fn in_passes_nothing_takes_turns() {
    let kernel = Fake::new(Rule::Counters(4));
    let plan = Plan::with(&kernel, &units("cycles,page-faults,instructions r1,r2,r3 cs"));
    let passes = plan.passes();
    assert_eq!(names(&passes[0]), ["cycles,instructions", "page-faults,context-switches"]);
    assert_eq!(names(&passes[1]), ["r1,r2,r3", "page-faults,context-switches"]);
    for pass in &passes {
        let mut counters =
            Counters::open_groups_with(kernel.clone(), Target::CurrentThread, pass, &Options::default());
        counters.enable();
        let readings = measure(&mut counters, || kernel.run(1000, 1000));
        assert!(readings.iter().all(|r| matches!(r.outcome, Outcome::Counted { .. })), "{readings:?}");
    }
}

#[test]
fn an_event_of_two_units_is_with_each_of_its_partners() {
    let kernel = Fake::new(Rule::Counters(3));
    let plan = Plan::with(&kernel, &units("r1,instructions r2,instructions r3,instructions r4,instructions"));
    assert_eq!(names(plan.groups()), ["r1,instructions,r2", "r3,instructions,r4"]);
    let plan = Plan::with(&kernel, &units("cycles,cycles cycles"));
    assert_eq!(names(plan.groups()), ["cycles"]);
}

#[test]
fn a_unit_that_is_too_large_is_split_with_a_note() {
    let kernel = Fake::new(Rule::Counters(2));
    let plan = Plan::with(&kernel, &units("r1,r2,r3,r4,r5"));
    assert_eq!(names(plan.groups()), ["r1,r2", "r3,r4", "r5"]);
    assert_eq!(plan.notes(), [PlanNote::Split { unit: "r1,r2,r3,r4,r5".to_owned(), groups: 3 }]);
    assert!(plan.notes()[0].to_string().contains("at different times"));
}

#[test]
fn an_event_that_never_runs_is_noted_and_kept() {
    let kernel = Fake::new(Rule::Watchdog(1));
    let plan = Plan::with(&kernel, &units("r1,r2 cs"));
    assert_eq!(names(&plan.multiplexed()), ["r1", "r2", "context-switches"]);
    let starved = |event: &str| PlanNote::Starved { event: event.to_owned() };
    assert!(plan.notes().contains(&starved("r1")) && plan.notes().contains(&starved("r2")), "{plan:?}");
    assert!(plan.notes().iter().all(|note| !note.to_string().contains('\n')));
}

#[test]
fn what_cannot_be_opened_takes_no_room_and_keeps_its_reason() {
    let kernel = Fake::new(Rule::NoPmu);
    let plan = Plan::with(&kernel, &units("cycles,instructions,page-faults r1,r2,r3,r4,r5,r6,r7,r8,r9"));
    assert_eq!(plan.groups().len(), 1);
    let mut counters = Counters::open_groups_with(
        kernel.clone(),
        Target::CurrentThread,
        &plan.multiplexed(),
        &Options::default(),
    );
    counters.enable();
    let readings = measure(&mut counters, || kernel.run(1000, 1000));
    let counted = readings.iter().filter(|r| matches!(r.outcome, Outcome::Counted { .. }));
    assert_eq!(counted.map(|r| r.event.as_str()).collect::<Vec<_>>(), ["page-faults"]);
    assert_eq!(readings.len(), 12);
}

#[test]
fn nothing_to_count_is_no_pass() {
    let plan = Plan::with(&Fake::new(Rule::Counters(4)), &[]);
    assert!(plan.passes().is_empty() && plan.multiplexed().is_empty());
    let plan = Plan::with(&Fake::new(Rule::Counters(4)), &units("cs"));
    assert_eq!(plan.passes(), [units("cs")]);
}

/// The number that stands for each event in the fake.
fn config_of(name: &str) -> u64 {
    match name.split(':').next().unwrap() {
        "cycles" | "cpu-clock" => 0,
        "instructions" | "task-clock" => 1,
        "cache-references" | "page-faults" => 2,
        "cache-misses" | "context-switches" => 3,
        "branches" => 4,
        "branch-misses" => 5,
        raw => u64::from_str_radix(raw.trim_start_matches('r'), 16).unwrap(),
    }
}

fn any_rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        (1_usize..9).prop_map(Rule::Counters),
        (1_usize..9).prop_map(Rule::Watchdog),
        (1_usize..9).prop_map(Rule::OffByOne),
        (1_usize..9).prop_map(Rule::Hybrid),
        Just(Rule::Starved),
        Just(Rule::NoPmu),
        Just(Rule::Paranoid2),
        Just(Rule::Paranoid3),
        Just(Rule::Seccomp(libc::EPERM)),
        Just(Rule::Seccomp(libc::ENOSYS)),
    ]
}

fn any_event() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "branches",
        "branch-misses",
        "r1",
        "r2",
        "r3",
        "r4",
        "r5",
        "cycles:u",
        "instructions:k",
        "page-faults",
        "context-switches",
        "task-clock",
    ])
}

fn any_target() -> impl Strategy<Value = Target> {
    prop_oneof![
        Just(Target::CurrentThread),
        Just(Target::Thread(7)),
        Just(Target::Process(7)),
        Just(Target::Cpu(0)),
        Just(Target::AllCpus),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Run(u64, u64),
    Steal(usize),
    Move,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u64..10_000, 0_u64..10_000).prop_map(|(enabled, running)| Step::Run(enabled, running.min(enabled))),
        1 => (0_usize..5).prop_map(Step::Steal),
        1 => Just(Step::Move),
    ]
}

proptest! {
    #[test]
    fn no_number_is_a_lie(
        rule in any_rule(),
        target in any_target(),
        typed in prop::collection::vec(prop::collection::vec(any_event(), 1..6), 0..5),
        steps in prop::collection::vec(any_step(), 1..6),
        (pinned, planned) in any::<(bool, bool)>(),
    ) {
        let kernel = Fake::new(rule);
        let units: Vec<Vec<Event>> = typed.iter().map(|unit| events(&unit.join(","))).collect();
        let mut options = Options::default().calibrated(calibrate_with(&kernel));
        if pinned {
            options = options.pinned();
        }
        let groups = if planned { Plan::with(&kernel, &units).multiplexed() } else { units };
        let mut counters = Counters::open_groups_with(kernel.clone(), target.clone(), &groups, &options);
        counters.enable();
        let places = match target {
            Target::Process(_) => 2,
            Target::AllCpus => 4,
            _ => 1,
        };
        for step in steps {
            let mut time = 0;
            let readings = measure(&mut counters, || match step {
                Step::Run(enabled, running) => {
                    kernel.run(enabled, running);
                    time = enabled;
                }
                Step::Steal(taken) => kernel.steal(taken),
                Step::Move => kernel.move_to(LITTLE),
            });
            prop_assert_eq!(readings.len(), counters.events().len());
            for reading in readings {
                let truth = places * time * rate(config_of(&reading.event));
                match reading.outcome {
                    Outcome::Counted { count } => prop_assert_eq!(count, truth, "{}", reading.event),
                    // Each place rounds down.
                    Outcome::Scaled { count, running } => {
                        prop_assert!(count <= truth && count + places >= truth, "{count} {truth}");
                        prop_assert!(running > 0.0 && running < 1.0);
                    }
                    Outcome::Suspect { .. } => prop_assert_eq!(rule, Rule::Starved),
                    Outcome::NotScheduled { reason } | Outcome::Dead { reason }
                    | Outcome::Unsupported { reason } | Outcome::Forbidden { reason } => {
                        prop_assert!(reason.contains(':') && !reason.contains('\n'), "{reason}");
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_unit_shares_a_group_unless_the_plan_says_otherwise(
        rule in any_rule(),
        typed in prop::collection::vec(prop::collection::vec(any_event(), 1..6), 1..5),
    ) {
        let kernel = Fake::new(rule);
        let units: Vec<Vec<Event>> = typed.iter().map(|unit| events(&unit.join(","))).collect();
        let plan = Plan::with(&kernel, &units);
        let groups = plan.multiplexed();
        let counters =
            Counters::open_groups_with(kernel.clone(), Target::CurrentThread, &groups, &Options::default());
        for unit in &units {
            let of_pmu: Vec<&Event> = unit.iter().filter(|event| event.kind().needs_pmu()).collect();
            let together = plan.groups().iter().any(|group| of_pmu.iter().all(|event| group.contains(event)));
            let names: Vec<String> = of_pmu.iter().map(|event| event.to_string()).collect();
            let noted = plan.notes().iter().any(|note| match note {
                PlanNote::Split { unit, .. } => names.iter().all(|name| unit.contains(name)),
                PlanNote::Starved { event } => names.contains(event),
                _ => false,
            });
            prop_assert!(of_pmu.is_empty() || together || noted, "{plan:?}");
        }
        // What the plan has put into one group, the kernel has in one group.
        let mut index = 0;
        for group in &groups {
            let of_kernel: Vec<usize> =
                (index..index + group.len()).filter_map(|at| counters.group_of(at)).collect();
            prop_assert!(of_kernel.iter().all(|at| *at == of_kernel[0]), "{plan:?} {of_kernel:?}");
            index += group.len();
        }
    }
}
