//! The counters of one thread: open, enable, read.

use crate::diagnose::{Absence, not_started};
use crate::event::Event;
use crate::interval::{self, Context};
use crate::kernel::{Kernel, Target};
use crate::layout::{Fault, GroupRead, bytes_of};
use crate::open::{Group, Groups, Opener};
use crate::reading::{Outcome, Reading, Scope};
use crate::snapshot::{Sample, Snapshot, Totals};
use crate::sys::Linux;

/// The counters of one thread.
///
/// Opening never fails as a whole: each event has an outcome of its own, and the others count. Events of the
/// PMU form groups that the kernel schedules as one, so their ratios hold; as many as fit together share one
/// group, and several groups take turns. Events of the kernel form a group apart, which needs no PMU.
///
/// Counters take one file descriptor per open event, closed on drop and on exec. They may move to, and be
/// read from, any thread of the process, also after their thread has ended.
#[derive(Debug)]
pub struct Counters {
    kernel: Box<dyn Kernel>,
    events: Vec<Event>,
    /// One per event, in the order of the events.
    slots: Vec<Slot>,
    groups: Vec<Group>,
    /// Room for the largest group, so that reading never allocates.
    buffer: Vec<u8>,
    enabled: bool,
}

/// What became of one event.
#[derive(Debug)]
struct Slot {
    scope: Scope,
    absence: Option<Absence>,
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
        let mut groups = Groups::default();
        let mut slots = Vec::with_capacity(events.len());
        let opener = Opener::new(&kernel, target);
        for (index, event) in events.iter().enumerate() {
            let opened = opener.open(event, groups.leader_for(event));
            slots.push(match opened {
                Ok(opened) => {
                    let scope = opened.scope;
                    groups.add(event, index, opened);
                    Slot { scope, absence: None }
                }
                Err(absence) => Slot { scope: event.wanted_scope(), absence: Some(absence) },
            });
        }
        let groups = groups.into_inner();
        let largest = groups.iter().map(Group::len).max().unwrap_or(0);
        Counters {
            kernel: Box::new(kernel),
            events: events.to_vec(),
            slots,
            groups,
            buffer: vec![0; bytes_of(largest)],
            enabled: false,
        }
    }

    /// The events, in the order in which they were given.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether at least one event is counted.
    pub fn is_any_open(&self) -> bool {
        self.slots.iter().any(|slot| slot.absence.is_none())
    }

    /// Starts counting.
    ///
    /// A group which the kernel does not start is marked: its events give a reason from then on.
    pub fn enable(&mut self) {
        self.enabled = true;
        for group in &self.groups {
            let Some(leader) = group.leader() else {
                continue;
            };
            if let Err(errno) = self.kernel.enable(leader) {
                for event in group.events() {
                    if let Some(slot) = self.slots.get_mut(event) {
                        slot.absence = Some(not_started(errno));
                    }
                }
            }
        }
    }

    /// Makes the memory for reads of these counters.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::unread(self.events.len())
    }

    /// Reads all counters: one system call per group, no allocation, no panic.
    ///
    /// `into` must come from [`snapshot`](Self::snapshot) of these counters. Where a read fails, every
    /// interval that uses this snapshot gives the reason for the events concerned.
    pub fn read(&mut self, into: &mut Snapshot) {
        for group in &self.groups {
            match read_group(self.kernel.as_ref(), group, &mut self.buffer) {
                Ok(read) => {
                    let (enabled_ns, running_ns) = (read.enabled_ns, read.running_ns);
                    for (event, count) in group.events().zip(read.values()) {
                        let totals = Totals { count, enabled_ns, running_ns };
                        into.set(event, Sample::Taken(totals));
                    }
                }
                Err(fault) => {
                    for event in group.events() {
                        into.set(event, Sample::Fault(fault));
                    }
                }
            }
        }
    }

    /// What was counted from `start` to `end`: one reading per event, in the order of the events.
    ///
    /// Both must be snapshots of these counters, the earlier first. Times and counts are those of the thread
    /// while it was on a CPU: an interval in which it never ran has counted nothing, and says so.
    pub fn interval(&self, start: &Snapshot, end: &Snapshot) -> Vec<Reading> {
        self.events
            .iter()
            .zip(&self.slots)
            .enumerate()
            .map(|(index, (event, slot))| Reading {
                event: event.to_string(),
                scope: slot.scope,
                outcome: match &slot.absence {
                    Some(absence) => Outcome::from(absence.clone()),
                    None => interval::outcome(
                        start.get(index),
                        end.get(index),
                        Context { kind: event.kind(), enabled: self.enabled },
                    ),
                },
            })
            .collect()
    }
}

/// Reads one group into `buffer`, which is large enough for any of them.
fn read_group<'b>(kernel: &dyn Kernel, group: &Group, buffer: &'b mut [u8]) -> Result<GroupRead<'b>, Fault> {
    let want = bytes_of(group.len());
    let leader = group.leader().ok_or(Fault::Dead)?;
    let room = buffer.get_mut(..want).ok_or(Fault::Length { got: 0, want })?;
    let got = kernel.read(leader, room).map_err(Fault::Read)?;
    let bytes = buffer.get(..got).ok_or(Fault::Length { got, want })?;
    GroupRead::parse(bytes, group.len())
}
