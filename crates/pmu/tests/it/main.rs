//! What a user of the crate relies on.
//!
//! * `fake`: a kernel that misbehaves on request.
//! * `refused`: opening against systems that refuse, and what the readings say.
//! * `scheduled`: enabling and reading against PMUs that are too small, busy or broken.
//! * `typed`: properties of event names.
//! * `real`: the kernel of the machine the tests run on, whatever it offers.

mod fake;
mod real;
mod refused;
mod scheduled;
mod typed;

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
