//! The other crates, each as its documentation says: all events in one group, one read, every value.

use crate::contender::Contender;

pub(crate) fn contenders() -> Vec<Contender> {
    vec![perf_event(), perf_event2(), perf_event_open()]
}

fn perf_event() -> Contender {
    use perf_event::events::Software;
    use perf_event::{Builder, Group};

    let events = [
        Software::TASK_CLOCK,
        Software::PAGE_FAULTS,
        Software::CONTEXT_SWITCHES,
        Software::CPU_MIGRATIONS,
        Software::PAGE_FAULTS_MIN,
        Software::PAGE_FAULTS_MAJ,
        Software::ALIGNMENT_FAULTS,
        Software::EMULATION_FAULTS,
    ];
    let mut group = Group::new().expect("software events can be opened");
    let counters =
        events.map(|event| Builder::new().group(&mut group).kind(event).build().expect("it opens"));
    group.enable().expect("they start");
    Contender::new("perf-event 0.4.9 `Group::read`", move || {
        let counts = group.read().expect("it can be read");
        counters.each_ref().map(|counter| counts[counter])
    })
}

fn perf_event2() -> Contender {
    use perf_event_two::events::Software;
    use perf_event_two::{Builder, Group};

    let events = [
        Software::TASK_CLOCK,
        Software::PAGE_FAULTS,
        Software::CONTEXT_SWITCHES,
        Software::CPU_MIGRATIONS,
        Software::PAGE_FAULTS_MIN,
        Software::PAGE_FAULTS_MAJ,
        Software::ALIGNMENT_FAULTS,
        Software::EMULATION_FAULTS,
    ];
    let mut group = Group::new().expect("software events can be opened");
    let counters = events.map(|event| group.add(&Builder::new(event)).expect("it opens"));
    group.enable().expect("they start");
    Contender::new("perf-event2 0.7.4 `Group::read`", move || {
        let counts = group.read().expect("it can be read");
        counters.each_ref().map(|counter| counts[counter])
    })
}

fn perf_event_open() -> Contender {
    use perf_event_open::config::{Cpu, Opts, Proc, sibling};
    use perf_event_open::count::Counter;
    use perf_event_open::count::group::CounterGroup;
    use perf_event_open::event::sw::Software;

    let mut options = Opts::default();
    options.stat_format.siblings = true;
    options.stat_format.time_enabled = true;
    options.stat_format.time_running = true;
    let leader = Counter::new(Software::TaskClock, (Proc::CURRENT, Cpu::ALL), options).expect("it opens");
    let mut group = CounterGroup::from(leader);
    let siblings = [
        Software::PageFault,
        Software::CtxSwitch,
        Software::CpuMigration,
        Software::MinorPageFault,
        Software::MajorPageFault,
        Software::AlignFault,
        Software::EmuFault,
    ];
    for event in siblings {
        group.add(event, sibling::Opts::default()).expect("it opens");
    }
    group.enable().expect("they start");
    Contender::new("perf-event-open 0.7.0 `Counter::stat`", move || {
        let stat = group.leader().stat().expect("it can be read");
        std::array::from_fn(|event| match event.checked_sub(1) {
            None => stat.count,
            Some(sibling) => stat.siblings[sibling].count,
        })
    })
}
