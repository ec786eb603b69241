//! The counters of the calling thread, which it can read without a system call.

mod asking;
mod cost;
mod pages;

use std::marker::PhantomData;
use std::os::fd::AsFd;

use crate::counters::Counters;
use crate::event::Event;
use crate::kernel::{Kernel, Place, Target};
use crate::open::Ask;
use crate::options::Options;
use crate::reading::Reading;
use crate::snapshot::Snapshot;
use crate::sys::Linux;
use crate::user::NoUserRead;

pub use cost::{ReadCost, ReadCosts};

use asking::Asking;
use pages::GroupPages;

/// Counters of the thread that opens them, for that thread alone.
///
/// They count as [`Counters`] do, and give the same readings. But where the processor allows it, a group is
/// read from its registers; where not, by read(2). Which of the
/// two happens is decided anew at each read and for each group, and is no error either way:
/// [`how`](Self::how) tells. Take these if a thread measures itself, even more so per request; take
/// [`Counters`] to measure another thread.
///
/// ```
/// use tailcore_pmu::{OwnCounters, ReadPath, parse_events};
///
/// let mut own = OwnCounters::open(&parse_events("cycles,instructions")?);
/// let (mut start, mut end) = (own.snapshot(), own.snapshot());
/// own.enable();
/// own.read(&mut start);
/// own.read(&mut end);
/// if let Some(ReadPath::SystemCall { reason }) = own.how(0) {
///     println!("cycles are read by read(2): {reason}");
/// }
/// # Ok::<(), tailcore_pmu::ParseEventError>(())
/// ```
///
/// # Why they stay on their thread
///
/// A register counts for whichever thread runs on the processor at the moment: on another thread the same
/// read would give a wrong number. So these counters can neither be sent nor shared:
///
/// ```compile_fail
/// let own = tailcore_pmu::OwnCounters::open(&tailcore_pmu::default_events());
/// std::thread::spawn(move || drop(own));
/// ```
///
/// ```compile_fail
/// let own = tailcore_pmu::OwnCounters::open(&tailcore_pmu::default_events());
/// std::thread::scope(|scope| { scope.spawn(|| own.snapshot()); });
/// ```
///
/// After fork(2) the child must not read them: the kernel leaves the pages out of its memory.
///
/// # What they take
///
/// Beside a descriptor, each event that can be read from user space takes one page of memory that counts as
/// locked: `kernel.perf_event_mlock_kb` per online CPU and user, then `RLIMIT_MEMLOCK`. When that is used
/// up, the rest is read by read(2).
///
/// # What can go wrong
///
/// An administrator who forbids such reads while they are in use (`rdpmc` of the PMU in sysfs set to 0, or
/// `kernel.perf_user_access` on arm64) ends the program at its next read: the processor traps, and the kernel
/// gives no warning.
#[derive(Debug)]
pub struct OwnCounters {
    /// One per group. Dropped before the counters, because a page keeps its counter open.
    pages: Vec<GroupPages>,
    counters: Counters,
    cost: Option<ReadCosts>,
    /// Neither `Send` nor `Sync`, even where no page is mapped.
    thread: PhantomData<*const ()>,
}

/// How a counter is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPath {
    /// From the registers of the processor.
    UserSpace,
    /// By read(2).
    SystemCall {
        /// Why not from the registers.
        reason: NoUserRead,
    },
}

impl OwnCounters {
    /// Opens counters of the calling thread for `events`, disabled.
    pub fn open(events: &[Event]) -> OwnCounters {
        OwnCounters::open_with(Linux, events)
    }

    /// Opens counters with another kernel than that of this machine, such as a simulated one.
    pub fn open_with(kernel: impl Kernel + 'static, events: &[Event]) -> OwnCounters {
        OwnCounters::open_groups_with(kernel, &[events.to_vec()], &Options::default())
    }

    /// Opens counters for groups of events, as [`Counters::open_groups`] does.
    ///
    /// With [`Options::inherit`] none of them can be read from user space.
    pub fn open_groups(groups: &[Vec<Event>], options: &Options) -> OwnCounters {
        OwnCounters::open_groups_with(Linux, groups, options)
    }

    /// The same, with another kernel than that of this machine.
    pub fn open_groups_with(
        kernel: impl Kernel + 'static,
        groups: &[Vec<Event>],
        options: &Options,
    ) -> OwnCounters {
        let groups = groups
            .iter()
            .map(|group| group.iter().map(|event| Ask::new(event, kernel.machine())).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        OwnCounters::of(Box::new(kernel), groups, options)
    }

    /// The same, for events that are resolved.
    pub(crate) fn of(
        kernel: Box<dyn Kernel>,
        groups: impl IntoIterator<Item = Vec<Ask>>,
        options: &Options,
    ) -> OwnCounters {
        let access = kernel.user_access();
        let asking = Asking { kernel, access: access.unwrap_or_default() };
        let counters = Counters::of(Box::new(asking), &Target::CurrentThread, groups, options);
        let pages = counters
            .groups()
            .iter()
            .map(|group| match access {
                Err(reason) => GroupPages::none(reason),
                Ok(_) if group.place != Place::CurrentThread => GroupPages::none(NoUserRead::Shared),
                Ok(_) => GroupPages::map(counters.kernel(), group.members().iter().map(|m| m.fd.as_fd())),
            })
            .collect();
        OwnCounters { pages, counters, cost: None, thread: PhantomData }
    }

    /// The same counters for everything that does not read them.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Makes the memory for reads of these counters.
    pub fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Starts counting, and measures what a read costs: a few hundred reads, less than a millisecond.
    ///
    /// A group which the kernel does not start is marked: its events give a reason from then on.
    pub fn enable(&mut self) {
        self.counters.enable();
        let mut snapshots = (self.snapshot(), self.snapshot());
        let events = self.counters.events().len();
        let system_call = cost::measure(&mut snapshots, events, |into| self.counters.read(into));
        let chosen = cost::measure(&mut snapshots, events, |into| self.read(into));
        self.cost = Some(ReadCosts { chosen, system_call });
    }

    /// Reads all counters: no allocation, no panic, and no system call for a group in user space.
    ///
    /// `into` must come from [`snapshot`](Self::snapshot) of these counters. The counts of one group belong
    /// to one moment, however they were read. Where a read fails, every interval that uses this snapshot
    /// gives the reason for the events concerned.
    pub fn read(&mut self, into: &mut Snapshot) {
        let pages = &mut self.pages;
        self.counters
            .read_by(into, |group, bytes| pages.get_mut(group).is_some_and(|pages| pages.read(bytes)));
    }

    /// Reads all counters by read(2), whether or not there is a faster way; to compare the two.
    pub fn read_by_system_call(&mut self, into: &mut Snapshot) {
        self.counters.read(into);
    }

    /// What was counted from `start` to `end`, as [`Counters::interval`] tells it.
    pub fn interval(&self, start: &Snapshot, end: &Snapshot) -> Vec<Reading> {
        self.counters.interval(start, end)
    }

    /// How the event at `index` of the list was read the last time; before that, how it would be tried.
    ///
    /// `None`: the event is not open, and [`interval`](Self::interval) gives the reason. An event of several
    /// groups is read from user space if all of them are.
    pub fn how(&self, index: usize) -> Option<ReadPath> {
        let groups = self.counters.groups_of(index);
        let mut paths = groups.filter_map(|group| self.pages.get(group)).map(GroupPages::path);
        let first = paths.next()?;
        Some(paths.find(|path| *path != ReadPath::UserSpace).unwrap_or(first))
    }

    /// What a read of these counters costs, measured by [`enable`](Self::enable); `None` before that.
    pub fn read_cost(&self) -> Option<&ReadCosts> {
        self.cost.as_ref()
    }
}
