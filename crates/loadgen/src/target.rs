//! What is driven, as it is typed: `memcached://HOST:PORT`.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::error::LoadError;

/// A service outside this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A server that speaks the memcached text protocol over TCP.
    Memcached {
        /// `host:port` as it was typed.
        authority: String,
    },
}

impl Target {
    /// Looks the host up.
    ///
    /// # Errors
    ///
    /// [`LoadError::Resolve`] if there is no such host.
    pub fn resolve(&self) -> Result<SocketAddr, LoadError> {
        let Self::Memcached { authority } = self;
        let refused = |source| LoadError::Resolve { target: self.to_string(), source };
        let mut addresses = authority.to_socket_addrs().map_err(refused)?;
        addresses.next().ok_or_else(|| refused(io::Error::new(io::ErrorKind::NotFound, "it has no address")))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Memcached { authority } = self;
        write!(f, "memcached://{authority}")
    }
}

impl FromStr for Target {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let problem = |what: &str| LoadError::Target { target: text.to_owned(), problem: what.to_owned() };
        let Some((scheme, authority)) = text.split_once("://") else {
            return Err(problem("give a scheme and an address, for example memcached://127.0.0.1:11211"));
        };
        if !scheme.eq_ignore_ascii_case("memcached") {
            return Err(problem("unknown scheme; this version drives memcached://HOST:PORT"));
        }
        let authority = authority.trim_end_matches('/');
        let is_host_and_port = authority
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
        if !is_host_and_port {
            return Err(problem("the address must be HOST:PORT, for example 127.0.0.1:11211"));
        }
        Ok(Self::Memcached { authority: authority.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_typed() {
        for text in ["memcached://127.0.0.1:11211", "memcached://[::1]:11211"] {
            let target: Target = text.parse().unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(target.resolve().unwrap().port(), 11211);
        }
    }

    #[test]
    fn bad_targets_say_what_would_be_right() {
        for text in [
            "127.0.0.1:11211",
            "redis://h:1",
            "memcached://h",
            "memcached://:1",
            "memcached://h:0",
            "memcached://",
        ] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(message.contains(text) && message.contains(':'), "{message}");
        }
    }
}
