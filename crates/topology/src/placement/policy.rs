//! The user's choice of placement, as typed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::cpulist::{ParseCpuListError, quoted};
use crate::cpuset::CpuSet;

/// How threads are given logical CPUs. Typed, printed and serialised as `auto`, `none`, or a CPU
/// list such as `2-3,6`.
///
/// When unsure, take `Auto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum PinPolicy {
    /// A core of its own for each thread as long as there are cores, then SMT siblings; see
    /// [`place`](crate::place).
    #[default]
    Auto,
    /// No pinning: the scheduler moves threads as it likes.
    None,
    /// These logical CPUs, one for each thread, ascending.
    List(CpuSet),
}

/// Text that is not a [`PinPolicy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParsePinPolicyError {
    /// There was no text. An empty list of CPUs can place nothing.
    #[error("an empty pin policy places nothing; write `auto`, `none` or a CPU list like `2-3,6`")]
    Empty,
    /// It is none of the words, and not a CPU list either.
    #[error("`{typed}` is neither `auto`, `none` nor a CPU list: {source}")]
    NotAList {
        /// What was typed, shortened.
        typed: String,
        /// What is wrong with it as a list.
        source: ParseCpuListError,
    },
}

impl FromStr for PinPolicy {
    type Err = ParsePinPolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePinPolicyError> {
        match text.trim() {
            "" => Err(ParsePinPolicyError::Empty),
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            list => match list.parse() {
                Ok(cpus) => Ok(Self::List(cpus)),
                Err(source) => {
                    let typed = quoted(list);
                    Err(ParsePinPolicyError::NotAList { typed, source })
                }
            },
        }
    }
}

impl fmt::Display for PinPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::List(cpus) => cpus.fmt(f),
        }
    }
}

impl Serialize for PinPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PinPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_as_typed() {
        for text in ["auto", "none", "0-1,5"] {
            let policy: PinPolicy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
            let json = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<PinPolicy>(&json).unwrap(), policy);
        }
        let unordered: PinPolicy = "5,1,0".parse().unwrap();
        assert_eq!(unordered, PinPolicy::List([0, 1, 5].into_iter().collect()));
    }

    #[test]
    fn wrong_policies_say_what_may_be_written() {
        assert_eq!("".parse::<PinPolicy>(), Err(ParsePinPolicyError::Empty));
        let error = "Auto".parse::<PinPolicy>().unwrap_err().to_string();
        assert!(error.contains("`Auto` is neither `auto`, `none` nor a CPU list"), "{error}");
        assert!("3-1".parse::<PinPolicy>().is_err());
    }
}
