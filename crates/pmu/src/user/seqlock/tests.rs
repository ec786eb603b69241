//! The reader against counters that change under its hands: at chosen moments, and from another thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use super::*;
use crate::user::{PageClock, PageState};

const CLOCK: PageClock = PageClock { mult: 2, shift: 1, offset_ns: 1000, short: None };

const COUNTING: PageState = PageState {
    compat_version: 0,
    index: 3,
    offset: 100,
    time_enabled_ns: 50,
    time_running_ns: 40,
    readable: true,
    width_bits: 48,
    clock: Some(CLOCK),
};

/// A counter with a register that counts one event per look at it, and a hook that runs before each look.
struct Fake<'a> {
    page: Page,
    register: Cell<u64>,
    reads: Cell<u32>,
    before_read: Box<dyn Fn(&Page) + 'a>,
}

fn fake<'a>(state: &PageState, before_read: impl Fn(&Page) + 'a) -> Fake<'a> {
    let page = Page::default();
    page.write(|page| page.set(state));
    Fake { page, register: Cell::new(7), reads: Cell::new(0), before_read: Box::new(before_read) }
}

fn quiet(state: &PageState) -> Fake<'static> {
    fake(state, |_| {})
}

impl Source for Fake<'_> {
    fn page(&self) -> &Page {
        &self.page
    }

    fn settle(&self) {}

    fn cycles(&self) -> u64 {
        5
    }

    fn counter(&self, index: u32) -> Option<u64> {
        (self.before_read)(&self.page);
        self.reads.set(self.reads.get() + 1);
        (index < 100).then(|| self.register.get())
    }
}

#[test]
fn a_group_has_the_counts_of_its_members_and_the_times_of_its_leader() {
    let member = PageState { offset: 200, time_enabled_ns: 1, time_running_ns: 1, ..COUNTING };
    let group = [quiet(&COUNTING), quiet(&member)];
    let mut counts = [0; 2];
    let times = read_group(&group, &mut counts);
    // 1000 ns of the page's offset and 5 cycles of 1 ns each have passed.
    assert_eq!(times, Ok(Times { enabled_ns: 1055, running_ns: 1045 }));
    assert_eq!(counts, [107, 207]);
}

#[test]
fn a_register_below_zero_lowers_the_count() {
    let group = [quiet(&PageState { width_bits: 32, offset: 1 << 31, ..COUNTING })];
    group[0].register.set(0x8000_0001);
    let mut counts = [0];
    read_group(&group, &mut counts).unwrap();
    assert_eq!(counts, [1]);
}

#[test]
fn what_cannot_be_read_has_a_reason_and_executes_nothing() {
    let cases = [
        (PageState { index: 0, ..COUNTING }, NoUserRead::NotCounting),
        (PageState { readable: false, ..COUNTING }, NoUserRead::NotReadable),
        (PageState { clock: None, ..COUNTING }, NoUserRead::NoClock),
        (PageState::default(), NoUserRead::NotCounting),
    ];
    for (state, reason) in cases {
        let group = [quiet(&state)];
        assert_eq!(read_group(&group, &mut [0]), Err(reason));
        assert_eq!(group[0].reads.get(), 0, "{reason}");
    }
    assert_eq!(read_group::<Fake>(&[], &mut []), Err(NoUserRead::NotCounting));
}

#[test]
fn one_member_without_a_register_sends_the_whole_group_to_the_kernel() {
    for (state, reason) in [
        (PageState { index: 0, ..COUNTING }, NoUserRead::NotCounting),
        (PageState { readable: false, ..COUNTING }, NoUserRead::NotReadable),
        (PageState { index: 100, ..COUNTING }, NoUserRead::NotACount { index: 100 }),
    ] {
        let group = [quiet(&COUNTING), quiet(&state)];
        assert_eq!(read_group(&group, &mut [0; 2]), Err(reason));
    }
}

#[test]
fn a_read_that_was_interrupted_starts_again() {
    let switched = Cell::new(false);
    let interrupt = |page: &Page| {
        if !switched.replace(true) {
            page.write(|page| page.set(&PageState { offset: 5000, index: 4, ..COUNTING }));
        }
    };
    let group = [fake(&COUNTING, interrupt)];
    let mut counts = [0];
    read_group(&group, &mut counts).unwrap();
    assert_eq!((counts, group[0].reads.get()), ([5007], 2));
}

#[test]
fn a_switch_while_a_later_member_is_read_repeats_the_earlier_ones() {
    let leader = quiet(&COUNTING);
    let switched = Cell::new(false);
    let interrupt = |page: &Page| {
        if !switched.replace(true) {
            leader.page.write(|page| page.set_offset(1000));
            page.write(|page| page.set_offset(2000));
        }
    };
    let member = fake(&COUNTING, interrupt);
    let mut counts = [0; 2];
    read_group(&[&leader, &member], &mut counts).unwrap();
    assert_eq!(counts, [1007, 2007]);
}

/// As an overflow of one counter does.
#[test]
fn a_change_of_one_member_repeats_all() {
    for changing in [0, 1] {
        let changed = Cell::new(false);
        let interrupt = |page: &Page| {
            if !changed.replace(true) {
                page.write(|page| page.set_offset(1000));
            }
        };
        let mut group = [quiet(&COUNTING), quiet(&COUNTING)];
        group[changing] = fake(&COUNTING, interrupt);
        let mut counts = [0; 2];
        read_group(&group, &mut counts).unwrap();
        assert_eq!(counts[changing], 1007);
        assert_eq!(counts[1 - changing], 107);
        assert_eq!(group.map(|member| member.reads.get()), [2, 2]);
    }
}

#[test]
fn permission_taken_away_between_two_rounds_is_respected() {
    let interrupt = |page: &Page| page.write(|page| page.set(&PageState { readable: false, ..COUNTING }));
    let group = [fake(&COUNTING, interrupt)];
    assert_eq!(read_group(&group, &mut [0]), Err(NoUserRead::NotReadable));
    assert_eq!(group[0].reads.get(), 1);
}

#[test]
fn endless_interruptions_and_a_stuck_lock_end_at_the_kernel() {
    let restless = [fake(&COUNTING, |page| page.write(|_| {}))];
    assert_eq!(read_group(&restless, &mut [0]), Err(NoUserRead::Unsettled));
    assert_eq!(restless[0].reads.get() as usize, TRIES);

    let stuck = [quiet(&COUNTING)];
    let outcome = Cell::new(None);
    stuck[0].page.write(|_| outcome.set(Some(read_group(&stuck, &mut [0]))));
    assert_eq!(outcome.get(), Some(Err(NoUserRead::Unsettled)));
    assert_eq!(stuck[0].reads.get(), 0);
}

impl<S: Source> Source for &S {
    fn page(&self) -> &Page {
        (*self).page()
    }

    fn settle(&self) {
        (*self).settle();
    }

    fn cycles(&self) -> u64 {
        (*self).cycles()
    }

    fn counter(&self, index: u32) -> Option<u64> {
        (*self).counter(index)
    }
}

/// A counter that a writer on another thread keeps moving.
#[derive(Default)]
struct Moving {
    page: Page,
    register: AtomicU64,
}

impl Source for Moving {
    fn page(&self) -> &Page {
        &self.page
    }

    fn settle(&self) {}

    fn cycles(&self) -> u64 {
        0
    }

    fn counter(&self, _: u32) -> Option<u64> {
        Some(self.register.load(Relaxed))
    }
}

/// In every state the two counts and the two times are the number of that state, so a mixture shows.
#[test]
fn a_reader_never_sees_two_states_of_a_writer_at_work() {
    const MOVES: u64 = 200_000;
    let group = [Moving::default(), Moving::default()];
    let done = AtomicBool::new(false);
    let write = |n: u64| {
        // As a context switch does: both pages are locked before the first is free again.
        let state = PageState {
            offset: n.wrapping_sub(n % 1000),
            time_enabled_ns: n,
            time_running_ns: n,
            clock: Some(PageClock { mult: 1, shift: 0, offset_ns: 0, short: None }),
            ..COUNTING
        };
        group[0].page.write(|leader| {
            group[1].page.write(|member| {
                leader.set(&state);
                group[0].register.store(n % 1000, Relaxed);
                member.set(&state);
                group[1].register.store(n % 1000, Relaxed);
            });
        });
    };
    write(1);
    let check = |counts: &mut [u64; 2]| {
        if let Ok(times) = read_group(&group, counts) {
            let seen = [counts[0], counts[1], times.enabled_ns, times.running_ns];
            assert_eq!(seen, [counts[0]; 4]);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            (2..=MOVES).for_each(write);
            done.store(true, Relaxed);
        });
        let mut counts = [0; 2];
        while !done.load(Relaxed) {
            check(&mut counts);
        }
    });
    let mut counts = [0; 2];
    assert!(read_group(&group, &mut counts).is_ok());
    assert_eq!(counts, [MOVES; 2]);
}
