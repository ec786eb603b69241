//! An event: a name as it is typed, in one of the spellings that people use.

use std::fmt;

use crate::meaning::Meaning;
use crate::names::{self, Entry, EventKind, Modes};
use crate::reading::Scope;
use crate::sysfs::{Slashed, Tracepoint};

mod list;
mod parse;

pub use list::{parse_events, parse_units};

/// A thing that can be counted, and the processor modes to count it in.
///
/// It is made by parsing a name. What it comes to is decided where it is opened, because the same name is
/// another code on another processor.
///
/// | spelling | for example | known by |
/// | --- | --- | --- |
/// | a generic name of `perf list` | `cycles`, `L1-dcache-load-misses`, `page-faults`, `cs` | the kernel |
/// | a portable name | `l2-misses`, `store-buffer-stalls` | [`Meaning`], for each type of core |
/// | a vendor's name | `resource_stalls.sb` | the vendor's event list |
/// | a PMU and its terms | `cpu/event=0xa2,umask=0x08/`, `uncore_imc/cas_count_read/` | [`sysfs`](crate::sysfs) |
/// | a code of the processor's manual | `r08a2` | nobody: it is passed on unchecked |
/// | a tracepoint | `sched:sched_switch` | tracefs |
/// | a breakpoint | `mem:0x7f0012345678/8:w` | the processor's debug registers |
///
/// Letter case and aliases (`cs`, `faults`) are accepted; [`Display`](fmt::Display) gives the one canonical
/// name, so equal events print equally.
///
/// A modifier restricts the modes: `:u` user, `:k` kernel, `:uk` both; after a PMU's terms without the
/// colon, `cpu/event=0xa2/u`. Without one, both modes are counted where the system allows it and user mode
/// alone where it does not; the [`Reading`](crate::Reading) says which it was. With one, the event is counted
/// as asked or not at all. A modifier which the kernel would accept but not honour is refused:
/// `context-switches:u` (would read 0) and `task-clock:u` (would count both).
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
    pub(crate) what: What,
    /// The scope that was typed; `None`: as much as the system allows.
    asked: Option<Scope>,
}

/// The spelling, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Named(&'static Entry),
    /// A portable name.
    Meaning(&'static str),
    /// A name in some vendor's list, by its canonical spelling.
    Vendor(&'static str),
    Raw(u64),
    /// The terms of a PMU; the modifiers are taken out.
    Pmu(Slashed),
    Tracepoint(Tracepoint),
    Breakpoint(Breakpoint),
}

/// A breakpoint of the processor that counts accesses instead of stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breakpoint {
    pub(crate) address: u64,
    pub(crate) length: u64,
    /// `HW_BREAKPOINT_*`: 1 read, 2 write, 4 execute.
    pub(crate) access: u32,
}

impl Event {
    pub(crate) fn named(entry: &'static Entry) -> Event {
        Event { what: What::Named(entry), asked: None }
    }

    /// The family of the event.
    pub fn kind(&self) -> EventKind {
        match &self.what {
            What::Named(entry) => entry.kind,
            What::Meaning(_) => EventKind::Portable,
            What::Vendor(_) => EventKind::Vendor,
            What::Raw(_) => EventKind::Raw,
            What::Pmu(_) => EventKind::Pmu,
            What::Tracepoint(_) => EventKind::Tracepoint,
            What::Breakpoint(_) => EventKind::Breakpoint,
        }
    }

    /// What the event counts, in a few words.
    pub fn description(&self) -> &'static str {
        match &self.what {
            What::Named(entry) => entry.description,
            What::Meaning(name) => Meaning::find(name).map_or("", Meaning::title),
            What::Vendor(_) => "an event of the vendor's list for the processor",
            What::Raw(_) => "a code of the processor's manual",
            What::Pmu(_) => "an event of a PMU that the kernel lists in sysfs",
            What::Tracepoint(_) => "times that the kernel came by this place in its code",
            What::Breakpoint(_) => "accesses to an address",
        }
    }

    pub(crate) fn modes(&self) -> Modes {
        match &self.what {
            What::Named(entry) => entry.modes,
            // The place is in the kernel; counted in user mode alone it would always be 0.
            What::Tracepoint(_) => Modes::KernelOnly,
            _ => Modes::Separable,
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
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Named(entry) => f.write_str(entry.name)?,
            What::Meaning(name) | What::Vendor(name) => f.write_str(name)?,
            What::Raw(code) => write!(f, "r{code:x}")?,
            What::Pmu(slashed) => slashed.fmt(f)?,
            What::Tracepoint(tracepoint) => tracepoint.fmt(f)?,
            What::Breakpoint(point) => point.fmt(f)?,
        }
        let modifier = match self.asked {
            None => return Ok(()),
            Some(Scope::User) => "u",
            Some(Scope::Kernel) => "k",
            Some(Scope::UserAndKernel) => "uk",
        };
        let colon = if matches!(self.what, What::Pmu(_)) { "" } else { ":" };
        write!(f, "{colon}{modifier}")
    }
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mem:{:#x}/{}:", self.address, self.length)?;
        let letters = [(1, "r"), (2, "w"), (4, "x")];
        letters
            .iter()
            .filter(|(bit, _)| self.access & bit != 0)
            .try_for_each(|(_, letter)| f.write_str(letter))
    }
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
    use crate::error::ParseEventError;

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
            ("L2-MISSES:u", "l2-misses:u"),
            ("Resource_Stalls.SB", "resource_stalls.sb"),
            ("cpu/event=162,umask=0x08/u", "cpu/event=0xa2,umask=0x8/u"),
            ("sched:sched_switch", "sched:sched_switch"),
            ("mem:0x1000", "mem:0x1000/4:rw"),
            ("mem:0x1000/8:w:u", "mem:0x1000/8:w:u"),
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
        for wrong in ["mem:", "mem:1000", "mem:0x10/x", "mem:0x10:q", "mem:0x10:w:u:u"] {
            assert!(matches!(wrong.parse::<Event>(), Err(ParseEventError::Breakpoint { .. })), "{wrong}");
        }
        for wrong in ["cpu/event=1", "/event=1/", "cpu/event=1/u/x"] {
            assert!(matches!(wrong.parse::<Event>(), Err(ParseEventError::Terms { .. })), "{wrong}");
        }
        assert!(matches!("sched:sched_switch:u".parse::<Event>(), Err(ParseEventError::KernelOnly { .. })));
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
