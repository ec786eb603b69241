//! Metrics: what is computed from counts, and how far to believe it.

use serde::{Deserialize, Serialize};

use crate::formula::{Formula, NoValue};
use crate::meaning::Unit;
use crate::reading::Outcome;

/// The values a metric can have if its events mean what its formula supposes.
///
/// A value outside is reported with a [`Flag`], not hidden: it shows that they do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bounds {
    /// Zero and above.
    NonNegative,
    /// A part of a whole: 0 to 1.
    Share,
}

/// What a formula can speak of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Symbol {
    /// The count of an event of the set.
    Event {
        /// Its place in [`EventSet::events`](crate::EventSet::events).
        index: usize,
        /// Its name as the set writes it.
        name: String,
    },
    /// `seconds`: the length of the interval, by the wall clock, s.
    Seconds,
    /// `busy-seconds`: the time that the counted threads were on a CPU in the interval, summed over them, s;
    /// what `task-clock` counts, or the time that a counter of the threads was enabled.
    BusySeconds,
    /// `requests`: the requests served in the interval (for a packet receiver: packets).
    Requests,
}

impl Symbol {
    /// The symbols that are no events.
    pub(crate) const GIVEN: [Symbol; 3] = [Symbol::Seconds, Symbol::BusySeconds, Symbol::Requests];

    pub(crate) fn event(&self) -> Option<usize> {
        match self {
            Symbol::Event { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The name as formulas write it.
    pub fn name(&self) -> &str {
        match self {
            Symbol::Event { name, .. } => name,
            Symbol::Seconds => "seconds",
            Symbol::BusySeconds => "busy-seconds",
            Symbol::Requests => "requests",
        }
    }
}

/// What the caller knows of a [`Symbol`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// What an event counted.
    Count {
        /// How often the event happened.
        count: u64,
        /// Events with the same number were counted over the same time: give each counter group of each
        /// repetition its own. `None`: counted throughout, so it goes with every group (a software event, or
        /// any event of a run in which nothing was multiplexed).
        group: Option<usize>,
        /// Whether the count is extrapolated from a part of the interval.
        scaled: bool,
        /// What one count is, where it is known ([`MeaningOn::unit`](crate::MeaningOn::unit); `cycles` are
        /// cycles): a [share](Bounds::Share) of counts in two units has no value.
        unit: Option<Unit>,
    },
    /// A number from elsewhere, for symbols that are no events.
    Number(f64),
    /// It is not known.
    Missing {
        /// One line: cause and remedy.
        reason: String,
    },
}

impl Value {
    /// What the outcome of a reading says; `group` and `unit` as in [`Value::Count`].
    ///
    /// A suspect count is no count: a metric would hide that it is suspect.
    pub fn of(outcome: &Outcome, group: Option<usize>, unit: Option<Unit>) -> Value {
        match outcome {
            Outcome::Counted { count } => Value::Count { count: *count, group, scaled: false, unit },
            Outcome::Scaled { count, .. } => Value::Count { count: *count, group, scaled: true, unit },
            Outcome::NotScheduled { reason }
            | Outcome::Dead { reason }
            | Outcome::Suspect { reason, .. }
            | Outcome::Unsupported { reason }
            | Outcome::Forbidden { reason } => Value::Missing { reason: reason.clone() },
        }
    }
}

/// The value of a metric, or why it has none; absence is never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MetricValue {
    /// It has a value.
    Known {
        /// The value, finite; of a [share](Bounds::Share) the part of 1, not of 100.
        value: f64,
        /// What to know before believing it; each at most once, in the order of [`Flag`].
        flags: Vec<Flag>,
    },
    /// Something that the formula needs is not known; the first such.
    Missing {
        /// The event, or other symbol.
        symbol: String,
        /// One line: cause and remedy.
        reason: String,
    },
    /// A divisor is 0: the metric says nothing of this interval. 0 ÷ 0 is neither 0 nor 1.
    DivisionByZero,
    /// The result, or a step on the way to it, is too large for a double.
    OutOfRange,
}

/// A reservation about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flag {
    /// It is below 0, which the metric cannot be: its events do not nest as the formula supposes, or were not
    /// counted over the same time.
    Negative,
    /// It is a share of more than 100 %: its events are not a part and the whole of one thing, or were not
    /// counted over the same time.
    AboveWhole,
    /// Its events were not counted over the same time: the value mixes two stretches of the program.
    AcrossGroups,
    /// At least one count is extrapolated from a part of the interval.
    Estimated,
}

/// A metric of an interval, ready to be written down.
///
/// As JSON: `{"metric":"ipc","unit":"instructions per cycle","bounds":"non_negative",
/// "formula":"instructions / cycles","outcome":"known","value":1.25,"flags":[]}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricReading {
    /// The name of the metric.
    pub metric: String,
    /// The unit in words.
    pub unit: String,
    /// Which values make sense.
    pub bounds: Bounds,
    /// How it was computed.
    pub formula: String,
    /// The value, or the reason for its absence.
    #[serde(flatten)]
    pub value: MetricValue,
}

/// A named formula over the events of an [`EventSet`](crate::EventSet).
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) note: String,
    pub(crate) bounds: Bounds,
    /// As it was written.
    pub(crate) text: String,
    pub(crate) formula: Formula,
    /// One per name of the formula.
    pub(crate) symbols: Vec<Symbol>,
}

impl Metric {
    /// The name, unique in its set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The unit in words, such as `instructions per cycle` or `share of cycles`.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// What to know about it; may be empty.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Which values make sense.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The formula as it was written.
    pub fn formula(&self) -> &str {
        &self.text
    }

    /// What the formula needs, each once, in the order of appearance.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The indices of its events in [`EventSet::events`](crate::EventSet::events), ascending.
    pub fn events(&self) -> Vec<usize> {
        let mut events: Vec<usize> = self.symbols.iter().filter_map(Symbol::event).collect();
        events.sort_unstable();
        events
    }

    /// The value for what `look_up` knows; it is asked once for each of [`Metric::symbols`], until one is
    /// missing.
    ///
    /// Where an event was counted in several groups, answer from the group that has all of
    /// [`Metric::events`].
    pub fn evaluate(&self, mut look_up: impl FnMut(&Symbol) -> Value) -> MetricValue {
        let mut values = Vec::with_capacity(self.symbols.len());
        let mut groups = Vec::new();
        let mut estimated = false;
        let mut whole: Option<(&Symbol, Unit)> = None;
        for symbol in &self.symbols {
            let missing = |reason| MetricValue::Missing { symbol: symbol.name().to_owned(), reason };
            match look_up(symbol) {
                Value::Count { count, group, scaled, unit } => {
                    if let (Some(unit), Bounds::Share) = (unit, self.bounds) {
                        let (first, wanted) = *whole.get_or_insert((symbol, unit));
                        if unit != wanted {
                            return missing(unlike(unit, first, wanted));
                        }
                    }
                    values.push(count as f64);
                    groups.extend(group);
                    estimated |= scaled;
                }
                Value::Number(number) if number.is_finite() => values.push(number),
                Value::Number(number) => {
                    return missing(format!("the caller gave {number}: give a finite number"));
                }
                Value::Missing { reason } => return missing(reason),
            }
        }
        match self.formula.compute(&values) {
            Ok(value) => {
                let checks = [
                    (Flag::Negative, value < 0.0),
                    (Flag::AboveWhole, self.bounds == Bounds::Share && value > 1.0),
                    (Flag::AcrossGroups, groups.iter().any(|group| Some(group) != groups.first())),
                    (Flag::Estimated, estimated),
                ];
                let flags = checks.into_iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).collect();
                MetricValue::Known { value, flags }
            }
            Err(NoValue::DivisionByZero) => MetricValue::DivisionByZero,
            Err(NoValue::OutOfRange) => MetricValue::OutOfRange,
        }
    }

    /// The same, with name, unit and formula, for a result file.
    pub fn read(&self, look_up: impl FnMut(&Symbol) -> Value) -> MetricReading {
        MetricReading {
            metric: self.name.clone(),
            unit: self.unit.clone(),
            bounds: self.bounds,
            formula: self.text.clone(),
            value: self.evaluate(look_up),
        }
    }
}

/// Why a share of these has no value.
fn unlike(unit: Unit, first: &Symbol, wanted: Unit) -> String {
    let words = |unit| match unit {
        Unit::Events => "events",
        Unit::Cycles => "cycles",
        Unit::Slots => "slots",
    };
    format!(
        "it counts {} on this processor, and {} counts {}: a share needs one unit, choose another metric",
        words(unit),
        first.name(),
        words(wanted)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventSet;
    use proptest::prelude::*;

    const SET: &str = "set s\nabout a\nevent a\nevent b\nevent c\n\
        metric rate [a per second] = a / seconds\n\
        share part [b] = (a - c) / b\n";

    fn set() -> EventSet {
        EventSet::parse(SET).unwrap()
    }

    fn count(count: u64, group: usize) -> Value {
        Value::Count { count, group: Some(group), scaled: false, unit: None }
    }

    /// The share `(a - c) / b` of the values of a, b and c.
    fn part(values: [Value; 3]) -> MetricValue {
        set().metrics()[1].evaluate(|symbol| match symbol {
            Symbol::Event { index, .. } => values[*index].clone(),
            _ => Value::Missing { reason: "not given".to_owned() },
        })
    }

    fn known(value: f64, flags: &[Flag]) -> MetricValue {
        MetricValue::Known { value, flags: flags.to_vec() }
    }

    #[test]
    fn flags_by_table() {
        let throughout = Value::Count { count: 1, group: None, scaled: false, unit: None };
        let scaled = Value::Count { count: 4, group: Some(0), scaled: true, unit: None };
        let cases = [
            ([count(3, 0), count(4, 0), count(1, 0)], known(0.5, &[])),
            ([count(5, 0), count(4, 0), count(1, 0)], known(1.0, &[])),
            ([count(1, 0), count(4, 0), count(1, 0)], known(0.0, &[])),
            ([count(1, 0), count(4, 0), count(3, 0)], known(-0.5, &[Flag::Negative])),
            ([count(9, 0), count(4, 0), count(1, 0)], known(2.0, &[Flag::AboveWhole])),
            ([count(3, 0), count(4, 1), count(1, 0)], known(0.5, &[Flag::AcrossGroups])),
            ([count(3, 7), count(4, 7), throughout.clone()], known(0.5, &[])),
            ([throughout, count(4, 0), count(1, 1)], known(0.0, &[Flag::AcrossGroups])),
            ([count(3, 0), scaled.clone(), count(1, 0)], known(0.5, &[Flag::Estimated])),
            (
                [count(13, 0), scaled, count(1, 2)],
                known(3.0, &[Flag::AboveWhole, Flag::AcrossGroups, Flag::Estimated]),
            ),
            ([count(3, 0), count(0, 0), count(1, 0)], MetricValue::DivisionByZero),
            ([count(1, 0), count(0, 0), count(1, 0)], MetricValue::DivisionByZero),
        ];
        for (values, expected) in cases {
            assert_eq!(part(values.clone()), expected, "{values:?}");
        }
    }

    #[test]
    fn only_what_was_counted_is_a_count() {
        let reason = || "why".to_owned();
        let missing = Value::Missing { reason: reason() };
        let cases = [
            (Outcome::Counted { count: 7 }, count(7, 3)),
            (
                Outcome::Scaled { count: 7, running: 0.5 },
                Value::Count { count: 7, group: Some(3), scaled: true, unit: None },
            ),
            (Outcome::NotScheduled { reason: reason() }, missing.clone()),
            (Outcome::Dead { reason: reason() }, missing.clone()),
            (Outcome::Suspect { count: 7, running: 1.0, reason: reason() }, missing.clone()),
            (Outcome::Unsupported { reason: reason() }, missing.clone()),
            (Outcome::Forbidden { reason: reason() }, missing),
        ];
        for (outcome, value) in cases {
            assert_eq!(Value::of(&outcome, Some(3), None), value, "{outcome:?}");
        }
    }

    #[test]
    fn a_share_of_unlike_units_has_no_value() {
        let set = EventSet::parse(SET).unwrap();
        let value = |metric: usize, units: [Option<Unit>; 3]| {
            set.metrics()[metric].evaluate(|symbol| match symbol {
                Symbol::Event { index, .. } => {
                    Value::Count { count: 1, group: None, scaled: false, unit: units[*index] }
                }
                _ => Value::Number(1.0),
            })
        };
        let (cycles, slots) = (Some(Unit::Cycles), Some(Unit::Slots));
        assert_eq!(value(1, [slots, slots, slots]), known(0.0, &[]));
        assert_eq!(value(1, [cycles, None, cycles]), known(0.0, &[]));
        let MetricValue::Missing { symbol, reason } = value(1, [slots, cycles, None]) else {
            panic!("slots were divided by cycles");
        };
        assert_eq!(symbol, "b");
        assert!(reason.starts_with("it counts cycles on this processor, and a counts slots:"), "{reason}");
        // Rates are of unlike things.
        assert_eq!(value(0, [slots, cycles, None]), known(1.0, &[]));
    }

    #[test]
    fn what_is_missing_is_named_with_its_reason() {
        let missing = Value::Missing { reason: "no PMU: use a real machine".to_owned() };
        let expected = MetricValue::Missing {
            // The first in the order of the formula, not of the set.
            symbol: "c".to_owned(),
            reason: "no PMU: use a real machine".to_owned(),
        };
        assert_eq!(part([count(3, 0), missing.clone(), missing]), expected);
    }

    #[test]
    fn a_rate_needs_only_its_own_symbols() {
        let rate = |seconds: f64| {
            set().metrics()[0].evaluate(|symbol| match symbol {
                Symbol::Seconds => Value::Number(seconds),
                Symbol::Event { index: 0, .. } => count(6, 0),
                other => panic!("{other:?} was not asked for"),
            })
        };
        assert_eq!(rate(1.5), known(4.0, &[]));
        assert_eq!(rate(0.0), MetricValue::DivisionByZero);
        assert_eq!(rate(1e-320), MetricValue::OutOfRange);
        for odd in [f64::NAN, f64::INFINITY] {
            assert!(matches!(rate(odd), MetricValue::Missing { symbol, .. } if symbol == "seconds"));
        }
    }

    #[test]
    fn json_by_table() {
        let reading = |value| MetricReading { value, ..set().metrics()[1].read(|_| Value::Number(1.0)) };
        let head = r#"{"metric":"part","unit":"share of b","bounds":"share","formula":"(a - c) / b","#;
        let cases = [
            (
                known(1.5, &[Flag::AboveWhole, Flag::Estimated]),
                r#""outcome":"known","value":1.5,"flags":["above_whole","estimated"]}"#,
            ),
            (
                MetricValue::Missing { symbol: "b".to_owned(), reason: "why".to_owned() },
                r#""outcome":"missing","symbol":"b","reason":"why"}"#,
            ),
            (MetricValue::DivisionByZero, r#""outcome":"division_by_zero"}"#),
            (MetricValue::OutOfRange, r#""outcome":"out_of_range"}"#),
        ];
        for (value, tail) in cases {
            let json = serde_json::to_string(&reading(value.clone())).unwrap();
            assert_eq!(json, format!("{head}{tail}"));
            assert_eq!(serde_json::from_str::<MetricReading>(&json).unwrap(), reading(value));
        }
    }

    proptest! {
        #[test]
        fn any_counts_give_a_finite_value_or_a_reason(counts in any::<[u64; 3]>(), seconds in any::<f64>()) {
            for metric in set().metrics() {
                let value = metric.evaluate(|symbol| match symbol {
                    Symbol::Event { index, .. } => count(counts[*index], 0),
                    _ => Value::Number(seconds),
                });
                if let MetricValue::Known { value, flags } = value {
                    prop_assert!(value.is_finite());
                    prop_assert_eq!(flags.contains(&Flag::Negative), value < 0.0);
                    let above = metric.bounds() == Bounds::Share && value > 1.0;
                    prop_assert_eq!(flags.contains(&Flag::AboveWhole), above);
                }
            }
        }
    }
}
