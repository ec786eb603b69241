//! Open counters without their kernel: enabling, reading, and what an interval gave.

use std::sync::Arc;

use crate::diagnose::not_started;
use crate::interval::{self, Context};
use crate::kernel::Kernel;
use crate::layout::{Fault, GroupRead, bytes_of};
use crate::open::{Group, Opening, Slot};
use crate::reading::Outcome;
use crate::snapshot::{Parts, Sample, Snapshot, Totals};

/// Open counters.
#[derive(Debug)]
pub(crate) struct Opened {
    /// One per event, in the order of the events.
    pub(crate) slots: Vec<Slot>,
    pub(crate) groups: Vec<Group>,
    /// One per event.
    parts: Arc<[Parts]>,
    /// One per counter: what a snapshot is before it is read.
    samples: Vec<Sample>,
    /// Room for the largest group, so that reading never allocates.
    buffer: Vec<u8>,
}

impl From<Opening<'_>> for Opened {
    fn from(opening: Opening<'_>) -> Opened {
        let Opening { slots, groups, samples, .. } = opening;
        let largest = groups.iter().map(Group::len).max().unwrap_or(0);
        let parts = slots.iter().map(|slot| slot.parts).collect();
        Opened { slots, groups, parts, samples, buffer: vec![0; bytes_of(largest)] }
    }
}

impl Opened {
    /// Starts counting; a group which the kernel does not start makes its events absent.
    pub(crate) fn enable(&mut self, kernel: &dyn Kernel) {
        for group in &self.groups {
            let Some(Err(errno)) = group.leader().map(|leader| kernel.enable(leader)) else {
                continue;
            };
            for slot in &mut self.slots {
                if group.has(slot) {
                    slot.absence = Some(not_started(errno));
                }
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.samples.clone(), Arc::clone(&self.parts))
    }

    /// Reads all groups, but asks `user` first: it may fill the bytes of the group at that place of the list
    /// itself, in the layout of read(2), and then no system call is made.
    pub(crate) fn read_by(
        &mut self,
        kernel: &dyn Kernel,
        into: &mut Snapshot,
        mut user: impl FnMut(usize, &mut [u8]) -> bool,
    ) {
        for (place, group) in self.groups.iter().enumerate() {
            let parts = group.members().iter().map(|member| member.part);
            match read_group(kernel, group, &mut self.buffer, |bytes| user(place, bytes)) {
                Ok(read) => {
                    let (enabled_ns, running_ns) = (read.enabled_ns, read.running_ns);
                    for (part, count) in parts.zip(read.values()) {
                        into.set(part, Sample::Taken(Totals { count, enabled_ns, running_ns }));
                    }
                }
                Err(fault) => parts.for_each(|part| into.set(part, Sample::Fault(fault))),
            }
        }
    }

    /// What the event at `index` counted from `start` to `end`; `enabled`: whether counting was ever started.
    pub(crate) fn outcome(
        &self,
        index: usize,
        (start, end): (&Snapshot, &Snapshot),
        enabled: bool,
    ) -> Outcome {
        let slot = self.slots.get(index);
        if let Some(absence) = slot.and_then(|slot| slot.absence.as_ref()) {
            return Outcome::from(absence.clone());
        }
        let scarce = slot.is_some_and(|slot| slot.scarce);
        interval::outcome(start.places(index).zip(end.places(index)), Context { scarce, enabled })
    }

    /// The count of an event with one counter that ran from `start` to `end`: most intervals, without the
    /// rest of [`outcome`](Self::outcome).
    #[inline]
    pub(crate) fn whole_count(&self, index: usize, start: &Snapshot, end: &Snapshot) -> Option<u64> {
        let slot = self.slots.get(index)?;
        let (Sample::Taken(start), Sample::Taken(end)) = (start.only(index)?, end.only(index)?) else {
            return None;
        };
        if slot.absence.is_none() { interval::whole_count(start, end) } else { None }
    }

    /// The groups that count the event at `index`.
    pub(crate) fn groups_of(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let parts = self.slots.get(index).filter(|slot| slot.absence.is_none()).map(|slot| slot.parts);
        let counts = move |group: &Group| {
            let mut members = group.members().iter();
            members.any(|member| parts.is_some_and(|parts| parts.contains(member.part)))
        };
        self.groups.iter().enumerate().filter(move |(_, group)| counts(group)).map(|(place, _)| place)
    }

    /// The first group in which the event at `index` is.
    pub(crate) fn group_of(&self, index: usize) -> Option<usize> {
        let slot = self.slots.get(index).filter(|slot| slot.absence.is_none())?;
        self.groups.iter().position(|group| group.has(slot))
    }
}

/// Reads one group into `buffer`, which is large enough for any of them.
fn read_group<'b>(
    kernel: &dyn Kernel,
    group: &Group,
    buffer: &'b mut [u8],
    user: impl FnOnce(&mut [u8]) -> bool,
) -> Result<GroupRead<'b>, Fault> {
    let want = bytes_of(group.len());
    let leader = group.leader().ok_or(Fault::Dead)?;
    let room = buffer.get_mut(..want).ok_or(Fault::Length { got: 0, want })?;
    let got = if user(room) { want } else { kernel.read(leader, room).map_err(Fault::Read)? };
    let bytes = buffer.get(..got).ok_or(Fault::Length { got, want })?;
    GroupRead::parse(bytes, group.len())
}
