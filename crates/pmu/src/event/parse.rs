//! From what was typed to an event.

use std::str::FromStr;

use super::{Breakpoint, Event, What};
use crate::error::ParseEventError;
use crate::meaning::Meaning;
use crate::names::{self, Modes};
use crate::reading::Scope;
use crate::sysfs::Slashed;
use crate::vendor;

impl FromStr for Event {
    type Err = ParseEventError;

    fn from_str(typed: &str) -> Result<Event, ParseEventError> {
        let typed = typed.trim();
        if typed.starts_with("mem:") {
            return breakpoint(typed);
        }
        if typed.contains('/') {
            return slashed(typed);
        }
        let (name, rest) = match typed.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (typed, None),
        };
        if name.is_empty() {
            return Err(ParseEventError::Empty { list: typed.to_owned() });
        }
        match (known(name), rest) {
            (Some(what), modifier) => with_modifier(what, modifier, typed),
            // A code that is none; a name that nobody knows.
            (None, None) => with_modifier(What::Raw(raw_code(name, typed)?), None, typed),
            (None, Some(rest)) => match raw_code(name, typed) {
                Ok(code) => with_modifier(What::Raw(code), Some(rest), typed),
                Err(error) => tracepoint(name, rest, typed).unwrap_or(Err(error)),
            },
        }
    }
}

/// The event with this name in one of the tables.
fn known(name: &str) -> Option<What> {
    if let Some(entry) = names::find(name) {
        return Some(What::Named(entry));
    }
    Meaning::find(name)
        .map(|meaning| What::Meaning(meaning.name()))
        .or_else(|| vendor::canonical(name).map(What::Vendor))
}

/// `SYSTEM:NAME` with or without a modifier; `None` for what cannot be one.
fn tracepoint(system: &str, rest: &str, typed: &str) -> Option<Result<Event, ParseEventError>> {
    let (name, modifier) = match rest.split_once(':') {
        Some((name, modifier)) => (name, Some(modifier)),
        None => (rest, None),
    };
    // One letter or two are the modifier of a name that nobody knows.
    let tracepoint = format!("{system}:{name}").parse().ok().filter(|_| name.len() > 2)?;
    Some(with_modifier(What::Tracepoint(tracepoint), modifier, typed))
}

/// `PMU/TERMS/` with or without a modifier behind it. What the terms mean is for the PMU to say.
fn slashed(typed: &str) -> Result<Event, ParseEventError> {
    let parsed = typed.parse::<Slashed>();
    let mut slashed = parsed.map_err(|source| ParseEventError::Terms { source })?;
    let modifiers = std::mem::take(&mut slashed.modifiers);
    with_modifier(What::Pmu(slashed), Some(modifiers.as_str()).filter(|m| !m.is_empty()), typed)
}

/// `mem:ADDRESS[/LENGTH][:ACCESS[:MODIFIER]]`, as perf has it: 4 bytes (8 to execute) and `rw` if not said.
fn breakpoint(typed: &str) -> Result<Event, ParseEventError> {
    let wrong = || ParseEventError::Breakpoint { event: typed.to_owned() };
    let mut parts = typed.split(':').skip(1);
    let place = parts.next().ok_or_else(wrong)?;
    let access = parts.next().unwrap_or("rw");
    // The kernel takes an instruction by the size of a pointer, whatever its length.
    let usual = if access == "x" { "8" } else { "4" };
    let (address, length) = place.split_once('/').unwrap_or((place, usual));
    let mut bits = 0;
    for letter in access.chars() {
        bits |= match letter {
            'r' => 1,
            'w' => 2,
            'x' => 4,
            _ => return Err(wrong()),
        };
    }
    let digits = address.strip_prefix("0x").ok_or_else(wrong)?;
    let point = Breakpoint {
        address: u64::from_str_radix(digits, 16).map_err(|_| wrong())?,
        length: length.parse().map_err(|_| wrong())?,
        access: bits,
    };
    let modifier = parts.next();
    if bits == 0 || digits.starts_with('+') || parts.next().is_some() {
        return Err(wrong());
    }
    with_modifier(What::Breakpoint(point), modifier, typed)
}

fn with_modifier(what: What, modifier: Option<&str>, typed: &str) -> Result<Event, ParseEventError> {
    let asked = modifier.map(|m| scope_of(m, typed)).transpose()?;
    let event = Event { what, asked };
    match (event.modes(), asked) {
        (Modes::KernelOnly, Some(Scope::User)) => {
            Err(ParseEventError::KernelOnly { event: typed.to_owned() })
        }
        (Modes::Whole, Some(Scope::User | Scope::Kernel)) => {
            Err(ParseEventError::NotSeparable { event: typed.to_owned() })
        }
        _ => Ok(event),
    }
}

/// The code of `rHEX` (or `r0xHEX`).
fn raw_code(name: &str, typed: &str) -> Result<u64, ParseEventError> {
    let unknown = || ParseEventError::Unknown { event: typed.to_owned(), near: names::near(name) };
    let digits = name.strip_prefix(['r', 'R']).ok_or_else(unknown)?;
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let all_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if all_hex && digits.len() <= 16 {
        return u64::from_str_radix(digits, 16).map_err(|_| unknown());
    }
    // "r" and a digit was meant as a code; "retired" was not.
    if all_hex || digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(ParseEventError::Raw { event: typed.to_owned() });
    }
    Err(unknown())
}

fn scope_of(modifier: &str, typed: &str) -> Result<Scope, ParseEventError> {
    match modifier {
        "u" => Ok(Scope::User),
        "k" => Ok(Scope::Kernel),
        "uk" | "ku" => Ok(Scope::UserAndKernel),
        _ => Err(ParseEventError::Modifier { event: typed.to_owned(), modifier: modifier.to_owned() }),
    }
}
