//! Opening events one by one: at which places, in which group and scope, and what a refusal means.

use std::cell::OnceCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::diagnose::{Absence, Attempt, Facts, diagnose, no_modes};
use crate::event::Event;
use crate::kernel::{Errno, EventAttr, Kernel, Place, Target};
use crate::machine::Machine;
use crate::names::{SOFTWARE_DUMMY, TYPE_BREAKPOINT, TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT};
use crate::options::Options;
use crate::places;
use crate::reading::Scope;
use crate::resolve::{Encoding, Resolved, Spread, resolve};
use crate::snapshot::{Parts, Sample};

const NO_THREAD: Errno = Errno(libc::ESRCH);
const NO_DEVICE: Errno = Errno(libc::ENODEV);

/// An event, and how the machine counts it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) event: Event,
    pub(crate) how: Result<Resolved, Absence>,
}

impl Ask {
    pub(crate) fn new(event: &Event, machine: &Machine) -> Ask {
        Ask { event: event.clone(), how: resolve(event, machine) }
    }

    /// Whether the event takes one of a few counters, be it of the processor or a breakpoint register.
    pub(crate) fn is_scarce(&self) -> bool {
        self.how.as_ref().is_ok_and(|how| how.encodings.iter().any(is_scarce))
    }
}

/// Whether the PMU of the encoding counts there. A thread may come to any CPU.
fn counts_at(encoding: &Encoding, place: &Place) -> bool {
    match (place, &encoding.cpus) {
        (Place::Cpu(cpu) | Place::Cgroup { cpu, .. }, Some(cpus)) => cpus.contains(cpu),
        _ => true,
    }
}

fn is_scarce(encoding: &Encoding) -> bool {
    !matches!(encoding.type_, TYPE_SOFTWARE | TYPE_TRACEPOINT)
}

/// Whether the PMU can count in `scope`.
fn allows(encoding: &Encoding, scope: Scope) -> bool {
    !encoding.no_exclude || scope == Scope::UserAndKernel
}

/// What became of one event.
#[derive(Debug)]
pub(crate) struct Slot {
    /// What a count of it is a count of.
    pub(crate) scope: Scope,
    pub(crate) parts: Parts,
    pub(crate) scarce: bool,
    /// Whether a core counts it, whose PMU a loop of known length can try.
    pub(crate) of_core: bool,
    /// Whether it is absent because others have taken what is scarce.
    pub(crate) crowded: bool,
    pub(crate) absence: Option<Absence>,
    /// What counts a portable name.
    pub(crate) means: Option<String>,
}

/// Counters which the kernel runs as one and reads as one; the leader comes first.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) place: Place,
    /// Which group of the request it belongs to; `None`: events of the kernel, which need no other company.
    request: Option<usize>,
    members: Vec<Member>,
}

/// One counter of a group.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its place in the list of all counters.
    pub(crate) part: usize,
    pub(crate) fd: OwnedFd,
}

impl Group {
    pub(crate) fn leader(&self) -> Option<BorrowedFd<'_>> {
        self.members.first().map(|member| member.fd.as_fd())
    }

    /// In the order in which the kernel gives their values.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether a counter of the event is in this group.
    pub(crate) fn has(&self, slot: &Slot) -> bool {
        self.members.iter().any(|member| slot.parts.contains(member.part))
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_scarce(&self) -> bool {
        self.request.is_some()
    }
}

/// An event to open.
#[derive(Debug, Clone, Copy)]
struct Wish<'a> {
    event: &'a Event,
    how: &'a Resolved,
    /// The group of the request that it belongs to.
    request: usize,
}

/// Where one encoding of an event is to be opened.
#[derive(Debug, Clone, Copy)]
struct Spot<'a> {
    encoding: &'a Encoding,
    place: &'a Place,
    request: Option<usize>,
}

/// The counters of one target as they are opened, event by event.
///
/// It looks at the system once, when the first event is refused.
#[derive(Debug)]
pub(crate) struct Opening<'k> {
    kernel: &'k dyn Kernel,
    places: Result<Vec<Place>, Errno>,
    /// The target, for words only, where there is no place.
    somewhere: Place,
    inherit: bool,
    pinned: bool,
    facts: OnceCell<Facts>,
    pub(crate) groups: Vec<Group>,
    pub(crate) slots: Vec<Slot>,
    /// One per counter that was wanted: whether there is something to read.
    pub(crate) samples: Vec<Sample>,
}

impl<'k> Opening<'k> {
    pub(crate) fn new(kernel: &'k dyn Kernel, target: &Target, options: &Options) -> Opening<'k> {
        Opening {
            kernel,
            places: places::of(kernel, target),
            somewhere: places::any(target),
            inherit: options.inherit || matches!(target, Target::Process(_)),
            pinned: options.pinned,
            facts: OnceCell::new(),
            groups: Vec::new(),
            slots: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Opens one event of the group `request`, with the members of the group that are open already if the
    /// kernel lets it, else in a further group.
    pub(crate) fn add(&mut self, ask: &Ask, request: usize) {
        let event = &ask.event;
        let mut slot = Slot {
            scope: event.wanted_scope(),
            parts: Parts { first: self.samples.len(), places: 0, encodings: 1 },
            scarce: ask.is_scarce(),
            of_core: false,
            crowded: false,
            absence: None,
            means: ask.how.as_ref().ok().and_then(|how| how.means.clone()),
        };
        match &ask.how {
            Ok(how) => {
                if let Err((errno, absence)) = self.add_resolved(Wish { event, how, request }, &mut slot) {
                    slot.crowded = errno == Errno(libc::ENOSPC);
                    slot.absence = Some(absence);
                    self.forget(slot.parts.first);
                }
            }
            Err(absence) => slot.absence = Some(absence.clone()),
        }
        self.slots.push(slot);
    }

    fn add_resolved(&mut self, wish: Wish<'_>, slot: &mut Slot) -> Result<(), (Errno, Absence)> {
        let Wish { event, how, .. } = wish;
        let of_core = |encoding: &Encoding| is_scarce(encoding) && !encoding.no_exclude;
        slot.of_core = event.kind().needs_pmu() && how.encodings.iter().all(of_core);
        if how.encodings.iter().all(|encoding| !allows(encoding, slot.scope)) {
            return Err((Errno(libc::EINVAL), no_modes()));
        }
        let places = match (&how.spread, &self.places) {
            (Spread::Places(cpus), _) => places::on(cpus.iter().copied()),
            (_, Ok(places)) => places.clone(),
            (_, Err(errno)) => {
                return Err((*errno, self.explain(*errno, event, (&self.somewhere, slot.scope))));
            }
        };
        // Core types share the time of a place; units beside the cores count side by side.
        let together = match how.spread {
            Spread::Places(_) => 1,
            Spread::One | Spread::CoreTypes => how.encodings.len(),
        };
        let spots: Vec<(&Place, &[Encoding])> = places
            .iter()
            .flat_map(|place| how.encodings.chunks(together.max(1)).map(move |chunk| (place, chunk)))
            // A CPU has one core type; an event of another has nothing to count there.
            .filter(|(place, encodings)| encodings.iter().any(|encoding| counts_at(encoding, place)))
            .collect();
        slot.parts.places = spots.len();
        slot.parts.encodings = together;
        let mut opened = 0;
        // Without a place, there is no CPU.
        let mut last = NO_DEVICE;
        for &(place, encodings) in &spots {
            match self.add_at((place, encodings), wish, slot) {
                Ok(()) => opened += 1,
                // One of several threads has ended since they were listed.
                Err(NO_THREAD) if spots.len() > 1 => last = NO_THREAD,
                Err(errno) => return Err((errno, self.explain(errno, event, (place, slot.scope)))),
            }
        }
        if opened == 0 {
            return Err((last, self.explain(last, event, (&self.somewhere, slot.scope))));
        }
        slot.scope = event.true_scope(slot.scope);
        Ok(())
    }

    /// Opens all encodings at one place; one is enough.
    ///
    /// Where kernel mode is forbidden, user mode alone is tried if the event allows it, and is then the scope
    /// of the rest too: a sum over places must be one of the same thing.
    fn add_at(
        &mut self,
        (place, encodings): (&Place, &[Encoding]),
        wish: Wish<'_>,
        slot: &mut Slot,
    ) -> Result<(), Errno> {
        let (mut opened, mut refusal) = (false, None);
        for encoding in encodings {
            if !allows(encoding, slot.scope) || !counts_at(encoding, place) {
                self.samples.push(Sample::Absent);
                continue;
            }
            let spot = Spot { encoding, place, request: is_scarce(encoding).then_some(wish.request) };
            let mut result = self.open(spot, slot.scope);
            let settled = self.samples.iter().skip(slot.parts.first).any(|sample| *sample != Sample::Absent);
            let may_change = !settled && !encoding.no_exclude && wish.event.may_fall_back_to_user();
            if matches!(result, Err(Errno(libc::EACCES))) && may_change {
                result = self.open(spot, Scope::User);
                if result.is_ok() {
                    slot.scope = Scope::User;
                }
            }
            self.samples.push(if result.is_ok() { Sample::Unread } else { Sample::Absent });
            match result {
                Ok(()) => opened = true,
                Err(errno) => refusal = refusal.or(Some(errno)),
            }
        }
        match refusal {
            Some(errno) if !opened => Err(errno),
            _ => Ok(()),
        }
    }

    /// Opens one counter, in the first group of its request that takes it, else as the leader of a new one.
    fn open(&mut self, spot: Spot<'_>, scope: Scope) -> Result<(), Errno> {
        let part = self.samples.len();
        let attr = self.attr(spot, scope);
        let mates = self.groups.iter_mut().filter(|g| g.place == *spot.place && g.request == spot.request);
        for group in mates {
            match self.kernel.open(&attr, spot.place, group.leader()) {
                Ok(fd) => {
                    group.members.push(Member { part, fd });
                    return Ok(());
                }
                // The group is full, or of another PMU. Alone the event may be fine, and the kernel then lets
                // the groups take turns. If it is no better alone, that refusal is the one to explain.
                Err(Errno(libc::EINVAL | libc::ENOSPC)) => {}
                Err(errno) => return Err(errno),
            }
        }
        let attr = EventAttr { disabled: true, enable_on_exec: true, pinned: self.pinned, ..attr };
        let fd = self.kernel.open(&attr, spot.place, None)?;
        let members = vec![Member { part, fd }];
        self.groups.push(Group { place: spot.place.clone(), request: spot.request, members });
        Ok(())
    }

    /// The attributes of a member.
    fn attr(&self, spot: Spot<'_>, scope: Scope) -> EventAttr {
        let Encoding { type_, config, config1, config2, config3, no_exclude, .. } = *spot.encoding;
        let is_breakpoint = type_ == TYPE_BREAKPOINT;
        let is_thread = matches!(spot.place, Place::CurrentThread | Place::Thread(_));
        EventAttr {
            type_,
            // What a breakpoint waits for has a field of its own, and its config means nothing.
            config: if is_breakpoint { 0 } else { config },
            bp_type: if is_breakpoint { u32::try_from(config).unwrap_or(u32::MAX) } else { 0 },
            config1,
            config2,
            config3,
            exclude_user: !no_exclude && scope == Scope::Kernel,
            exclude_kernel: !no_exclude && scope == Scope::User,
            exclude_hv: !no_exclude && scope != Scope::UserAndKernel,
            inherit: self.inherit && is_thread,
            ..EventAttr::default()
        }
    }

    /// Closes the counters from `part` on, which are the last of their groups.
    fn forget(&mut self, part: usize) {
        for group in &mut self.groups {
            group.members.retain(|member| member.part < part);
        }
        self.groups.retain(|group| !group.members.is_empty());
        for sample in self.samples.iter_mut().skip(part) {
            *sample = Sample::Absent;
        }
    }

    fn explain(&self, errno: Errno, event: &Event, (place, scope): (&Place, Scope)) -> Absence {
        let facts = self.facts.get_or_init(|| look_around(self.kernel));
        diagnose(errno, Attempt { kind: event.kind(), scope, place }, facts)
    }
}

/// The scope in which `event` opens on the calling thread, or why it does not.
pub(crate) fn try_here(kernel: &dyn Kernel, event: &Event) -> Result<Scope, Absence> {
    let mut opening = Opening::new(kernel, &Target::CurrentThread, &Options::default());
    opening.add(&Ask::new(event, kernel.machine()), 0);
    match opening.slots.pop() {
        Some(Slot { absence: Some(absence), .. }) => Err(absence),
        Some(Slot { scope, .. }) => Ok(scope),
        None => Ok(event.wanted_scope()),
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
        kernel.open(&attr, &Place::CurrentThread, None).map(drop)
    };
    Facts {
        system: kernel.facts(),
        software: probe(TYPE_SOFTWARE, SOFTWARE_DUMMY),
        hardware: probe(TYPE_HARDWARE, 0),
    }
}

#[cfg(test)]
mod tests;
