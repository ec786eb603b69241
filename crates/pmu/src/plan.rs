//! More events than counters → groups that fit the PMU, with what belongs together in one of them.

use std::fmt;

use crate::event::Event;
use crate::kernel::Kernel;
use crate::open::Ask;
use crate::probe;
use crate::sys::Linux;

/// Events in groups, each of which runs on the PMU as one.
///
/// A ratio of two events is sound if they are counted at the same time. The caller gives *units*: lists of
/// events that are to stay in one group, such as those of one formula. The plan puts as many units into a
/// group as the PMU takes, which it finds out by trying; an event of several units may be in several groups.
/// Events of the kernel need no counter of the PMU and are counted all the time.
///
/// If unsure: [`passes`](Plan::passes), where the work can be repeated; else
/// [`multiplexed`](Plan::multiplexed), for intervals of 40 ms and more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    groups: Vec<Vec<Event>>,
    /// What needs no counter of the PMU.
    free: Vec<Event>,
    notes: Vec<PlanNote>,
}

/// What a plan could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanNote {
    /// The events of a unit do not fit the PMU at once: they are in several groups.
    Split {
        /// The unit, as typed.
        unit: String,
        /// In how many groups it is.
        groups: usize,
    },
    /// The event did not even run alone.
    Starved {
        /// Its canonical name.
        event: String,
    },
}

impl fmt::Display for PlanNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanNote::Split { unit, groups } => write!(
                f,
                "{{{unit}}} does not fit the counters at once and is in {groups} groups: \
                 its ratios compare what was counted at different times"
            ),
            PlanNote::Starved { event } => write!(
                f,
                "{event} did not run on trial, though it was alone: stop other profilers, or \
                 `sysctl kernel.nmi_watchdog=0`"
            ),
        }
    }
}

impl Plan {
    /// Plans for the PMU of this machine, as it is free at the moment.
    ///
    /// The trials count what the calling thread does in the scope in which the events open there. Each takes
    /// a fraction of a millisecond, or about 20 ms if a group opens and does not run.
    pub fn new(units: &[Vec<Event>]) -> Plan {
        Plan::with(&Linux, units)
    }

    /// The same, with another kernel than that of this machine.
    pub fn with(kernel: &dyn Kernel, units: &[Vec<Event>]) -> Plan {
        let ask = |unit: &Vec<Event>| unit.iter().map(|event| Ask::new(event, kernel.machine())).collect();
        Plan::of(kernel, units.iter().map(ask))
    }

    /// The same, for events that are resolved.
    pub(crate) fn of(kernel: &dyn Kernel, units: impl IntoIterator<Item = Vec<Ask>>) -> Plan {
        let mut planner = Planner { kernel, groups: Vec::new(), notes: Vec::new() };
        let mut free = Vec::new();
        for unit in units {
            let (scarce, unit_free): (Vec<Ask>, Vec<Ask>) = unit.into_iter().partition(Ask::is_scarce);
            free = union(&free, &unit_free);
            if !scarce.is_empty() {
                planner.place(&union(&[], &scarce));
            }
        }
        let events = |asks: Vec<Ask>| asks.into_iter().map(|ask| ask.event).collect::<Vec<_>>();
        let groups = planner.groups.into_iter().map(events).collect();
        Plan { groups, free: events(free), notes: planner.notes }
    }

    /// The groups that need the PMU.
    pub fn groups(&self) -> &[Vec<Event>] {
        &self.groups
    }

    /// What the plan could not do.
    pub fn notes(&self) -> &[PlanNote] {
        &self.notes
    }

    /// All groups at once, for [`Counters::open_groups`](crate::Counters::open_groups): the kernel lets those
    /// of the PMU take turns, and their counts are scaled.
    ///
    /// Breakpoints are taken for good when they are opened, so of these nothing takes turns: what is too much
    /// is [`Outcome::Unsupported`](crate::Outcome::Unsupported).
    pub fn multiplexed(&self) -> Vec<Vec<Event>> {
        let free = (!self.free.is_empty()).then(|| self.free.clone());
        self.groups.iter().cloned().chain(free).collect()
    }

    /// One group of the PMU after the other, for as many repetitions of the work: nothing takes turns.
    ///
    /// Each element is for [`Counters::open_groups`](crate::Counters::open_groups). The events of the kernel
    /// are in each. There is one element even if no event needs the PMU, and none if there are no events.
    pub fn passes(&self) -> Vec<Vec<Vec<Event>>> {
        let with_free = |group: Option<&Vec<Event>>| {
            let free = Some(&self.free).filter(|free| !free.is_empty());
            group.into_iter().chain(free).cloned().collect()
        };
        match self.groups.as_slice() {
            [] if self.free.is_empty() => Vec::new(),
            [] => vec![with_free(None)],
            groups => groups.iter().map(|group| with_free(Some(group))).collect(),
        }
    }
}

/// The groups as they grow.
struct Planner<'k> {
    kernel: &'k dyn Kernel,
    groups: Vec<Vec<Ask>>,
    notes: Vec<PlanNote>,
}

impl Planner<'_> {
    /// Finds a group for a unit: the first that it still fits into, a new one, or several.
    fn place(&mut self, unit: &[Ask]) {
        for group in &mut self.groups {
            let joined = union(group, unit);
            if joined.len() == group.len() || probe::fits(self.kernel, &joined) {
                *group = joined;
                return;
            }
        }
        if probe::fits(self.kernel, unit) {
            self.groups.push(unit.to_vec());
        } else {
            self.split(unit);
        }
    }

    fn split(&mut self, unit: &[Ask]) {
        let before = self.groups.len();
        let mut piece: Vec<Ask> = Vec::new();
        for ask in unit {
            let longer = union(&piece, std::slice::from_ref(ask));
            if probe::fits(self.kernel, &longer) {
                piece = longer;
                continue;
            }
            if !piece.is_empty() {
                self.groups.push(std::mem::replace(&mut piece, vec![ask.clone()]));
            } else {
                piece = longer;
            }
            if !probe::fits(self.kernel, &piece) {
                self.notes.push(PlanNote::Starved { event: ask.event.to_string() });
                self.groups.push(std::mem::take(&mut piece));
            }
        }
        if !piece.is_empty() {
            self.groups.push(piece);
        }
        let groups = self.groups.len() - before;
        if groups > 1 {
            let names: Vec<String> = unit.iter().map(|ask| ask.event.to_string()).collect();
            self.notes.push(PlanNote::Split { unit: names.join(","), groups });
        }
    }
}

/// `asks`, and those of `more` that are not among them.
fn union(asks: &[Ask], more: &[Ask]) -> Vec<Ask> {
    let mut all = asks.to_vec();
    for ask in more {
        if !all.contains(ask) {
            all.push(ask.clone());
        }
    }
    all
}
