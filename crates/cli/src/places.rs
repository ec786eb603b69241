//! Which threads want which place, as typed after `topo --place`.

use std::str::FromStr;

use tailcore_topology::{ParseRoleError, ParseRuleError, Request};

/// What `--place` asks for: `server:2=smt-pair,client:4=client-on-rest`.
#[derive(Clone, Debug)]
pub(crate) struct Places(pub(crate) Vec<Request>);

impl FromStr for Places {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A list of CPUs has commas as well: what has no `=` belongs to the place before it.
        let mut places: Vec<String> = Vec::new();
        for part in text.split(',') {
            match places.last_mut() {
                Some(last) if !part.contains('=') => *last = format!("{last},{part}"),
                _ => places.push(part.to_owned()),
            }
        }
        places.iter().map(|place| parse_place(place)).collect::<Result<_, _>>().map(Self)
    }
}

fn parse_place(text: &str) -> Result<Request, String> {
    let parts = text.split_once('=').and_then(|(who, rule)| Some((who.split_once(':')?, rule)));
    let ((role, threads), rule) =
        parts.ok_or_else(|| format!("`{text}` is not ROLE:THREADS=RULE, such as server:2=smt-pair"))?;
    Ok(Request {
        role: role.parse().map_err(|error: ParseRoleError| error.to_string())?,
        threads: threads.parse().map_err(|_| format!("`{threads}` in `{text}` is no number of threads"))?,
        rule: rule.parse().map_err(|error: ParseRuleError| error.to_string())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_typed() {
        let places: Places = "server:2=0-1,5,client:4=client-on-rest".parse().unwrap();
        let typed: Vec<String> =
            places.0.iter().map(|place| format!("{}:{}={}", place.role, place.threads, place.rule)).collect();
        assert_eq!(typed, ["server:2=0-1,5", "client:4=client-on-rest"]);
    }

    #[test]
    fn wrong_places_say_what_may_be_written() {
        let complaints = [
            ("", "not ROLE:THREADS=RULE"),
            ("server=pack", "not ROLE:THREADS=RULE"),
            ("server:two=pack", "`two`"),
            ("servant:2=pack", "servant"),
            ("server:2=heap", "heap"),
        ];
        for (typed, complaint) in complaints {
            let error = typed.parse::<Places>().unwrap_err();
            assert!(error.contains(complaint), "{typed}: {error}");
        }
    }
}
