//! What a user of the crate relies on.
//!
//! * `fake`: a kernel that misbehaves on request.
//! * `refused`: opening against systems that refuse, and what the readings say.
//! * `scheduled`: enabling and reading against PMUs that are too small, busy or broken.
//! * `targets`: processes, CPUs, control groups; pinned, inherited, suspect.
//! * `planned`: more events than counters, and that no number is a lie whatever the kernel.
//! * `typed`: properties of event names.
//! * `model`, `vendor`: which processor a machine has, and the codes of its events.
//! * `paged`: a kernel whose counters can be read from user space.
//! * `own`: counters that a thread reads itself.
//! * `measured`: criterion benches that are measured in counts, with the feature `criterion`.
//! * `wide`: processes, CPUs and control groups of this machine.
//! * `real`: the kernel of the machine the tests run on, whatever it offers.

/// Says that a test is skipped: past the runner, which keeps what a passing test prints to itself.
macro_rules! skipped {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), "skipped {}", format_args!($($text)*)).ok();
    }};
}

mod fake;
#[cfg(feature = "criterion")]
mod measured;
mod model;
mod own;
mod paged;
mod planned;
mod real;
mod refused;
mod scheduled;
mod targets;
mod typed;
mod vendor;
mod wide;

use tailcore_pmu::{Counters, Event, Reading, Target, parse_events};

/// The events of a list.
fn events(list: &str) -> Vec<Event> {
    parse_events(list).unwrap()
}

/// Counters of a list of events on the current thread of `kernel`.
fn open(kernel: &fake::Fake, list: &str) -> Counters {
    Counters::open_with(kernel.clone(), Target::CurrentThread, &events(list))
}

/// The readings of one interval during which `work` happens.
fn measure(counters: &mut Counters, work: impl FnOnce()) -> Vec<Reading> {
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    work();
    counters.read(&mut end);
    counters.interval(&start, &end)
}
/// PMUs as sysfs describes them.
mod pmus;
/// What names come to on machines that are not at hand.
mod resolved;
