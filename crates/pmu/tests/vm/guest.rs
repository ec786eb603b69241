//! Recognises the emulated machine, and measures in it; no tests.

use std::io::{self, Write};
use std::{env, thread};

use tailcore_pmu::{Counters, Event, Outcome, Reading, Target, parse_events};

/// The forms of the machine with a PMU, of 64 or 32 bits.
pub(crate) const PMU: &[&str] = &["pmu", "pmu-narrow"];
/// The form without one.
pub(crate) const NO_PMU: &[&str] = &["pmu-off"];

/// Says whether this is the emulated machine in one of these forms; if not, the calling test must return.
pub(crate) fn in_guest(forms: &[&str]) -> bool {
    let here = env::var("TAILCORE_VM").is_ok_and(|form| forms.contains(&form.as_str()));
    if !here {
        let thread = thread::current();
        let name = thread.name().unwrap_or("a test");
        // Written past the test runner, which keeps what a passing test prints to itself.
        writeln!(io::stderr(), "skipped {name}: not in the emulated machine (cargo xtask vm pmu)").ok();
    }
    here
}

/// The events of a list.
pub(crate) fn events(list: &str) -> Vec<Event> {
    parse_events(list).unwrap()
}

/// Counters of a list of events on this thread, counting.
pub(crate) fn counting(list: &str) -> Counters {
    let mut counters = Counters::open(Target::CurrentThread, &events(list));
    counters.enable();
    counters
}

/// The readings of one interval during which `work` happens.
pub(crate) fn measure(counters: &mut Counters, work: impl FnOnce()) -> Vec<Reading> {
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    work();
    counters.read(&mut end);
    counters.interval(&start, &end)
}

/// The counts of readings that are all exact.
#[track_caller]
pub(crate) fn exact<const N: usize>(readings: &[Reading]) -> [u64; N] {
    let count = |reading: &Reading| match reading.outcome {
        Outcome::Counted { count } => count,
        _ => panic!("not exact: {reading:?}"),
    };
    let counts: Vec<_> = readings.iter().map(count).collect();
    counts.try_into().unwrap()
}
