//! The rules, and how they are typed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::cpu_order::{CpuOrder, CpuOrderError};
use super::formulas::Formula;
use crate::cpulist::quoted;

/// What to write, for messages.
pub(super) const FORMS: &str = "`one-thread`, `one-per-core`, `smt-pair`, `pack`, `spread`, `one-l3`, \
     `one-node`, `2-physical-4-logical`, `2-per-package`, `same-package`, `other-package`, `client-on-rest`, \
     a formula (`dummy`, `equitative`, `pair`, `impair`, `simplecore`, `numapair`) or a CPU list like `4,0,2-3`";

/// A named rule that turns a number of threads into logical CPUs. Typed, printed and serialised
/// as its name, such as `smt-pair` or `2-per-package`.
///
/// What holds for all but [`List`](Self::List) and [`Formula`](Self::Formula):
///
/// - Only allowed logical CPUs are given, and only of *free* cores: those of which no other
///   request has a CPU. Two roles never meet on one core.
/// - CPUs of which no file tells the core count as cores of their own.
/// - Cores are taken in the order of their lowest allowed CPU; nothing is drawn by lot.
/// - Isolated CPUs (`isolcpus=`) that are allowed count like any others. The kernel leaves them
///   out of the mask that processes start with, so whoever allows them wants them used. Only
///   [`PinPolicy::Auto`](crate::PinPolicy::Auto) keeps them for last.
/// - On a hybrid machine all threads of a request get CPUs of one kind: the most capable kind
///   for which the rule works out. Only a list mixes kinds.
/// - A rule that does not work out is an error; no other rule is taken instead.
///
/// When unsure, take `one-per-core` for what is measured and `client-on-rest` for the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `one-thread`: one thread on the lowest CPU of the first free core. For a server of one
    /// thread, and as the baseline of every comparison.
    OneThread,
    /// `one-per-core`: each thread on a free core of its own, on the core's lowest CPU, cores
    /// ascending. For threads that must not share execution units.
    OnePerCore,
    /// `smt-pair`: two threads on the first two SMT siblings of each free core that has them, pair
    /// by pair; an even number of threads. Shows what SMT costs and gives, next to `one-per-core`.
    SmtPair,
    /// `pack`: as near to each other as possible. The smallest part of the machine with enough
    /// CPUs (core, cluster, last-level cache, die or NUMA node, package) is filled core by core, all
    /// siblings of one before the next. For threads that share data.
    Pack,
    /// `spread`: as far from each other as possible. Round robin over packages, then NUMA nodes and
    /// dies, last-level caches, clusters and cores; SMT siblings only when every core has a
    /// thread. For threads that want cache and memory bandwidth for themselves.
    Spread,
    /// `one-l3`: below one last-level cache of level 3 or more, one thread per core first and then
    /// siblings: the first such cache with enough free cores, else the first with enough CPUs. For
    /// threads that share data and want cores of their own.
    OneL3,
    /// `one-node`: the same in one NUMA node. Keeps a role's memory local to all of its threads.
    OneNode,
    /// `2-physical-4-logical`: exactly so many threads (4) on exactly so many cores (2), dealt
    /// evenly, first siblings first. For studies of one shape of SMT use.
    PhysicalLogical {
        /// The cores; at least 1, and at most `logical`.
        physical: usize,
        /// The logical CPUs, which is the number of threads.
        logical: usize,
    },
    /// `2-per-package`: so many cores (2) in each of as many packages as the threads fill, one CPU
    /// per core: the first free one of [`per_package_sets`](crate::per_package_sets). For studies
    /// of what threads of one package share, its last-level cache and memory channels; the source is
    /// named there.
    PerPackage {
        /// The cores in each package; at least 1, and a divisor of the number of threads.
        cores: usize,
    },
    /// `same-package`: each thread on a free core of its own, on the core's lowest CPU, in the packages
    /// where other requests have CPUs, dealt evenly over all of these; decided after all rules but
    /// `other-package` and `client-on-rest`. For two programs that share caches and memory channels and
    /// no core, as in the co-runs of the study that [`per_package_sets`](crate::per_package_sets)
    /// names, next to `other-package`, where they share neither.
    SamePackage,
    /// `other-package`: each thread on a free core of its own, in the first package with enough of
    /// them on which no other request has a CPU; decided after all rules but `client-on-rest`.
    /// Keeps a client or a co-runner off the caches and the memory channels of what is measured.
    OtherPackage,
    /// `client-on-rest`: each thread on a core of its own, on the core's lowest CPU with siblings
    /// idle: the last free cores, ascending; decided after all other rules. It stays where it is
    /// while a server grows from the first core on, so that runs differ in the server alone.
    ClientOnRest,
    /// `4,0,2-3`: the first thread on the first CPU listed, and so on; a longer list leaves its
    /// last CPUs unused. Decided before all rules. For what no rule says.
    List(CpuOrder),
    /// `dummy`, `equitative`, `pair`, `impair`, `simplecore` or `numapair`: CPU numbers by formula,
    /// several threads on one CPU included. Decided with the lists. To repeat the study that
    /// [`Formula`] names.
    Formula(Formula),
}

/// Text that is not a [`Rule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRuleError {
    /// The numbers of a rule such as `2-physical-4-logical` make no sense.
    #[error("`{typed}` {reason}")]
    Numbers {
        /// What was typed, shortened.
        typed: String,
        /// What is asked of the numbers.
        reason: &'static str,
    },
    /// It is a CPU list, and one that places nothing well.
    #[error("`{typed}` is not a placement: {source}")]
    List {
        /// What was typed, shortened.
        typed: String,
        /// What is wrong with the list.
        source: CpuOrderError,
    },
    /// It is none of the names, and not a CPU list either.
    #[error("`{typed}` is not a placement rule; write {FORMS}")]
    Unknown {
        /// What was typed, shortened.
        typed: String,
    },
}

impl Rule {
    const PLAIN: [(&'static str, Self); 10] = [
        ("one-thread", Self::OneThread),
        ("one-per-core", Self::OnePerCore),
        ("smt-pair", Self::SmtPair),
        ("pack", Self::Pack),
        ("spread", Self::Spread),
        ("one-l3", Self::OneL3),
        ("one-node", Self::OneNode),
        ("same-package", Self::SamePackage),
        ("other-package", Self::OtherPackage),
        ("client-on-rest", Self::ClientOnRest),
    ];
}

impl FromStr for Rule {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, ParseRuleError> {
        let text = text.trim();
        if let Some((_, rule)) = Self::PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(rule.clone());
        }
        if let Some(formula) = Formula::ALL.into_iter().find(|formula| formula.text() == text) {
            return Ok(Self::Formula(formula));
        }
        let wrong = |reason| ParseRuleError::Numbers { typed: quoted(text), reason };
        if let Some(cores) = text.strip_suffix("-per-package") {
            let cores = count(cores).ok_or_else(|| wrong("needs a number of cores, at least 1"))?;
            return Ok(Self::PerPackage { cores });
        }
        let shape = text.strip_suffix("-logical").and_then(|shape| shape.split_once("-physical-"));
        if let Some((physical, logical)) = shape {
            let (physical, logical) = (count(physical), count(logical));
            let shape = physical.zip(logical).filter(|(physical, logical)| physical <= logical);
            let (physical, logical) = shape
                .ok_or_else(|| wrong("needs two numbers, at least 1, the cores no more than the threads"))?;
            return Ok(Self::PhysicalLogical { physical, logical });
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(ParseRuleError::Unknown { typed: quoted(text) });
        }
        let list = text.parse().map(Self::List);
        list.map_err(|source| ParseRuleError::List { typed: quoted(text), source })
    }
}

/// A number of cores or threads; `None` for 0 and for what is not all digits.
fn count(digits: &str) -> Option<usize> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|&count| all_digits && count > 0)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PhysicalLogical { physical, logical } => write!(f, "{physical}-physical-{logical}-logical"),
            Self::PerPackage { cores } => write!(f, "{cores}-per-package"),
            Self::List(cpus) => cpus.fmt(f),
            Self::Formula(formula) => f.write_str(formula.text()),
            plain => {
                let name = Self::PLAIN.iter().find(|(_, rule)| rule == plain);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_as_typed() {
        let plain = Rule::PLAIN.map(|(name, _)| name);
        let formulas = Formula::ALL.map(Formula::text);
        let others = ["2-physical-4-logical", "1-physical-1-logical", "8-per-package", "4,0,2-3", "7"];
        for text in plain.into_iter().chain(formulas).chain(others) {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Rule>(&json).unwrap(), rule);
        }
        let shape = Rule::PhysicalLogical { physical: 2, logical: 4 };
        assert_eq!("2-physical-4-logical".parse(), Ok(shape));
    }

    #[test]
    fn every_name_is_in_the_list_that_messages_give() {
        let names = Rule::PLAIN.map(|(name, _)| name).into_iter().chain(Formula::ALL.map(Formula::text));
        for name in names {
            assert!(FORMS.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn wrong_numbers_are_named() {
        let texts = [
            "0-per-package",
            "-per-package",
            "+1-per-package",
            "3-physical-2-logical",
            "0-physical-2-logical",
        ];
        for text in texts {
            let error = text.parse::<Rule>().unwrap_err();
            assert!(matches!(error, ParseRuleError::Numbers { .. }), "{text}");
            assert!(error.to_string().starts_with(&format!("`{text}` needs ")), "{error}");
        }
        assert!("99999999999999999999-per-package".parse::<Rule>().is_err());
    }

    #[test]
    fn what_is_no_rule_says_what_may_be_written() {
        for text in ["", "Spread", "smt_pair", "-1", "auto"] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` is not a placement rule; write {FORMS}"));
        }
        let twice = "0,4,0".parse::<Rule>().unwrap_err().to_string();
        assert!(twice.starts_with("`0,4,0` is not a placement: CPU 0 is listed twice"), "{twice}");
        assert!(matches!("3-1".parse::<Rule>(), Err(ParseRuleError::List { .. })));
    }
}
