//! The raw read(2), our ways of reading, and the parts of them.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use tailcore_pmu::{
    Counters, Errno, Event, EventAttr, Kernel, Linux, NoUserRead, Outcome, OwnCounters, PageState, Place,
    SimulatedPage, Snapshot, SystemFacts, Target, UserAccess, UserPage,
};

use crate::contender::{Contender, Values};
use crate::events::NAMES;

/// The bytes of the group: the number of members and two times, then the values.
const GROUP_BYTES: usize = (3 + NAMES.len()) * 8;
/// `PERF_COUNT_SW_*` of the events, in their order.
const CONFIGS: [u64; NAMES.len()] = [1, 2, 3, 4, 5, 6, 7, 8];

fn events() -> Vec<Event> {
    NAMES.iter().map(|name| name.parse().expect("it is an event")).collect()
}

/// Why there is nothing to compare, if an event does not count here.
pub(crate) fn absence() -> Option<String> {
    let (counters, start, end) = measured();
    let readings = counters.interval(&start, &end);
    let absent = readings.into_iter().find(|reading| !matches!(reading.outcome, Outcome::Counted { .. }))?;
    Some(format!("{}: {:?}", absent.event, absent.outcome))
}

/// Counters that run, with an interval.
fn measured() -> (Counters, Snapshot, Snapshot) {
    let mut counters = Counters::open(Target::CurrentThread, &events());
    counters.enable();
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    counters.read(&mut end);
    (counters, start, end)
}

/// The raw read(2) comes first: it is what the others are compared with.
pub(crate) fn contenders() -> Vec<Contender> {
    vec![raw(), counters_alone(), counters(), own_counters()]
}

fn raw() -> Contender {
    let attr = |config, disabled| EventAttr { type_: 1, config, disabled, ..EventAttr::default() };
    let leader = Linux.open(&attr(CONFIGS[0], true), &Place::CurrentThread, None).expect("it opens");
    let open = |config: &u64| Linux.open(&attr(*config, false), &Place::CurrentThread, Some(leader.as_fd()));
    let members: Vec<OwnedFd> = CONFIGS[1..].iter().map(|config| open(config).expect("it opens")).collect();
    Linux.enable(leader.as_fd()).expect("they start");
    let mut leader = File::from(leader);
    Contender::new("**the raw read(2)**, and its words", move || {
        let _open = &members;
        let mut bytes = [0; GROUP_BYTES];
        let got = leader.read(&mut bytes).expect("it can be read");
        assert_eq!(got, GROUP_BYTES);
        let (words, _) = bytes.as_chunks();
        std::array::from_fn(|event| u64::from_ne_bytes(words[3 + event]))
    })
}

fn counters_alone() -> Contender {
    let (mut counters, _, mut snapshot) = measured();
    Contender::new("`Counters::read`, and two totals", move || {
        counters.read(&mut snapshot);
        // What the check needs: this is about reading, not about looking at it.
        let (clock, faults) = (count(&snapshot, 0), count(&snapshot, 1));
        [clock, faults, 0, 0, 0, 0, 0, 0]
    })
}

fn counters() -> Contender {
    let (mut counters, _, mut snapshot) = measured();
    Contender::new("`Counters::read`, and all totals", move || {
        counters.read(&mut snapshot);
        std::array::from_fn(|event| count(&snapshot, event))
    })
}

fn own_counters() -> Contender {
    let mut own = OwnCounters::open(&events());
    own.enable();
    let mut snapshot = own.snapshot();
    Contender::new("`OwnCounters::read` by read(2), and all totals", move || {
        own.read(&mut snapshot);
        std::array::from_fn(|event| count(&snapshot, event))
    })
}

fn count(snapshot: &Snapshot, event: usize) -> u64 {
    snapshot.totals(event).expect("it counts").count
}

/// What is done beside the system call: interval arithmetic of all events, differences of all totals, and a
/// read with and without asking pages that say no.
pub(crate) fn parts() -> Vec<Contender> {
    let (counters, start, end) = measured();
    let outcomes = Contender::new("outcomes", move || {
        std::array::from_fn(|event| match counters.outcome(event, &start, &end) {
            Outcome::Counted { count } => count,
            absent => panic!("{absent:?}"),
        })
    });
    let (_, start, end) = measured();
    let differences = Contender::new("differences", move || {
        std::array::from_fn(|event| count(&end, event) - count(&start, event))
    });
    let (mut own, mut snapshot) = idle();
    let asking = Contender::new("asking", move || {
        own.read(&mut snapshot);
        Values::default()
    });
    let (mut own, mut snapshot) = idle();
    let not_asking = Contender::new("not asking", move || {
        own.read_by_system_call(&mut snapshot);
        Values::default()
    });
    vec![outcomes, differences, asking, not_asking]
}

fn idle() -> (OwnCounters, Snapshot) {
    let own = OwnCounters::open_with(Idle, &events());
    let snapshot = own.snapshot();
    assert!(matches!(own.how(0), Some(tailcore_pmu::ReadPath::UserSpace)), "pages are tried");
    (own, snapshot)
}

/// A kernel whose reads cost nothing, and whose pages say that no register counts.
#[derive(Debug)]
struct Idle;

impl Kernel for Idle {
    fn open(&self, _: &EventAttr, _: &Place, _: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
        Ok(File::open("/dev/null").expect("it is everywhere").into())
    }

    fn enable(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    fn read(&self, _: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        buffer[..8].copy_from_slice(&(NAMES.len() as u64).to_ne_bytes());
        Ok(buffer.len())
    }

    fn facts(&self) -> SystemFacts {
        SystemFacts::default()
    }

    fn threads(&self, _: u32) -> Result<Vec<u32>, Errno> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        Ok(vec![0])
    }

    fn work(&self) -> Option<u64> {
        None
    }

    fn user_access(&self) -> Result<UserAccess, NoUserRead> {
        Ok(UserAccess::default())
    }

    fn map(&self, _: BorrowedFd<'_>) -> Result<UserPage, Errno> {
        let page = SimulatedPage::default();
        page.write(&PageState { readable: true, ..PageState::default() });
        Ok(UserPage::simulated(Arc::new(page)))
    }
}
