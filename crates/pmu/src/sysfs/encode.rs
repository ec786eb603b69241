//! From terms to the words that the kernel wants, by the description of a PMU.

use super::format::{Config, Field, FieldError, Word};
use super::pmu::{NamedEvent, NamedEventError, Pmu, PmuError, listed};
use super::terms::{Term, TermValue, Terms, is_name};
use crate::near::{did_you_mean, near_owned};

impl Pmu {
    /// Encodes terms as the fields of this PMU say.
    ///
    /// A term is, in this order: a field of the PMU; an event that the PMU names, which stands for its terms;
    /// a whole word (`config=0x1a8`, `config1=…`); a raw code for `config` (`r1a8`). Terms take effect from left
    /// to right, so that `cpu-cycles,cmask=1` changes a named event. A later value of a field replaces an
    /// earlier one. Fields that no term names are 0. A bare field of one bit is set; a wider one needs a value.
    ///
    /// ```
    /// use tailcore_pmu::sysfs::Pmu;
    ///
    /// let files = [("type", "4"), ("format/event", "config:0-7,32-35"), ("format/umask", "config:8-15")];
    /// let pmu = Pmu::from_files("cpu", files)?;
    /// let config = pmu.encode(&"event=0x1a0,umask=0x1e".parse()?)?;
    /// assert_eq!(config.config, 0x1_0000_1ea0);
    ///
    /// let error = pmu.encode(&"event=0x1a0,umask=0x100".parse()?).unwrap_err();
    /// assert_eq!(error.to_string(), "PMU cpu: umask=0x100 does not fit: config:8-15 holds at most 0xff");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TermError`] names the PMU and the first term at fault.
    pub fn encode(&self, terms: &Terms) -> Result<Config, TermError> {
        let mut config = Config::default();
        let mut event = None;
        for term in terms {
            let Some((name, named)) = self.event_of_term(term) else {
                self.apply(term, &mut config)?;
                continue;
            };
            if let Some(first) = event.replace(name) {
                let (pmu, first, second) = (self.name().to_owned(), first.to_owned(), name.to_owned());
                return Err(TermError::TwoEvents { pmu, first, second });
            }
            self.apply_event((name, named), terms, &mut config)?;
        }
        Ok(config)
    }

    /// Finds the event of this PMU that one of the terms names, for its unit and scale.
    pub fn event_of(&self, terms: &Terms) -> Option<(&str, &NamedEvent)> {
        let (name, event) = terms.iter().find_map(|term| self.event_of_term(term))?;
        Some((name, event.as_ref().ok()?))
    }

    /// The event that a term names, as `cpu-cycles` or `event=cpu-cycles`.
    fn event_of_term(&self, term: &Term) -> Option<(&str, &Result<NamedEvent, NamedEventError>)> {
        match &term.value {
            TermValue::Bare if !self.fields().contains_key(&term.name) => self.event(&term.name),
            TermValue::Name(name) if term.name == "event" => self.event(name),
            _ => None,
        }
    }

    /// Puts the terms of an event, with the values that `typed` gives for those which it leaves open.
    fn apply_event(
        &self,
        (name, event): (&str, &Result<NamedEvent, NamedEventError>),
        typed: &Terms,
        config: &mut Config,
    ) -> Result<(), TermError> {
        let (pmu, event_name) = (|| self.name().to_owned(), || name.to_owned());
        let event = event.as_ref().map_err(|source| TermError::BrokenEvent {
            pmu: pmu(),
            event: event_name(),
            source: source.clone(),
        })?;
        for term in &event.terms {
            if term.value != TermValue::Asked {
                let in_event = |source| TermError::InEvent { pmu: pmu(), event: event_name(), source };
                self.apply(term, config).map_err(|source| in_event(Box::new(source)))?;
                continue;
            }
            let answers =
                |given: &&Term| given.name == term.name && matches!(given.value, TermValue::Number(_));
            let Some(answer) = typed.iter().find(answers) else {
                let term = term.name.clone();
                return Err(TermError::ValueAsked { pmu: pmu(), event: event_name(), term });
            };
            self.apply(answer, config)?;
        }
        Ok(())
    }

    /// Puts one term that is no event.
    fn apply(&self, term: &Term, config: &mut Config) -> Result<(), TermError> {
        if let Some(field) = self.fields().get(&term.name) {
            let field = field.as_ref().map_err(|source| {
                let (pmu, term) = (self.name().to_owned(), term.name.clone());
                TermError::BrokenField { pmu, term, source: source.clone() }
            })?;
            return self.apply_to_field(field, term, config);
        }
        if let Some(word) = Word::find(&term.name) {
            *config.word_mut(word) = self.value(term)?;
            return Ok(());
        }
        if let Some(code) = raw_code(term) {
            config.config = code;
            return Ok(());
        }
        let (pmu, name) = (self.name().to_owned(), term.name.clone());
        if let Some((_, why)) = NOT_OF_AN_EVENT.iter().find(|(names, _)| names.contains(&name.as_str())) {
            return Err(TermError::NotOfAnEvent { pmu, term: name, why });
        }
        let fields: Vec<String> = self.fields().keys().cloned().collect();
        let known = self.fields().keys().chain(self.events().keys()).map(String::as_str);
        let near = near_owned(&name, known);
        Err(TermError::Unknown { pmu, term: name, near, fields })
    }

    fn apply_to_field(&self, field: &Field, term: &Term, config: &mut Config) -> Result<(), TermError> {
        let value = match term.value {
            // Most likely a slip: perf refuses it too.
            TermValue::Bare if field.max() > 1 => return Err(self.no_number(term)),
            TermValue::Bare => 1,
            _ => self.value(term)?,
        };
        if field.put(config, value) {
            return Ok(());
        }
        let (pmu, term) = (self.name().to_owned(), term.name.clone());
        Err(TermError::TooWide { pmu, term, value, field: *field })
    }

    fn value(&self, term: &Term) -> Result<u64, TermError> {
        match term.value {
            TermValue::Number(number) => Ok(number),
            _ => Err(self.no_number(term)),
        }
    }

    fn no_number(&self, term: &Term) -> TermError {
        if let TermValue::Name(event) = &term.value
            && term.name == "event"
        {
            let near = near_owned(event, self.events().keys().map(String::as_str));
            let (pmu, fields) = (self.name().to_owned(), self.fields().keys().cloned().collect());
            return TermError::Unknown { pmu, term: event.clone(), near, fields };
        }
        TermError::NoNumber { pmu: self.name().to_owned(), term: term.to_string() }
    }
}

/// The code of `rHEX`.
fn raw_code(term: &Term) -> Option<u64> {
    let digits = term.name.strip_prefix('r').filter(|digits| is_name(digits))?;
    let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let code = u64::from_str_radix(digits, 16).ok()?;
    (hexadecimal && term.value == TermValue::Bare).then_some(code)
}

/// Terms of perf which do not say what is counted, and why they have no place here.
const NOT_OF_AN_EVENT: &[(&[&str], &str)] = &[
    (
        &[
            "period",
            "freq",
            "branch_type",
            "time",
            "call-graph",
            "stack-size",
            "max-stack",
            "nr",
            "no-overwrite",
            "overwrite",
            "aux-output",
            "aux-action",
            "aux-sample-size",
            "driver-config",
            "ratio-to-prev",
        ],
        "it is about sampling, and events are counted here",
    ),
    (
        &["inherit", "no-inherit"],
        "whether child threads are counted is chosen with the target, for all events",
    ),
    (&["cpu", "percore"], "which CPUs are counted is chosen with the target, for all events"),
    (&["name", "metric-id"], "an event is reported under the name that it was typed with"),
    (&["config4"], "the words that are passed to the kernel are config, config1, config2 and config3"),
];

/// Why terms cannot be encoded for a PMU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// The PMU has neither a field nor an event of this name.
    #[error(
        "PMU {pmu} has no event and no field {term:?}; its fields are {}{}",
        listed(fields),
        did_you_mean(near)
    )]
    Unknown {
        /// The name of the PMU.
        pmu: String,
        /// The name that is not known.
        term: String,
        /// Up to three names like it, nearest first.
        near: Vec<String>,
        /// All fields of the PMU.
        fields: Vec<String>,
    },
    /// The PMU does not know this name, but others do.
    #[error("PMU {pmu} has no event and no field {term:?}, but {} has: ask that PMU", listed(owners))]
    OfAnotherPmu {
        /// The name of the PMU.
        pmu: String,
        /// The name that it does not know.
        term: String,
        /// The PMUs that do, numbered ones under their common name; at least one.
        owners: Vec<String>,
    },
    /// The value needs more bits than the field has.
    #[error("PMU {pmu}: {term}={value:#x} does not fit: {field} holds at most {:#x}", field.max())]
    TooWide {
        /// The name of the PMU.
        pmu: String,
        /// The name of the field.
        term: String,
        /// The value that was given.
        value: u64,
        /// The bits that it should go to.
        field: Field,
    },
    /// The term needs a number and has none.
    #[error("PMU {pmu}: {term} needs a number, decimal or 0x and hexadecimal, as in event=0x3c")]
    NoNumber {
        /// The name of the PMU.
        pmu: String,
        /// The term.
        term: String,
    },
    /// The event leaves a value open, and it was not given.
    #[error(
        "PMU {pmu}: event {event} needs a value for {term}: add {term}=NUMBER, as in {pmu}/{event},{term}=1/"
    )]
    ValueAsked {
        /// The name of the PMU.
        pmu: String,
        /// The name of the event.
        event: String,
        /// The term that has to be given.
        term: String,
    },
    /// Two events were named, of which the second would overwrite the first.
    #[error("PMU {pmu}: {first} and {second} are two events: type {pmu}/{first}/ and {pmu}/{second}/")]
    TwoEvents {
        /// The name of the PMU.
        pmu: String,
        /// The event that was named first.
        first: String,
        /// The other.
        second: String,
    },
    /// The term is one of perf's, but not about what is counted.
    #[error("PMU {pmu}: {term} cannot be part of an event: {why}")]
    NotOfAnEvent {
        /// The name of the PMU.
        pmu: String,
        /// The name of the term.
        term: String,
        /// The reason.
        why: &'static str,
    },
    /// The system describes the field wrongly.
    #[error("PMU {pmu}: the system's description of the field {term} is broken: {source}")]
    BrokenField {
        /// The name of the PMU.
        pmu: String,
        /// The name of the field.
        term: String,
        /// The fault.
        source: FieldError,
    },
    /// The system describes the event wrongly.
    #[error("PMU {pmu}: the system's description of the event {event} is broken: {source}")]
    BrokenEvent {
        /// The name of the PMU.
        pmu: String,
        /// The name of the event.
        event: String,
        /// The fault.
        source: NamedEventError,
    },
    /// A term in the system's description of the event cannot be encoded.
    #[error("PMU {pmu}: the system's description of the event {event} is broken: {source}")]
    InEvent {
        /// The name of the PMU.
        pmu: String,
        /// The name of the event.
        event: String,
        /// The fault.
        source: Box<TermError>,
    },
}

/// Why `pmu/terms/` cannot be encoded: the PMU or the terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// There is no such PMU.
    #[error(transparent)]
    Pmu(#[from] PmuError),
    /// It does not take these terms.
    #[error(transparent)]
    Term(#[from] TermError),
}
