//! A simulated kernel: rules for opening and scheduling, a clock to advance, and reads that can go wrong.
//!
//! Every event happens at a rate of its own, so the truth is known: [`rate`] × the time that has passed.

use std::fs;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tailcore_pmu::{Errno, EventAttr, Kernel, Machine, Place, SystemFacts};

/// What opens, and what then runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// This many counters, as on Intel and AMD: a larger group is refused.
    Counters(usize),
    /// The same, and the NMI watchdog holds one of them: a group may open and never run.
    Watchdog(usize),
    /// This many counters, as some Arm drivers count them: a group of one more opens and never runs.
    OffByOne(usize),
    /// Two core types with this many counters each, PMUs [`BIG`] and [`LITTLE`].
    Hybrid(usize),
    /// A virtual PMU whose host has taken the counters: they run all the time, and count next to nothing.
    Starved,
    /// Software events only.
    NoPmu,
    /// Kernel mode and CPUs are hidden.
    Paranoid2,
    /// Nothing may be opened.
    Paranoid3,
    /// A filter refuses the call with this number.
    Seccomp(i32),
}

/// What a read gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reads {
    /// The counts.
    Whole,
    /// The first bytes of them only; 0 is a group in its error state.
    Bytes(usize),
    /// Claims more bytes than the buffer has.
    TooMany,
    /// This error number.
    Fails(i32),
}

/// `perf_event_attr.type` of the PMUs.
pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const TRACEPOINT: u32 = 2;
pub(crate) const BREAKPOINT: u32 = 5;
pub(crate) const BIG: u32 = 8;
pub(crate) const LITTLE: u32 = 10;
/// Units beside the cores; the next number is one too.
pub(crate) const UNCORE: u32 = 20;
pub(crate) const ABSENT: u32 = 99;

const BREAKPOINT_REGISTERS: usize = 4;
/// The CPUs that are online; the first two are big.
const CPUS: [u32; 4] = [0, 1, 2, 3];
/// A thread that has just ended, and a process that never was.
pub(crate) const GONE: u32 = 404;
/// How long the thread works for calibration and trials, ns.
const WORK_NS: u64 = 1_000_000;

/// How often each event happens per ns at least.
pub(crate) const RATE: u64 = 3;

/// How often the event of this `config` happens per ns, whatever PMU the upper half names.
pub(crate) fn rate(config: u64) -> u64 {
    RATE * (1 + (config & 0xffff_ffff) % 5)
}

/// The simulated kernel; its clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    rule: Rule,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    reads: Reads,
    enable_fails: Option<i32>,
    /// The core type on which threads run.
    core: u32,
    /// Counters that somebody else has taken.
    stolen: usize,
    groups: Vec<FakeGroup>,
    /// Every attribute that was opened with success.
    opened: Vec<EventAttr>,
}

#[derive(Debug)]
struct FakeGroup {
    place: Place,
    members: Vec<FakeMember>,
    enabled: bool,
    dead: bool,
    times: (u64, u64),
}

#[derive(Debug)]
struct FakeMember {
    attr: EventAttr,
    fd: RawFd,
    /// Says when the other end, which the crate holds, is closed.
    alive: UnixStream,
    count: u64,
}

impl FakeGroup {
    /// The PMU that it needs, and how many of its counters.
    fn needs(&self) -> (Option<u32>, usize) {
        let pmus = || self.members.iter().filter_map(|member| pmu(&member.attr));
        (pmus().next(), pmus().count())
    }

    fn is_pinned(&self) -> bool {
        self.members.first().is_some_and(|leader| leader.attr.pinned)
    }
}

/// The scarce PMU of an event.
fn pmu(attr: &EventAttr) -> Option<u32> {
    match attr.type_ {
        SOFTWARE | TRACEPOINT | BREAKPOINT => None,
        0 | 3 if attr.config >> 32 != 0 => u32::try_from(attr.config >> 32).ok(),
        0 | 3 | 4 => Some(BIG),
        other => Some(other),
    }
}

fn is_uncore(type_: u32) -> bool {
    (UNCORE..UNCORE + 2).contains(&type_)
}

fn is_thread(place: &Place) -> bool {
    matches!(place, Place::CurrentThread | Place::Thread(_))
}

impl Fake {
    pub(crate) fn new(rule: Rule) -> Fake {
        let state = State {
            reads: Reads::Whole,
            enable_fails: None,
            core: BIG,
            stolen: 0,
            groups: Vec::new(),
            opened: Vec::new(),
        };
        Fake { rule, state: Arc::new(Mutex::new(state)) }
    }

    /// The state, without what was closed meanwhile.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap();
        for group in &mut state.groups {
            group.members.retain(|member| (&member.alive).read(&mut [0]).is_err());
        }
        state.groups.retain(|group| !group.members.is_empty());
        state
    }

    /// Lets all threads and CPUs run for `enabled` ns; the PMUs are at their disposal for `running` ns of them.
    pub(crate) fn run(&self, enabled: u64, running: u64) {
        self.run_where(|_| true, enabled, running);
    }

    /// The same, for some places only.
    pub(crate) fn run_where(&self, place: impl Fn(&Place) -> bool, enabled: u64, running: u64) {
        let (counters, starved) = (self.counters(), self.rule == Rule::Starved);
        let mut state = self.state();
        let (core, free) = (state.core, counters.saturating_sub(state.stolen));
        let mut groups: Vec<&mut FakeGroup> =
            state.groups.iter_mut().filter(|group| group.enabled && place(&group.place)).collect();
        groups.sort_by_key(|group| !group.is_pinned());
        let shares = shares(&groups, core, free);
        for (group, share) in groups.into_iter().zip(shares) {
            let running = match share {
                Share::Always => enabled,
                Share::Turns(turns) => running / turns,
                Share::Never => 0,
            };
            group.dead |= share == Share::Never && group.is_pinned();
            group.times.0 += enabled;
            group.times.1 += running;
            for member in &mut group.members {
                let loss = if starved && pmu(&member.attr).is_some() { 1000 } else { 1 };
                member.count += running * rate(member.attr.config) / loss;
            }
        }
    }

    /// The counters that a group can have.
    fn counters(&self) -> usize {
        match self.rule {
            Rule::Counters(n) | Rule::OffByOne(n) | Rule::Hybrid(n) => n,
            Rule::Watchdog(n) => n - 1,
            _ => 4,
        }
    }

    /// The events of the PMU that a group may have when it is opened.
    fn accepts(&self) -> usize {
        match self.rule {
            Rule::Watchdog(n) => n,
            Rule::OffByOne(n) => n + 1,
            _ => self.counters(),
        }
    }

    /// Moves the threads to cores of this type.
    pub(crate) fn move_to(&self, core: u32) {
        self.state().core = core;
    }

    /// Somebody else takes counters away, for good.
    pub(crate) fn steal(&self, counters: usize) {
        self.state().stolen = counters;
    }

    pub(crate) fn set_reads(&self, reads: Reads) {
        self.state().reads = reads;
    }

    pub(crate) fn fail_enable(&self, errno: i32) {
        self.state().enable_fails = Some(errno);
    }

    pub(crate) fn opened(&self) -> Vec<EventAttr> {
        self.state().opened.clone()
    }

    /// The `config`s of the groups that are open, largest group first.
    pub(crate) fn groups(&self) -> Vec<Vec<u64>> {
        let configs = |group: &FakeGroup| group.members.iter().map(|m| m.attr.config).collect();
        let mut groups: Vec<Vec<u64>> = self.state().groups.iter().map(configs).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        groups
    }

    /// The sizes of the groups that are open, largest first.
    pub(crate) fn group_sizes(&self) -> Vec<usize> {
        self.groups().iter().map(Vec::len).collect()
    }

    fn refusal(&self, attr: &EventAttr, place: &Place) -> Option<i32> {
        let covered = |cpu: &u32| match pmu(attr) {
            Some(BIG) if matches!(self.rule, Rule::Hybrid(_)) => *cpu < 2,
            Some(LITTLE) => *cpu >= 2,
            _ => true,
        };
        match (self.rule, place) {
            (Rule::Seccomp(errno), _) => Some(errno),
            (Rule::Paranoid3, _) => Some(libc::EACCES),
            (Rule::Paranoid2, _) if !attr.exclude_kernel || !is_thread(place) => Some(libc::EACCES),
            (Rule::NoPmu, _) if pmu(attr).is_some() => Some(libc::ENOENT),
            _ if attr.type_ == ABSENT => Some(libc::ENOENT),
            (_, Place::Thread(GONE)) => Some(libc::ESRCH),
            (_, Place::Cgroup { directory, .. }) if fs::metadata(directory).is_err() => Some(libc::EBADF),
            (_, Place::Cpu(cpu)) if !CPUS.contains(cpu) => Some(libc::ENODEV),
            (_, Place::Cpu(cpu)) if !covered(cpu) => Some(libc::ENOENT),
            _ if is_uncore(attr.type_) && (is_thread(place) || attr.exclude_hv) => Some(libc::EINVAL),
            _ => None,
        }
    }
}

/// How a group is scheduled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    Always,
    /// One turn in so many.
    Turns(u64),
    Never,
}

/// Who runs on `free` counters, pinned groups being first in the list. Groups take turns if those of one
/// place need more counters than there are.
fn shares(groups: &[&mut FakeGroup], core: u32, free: usize) -> Vec<Share> {
    let runs_here = |group: &FakeGroup, pmu| !is_thread(&group.place) || pmu == core || is_uncore(pmu);
    let mut shares: Vec<Share> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let (Some(pmu), size) = group.needs() else {
            shares.push(Share::Always);
            continue;
        };
        let rivals = |pinned| {
            let rivals = groups.iter().enumerate().filter(move |(other, rival)| {
                *other != at
                    && rival.place == group.place
                    && rival.needs().0 == Some(pmu)
                    && rival.is_pinned() == pinned
                    && !rival.dead
                    && rival.needs().1 <= free
            });
            rivals.collect::<Vec<_>>()
        };
        let before: usize = rivals(true)
            .iter()
            .filter(|(other, _)| *other < at || !group.is_pinned())
            .map(|(_, g)| g.needs().1)
            .sum();
        let rest = free.saturating_sub(before);
        let others: usize = rivals(false).iter().map(|(_, rival)| rival.needs().1).sum();
        shares.push(if !runs_here(group, pmu) || size > rest || group.dead {
            Share::Never
        } else if group.is_pinned() || size + others <= rest {
            Share::Turns(1)
        } else {
            Share::Turns(1 + rivals(false).len() as u64)
        });
    }
    shares
}

impl Kernel for Fake {
    fn open(
        &self,
        attr: &EventAttr,
        place: &Place,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        if let Some(errno) = self.refusal(attr, place) {
            return Err(Errno(errno));
        }
        let accepts = self.accepts();
        let mut state = self.state();
        let breakpoints = state.groups.iter().flat_map(|g| &g.members).filter(|m| m.attr.type_ == BREAKPOINT);
        if attr.type_ == BREAKPOINT && breakpoints.count() >= BREAKPOINT_REGISTERS {
            return Err(Errno(libc::ENOSPC));
        }
        let (alive, given) = UnixStream::pair().unwrap();
        alive.set_nonblocking(true).unwrap();
        let fd = OwnedFd::from(given);
        let member = FakeMember { attr: *attr, fd: fd.as_raw_fd(), alive, count: 0 };
        match leader {
            Some(leader) => {
                let group = state.groups.iter_mut().find(|g| g.members[0].fd == leader.as_raw_fd());
                let group = group.ok_or(Errno(libc::EBADF))?;
                let (of, size) = group.needs();
                let mixed = pmu(attr).is_some() && of.is_some() && pmu(attr) != of;
                let full = pmu(attr).is_some() && size >= accepts;
                let unlike = group.place != *place || group.members[0].attr.inherit != attr.inherit;
                if mixed || full || unlike || attr.pinned {
                    return Err(Errno(libc::EINVAL));
                }
                group.members.push(member);
            }
            None => state.groups.push(FakeGroup {
                place: place.clone(),
                members: vec![member],
                enabled: !attr.disabled,
                dead: false,
                times: (0, 0),
            }),
        }
        state.opened.push(*attr);
        Ok(fd)
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut state = self.state();
        if let Some(errno) = state.enable_fails {
            return Err(Errno(errno));
        }
        let group = state.groups.iter_mut().find(|g| g.members[0].fd == leader.as_raw_fd());
        group.ok_or(Errno(libc::EBADF))?.enabled = true;
        Ok(())
    }

    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let state = self.state();
        let group = state.groups.iter().find(|g| g.members[0].fd == leader.as_raw_fd());
        let group = group.ok_or(Errno(libc::EBADF))?;
        let mut words = vec![group.members.len() as u64, group.times.0, group.times.1];
        words.extend(group.members.iter().map(|member| member.count));
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        if buffer.len() < bytes.len() {
            return Err(Errno(libc::ENOSPC));
        }
        buffer[..bytes.len()].copy_from_slice(&bytes);
        match state.reads {
            _ if group.dead => Ok(0),
            Reads::Whole => Ok(bytes.len()),
            Reads::Bytes(n) => Ok(n),
            Reads::TooMany => Ok(usize::MAX),
            Reads::Fails(errno) => Err(Errno(errno)),
        }
    }

    fn machine(&self) -> &Machine {
        // One without files: what a name means must not depend on where the tests run.
        static NOWHERE: OnceLock<Machine> = OnceLock::new();
        NOWHERE.get_or_init(|| Machine::read_from(Path::new("/nonexistent")))
    }

    fn facts(&self) -> SystemFacts {
        let paranoid = match self.rule {
            Rule::Paranoid3 => 3,
            _ => 2,
        };
        SystemFacts { paranoid: Some(paranoid), hypervisor: self.rule == Rule::NoPmu }
    }

    fn threads(&self, pid: u32) -> Result<Vec<u32>, Errno> {
        if pid == GONE { Err(Errno(libc::ESRCH)) } else { Ok(vec![pid, pid + 1, GONE]) }
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        Ok(CPUS.to_vec())
    }

    fn work(&self) -> Option<u64> {
        self.run_where(|place| !matches!(place, Place::Thread(_)), WORK_NS, WORK_NS);
        Some(WORK_NS * rate(1)) // Instructions are config 1.
    }
}
