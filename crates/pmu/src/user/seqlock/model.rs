//! The reader against a writer on another thread, under the model checker `loom`: every interleaving, and
//! every value that the memory model lets a load give.
//!
//! Run by `RUSTFLAGS="--cfg loom" cargo test -p tailcore-pmu --lib --release seqlock::model`; it takes some
//! seconds, because all of the model is explored. The writer of real
//! pages is the kernel on the same CPU, which is a special case: it is never interrupted by the reader.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread;

use super::*;
use crate::user::{PageClock, PageState};

const COUNTING: PageState = PageState {
    compat_version: 0,
    index: 1,
    offset: 10,
    time_enabled_ns: 10,
    time_running_ns: 10,
    readable: true,
    width_bits: 64,
    clock: Some(PageClock { mult: 1, shift: 0, offset_ns: 0, short: None }),
};

struct Counter {
    page: Page,
    register: AtomicU64,
}

impl Counter {
    fn new() -> Counter {
        let page = Page::default();
        page.write(|page| page.set(&COUNTING));
        Counter { page, register: AtomicU64::new(0) }
    }
}

impl Source for Counter {
    fn page(&self) -> &Page {
        &self.page
    }

    fn settle(&self) {}

    fn cycles(&self) -> u64 {
        0
    }

    fn counter(&self, index: u32) -> Option<u64> {
        assert_ne!(index, 0, "a register was read that the page does not name");
        Some(self.register.load(Relaxed))
    }
}

/// What a reader beside `write` may get; `None` is a refusal.
fn outcomes<const N: usize>(write: fn(&[Counter; N]), allowed: &'static [Option<[u64; N]>]) {
    loom::model(move || {
        let group = Arc::new(std::array::from_fn(|_| Counter::new()));
        let writer = thread::spawn({
            let group = Arc::clone(&group);
            move || write(&group)
        });
        let mut counts = [0; N];
        let seen = read_group(&*group, &mut counts).ok().map(|_| counts);
        assert!(allowed.contains(&seen), "{seen:?}");
        writer.join().unwrap();
    });
}

#[test]
fn offset_and_register_belong_to_one_state() {
    outcomes(
        |[counter]| {
            counter.page.write(|page| {
                page.set_offset(100);
                counter.register.store(1, Relaxed);
            });
        },
        &[None, Some([10]), Some([101])],
    );
}

#[test]
fn a_state_between_two_writes_is_whole_too() {
    outcomes(
        |[counter]| {
            for offset in [100, 200] {
                counter.page.write(|page| {
                    page.set_offset(offset);
                    counter.register.store(offset, Relaxed);
                });
            }
        },
        &[None, Some([10]), Some([200]), Some([400])],
    );
}

#[test]
fn the_members_of_a_group_belong_to_one_state() {
    outcomes(
        |[leader, member]| {
            leader.page.write(|leader| {
                member.page.write(|member| {
                    leader.set_offset(100);
                    member.set_offset(200);
                });
            });
        },
        &[None, Some([10, 10]), Some([100, 200])],
    );
}

/// As an overflow of one counter does.
#[test]
fn the_state_of_one_member_is_whole_when_it_changes_alone() {
    outcomes(
        |[_, member]| {
            member.page.write(|page| {
                page.set_offset(100);
                member.register.store(1, Relaxed);
            });
        },
        &[None, Some([10, 10]), Some([10, 101])],
    );
}
