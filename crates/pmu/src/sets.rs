//! Event sets: the events and formulas of a study, as a file that can be read, changed and brought along.
//!
//! The built-in sets are the files `data/*.set`; [`EventSet::parse`] describes their form.

use std::sync::OnceLock;

use crate::formula::{Formula, FormulaFault};
use crate::metric::{Bounds, Metric, MetricReading, Symbol, Value};

/// The files of the built-in sets.
const FILES: [&str; 4] = [
    include_str!("../data/tailbench-haswell.set"),
    include_str!("../data/udp-westmere.set"),
    include_str!("../data/smt.set"),
    include_str!("../data/memory.set"),
];

/// A named group of events with the metrics computed from them.
///
/// ```
/// use tailcore_pmu::{EventSet, MetricValue, Outcome, Symbol, Value};
///
/// let set = EventSet::parse(
///     "set my-set\n\
///      about How busy the core is.\n\
///      event cycles\n\
///      event instructions\n\
///      metric ipc [instructions per cycle] = instructions / cycles\n",
/// )?;
/// let counts = [1000, 1250]; // As a counter group gave them.
/// let ipc = set.metrics()[0].evaluate(|symbol| match symbol {
///     Symbol::Event { index, .. } => Value::of(&Outcome::Counted { count: counts[*index] }, None, None),
///     _ => Value::Missing { reason: "not measured here".to_owned() },
/// });
/// assert_eq!(ipc, MetricValue::Known { value: 1.25, flags: vec![] });
/// # Ok::<(), tailcore_pmu::ParseSetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EventSet {
    name: String,
    about: String,
    source: String,
    events: Vec<SetEvent>,
    metrics: Vec<Metric>,
}

/// An event of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetEvent {
    /// The name, to be parsed as an [`Event`](crate::Event). Whether this machine has it is a question of its
    /// own.
    pub name: String,
    /// What it counts here and what to beware of; may be empty.
    pub note: String,
}

/// The refusal of a set's text, with the line and the way to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event set, line {line}: {fault}")]
#[non_exhaustive]
pub struct ParseSetError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: SetFault,
}

/// What is wrong with a line of a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetFault {
    /// Something else comes before `set NAME`.
    #[error("a set starts with a line `set NAME`")]
    NoName,
    /// The file ends and something is missing.
    #[error("the set has no `{0}` line: add one")]
    NoLine(&'static str),
    /// The line starts with a word that means nothing.
    #[error("{0:?} starts no line: use set, about, source, event, metric, share, note, or # for a comment")]
    Keyword(String),
    /// The keyword stands alone.
    #[error("`{0}` needs something after it")]
    Empty(String),
    /// A set or metric has a name that nobody could type.
    #[error("{0:?} is no name: use letters, digits, `-`, `_` and `.`, without blanks")]
    Name(String),
    /// An event has a name that a formula cannot hold.
    #[error("{0:?} is no name of an event: it may have no backtick and no control character")]
    EventName(String),
    /// An event is named like something that is no event.
    #[error("{0:?} is what the caller gives, not an event: remove the line and use it in formulas")]
    Given(String),
    /// The name is taken.
    #[error("{0:?} stands above already: name each thing once")]
    Twice(String),
    /// A metric without its unit or its formula.
    #[error("write it as `{0} NAME [UNIT] = FORMULA`")]
    Shape(&'static str),
    /// The formula cannot be read.
    #[error("column {column}: {fault}")]
    Formula {
        /// Counted in characters of the line from 1.
        column: usize,
        /// What is wrong there.
        fault: FormulaFault,
    },
    /// The formula needs something that the set does not count.
    #[error("{0:?} is no event of this set: add an `event` line above, or put blanks around a minus sign")]
    NotInSet(String),
    /// The formula is only numbers.
    #[error("the formula depends on nothing: use an event")]
    Constant,
    /// A note with nothing above it.
    #[error("a note belongs below an event or a metric")]
    StrayNote,
}

impl EventSet {
    /// The built-in sets: those of the studies that this project repeats.
    pub fn all() -> &'static [EventSet] {
        static ALL: OnceLock<Vec<EventSet>> = OnceLock::new();
        // A test holds that no file is refused.
        ALL.get_or_init(|| FILES.iter().filter_map(|text| EventSet::parse(text).ok()).collect())
    }

    /// The built-in set of this name; letter case matters.
    pub fn find(name: &str) -> Option<&'static EventSet> {
        EventSet::all().iter().find(|set| set.name == name)
    }

    /// The set in a text, which is lines:
    ///
    /// ```text
    /// # A comment, as is every line that starts so.
    /// set my-set
    /// about What the set is for, in a sentence or two; more `about` lines go on.
    /// source Where its formulas come from (may be left out).
    /// event cycles           what it counts here (may be left out)
    /// event instructions
    /// event cpu/event=0xa2,umask=0x08/
    /// metric ipc [instructions per cycle] = instructions / cycles
    /// note What to know about the event or metric above; more `note` lines go on.
    /// share store-buffer-stalls [cycles] = `cpu/event=0xa2,umask=0x08/` / cycles
    /// ```
    ///
    /// `metric NAME [UNIT] = FORMULA` is at least 0; `share NAME [WHOLE] = FORMULA` is a part of a whole, 0
    /// to 1. A formula has numbers, `+ - * /`, parentheses, and names of events that stand above it, between
    /// backticks where they contain a slash; beside them `seconds`, `busy-seconds` and `requests`
    /// ([`Symbol`]). A minus sign needs blanks around it, because event names have hyphens.
    ///
    /// # Errors
    ///
    /// The first line that does not have that form. Names of events are not looked up: that needs a machine.
    pub fn parse(text: &str) -> Result<EventSet, ParseSetError> {
        let mut draft = Draft::default();
        let mut last = 1;
        for (line, text) in (1..).zip(text.lines()) {
            draft.line(text.trim_end()).map_err(|fault| ParseSetError { line, fault })?;
            last = line;
        }
        draft.finish().map_err(|fault| ParseSetError { line: last, fault })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, in a sentence or two.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Where events and formulas come from; may be empty.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The events, in the order of the file.
    pub fn events(&self) -> &[SetEvent] {
        &self.events
    }

    /// The metrics, in the order of the file: the more important one first.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// What to count: for each formula its events, which ought to be counted over the same time, and at the
    /// end each event that no formula puts beside another. Ascending indices into [`EventSet::events`].
    ///
    /// Those of the first metrics come first, and no unit stands twice. Units may overlap, and one may be
    /// part of another: a plan that cannot keep all of them together should give up the later ones.
    pub fn together(&self) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = Vec::new();
        for unit in self.metrics.iter().map(Metric::events) {
            if unit.len() > 1 && !units.contains(&unit) {
                units.push(unit);
            }
        }
        let alone = |event: &usize| !units.iter().any(|unit| unit.contains(event));
        let singles: Vec<Vec<usize>> =
            (0..self.events.len()).filter(alone).map(|event| vec![event]).collect();
        units.extend(singles);
        units
    }

    /// All metrics of an interval, for what `look_up` knows of events, time and requests; see
    /// [`Metric::evaluate`].
    pub fn read(&self, mut look_up: impl FnMut(&Metric, &Symbol) -> Value) -> Vec<MetricReading> {
        self.metrics.iter().map(|metric| metric.read(|symbol| look_up(metric, symbol))).collect()
    }
}

/// A set of which the lines until now are read.
#[derive(Debug, Default)]
struct Draft {
    name: Option<String>,
    about: String,
    source: String,
    events: Vec<SetEvent>,
    metrics: Vec<Metric>,
    noted: Noted,
}

/// What a `note` line goes on about.
#[derive(Debug, Default)]
enum Noted {
    #[default]
    Nothing,
    LastEvent,
    LastMetric,
}

impl Draft {
    fn line(&mut self, line: &str) -> Result<(), SetFault> {
        let text = line.trim_start();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim_start();
        if self.name.is_none() && keyword != "set" {
            return Err(SetFault::NoName);
        }
        let known = ["set", "about", "source", "event", "metric", "share", "note"].contains(&keyword);
        if !known {
            return Err(SetFault::Keyword(keyword.to_owned()));
        }
        if rest.is_empty() {
            return Err(SetFault::Empty(keyword.to_owned()));
        }
        match keyword {
            "set" => return self.set(rest),
            "about" => go_on(&mut self.about, rest),
            "source" => go_on(&mut self.source, rest),
            "event" => return self.event(rest),
            "metric" => return self.metric(line, rest, Bounds::NonNegative),
            "share" => return self.metric(line, rest, Bounds::Share),
            _ => match (&self.noted, self.events.last_mut(), self.metrics.last_mut()) {
                (Noted::LastEvent, Some(event), _) => go_on(&mut event.note, rest),
                (Noted::LastMetric, _, Some(metric)) => go_on(&mut metric.note, rest),
                _ => return Err(SetFault::StrayNote),
            },
        }
        Ok(())
    }

    fn set(&mut self, name: &str) -> Result<(), SetFault> {
        if self.name.is_some() {
            return Err(SetFault::Twice("set".to_owned()));
        }
        self.name = Some(checked_name(name)?);
        Ok(())
    }

    fn event(&mut self, rest: &str) -> Result<(), SetFault> {
        let (name, note) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if name.chars().any(|c| c == '`' || c.is_control()) {
            return Err(SetFault::EventName(name.to_owned()));
        }
        if Symbol::GIVEN.iter().any(|given| given.name() == name) {
            return Err(SetFault::Given(name.to_owned()));
        }
        if self.events.iter().any(|event| event.name == name) {
            return Err(SetFault::Twice(name.to_owned()));
        }
        self.events.push(SetEvent { name: name.to_owned(), note: note.trim_start().to_owned() });
        self.noted = Noted::LastEvent;
        Ok(())
    }

    /// `rest` is the end of `line`.
    fn metric(&mut self, line: &str, rest: &str, bounds: Bounds) -> Result<(), SetFault> {
        let keyword = if bounds == Bounds::Share { "share" } else { "metric" };
        let (name, unit, text) = parts(rest).ok_or(SetFault::Shape(keyword))?;
        let name = checked_name(name)?;
        if self.metrics.iter().any(|metric| metric.name == name) {
            return Err(SetFault::Twice(name));
        }
        let before = line[..line.len() - text.len()].chars().count();
        let formula = Formula::parse(text)
            .map_err(|misfit| SetFault::Formula { column: before + misfit.column, fault: misfit.fault })?;
        let symbols: Result<Vec<_>, _> = formula.names().iter().map(|name| self.symbol(name)).collect();
        let symbols = symbols?;
        if symbols.is_empty() {
            return Err(SetFault::Constant);
        }
        let unit = if bounds == Bounds::Share { format!("share of {unit}") } else { unit.to_owned() };
        let (text, note) = (text.to_owned(), String::new());
        self.metrics.push(Metric { name, unit, note, bounds, text, formula, symbols });
        self.noted = Noted::LastMetric;
        Ok(())
    }

    fn symbol(&self, name: &str) -> Result<Symbol, SetFault> {
        if let Some(given) = Symbol::GIVEN.into_iter().find(|given| given.name() == name) {
            return Ok(given);
        }
        match self.events.iter().position(|event| event.name == name) {
            Some(index) => Ok(Symbol::Event { index, name: name.to_owned() }),
            None => Err(SetFault::NotInSet(name.to_owned())),
        }
    }

    fn finish(self) -> Result<EventSet, SetFault> {
        let Draft { name, about, source, events, metrics, .. } = self;
        let name = name.ok_or(SetFault::NoName)?;
        if about.is_empty() {
            return Err(SetFault::NoLine("about"));
        }
        if events.is_empty() {
            return Err(SetFault::NoLine("event"));
        }
        Ok(EventSet { name, about, source, events, metrics })
    }
}

/// Name, unit and formula of `NAME [UNIT] = FORMULA`.
fn parts(rest: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = rest.split_once('[')?;
    let (unit, rest) = rest.split_once(']')?;
    let formula = rest.trim_start().strip_prefix('=')?.trim_start();
    let (name, unit) = (name.trim_end(), unit.trim());
    (!name.is_empty() && !unit.is_empty() && !formula.is_empty()).then_some((name, unit, formula))
}

fn checked_name(name: &str) -> Result<String, SetFault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.chars().all(fits) { Ok(name.to_owned()) } else { Err(SetFault::Name(name.to_owned())) }
}

/// Continues a text with a further line of it.
fn go_on(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests;
