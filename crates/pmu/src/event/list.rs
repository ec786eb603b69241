//! Lists of events, as typed after `-e`.

use super::Event;
use crate::error::ParseEventError;

/// Parses a comma-separated list of events, in order.
///
/// Space around a name is ignored, and so are braces, which [`parse_units`] keeps. The list must name at least
/// one event: counting nothing is the caller's to ask for by not calling. The first fault found is the error.
///
/// # Errors
///
/// [`ParseEventError`] names the event and the fault.
pub fn parse_events(list: &str) -> Result<Vec<Event>, ParseEventError> {
    Ok(parse_units(list)?.into_iter().flatten().collect())
}

/// Parses a list in which braces hold events that must be counted together, as perf has it:
/// `{cycles,instructions},page-faults`. An event outside braces is a unit of its own.
///
/// # Errors
///
/// As [`parse_events`]; braces that do not match are a fault of the whole list.
pub fn parse_units(list: &str) -> Result<Vec<Vec<Event>>, ParseEventError> {
    let unbalanced = || ParseEventError::Braces { list: list.to_owned() };
    let mut units: Vec<Vec<Event>> = Vec::new();
    let mut in_braces = false;
    for part in split(list) {
        let mut name = part.trim();
        let opens = name.strip_prefix('{');
        if opens.is_some() && in_braces {
            return Err(unbalanced());
        }
        name = opens.unwrap_or(name);
        let closes = name.strip_suffix('}');
        if closes.is_some() && !in_braces && opens.is_none() {
            return Err(unbalanced());
        }
        name = closes.unwrap_or(name).trim();
        if name.is_empty() {
            return Err(ParseEventError::Empty { list: list.to_owned() });
        }
        let event = name.parse()?;
        match units.last_mut() {
            Some(unit) if in_braces => unit.push(event),
            _ => units.push(vec![event]),
        }
        in_braces = (in_braces || opens.is_some()) && closes.is_none();
    }
    if in_braces { Err(unbalanced()) } else { Ok(units) }
}

/// The parts between commas, except for commas between the slashes of a unit. A breakpoint has one slash,
/// and no terms.
fn split(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut in_terms) = (0, false);
    for (at, c) in list.char_indices() {
        let part = &list[start..at];
        match c {
            '/' if !part.trim_start_matches([' ', '{']).starts_with("mem:") => in_terms = !in_terms,
            ',' if !in_terms => {
                parts.push(part);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(list: &str) -> Vec<String> {
        let join = |unit: &Vec<Event>| unit.iter().map(Event::to_string).collect::<Vec<_>>().join("+");
        parse_units(list).unwrap().iter().map(join).collect()
    }

    #[test]
    fn braces_keep_events_together() {
        assert_eq!(
            units("{cycles,instructions},cs, { r1 , r2:u } "),
            ["cycles+instructions", "context-switches", "r1+r2:u"]
        );
        assert_eq!(units("{cycles}"), ["cycles"]);
        assert!(parse_units("{{cycles}}").is_err());
        for wrong in ["{cycles", "cycles}", "{cycles,{cs}}", "cycles},{cs"] {
            let result = parse_units(wrong);
            assert!(matches!(result, Err(ParseEventError::Braces { .. })), "{wrong}: {result:?}");
        }
        assert!(matches!(parse_units("{}"), Err(ParseEventError::Empty { .. })));
    }

    #[test]
    fn commas_between_slashes_belong_to_the_unit() {
        assert_eq!(
            units("cpu/event=0xa2,umask=0x08/u,cs"),
            ["cpu/event=0xa2,umask=0x8/u", "context-switches"]
        );
        assert_eq!(units("{mem:0x10/8:w,cs},cs"), ["mem:0x10/8:w+context-switches", "context-switches"]);
    }
}
