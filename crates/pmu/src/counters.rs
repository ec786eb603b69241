//! Counters: open, enable, read.

use crate::event::Event;
use crate::kernel::{Kernel, Target};
use crate::open::{Ask, Group, Opening};
use crate::opened::Opened;
use crate::options::Options;
use crate::reading::{Outcome, Reading, Scope};
use crate::snapshot::Snapshot;
use crate::sys::Linux;

/// The counters of one target: a thread, a process, a CPU, a control group.
///
/// Opening never fails as a whole: each event has an outcome of its own, and the others count. Events of the
/// PMU form groups that the kernel schedules as one, so their ratios hold; as many as fit together share one
/// group, and several groups take turns. Events of the kernel form a group apart, which needs no PMU. A
/// target of several threads or CPUs has such groups for each, and the counts are added up.
///
/// On a processor with several types of core, an event has a counter per type, and their counts are added up.
/// An event that is not of a core but of what cores share (uncore) is counted for all who use it, whatever
/// the target.
///
/// Counters take one file descriptor per open event, thread or CPU, and core type, closed on drop and on exec.
/// They may move to, and be read from, any thread of the process, also after their thread has ended.
#[derive(Debug)]
pub struct Counters {
    kernel: Box<dyn Kernel>,
    events: Vec<Event>,
    opened: Opened,
    /// Why the counts of the core's PMU are not to be relied on.
    suspicion: Option<String>,
    enabled: bool,
}

impl Counters {
    /// Opens counters of `target` for `events`, disabled.
    ///
    /// [`Target::CurrentThread`] is the thread that makes this call, wherever the counters go later.
    pub fn open(target: Target, events: &[Event]) -> Counters {
        Counters::open_with(Linux, target, events)
    }

    /// Opens counters with another kernel than that of this machine, such as a simulated one.
    pub fn open_with(kernel: impl Kernel + 'static, target: Target, events: &[Event]) -> Counters {
        Counters::open_groups_with(kernel, target, &[events.to_vec()], &Options::default())
    }

    /// Opens counters for groups of events, as a [`Plan`](crate::Plan) gives them.
    ///
    /// The events are then those of the groups, one group after the other. Those of a group which need the PMU
    /// share one group of the kernel as far as they fit; what does not fit forms a further one.
    pub fn open_groups(target: Target, groups: &[Vec<Event>], options: &Options) -> Counters {
        Counters::open_groups_with(Linux, target, groups, options)
    }

    /// The same, with another kernel than that of this machine.
    pub fn open_groups_with(
        kernel: impl Kernel + 'static,
        target: Target,
        groups: &[Vec<Event>],
        options: &Options,
    ) -> Counters {
        let groups = groups
            .iter()
            .map(|group| group.iter().map(|event| Ask::new(event, kernel.machine())).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        Counters::of(Box::new(kernel), &target, groups, options)
    }

    /// The same, for events that are resolved.
    pub(crate) fn of(
        kernel: Box<dyn Kernel>,
        target: &Target,
        groups: impl IntoIterator<Item = Vec<Ask>>,
        options: &Options,
    ) -> Counters {
        let mut opening = Opening::new(kernel.as_ref(), target, options);
        let mut events = Vec::new();
        for (request, group) in groups.into_iter().enumerate() {
            for ask in group {
                opening.add(&ask, request);
                events.push(ask.event);
            }
        }
        let opened = Opened::from(opening);
        let suspicion = options.calibration.as_ref().and_then(|calibration| calibration.suspicion());
        Counters { kernel, events, opened, suspicion, enabled: options.on_exec }
    }

    /// The events, in the order in which they were given.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether at least one event is counted.
    pub fn is_any_open(&self) -> bool {
        self.opened.slots.iter().any(|slot| slot.absence.is_none())
    }

    /// The group of the event at `index` of [`events`](Self::events), `None` where it is not open.
    ///
    /// Events of one group are counted at the same times, so that their ratios need no caution.
    pub fn group_of(&self, index: usize) -> Option<usize> {
        self.opened.group_of(index)
    }

    /// Starts counting.
    ///
    /// A group which the kernel does not start is marked: its events give a reason from then on.
    pub fn enable(&mut self) {
        self.enabled = true;
        self.opened.enable(self.kernel.as_ref());
    }

    pub(crate) fn kernel(&self) -> &dyn Kernel {
        self.kernel.as_ref()
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.opened.groups
    }

    /// The places in [`groups`](Self::groups) of those which count the event at `index`.
    pub(crate) fn groups_of(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.opened.groups_of(index)
    }

    /// Makes the memory for reads of these counters.
    pub fn snapshot(&self) -> Snapshot {
        self.opened.snapshot()
    }

    /// Reads all counters: one system call per group, no allocation, no panic.
    ///
    /// `into` must come from [`snapshot`](Self::snapshot) of these counters. Where a read fails, every
    /// interval that uses this snapshot gives the reason for the events concerned.
    pub fn read(&mut self, into: &mut Snapshot) {
        self.read_by(into, |_, _| false);
    }

    /// Reads like [`read`](Self::read), but asks `user` first: it may fill the bytes of the group at that
    /// place of [`groups`](Self::groups) itself, in the layout of read(2), and then no system call is made.
    pub(crate) fn read_by(&mut self, into: &mut Snapshot, user: impl FnMut(usize, &mut [u8]) -> bool) {
        self.opened.read_by(self.kernel.as_ref(), into, user);
    }

    /// What was counted from `start` to `end`: one reading per event, in the order of the events.
    ///
    /// Both must be snapshots of these counters, the earlier first. Times and counts are those of the thread
    /// while it was on a CPU: an interval in which it never ran has counted nothing, and says so.
    pub fn interval(&self, start: &Snapshot, end: &Snapshot) -> Vec<Reading> {
        self.events
            .iter()
            .enumerate()
            .map(|(index, event)| Reading {
                event: event.to_string(),
                means: self.opened.slots.get(index).and_then(|slot| slot.means.clone()),
                scope: self.opened.slots.get(index).map_or(Scope::UserAndKernel, |slot| slot.scope),
                outcome: self.outcome(index, start, end),
            })
            .collect()
    }

    /// What the event at `index` of [`events`](Self::events) counted from `start` to `end`.
    ///
    /// It is the outcome in [`interval`](Self::interval), without allocation if there is a sound count.
    #[inline]
    pub fn outcome(&self, index: usize, start: &Snapshot, end: &Snapshot) -> Outcome {
        match self.opened.whole_count(index, start, end) {
            Some(count) if self.suspicion.is_none() => Outcome::Counted { count },
            _ => self.any_outcome(index, start, end),
        }
    }

    fn any_outcome(&self, index: usize, start: &Snapshot, end: &Snapshot) -> Outcome {
        let outcome = self.opened.outcome(index, (start, end), self.enabled);
        let of_core = self.opened.slots.get(index).is_some_and(|slot| slot.of_core);
        let Some(reason) = self.suspicion.clone().filter(|_| of_core) else {
            return outcome;
        };
        match outcome {
            Outcome::Counted { count } => Outcome::Suspect { count, running: 1.0, reason },
            Outcome::Scaled { count, running } => Outcome::Suspect { count, running, reason },
            absent => absent,
        }
    }
}
