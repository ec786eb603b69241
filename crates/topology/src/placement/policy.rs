//! The user's choice of placement, as typed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::role::{ParseRoleError, Role};
use super::rule::{ParseRuleError, Rule};
use crate::cpulist::{ParseCpuListError, quoted};
use crate::cpuset::CpuSet;

/// How threads are given logical CPUs. Typed, printed and serialised as `auto`, `none`, a CPU list
/// such as `2-3,6`, a [`Rule`] such as `spread`, or rules for each role such as
/// `server=smt-pair,client=client-on-rest`.
///
/// When unsure, take `Auto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PinPolicy {
    /// A core of its own for each thread as long as there are cores, then SMT siblings; see
    /// [`place`](crate::place).
    #[default]
    Auto,
    /// No pinning: the scheduler moves threads as it likes.
    None,
    /// These logical CPUs, one for each thread, ascending. For another order list them by role,
    /// as in `server=4,0`.
    List(CpuSet),
    /// One rule for all threads together: servers first, then clients, co-runners, samplers.
    Rule(Rule),
    /// A rule for each role. Every role that has threads must be there; servers are placed first,
    /// then clients, co-runners, samplers.
    PerRole(BTreeMap<Role, Rule>),
}

/// Text that is not a [`PinPolicy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParsePinPolicyError {
    /// There was no text. An empty list of CPUs can place nothing.
    #[error("an empty pin policy places nothing; write `auto`, `none`, a CPU list like `2-3,6`, or a rule")]
    Empty,
    /// It is a list of CPUs with a mistake.
    #[error("`{typed}` is neither `auto`, `none` nor a CPU list: {source}")]
    NotAList {
        /// What was typed, shortened.
        typed: String,
        /// What is wrong with it as a list.
        source: ParseCpuListError,
    },
    /// It is none of the words, not a CPU list, and not a rule either.
    #[error("`{typed}` is neither `auto`, `none`, a CPU list like `2-3,6`, nor a rule: {source}")]
    NotARule {
        /// What was typed, shortened.
        typed: String,
        /// What is wrong with it as a rule.
        source: ParseRuleError,
    },
    /// Rules are given for each role, and this piece has none.
    #[error("`{typed}` names no role; write rules for roles like `server=smt-pair,client=client-on-rest`")]
    NoRole {
        /// What was typed, shortened.
        typed: String,
    },
    /// A name before `=` is not a role.
    #[error(transparent)]
    Role(#[from] ParseRoleError),
    /// A role has two rules.
    #[error("`{role}=` is there twice; give each role one rule")]
    RoleTwice {
        /// The role.
        role: Role,
    },
    /// The rule of a role is wrong.
    #[error("the rule for {role} is wrong: {source}")]
    RuleOfRole {
        /// The role.
        role: Role,
        /// What is wrong with it.
        source: ParseRuleError,
    },
}

impl FromStr for PinPolicy {
    type Err = ParsePinPolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePinPolicyError> {
        match text.trim() {
            "" => Err(ParsePinPolicyError::Empty),
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            per_role if per_role.contains('=') => parse_per_role(per_role).map(Self::PerRole),
            list_or_rule => parse_list_or_rule(list_or_rule),
        }
    }
}

fn parse_list_or_rule(text: &str) -> Result<PinPolicy, ParsePinPolicyError> {
    let not_a_list = match text.parse() {
        Ok(cpus) => return Ok(PinPolicy::List(cpus)),
        Err(source) => ParsePinPolicyError::NotAList { typed: quoted(text), source },
    };
    match text.parse() {
        Ok(rule) => Ok(PinPolicy::Rule(rule)),
        Err(ParseRuleError::List { .. }) => Err(not_a_list),
        Err(source) => Err(ParsePinPolicyError::NotARule { typed: quoted(text), source }),
    }
}

/// Takes `server=0-1,5,client=2` apart into what stands before and behind each `=`: a comma ends a
/// rule only where a role follows. A first part without `=` has no role.
pub(super) fn split_at_roles(text: &str) -> Vec<(Option<&str>, String)> {
    let mut typed: Vec<(Option<&str>, String)> = Vec::new();
    for piece in text.split(',') {
        match (piece.split_once('='), typed.last_mut()) {
            (Some((role, rule)), _) => typed.push((Some(role), rule.to_owned())),
            (None, Some((_, rule))) => {
                rule.push(',');
                rule.push_str(piece);
            }
            (None, None) => typed.push((None, piece.to_owned())),
        }
    }
    typed
}

/// Parses rules, each for one role.
fn parse_per_role(text: &str) -> Result<BTreeMap<Role, Rule>, ParsePinPolicyError> {
    let mut rules = BTreeMap::new();
    for (role, rule) in split_at_roles(text) {
        let role = role.ok_or_else(|| ParsePinPolicyError::NoRole { typed: quoted(&rule) })?;
        let role: Role = role.parse()?;
        let rule = rule.parse().map_err(|source| ParsePinPolicyError::RuleOfRole { role, source })?;
        if rules.insert(role, rule).is_some() {
            return Err(ParsePinPolicyError::RoleTwice { role });
        }
    }
    Ok(rules)
}

impl fmt::Display for PinPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::List(cpus) => cpus.fmt(f),
            Self::Rule(rule) => rule.fmt(f),
            Self::PerRole(rules) => {
                for (index, (role, rule)) in rules.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "," };
                    write!(f, "{separator}{role}={rule}")?;
                }
                Ok(())
            }
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
        let rules = ["spread", "2-per-package", "numapair", "2-physical-4-logical"];
        let per_role = ["server=0-1,5,client=2", "server=smt-pair,client=client-on-rest,co-runner=pack"];
        for text in ["auto", "none", "0-1,5"].into_iter().chain(rules).chain(per_role) {
            let policy: PinPolicy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
            let json = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<PinPolicy>(&json).unwrap(), policy);
        }
        let unordered: PinPolicy = "5,1,0".parse().unwrap();
        assert_eq!(unordered, PinPolicy::List([0, 1, 5].into_iter().collect()));
    }

    #[test]
    fn a_comma_ends_a_rule_only_where_a_role_follows() {
        let policy: PinPolicy = "client=2,server=5,0-1".parse().unwrap();
        let rules = [(Role::Server, "5,0-1".parse().unwrap()), (Role::Client, "2".parse().unwrap())];
        assert_eq!(policy, PinPolicy::PerRole(rules.into_iter().collect()));
        assert_eq!(policy.to_string(), "server=5,0-1,client=2");
    }

    #[test]
    fn wrong_policies_say_what_may_be_written() {
        assert_eq!("".parse::<PinPolicy>(), Err(ParsePinPolicyError::Empty));
        let error = |text: &str| text.parse::<PinPolicy>().unwrap_err().to_string();
        let no_word = error("Auto");
        assert!(no_word.starts_with("`Auto` is neither `auto`, `none`, a CPU list"), "{no_word}");
        assert!(no_word.contains("`one-per-core`"), "{no_word}");
        assert!(error("3-1").starts_with("`3-1` is neither `auto`, `none` nor a CPU list: `3-1` in"));
        assert!(error("0,server=1").starts_with("`0` names no role; "));
        assert!(error("boss=1").starts_with("`boss` is not a role; "));
        assert!(error("server=1,server=2").starts_with("`server=` is there twice; "));
        assert!(error("server=4,4").starts_with("the rule for server is wrong: `4,4` is not a placement"));
        assert!(error("server=").starts_with("the rule for server is wrong: `` is not a placement rule"));
    }
}
