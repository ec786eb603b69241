//! The terms of an event: what stands between the slashes, and in the files of a PMU's `events/`.

use std::fmt;
use std::str::FromStr;

/// A list of terms such as `event=0xa2,umask=0x08,inv`, or the name of one of a PMU's events (`cpu-cycles`)
/// with terms that change it.
///
/// What a name means is for the PMU to say ([`Pmu::encode`](super::Pmu::encode)); here it is text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Terms {
    /// At least one.
    terms: Vec<Term>,
}

impl Terms {
    /// Visits the terms in the order in which they were typed; there is at least one.
    pub fn iter(&self) -> std::slice::Iter<'_, Term> {
        self.terms.iter()
    }
}

impl<'a> IntoIterator for &'a Terms {
    type Item = &'a Term;
    type IntoIter = std::slice::Iter<'a, Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One term: a name and perhaps a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Term {
    /// What stands before the `=`; letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// What stands behind it.
    pub value: TermValue,
}

/// The value of a [`Term`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TermValue {
    /// None: the name of an event, or a field that is set to 1.
    Bare,
    /// A number, decimal or `0x` and hexadecimal digits. A leading 0 does not make it octal, as in perf.
    Number(u64),
    /// `?`, in an event of a PMU: to be given by whoever uses the event.
    Asked,
    /// A name, as in `event=cpu-cycles`.
    Name(String),
}

impl FromStr for Terms {
    type Err = TermsError;

    fn from_str(text: &str) -> Result<Terms, TermsError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TermsError::Empty);
        }
        let terms: Result<_, _> = text.split(',').map(|term| term.trim().parse()).collect();
        Ok(Terms { terms: terms? })
    }
}

impl FromStr for Term {
    type Err = TermsError;

    fn from_str(text: &str) -> Result<Term, TermsError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if !is_name(name) {
            return Err(TermsError::Name { term: text.to_owned() });
        }
        let value = match value {
            None => TermValue::Bare,
            Some("?") => TermValue::Asked,
            Some(value) if value.starts_with(|first: char| first.is_ascii_digit()) => {
                let number = number(value).ok_or_else(|| TermsError::Number { term: text.to_owned() })?;
                TermValue::Number(number)
            }
            Some(value) if is_name(value) && !value.starts_with(['-', '.']) => {
                TermValue::Name(value.to_owned())
            }
            Some(_) => return Err(TermsError::Number { term: text.to_owned() }),
        };
        Ok(Term { name: name.to_owned(), value })
    }
}

/// Whether these are the letters of a term, an event or a PMU.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` alone would take a sign.
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok(),
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for term in &self.terms {
            write!(f, "{separator}{term}")?;
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.value {
            TermValue::Bare => Ok(()),
            TermValue::Number(number) => write!(f, "={number:#x}"),
            TermValue::Asked => f.write_str("=?"),
            TermValue::Name(name) => write!(f, "={name}"),
        }
    }
}

/// An event typed as `pmu/terms/modifiers`, for example `uncore_imc/cas_count_read/` or
/// `cpu/event=0xa2,umask=0x8/u`.
///
/// ```
/// use tailcore_pmu::sysfs::Slashed;
///
/// let typed: Slashed = "cpu/event=162,umask=0x08,inv/u".parse()?;
/// assert_eq!((typed.pmu.as_str(), typed.modifiers.as_str()), ("cpu", "u"));
/// assert_eq!(typed.to_string(), "cpu/event=0xa2,umask=0x8,inv/u");
/// # Ok::<(), tailcore_pmu::sysfs::TermsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Slashed {
    /// The name of a PMU, or a pattern of such names; see [`Pmus::matching`](super::Pmus::matching).
    pub pmu: String,
    /// What stands between the slashes.
    pub terms: Terms,
    /// The letters behind the last slash, with or without a colon before them; empty if there are none.
    pub modifiers: String,
}

impl FromStr for Slashed {
    type Err = TermsError;

    fn from_str(text: &str) -> Result<Slashed, TermsError> {
        let text = text.trim();
        let shape = || TermsError::Shape { event: text.to_owned() };
        let (pmu, rest) = text.split_once('/').ok_or_else(shape)?;
        let (terms, modifiers) = rest.rsplit_once('/').ok_or_else(shape)?;
        let modifiers = modifiers.strip_prefix(':').unwrap_or(modifiers);
        // Some PMUs are named after the address of their device, with colons.
        let letters = pmu.replace(['*', '?', ':'], "_");
        if !is_name(&letters) || !modifiers.bytes().all(|letter| letter.is_ascii_alphabetic()) {
            return Err(shape());
        }
        Ok(Slashed { pmu: pmu.to_owned(), terms: terms.parse()?, modifiers: modifiers.to_owned() })
    }
}

impl fmt::Display for Slashed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.pmu, self.terms, self.modifiers)
    }
}

/// Why a text is no list of terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermsError {
    /// There is no term.
    #[error("there is no term: name an event, or give its code as in event=0x3c")]
    Empty,
    /// It is not `pmu/terms/modifiers`.
    #[error("event {event:?}: not of the form pmu/terms/ or pmu/terms/modifiers, as in cpu/event=0x3c/u")]
    Shape {
        /// What was typed.
        event: String,
    },
    /// The name of a term is missing or has letters that no name has.
    #[error("term {term:?}: its name has to consist of letters, digits, `_`, `-` and `.`")]
    Name {
        /// The term.
        term: String,
    },
    /// The value is no number of 64 bits.
    #[error("term {term:?}: its value has to be a number of at most 64 bits, decimal or 0x and hexadecimal")]
    Number {
        /// The term.
        term: String,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_by_table() {
        let cases = [
            ("inv", TermValue::Bare),
            ("event=0xA2", TermValue::Number(0xa2)),
            ("event=0X10", TermValue::Number(0x10)),
            ("event=162", TermValue::Number(162)),
            ("event=010", TermValue::Number(10)),
            ("config=0xffffffffffffffff", TermValue::Number(u64::MAX)),
            ("config=18446744073709551615", TermValue::Number(u64::MAX)),
            ("core=?", TermValue::Asked),
            ("event=cpu-cycles", TermValue::Name("cpu-cycles".to_owned())),
        ];
        for (text, value) in cases {
            assert_eq!(text.parse::<Term>().unwrap().value, value, "{text}");
        }
    }

    #[test]
    fn lists_keep_their_order_and_lose_their_space() {
        let terms: Terms = " event=0xc2, umask=0x01,inv\n".parse().unwrap();
        assert_eq!(terms.to_string(), "event=0xc2,umask=0x1,inv");
        assert_eq!(terms.iter().count(), 3);
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(" \n".parse::<Terms>(), Err(TermsError::Empty));
        for text in ["a,", ",a", "a,,b", "=1", "a b", "a\nb", "é=1", "a/b", "event =1"] {
            assert!(matches!(text.parse::<Terms>(), Err(TermsError::Name { .. })), "{text:?}");
        }
        for value in ["", "0x", "0x+1", "+1", "-1", "12a", "0x1g", "1 2", "??", "0x10000000000000000", "=1"] {
            let text = format!("event={value}");
            assert!(matches!(text.parse::<Terms>(), Err(TermsError::Number { .. })), "{text:?}");
        }
    }

    #[test]
    fn slashed_events_by_table() {
        let cases = [
            ("cpu/event=0x3c/", ("cpu", "event=0x3c", "")),
            (" cpu_core/cpu-cycles/u ", ("cpu_core", "cpu-cycles", "u")),
            ("cpu/r1a8/:uk", ("cpu", "r1a8", "uk")),
            ("uncore_*/clockticks/", ("uncore_*", "clockticks", "")),
            ("i915_0000:03:00.0/rcs0-busy/", ("i915_0000:03:00.0", "rcs0-busy", "")),
        ];
        for (typed, (pmu, terms, modifiers)) in cases {
            let slashed: Slashed = typed.parse().unwrap();
            let found = (slashed.pmu.as_str(), slashed.terms.to_string(), slashed.modifiers.as_str());
            assert_eq!(found, (pmu, terms.to_owned(), modifiers), "{typed}");
        }
        for typed in ["", "cpu", "cpu/a", "/a/", "c pu/a/", "cpu/a/u,b", "cpu/a/u1", "cpu/a/::u"] {
            let event = typed.to_owned();
            assert_eq!(typed.parse::<Slashed>(), Err(TermsError::Shape { event }));
        }
        assert_eq!("cpu//".parse::<Slashed>(), Err(TermsError::Empty));
        assert!(matches!("cpu/a/b/".parse::<Slashed>(), Err(TermsError::Name { .. })));
    }

    proptest! {
        #[test]
        fn what_prints_reads_back(text in r"[a-z_.-]{1,5}(=(0x[0-9a-f]{1,16}|[0-9]{1,19}|\?|[a-z][a-z0-9-]{0,4}))?(,[a-z]{1,3}(=[0-9])?){0,3}") {
            let terms: Terms = text.parse().unwrap();
            prop_assert_eq!(terms.to_string().parse::<Terms>(), Ok(terms));
        }

        #[test]
        fn no_text_panics(text in r"\PC*|[a-z0-9=,?x/: -]*") {
            let _ = text.parse::<Terms>();
            if let Ok(slashed) = text.parse::<Slashed>() {
                prop_assert_eq!(slashed.to_string().parse::<Slashed>(), Ok(slashed));
            }
        }
    }
}
