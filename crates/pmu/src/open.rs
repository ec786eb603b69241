//! Opening events one by one: which group, which scope, and what a refusal means.

use std::cell::OnceCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::diagnose::{Absence, Attempt, Facts, diagnose};
use crate::event::Event;
use crate::kernel::{Errno, EventAttr, Kernel, Target};
use crate::names::{SOFTWARE_DUMMY, TYPE_HARDWARE, TYPE_SOFTWARE};
use crate::reading::Scope;

/// An open counter.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) fd: OwnedFd,
    /// What a count of it will be a count of.
    pub(crate) scope: Scope,
    /// Whether it joined the group that was offered; else it leads a new one.
    pub(crate) joined: bool,
}

/// Opens events of one thread, and looks at the system once, when the first is refused.
#[derive(Debug)]
pub(crate) struct Opener<'k> {
    kernel: &'k dyn Kernel,
    target: Target,
    facts: OnceCell<Facts>,
}

impl<'k> Opener<'k> {
    pub(crate) fn new(kernel: &'k dyn Kernel, target: Target) -> Opener<'k> {
        Opener { kernel, target, facts: OnceCell::new() }
    }

    /// Opens `event` in the group of `leader` if it fits there, else as the leader of a new group.
    ///
    /// Where kernel mode is forbidden, user mode alone is tried if the event allows it.
    pub(crate) fn open(&self, event: &Event, leader: Option<BorrowedFd<'_>>) -> Result<Opened, Absence> {
        let mut scope = event.wanted_scope();
        let mut result = self.open_in(event, scope, leader);
        if matches!(result, Err(Errno(libc::EACCES))) && event.may_fall_back_to_user() {
            scope = Scope::User;
            result = self.open_in(event, scope, leader);
        }
        match result {
            Ok((fd, joined)) => Ok(Opened { fd, scope: event.true_scope(scope), joined }),
            Err(errno) => {
                let attempt =
                    Attempt { kind: event.kind(), scope, other_thread: self.target != Target::CurrentThread };
                let facts = self.facts.get_or_init(|| look_around(self.kernel));
                Err(diagnose(errno, attempt, facts))
            }
        }
    }

    fn open_in(
        &self,
        event: &Event,
        scope: Scope,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<(OwnedFd, bool), Errno> {
        let attr = event.attr(scope);
        if leader.is_some() {
            match self.kernel.open(&attr, self.target, leader) {
                Ok(fd) => return Ok((fd, true)),
                // The group is full, or the event cannot share it. Alone it may be fine, and the kernel then
                // lets the groups take turns. If it is no better alone, the second refusal is
                // the one to explain.
                Err(Errno(libc::EINVAL | libc::ENOSPC)) => {}
                Err(errno) => return Err(errno),
            }
        }
        let attr = EventAttr { disabled: true, enable_on_exec: true, ..attr };
        let fd = self.kernel.open(&attr, self.target, None)?;
        Ok((fd, false))
    }
}

/// Gathers what tells the causes of a refusal apart.
fn look_around(kernel: &dyn Kernel) -> Facts {
    let probe = |type_, config| {
        let attr = EventAttr {
            type_,
            config,
            exclude_kernel: true,
            exclude_hv: true,
            disabled: true,
            ..EventAttr::default()
        };
        kernel.open(&attr, Target::CurrentThread, None).map(drop)
    };
    Facts {
        system: kernel.facts(),
        software: probe(TYPE_SOFTWARE, SOFTWARE_DUMMY),
        hardware: probe(TYPE_HARDWARE, 0),
    }
}

/// Counters which the kernel runs as one and reads as one; the leader comes first.
#[derive(Debug)]
pub(crate) struct Group {
    members: Vec<Member>,
}

/// One counter of a group.
#[derive(Debug)]
struct Member {
    /// Its place in the list of events.
    event: usize,
    fd: OwnedFd,
}

impl Group {
    fn new(event: usize, fd: OwnedFd) -> Group {
        Group { members: vec![Member { event, fd }] }
    }

    pub(crate) fn leader(&self) -> Option<BorrowedFd<'_>> {
        self.members.first().map(|member| member.fd.as_fd())
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The places of the members in the list of events, in the order in which the kernel gives their values.
    pub(crate) fn events(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|member| member.event)
    }
}

/// The groups as they grow: events of the PMU and events of the kernel apart, so that the latter count in any
/// case.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// The group which takes the next event of the kernel, and of the PMU.
    growing: [Option<usize>; 2],
}

impl Groups {
    /// The leader whose group `event` should try to join.
    pub(crate) fn leader_for(&self, event: &Event) -> Option<BorrowedFd<'_>> {
        let index = self.growing[usize::from(event.kind().needs_pmu())]?;
        self.groups.get(index)?.leader()
    }

    /// Takes in the counter of `event`, which is at `index` in the list of events.
    pub(crate) fn add(&mut self, event: &Event, index: usize, opened: Opened) {
        let growing = &mut self.growing[usize::from(event.kind().needs_pmu())];
        let group = growing.filter(|_| opened.joined).and_then(|at| self.groups.get_mut(at));
        if let Some(group) = group {
            group.members.push(Member { event: index, fd: opened.fd });
        } else {
            *growing = Some(self.groups.len());
            self.groups.push(Group::new(index, opened.fd));
        }
    }

    pub(crate) fn into_inner(self) -> Vec<Group> {
        self.groups
    }
}
