//! Counts as words: the prefix that makes a number short, and the event's name.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ::criterion::Throughput;
use ::criterion::measurement::ValueFormatter;

use crate::event::Event;
use crate::names::Modes;

/// A multiple of the unit of counts: its name, and how many of the unit it is.
type Step = (&'static str, f64);

/// Clocks count ns.
const TIMES: &[Step] = &[("ps", 1e-3), ("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const COUNTS: &[Step] = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)];

/// How the counts of one event are written.
#[derive(Debug)]
pub(super) struct Scale {
    event: String,
    steps: &'static [Step],
}

impl Scale {
    pub(super) fn of(event: &Event) -> Scale {
        let steps = if event.modes() == Modes::Whole { TIMES } else { COUNTS };
        Scale { event: event.to_string(), steps }
    }

    /// The largest step that leaves at least 1 of `value`, or the smallest of all.
    fn step(&self, value: f64) -> Step {
        self.steps.iter().rev().find(|(_, size)| value >= *size).copied().unwrap_or(self.steps[0])
    }

    /// The smallest step in which at least 1 of `amount` falls, or the largest of all; none below the unit.
    fn step_per(&self, amount: f64, value: f64) -> Step {
        let units = || self.steps.iter().filter(|(_, size)| *size >= 1.0).copied();
        units().find(|(_, size)| amount * size >= value).or(units().last()).unwrap_or(self.steps[0])
    }

    /// `prefix` and the event, as in `k instructions`.
    fn unit(&self, prefix: &str) -> String {
        if prefix.is_empty() { self.event.clone() } else { format!("{prefix} {}", self.event) }
    }
}

impl ValueFormatter for Scale {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (prefix, size) = self.step(typical);
        values.iter_mut().for_each(|value| *value /= size);
        lasting(self.unit(prefix))
    }

    /// How much is done per count, such as bytes per cycle.
    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (amount, name) = match *throughput {
            Throughput::Bits(bits) => (bits, "b"),
            Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => (bytes, "B"),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
                (elements, "elem")
            }
        };
        let (prefix, size) = self.step_per(amount as f64, typical);
        for value in values {
            // Nothing per nothing is nothing; criterion cannot do with NaN.
            *value = if amount == 0 { 0.0 } else { amount as f64 * size / *value };
        }
        lasting(format!("{name}/{}", self.unit(prefix)))
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        lasting(self.unit(if self.steps == TIMES { "ns" } else { "" }))
    }
}

/// The text for as long as the program runs, as the trait wants it; every text is kept once.
fn lasting(text: String) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text.as_str()) {
        return known;
    }
    let text = text.leak();
    texts.insert(text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scale(event: &str) -> Scale {
        Scale::of(&event.parse().unwrap())
    }

    #[test]
    fn values_have_the_name_of_their_event() {
        let cases = [
            ("cycles:u", 0.25, "0.2500 cycles:u"),
            ("cycles", 999.0, "999.00 cycles"),
            ("instructions", 1000.0, "1.0000 k instructions"),
            ("instructions", 2.5e12, "2500.0 G instructions"),
            ("task-clock", 0.5, "500.00 ps task-clock"),
            ("task-clock", 12.0, "12.000 ns task-clock"),
            ("cpu-clock", 3e9, "3.0000 s cpu-clock"),
        ];
        for (event, value, words) in cases {
            assert_eq!(scale(event).format_value(value).trim_start(), words);
        }
    }

    #[test]
    fn throughputs_are_per_count() {
        let cases = [
            ("cycles", Throughput::Bytes(640), 20.0, "32.000 B/cycles"),
            ("cycles", Throughput::Elements(1), 400.0, "2.5000 elem/k cycles"),
            ("cycles", Throughput::Bits(8), 16e12, "0.0005 b/G cycles"),
            ("task-clock", Throughput::Elements(1), 400.0, "2.5000 elem/µs task-clock"),
            (
                "task-clock",
                Throughput::ElementsAndBytes { elements: 9, bytes: 1 },
                3.0,
                "3.0000 elem/ns task-clock",
            ),
            ("cycles", Throughput::Bytes(0), 0.0, "0.0000 B/cycles"),
        ];
        for (event, throughput, value, words) in cases {
            assert_eq!(scale(event).format_throughput(&throughput, value).trim_start(), words);
        }
    }

    #[test]
    fn machines_get_counts_as_they_are() {
        let mut values = [12345.0];
        assert_eq!(scale("cycles").scale_for_machines(&mut values), "cycles");
        assert_eq!(scale("task-clock").scale_for_machines(&mut values), "ns task-clock");
        assert_eq!(values, [12345.0]);
    }

    #[test]
    fn a_text_is_kept_once() {
        let (one, two) = (lasting("a text".to_owned()), lasting("a text".to_owned()));
        assert_eq!(one.as_ptr(), two.as_ptr());
    }

    proptest! {
        /// All values of one call have the unit of the typical one, and no NaN comes of numbers.
        #[test]
        fn scaling_keeps_ratios(
            typical in 0.0..1e15_f64, factor in 0.1..10.0_f64, clock in any::<bool>(), amount in any::<u64>(),
        ) {
            let scale = scale(if clock { "task-clock" } else { "cycles" });
            let mut values = [typical, typical * factor];
            scale.scale_values(typical, &mut values);
            prop_assert!((values[1] - values[0] * factor).abs() <= 1e-9 * values[1].abs());
            let mut values = [typical, 0.0];
            scale.scale_throughputs(typical, &Throughput::Bytes(amount), &mut values);
            prop_assert!(values.iter().all(|value| !value.is_nan()));
        }
    }
}
