//! An event: a name as it is typed, and the attributes the kernel is asked for.

use std::fmt;
use std::str::FromStr;

use crate::error::ParseEventError;
use crate::kernel::EventAttr;
use crate::names::{self, Entry, EventKind, Modes, TYPE_RAW};
use crate::reading::Scope;

/// A thing that can be counted, and the processor modes to count it in.
///
/// It is made by parsing a name as `perf list` knows it: `cycles`, `L1-dcache-load-misses`, `page-faults`, or
/// a raw code of the processor's manual (`r01c2`); [`crate::catalogue`] lists the names. Letter case and
/// aliases (`cs`, `faults`) are accepted; [`Display`](fmt::Display) gives the one canonical name, so equal
/// events print equally.
///
/// A modifier restricts the modes: `:u` user, `:k` kernel, `:uk` both. Without one, both modes are counted
/// where the system allows it and user mode alone where it does not; the [`Reading`](crate::Reading) says
/// which it was. With one, the event is counted as asked or not at all. A modifier which the kernel would
/// accept but not honour is refused: `context-switches:u` (would read 0) and `task-clock:u` (would count
/// both).
///
/// ```
/// use tailcore_pmu::Event;
///
/// let event: Event = "CS".parse()?;
/// assert_eq!(event.to_string(), "context-switches");
/// let error = "cyles".parse::<Event>().unwrap_err();
/// assert_eq!(error.to_string(), r#"event "cyles": unknown name; did you mean cycles?"#);
/// # Ok::<(), tailcore_pmu::ParseEventError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    what: What,
    /// The scope that was typed; `None`: as much as the system allows.
    asked: Option<Scope>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Named(&'static Entry),
    Raw(u64),
}

impl Event {
    pub(crate) fn named(entry: &'static Entry) -> Event {
        Event { what: What::Named(entry), asked: None }
    }

    /// The family of the event.
    pub fn kind(&self) -> EventKind {
        match self.what {
            What::Named(entry) => entry.kind,
            What::Raw(_) => EventKind::Raw,
        }
    }

    /// What the event counts, in a few words.
    pub fn description(&self) -> &'static str {
        match self.what {
            What::Named(entry) => entry.description,
            What::Raw(_) => "a code of the processor's manual",
        }
    }

    pub(crate) fn modes(&self) -> Modes {
        match self.what {
            What::Named(entry) => entry.modes,
            What::Raw(_) => Modes::Separable,
        }
    }

    /// The scope to try first.
    pub(crate) fn wanted_scope(&self) -> Scope {
        self.asked.unwrap_or(Scope::UserAndKernel)
    }

    /// Whether asking for user mode alone is an honest second best when kernel mode is forbidden.
    pub(crate) fn may_fall_back_to_user(&self) -> bool {
        match self.modes() {
            Modes::Separable => self.asked.is_none(),
            // It would read 0.
            Modes::KernelOnly => false,
            // It counts the same.
            Modes::Whole => true,
        }
    }

    /// What a count is a count of when the kernel was asked for `scope`.
    pub(crate) fn true_scope(&self, scope: Scope) -> Scope {
        match self.modes() {
            Modes::Whole => Scope::UserAndKernel,
            Modes::Separable | Modes::KernelOnly => scope,
        }
    }

    /// The attributes for counting this event in `scope`; the group bits are for the caller to set.
    pub(crate) fn attr(&self, scope: Scope) -> EventAttr {
        let (type_, config) = match self.what {
            What::Named(entry) => (entry.type_(), entry.config),
            What::Raw(code) => (TYPE_RAW, code),
        };
        EventAttr {
            type_,
            config,
            exclude_user: scope == Scope::Kernel,
            exclude_kernel: scope == Scope::User,
            exclude_hv: scope != Scope::UserAndKernel,
            ..EventAttr::default()
        }
    }
}

impl FromStr for Event {
    type Err = ParseEventError;

    fn from_str(typed: &str) -> Result<Event, ParseEventError> {
        let typed = typed.trim();
        let (name, modifier) = match typed.split_once(':') {
            Some((name, modifier)) => (name, Some(modifier)),
            None => (typed, None),
        };
        if name.is_empty() {
            return Err(ParseEventError::Empty { list: typed.to_owned() });
        }
        let what = match names::find(name) {
            Some(entry) => What::Named(entry),
            None => What::Raw(raw_code(name, typed)?),
        };
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

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Named(entry) => f.write_str(entry.name)?,
            What::Raw(code) => write!(f, "r{code:x}")?,
        }
        f.write_str(match self.asked {
            None => "",
            Some(Scope::User) => ":u",
            Some(Scope::Kernel) => ":k",
            Some(Scope::UserAndKernel) => ":uk",
        })
    }
}

/// Parses a comma-separated list of events, in order.
///
/// Space around a name is ignored. The list must name at least one event: counting nothing is the caller's to
/// ask for by not calling. The first fault found is the error.
pub fn parse_events(list: &str) -> Result<Vec<Event>, ParseEventError> {
    list.split(',')
        .map(|name| {
            if name.trim().is_empty() {
                return Err(ParseEventError::Empty { list: list.to_owned() });
            }
            name.parse()
        })
        .collect()
}

/// The events to count when nothing else is asked for.
///
/// Five of the processor, which fit the counters of every current one at once, and four of the kernel.
pub fn default_events() -> Vec<Event> {
    [
        "cycles",
        "instructions",
        "L1-dcache-load-misses",
        "cache-misses",
        "branch-misses",
        "task-clock",
        "context-switches",
        "cpu-migrations",
        "page-faults",
    ]
    .iter()
    .filter_map(|name| names::find(name))
    .map(Event::named)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr_of(name: &str) -> EventAttr {
        let event: Event = name.parse().unwrap();
        event.attr(event.wanted_scope())
    }

    #[test]
    fn encodings_by_table() {
        let cases = [
            ("cycles", 0, 0),
            ("cpu-cycles", 0, 0),
            ("instructions", 0, 1),
            ("branch-instructions", 0, 4),
            ("ref-cycles", 0, 9),
            ("task-clock", 1, 1),
            ("cs", 1, 3),
            ("migrations", 1, 4),
            ("faults", 1, 2),
            ("major-faults", 1, 6),
            ("L1-dcache-loads", 3, 0x0_0000),
            ("L1-dcache-load-misses", 3, 0x1_0000),
            ("L1-icache-load-misses", 3, 0x1_0001),
            ("LLC-load-misses", 3, 0x1_0002),
            ("LLC-stores", 3, 0x0_0102),
            ("dTLB-load-misses", 3, 0x1_0003),
            ("iTLB-load-misses", 3, 0x1_0004),
            ("node-prefetch-misses", 3, 0x1_0206),
            ("r01c2", 4, 0x1c2),
            ("R0xFFFFFFFFFFFFFFFF", 4, u64::MAX),
        ];
        for (name, type_, config) in cases {
            let attr = attr_of(name);
            assert_eq!((attr.type_, attr.config), (type_, config), "{name}");
        }
    }

    #[test]
    fn modifiers_set_the_exclude_bits() {
        let cases = [
            ("cycles", (false, false, false)),
            ("cycles:u", (false, true, true)),
            ("cycles:k", (true, false, true)),
            ("cycles:uk", (false, false, false)),
        ];
        for (name, bits) in cases {
            let attr = attr_of(name);
            assert_eq!((attr.exclude_user, attr.exclude_kernel, attr.exclude_hv), bits, "{name}");
        }
    }

    #[test]
    fn canonical_names() {
        let cases = [
            ("cycles", "cycles"),
            (" CPU-Cycles ", "cycles"),
            ("l1-dcache-load-misses:u", "L1-dcache-load-misses:u"),
            ("faults:ku", "page-faults:uk"),
            ("r00C2:k", "rc2:k"),
            ("context-switches:k", "context-switches:k"),
            ("task-clock:uk", "task-clock:uk"),
        ];
        for (typed, canonical) in cases {
            assert_eq!(typed.parse::<Event>().unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn refusals_name_the_event_and_the_fault() {
        let cases = [
            ("", r#"event list "": a name is empty"#),
            (":u", r#"event list ":u": a name is empty"#),
            ("cyles", r#"event "cyles": unknown name; did you mean cycles?"#),
            ("retired", r#"event "retired": unknown name"#),
            ("r", r#"event "r": unknown name"#),
            ("a\nb", r#"event "a\nb": unknown name"#),
        ];
        for (typed, message) in cases {
            assert_eq!(typed.parse::<Event>().unwrap_err().to_string(), message);
        }
        for raw in ["r12g", "r11112222333344445", "r0x0x1"] {
            assert!(matches!(raw.parse::<Event>(), Err(ParseEventError::Raw { .. })), "{raw}");
        }
        for modified in ["cycles:", "cycles:up", "cycles:u:k", "cycles:U"] {
            assert!(matches!(modified.parse::<Event>(), Err(ParseEventError::Modifier { .. })), "{modified}");
        }
        assert!(matches!("cs:u".parse::<Event>(), Err(ParseEventError::KernelOnly { .. })));
        assert!(matches!("cpu-clock:k".parse::<Event>(), Err(ParseEventError::NotSeparable { .. })));
    }

    #[test]
    fn lists() {
        let events = parse_events("cycles, cs ,r1:u").unwrap();
        assert_eq!(
            events.iter().map(Event::to_string).collect::<Vec<_>>(),
            ["cycles", "context-switches", "r1:u"]
        );
        for list in ["", ",", "cycles,", "cycles,,cs"] {
            assert_eq!(parse_events(list), Err(ParseEventError::Empty { list: list.to_owned() }));
        }
        assert_eq!(default_events().len(), 9);
    }
}
