//! A simulated kernel: rules for opening, a clock to advance, and reads that can go wrong.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use tailcore_pmu::{Errno, EventAttr, Kernel, SystemFacts, Target};

/// What refuses to open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// Everything opens; the PMU has this many counters and refuses a larger group.
    Counters(usize),
    /// Software events only.
    NoPmu,
    /// Kernel mode is hidden.
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
    /// By the leader's descriptor.
    groups: HashMap<RawFd, FakeGroup>,
    /// Every attribute that was opened with success.
    opened: Vec<EventAttr>,
}

#[derive(Debug)]
struct FakeGroup {
    members: Vec<EventAttr>,
    enabled: bool,
    times: (u64, u64),
    running: u64,
}

/// How often each event happens per ns of running time: the same for all, so that a test can predict it.
pub(crate) const RATE: u64 = 3;

impl Fake {
    pub(crate) fn new(rule: Rule) -> Fake {
        let state =
            State { reads: Reads::Whole, enable_fails: None, groups: HashMap::new(), opened: Vec::new() };
        Fake { rule, state: Arc::new(Mutex::new(state)) }
    }

    /// Lets the thread run for `enabled` ns; groups that need the PMU get it for `running` ns of them.
    pub(crate) fn run(&self, enabled: u64, running: u64) {
        for group in self.state.lock().unwrap().groups.values_mut().filter(|g| g.enabled) {
            let hardware = group.members.iter().any(needs_pmu);
            let running = if hardware { running } else { enabled };
            group.times.0 += enabled;
            group.times.1 += running;
            group.running += running * RATE;
        }
    }

    pub(crate) fn set_reads(&self, reads: Reads) {
        self.state.lock().unwrap().reads = reads;
    }

    pub(crate) fn fail_enable(&self, errno: i32) {
        self.state.lock().unwrap().enable_fails = Some(errno);
    }

    pub(crate) fn opened(&self) -> Vec<EventAttr> {
        self.state.lock().unwrap().opened.clone()
    }

    /// The sizes of the groups, largest first.
    pub(crate) fn group_sizes(&self) -> Vec<usize> {
        let state = self.state.lock().unwrap();
        let mut sizes: Vec<usize> = state.groups.values().map(|g| g.members.len()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    fn refusal(&self, attr: &EventAttr) -> Option<i32> {
        match self.rule {
            Rule::NoPmu if needs_pmu(attr) => Some(libc::ENOENT),
            Rule::Paranoid2 if !attr.exclude_kernel => Some(libc::EACCES),
            Rule::Paranoid3 => Some(libc::EACCES),
            Rule::Seccomp(errno) => Some(errno),
            _ => None,
        }
    }
}

fn needs_pmu(attr: &EventAttr) -> bool {
    attr.type_ != 1
}

impl Kernel for Fake {
    fn open(
        &self,
        attr: &EventAttr,
        target: Target,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        if let Some(errno) = self.refusal(attr) {
            return Err(Errno(errno));
        }
        if target == Target::Thread(404) {
            return Err(Errno(libc::ESRCH));
        }
        let mut state = self.state.lock().unwrap();
        let fd: OwnedFd = File::open("/dev/null").unwrap().into();
        match leader {
            Some(leader) => {
                let group = state.groups.get_mut(&leader.as_raw_fd()).ok_or(Errno(libc::EBADF))?;
                if let Rule::Counters(n) = self.rule
                    && needs_pmu(attr)
                    && group.members.len() >= n
                {
                    return Err(Errno(libc::EINVAL));
                }
                group.members.push(*attr);
            }
            None => {
                let group =
                    FakeGroup { members: vec![*attr], enabled: !attr.disabled, times: (0, 0), running: 0 };
                state.groups.insert(fd.as_raw_fd(), group);
            }
        }
        state.opened.push(*attr);
        Ok(fd)
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        if let Some(errno) = state.enable_fails {
            return Err(Errno(errno));
        }
        state.groups.get_mut(&leader.as_raw_fd()).ok_or(Errno(libc::EBADF))?.enabled = true;
        Ok(())
    }

    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let state = self.state.lock().unwrap();
        let group = state.groups.get(&leader.as_raw_fd()).ok_or(Errno(libc::EBADF))?;
        let mut words = vec![group.members.len() as u64, group.times.0, group.times.1];
        // The place in the group is added, so that a test sees values that are mixed up.
        words.extend((0..group.members.len() as u64).map(|place| group.running * (place + 1)));
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        if buffer.len() < bytes.len() {
            return Err(Errno(libc::ENOSPC));
        }
        buffer[..bytes.len()].copy_from_slice(&bytes);
        match state.reads {
            Reads::Whole => Ok(bytes.len()),
            Reads::Bytes(n) => Ok(n),
            Reads::TooMany => Ok(usize::MAX),
            Reads::Fails(errno) => Err(Errno(errno)),
        }
    }

    fn facts(&self) -> SystemFacts {
        let paranoid = match self.rule {
            Rule::Paranoid3 => 3,
            _ => 2,
        };
        SystemFacts { paranoid: Some(paranoid), hypervisor: self.rule == Rule::NoPmu }
    }
}
