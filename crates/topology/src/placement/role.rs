//! What a thread does in a measurement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpulist::quoted;

/// What a thread does in a measurement. Typed, printed and serialised as `server`, `client`,
/// `co-runner` or `sampler`.
///
/// The order is the one in which roles get CPUs when nothing else decides: servers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// It serves requests: it is what is measured, and gets the quietest CPU.
    Server,
    /// It sends requests and times the answers.
    Client,
    /// It disturbs on purpose: it shares caches, memory or a core with what is measured.
    CoRunner,
    /// It reads counters and samples while the others work.
    Sampler,
}

impl Role {
    const ALL: [Self; 4] = [Self::Server, Self::Client, Self::CoRunner, Self::Sampler];

    fn text(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::CoRunner => "co-runner",
            Self::Sampler => "sampler",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// Text that is not a [`Role`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{typed}` is not a role; write `server`, `client`, `co-runner` or `sampler`")]
#[non_exhaustive]
pub struct ParseRoleError {
    /// What was typed, shortened.
    pub typed: String,
}

impl FromStr for Role {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        let role = Self::ALL.into_iter().find(|role| role.text() == text.trim());
        role.ok_or_else(|| ParseRoleError { typed: quoted(text.trim()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_have_one_spelling() {
        for (role, text) in Role::ALL.into_iter().zip(["server", "client", "co-runner", "sampler"]) {
            assert_eq!(role.to_string(), text);
            assert_eq!(text.parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Role>(&format!("\"{text}\"")).unwrap(), role);
        }
        let error = "Server".parse::<Role>().unwrap_err().to_string();
        assert!(error.starts_with("`Server` is not a role; write `server`"), "{error}");
    }
}
