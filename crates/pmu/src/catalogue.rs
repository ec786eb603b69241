//! The events with a name, and whether this system counts them for this process.

use serde::{Deserialize, Serialize};

use crate::diagnose::Absence;
use crate::event::Event;
use crate::kernel::{Kernel, Target};
use crate::names::{EventKind, TABLE};
use crate::open::Opener;
use crate::reading::Scope;
use crate::sys::Linux;

/// One named event, and whether it can be counted here.
///
/// As JSON, on one line:
///
/// ```json
/// {"event":"cycles","kind":"hardware","description":"…","outcome":"available","scope":"user+kernel"}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Availability {
    /// The canonical name.
    pub event: String,
    /// Who counts it.
    pub kind: EventKind,
    /// What it counts, in a few words.
    pub description: &'static str,
    /// Whether it could be opened.
    #[serde(flatten)]
    pub outcome: Probe,
}

/// Whether an event could be opened on the current thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Probe {
    /// It could.
    Available {
        /// The modes that a count would cover.
        scope: Scope,
    },
    /// This system cannot count the event.
    Unsupported {
        /// Cause and remedy, in one line.
        reason: String,
    },
    /// A rule or a limit of this system forbids it.
    Forbidden {
        /// Cause and remedy, in one line.
        reason: String,
    },
}

/// Every named event, each opened on the current thread for a moment.
///
/// That an event opens does not promise that it is scheduled, or that several of them fit the PMU at once:
/// only counting shows that.
pub fn catalogue() -> Vec<Availability> {
    catalogue_with(&Linux)
}

/// The same, with another kernel than that of this machine.
pub fn catalogue_with(kernel: &dyn Kernel) -> Vec<Availability> {
    let opener = Opener::new(kernel, Target::CurrentThread);
    TABLE
        .iter()
        .map(|entry| {
            let event = Event::named(entry);
            Availability {
                event: event.to_string(),
                kind: event.kind(),
                description: event.description(),
                outcome: match opener.open(&event, None) {
                    Ok(opened) => Probe::Available { scope: opened.scope },
                    Err(Absence::Unsupported(reason)) => Probe::Unsupported { reason },
                    Err(Absence::Forbidden(reason)) => Probe::Forbidden { reason },
                },
            }
        })
        .collect()
}
