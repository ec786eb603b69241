//! The events with a name, and whether this system counts them for this process.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::diagnose::Absence;
use crate::event::Event;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::meaning::{Meaning, Unit};
use crate::model::Microarchitecture;
use crate::names::{EventKind, TABLE};
use crate::open::try_here;
use crate::reading::Scope;
use crate::sys::Linux;
use crate::vendor;

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
    /// What a portable name is counted by here, once for each type of core; empty for other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Means>,
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

/// What a portable name is counted by on this machine.
///
/// As JSON, in the field `means` of an [`Availability`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Means {
    /// The core on which it is so; a hybrid has several.
    pub core: &'static str,
    /// What counts it, or why nothing does.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The event that is meant, or why none is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Answer {
    /// This event.
    Event {
        /// The vendor's name, or `PMU/TERMS/` where it has none.
        name: &'static str,
        /// What its PMU is asked for, where it has a name.
        terms: Option<&'static str>,
        /// What one count is.
        unit: Unit,
        /// What it counts.
        counts: &'static str,
        /// What it leaves out of the name, or adds to it.
        leaves_out: &'static str,
        /// Who says so.
        source: &'static str,
    },
    /// No event of this core.
    None {
        /// Why.
        why: &'static str,
        /// The closest thing that can be asked for by its own name.
        nearest: Option<&'static str>,
    },
}

/// Every event that has a name on this machine, each opened on the current thread for a moment: the kernel's
/// generic ones, portable names, those in the vendor's list for this processor, and those of the PMUs in
/// sysfs. Tracepoints are left out; there are thousands.
///
/// That an event opens does not promise that it is scheduled, or that several of them fit the PMU at once:
/// only counting shows that.
pub fn catalogue() -> Vec<Availability> {
    catalogue_with(&Linux)
}

/// The same, with another kernel than that of this machine.
pub fn catalogue_with(kernel: &dyn Kernel) -> Vec<Availability> {
    let machine = kernel.machine();
    let generic = TABLE.iter().map(Event::named);
    let cores: Vec<Microarchitecture> =
        machine.model().cores().iter().filter_map(|core| core.microarchitecture).collect();
    let portable = Meaning::all().iter().map(|meaning| meaning.name().to_owned());
    let vendors = cores.iter().flat_map(|&core| vendor::events(core)).map(|event| event.name.to_owned());
    let named: BTreeSet<String> = vendors.collect();
    let parsed = portable.chain(named).chain(of_pmus(machine)).filter_map(|name| name.parse().ok());
    let mut events: Vec<Event> = generic.collect();
    for event in parsed {
        if !events.contains(&event) {
            events.push(event);
        }
    }
    events.iter().map(|event| availability(kernel, event, &cores)).collect()
}

/// The events that PMUs name in sysfs, as they are typed.
fn of_pmus(machine: &Machine) -> Vec<String> {
    let pmus = machine.pmus().iter().into_iter().flatten().filter_map(|(_, pmu)| pmu.ok());
    pmus.flat_map(|pmu| pmu.events().keys().map(|event| format!("{}/{event}/", pmu.name()))).collect()
}

fn availability(kernel: &dyn Kernel, event: &Event, cores: &[Microarchitecture]) -> Availability {
    Availability {
        event: event.to_string(),
        kind: event.kind(),
        description: event.description(),
        means: Meaning::find(&event.to_string())
            .filter(|_| event.kind() == EventKind::Portable)
            .map(|meaning| cores.iter().map(|&core| means(meaning, core)).collect())
            .unwrap_or_default(),
        outcome: match try_here(kernel, event) {
            Ok(scope) => Probe::Available { scope },
            Err(Absence::Unsupported(reason)) => Probe::Unsupported { reason },
            Err(Absence::Forbidden(reason)) => Probe::Forbidden { reason },
        },
    }
}

fn means(meaning: &Meaning, core: Microarchitecture) -> Means {
    let answer = match meaning.on(core) {
        Ok(on) => Answer::Event {
            name: on.event,
            terms: vendor::find(core, on.event).map(|event| event.terms),
            unit: on.unit,
            counts: on.counts,
            leaves_out: on.leaves_out,
            source: on.source,
        },
        Err(none) => Answer::None { why: none.why, nearest: none.nearest },
    };
    Means { core: core.title(), answer }
}

/// Looks at one event as [`catalogue`] does at all, whether it is listed there or not.
pub fn look_up(event: &Event) -> Availability {
    let machine = Machine::this();
    let cores: Vec<Microarchitecture> =
        machine.model().cores().iter().filter_map(|core| core.microarchitecture).collect();
    availability(&Linux, event, &cores)
}
