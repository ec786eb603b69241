//! A simulated kernel whose counters have pages: three events per ns of running time, each member of a group
//! some more, so that a mixture shows.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use tailcore_pmu::{
    Errno, EventAttr, Kernel, NoUserRead, PageClock, PageState, Place, SimulatedPage, SystemFacts,
    UserAccess, UserPage,
};

/// The simulated kernel; its clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Paged {
    access: Result<UserAccess, NoUserRead>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The members of each group, by the leader's descriptor.
    groups: HashMap<RawFd, Vec<RawFd>>,
    counters: HashMap<RawFd, Counter>,
    /// How many pages may still be mapped.
    budget: usize,
    refuse_config1: bool,
    time_ns: u64,
    system_reads: u64,
}

#[derive(Debug)]
struct Counter {
    attr: EventAttr,
    page: Arc<SimulatedPage>,
    /// Its place in the group.
    rank: u64,
}

impl Counter {
    fn count(&self, time_ns: u64) -> u64 {
        3 * time_ns + 1000 * self.rank
    }

    /// Writes the page of a counter which runs in a register since `time_ns`.
    fn enter(&self, time_ns: u64) {
        let hardware = self.attr.type_ != 1;
        // The register starts below zero, as those of the kernel do.
        const START: u64 = 0_u64.wrapping_sub(500);
        self.page.write(&PageState {
            index: u32::from(hardware),
            offset: self.count(time_ns).wrapping_sub(START),
            time_enabled_ns: time_ns,
            time_running_ns: time_ns,
            readable: hardware,
            width_bits: 48,
            clock: Some(PageClock { mult: 1, shift: 1, offset_ns: 0_u64.wrapping_sub(time_ns), short: None }),
            compat_version: 0,
        });
        self.page.set_register(START & 0xffff_ffff_ffff);
        self.page.set_cycles(2 * time_ns);
    }
}

impl Paged {
    pub(crate) fn new() -> Paged {
        Paged::with(Ok(UserAccess::default()))
    }

    pub(crate) fn with(access: Result<UserAccess, NoUserRead>) -> Paged {
        let state = State { budget: usize::MAX, ..State::default() };
        Paged { access, state: Arc::new(Mutex::new(state)) }
    }

    /// Lets only so many pages be mapped.
    pub(crate) fn budget(self, pages: usize) -> Paged {
        self.state.lock().unwrap().budget = pages;
        self
    }

    /// Refuses events that ask for something in `config1`.
    pub(crate) fn refusing_config1(self) -> Paged {
        self.state.lock().unwrap().refuse_config1 = true;
        self
    }

    /// Lets all counters run for `ns` in the registers where they are.
    pub(crate) fn run(&self, ns: u64) {
        let mut state = self.state.lock().unwrap();
        state.time_ns += ns;
        let time_ns = state.time_ns;
        for counter in state.counters.values() {
            let raw = 3 * ns;
            counter.page.set_register(counter.page.register().wrapping_add(raw) & 0xffff_ffff_ffff);
            counter.page.set_cycles(2 * time_ns);
        }
    }

    /// Switches the thread out and in again, with or without registers for its counters.
    pub(crate) fn switch(&self, registers: bool) {
        let state = self.state.lock().unwrap();
        for counter in state.counters.values() {
            if registers {
                counter.enter(state.time_ns);
            } else {
                counter.page.write(&PageState { readable: true, ..PageState::default() });
            }
        }
    }

    /// How often read(2) was called.
    pub(crate) fn system_reads(&self) -> u64 {
        self.state.lock().unwrap().system_reads
    }

    /// How often a register was read.
    pub(crate) fn register_reads(&self) -> u64 {
        self.state.lock().unwrap().counters.values().map(|counter| counter.page.register_reads()).sum()
    }

    /// How many pages are mapped.
    pub(crate) fn mapped(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.counters.values().filter(|counter| Arc::strong_count(&counter.page) > 1).count()
    }

    /// The attributes of the counters that are open, those of software first.
    pub(crate) fn opened(&self) -> Vec<EventAttr> {
        let state = self.state.lock().unwrap();
        let mut attrs: Vec<EventAttr> = state.counters.values().map(|counter| counter.attr).collect();
        attrs.sort_by_key(|attr| (attr.type_ != 1, attr.type_, attr.config));
        attrs
    }
}

impl Kernel for Paged {
    fn open(&self, attr: &EventAttr, _: &Place, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
        let mut state = self.state.lock().unwrap();
        if state.refuse_config1 && attr.config1 != 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        let fd: OwnedFd = File::open("/dev/null").unwrap().into();
        let leader = leader.map_or(fd.as_raw_fd(), |leader| leader.as_raw_fd());
        let members = state.groups.entry(leader).or_default();
        members.push(fd.as_raw_fd());
        let rank = members.len() as u64;
        let counter = Counter { attr: *attr, page: Arc::default(), rank };
        counter.enter(state.time_ns);
        state.counters.insert(fd.as_raw_fd(), counter);
        Ok(fd)
    }

    fn enable(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let mut state = self.state.lock().unwrap();
        state.system_reads += 1;
        let members = &state.groups[&leader.as_raw_fd()];
        let header = [members.len() as u64, state.time_ns, state.time_ns];
        let counts = members.iter().map(|member| state.counters[member].count(state.time_ns));
        for (room, word) in buffer.chunks_mut(8).zip(header.into_iter().chain(counts)) {
            room.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(buffer.len())
    }

    fn facts(&self) -> SystemFacts {
        SystemFacts::default()
    }

    fn threads(&self, _: u32) -> Result<Vec<u32>, Errno> {
        Err(Errno(libc::ESRCH))
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        Ok(vec![0])
    }

    fn work(&self) -> Option<u64> {
        None
    }

    fn user_access(&self) -> Result<UserAccess, NoUserRead> {
        self.access
    }

    fn map(&self, counter: BorrowedFd<'_>) -> Result<UserPage, Errno> {
        let mut state = self.state.lock().unwrap();
        state.budget = state.budget.checked_sub(1).ok_or(Errno(libc::EPERM))?;
        Ok(UserPage::simulated(Arc::clone(&state.counters[&counter.as_raw_fd()].page)))
    }
}
