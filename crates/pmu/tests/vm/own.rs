//! Reads without a system call.

use std::fs;

use tailcore_pmu::{NoUserRead, OwnCounters, ReadPath, Snapshot};

use crate::guest::{PMU, counting, events, exact, in_guest, measure};
use crate::sys::spin;

const SWITCH: &str = "/proc/sys/kernel/perf_user_access";

/// The switch of such reads in the position on, until dropped; it is off where nobody has touched it.
struct Allowed;

impl Allowed {
    fn now() -> Allowed {
        fs::write(SWITCH, "1").unwrap();
        Allowed
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        fs::write(SWITCH, "0").unwrap();
    }
}

fn counting_own(list: &str) -> OwnCounters {
    let mut counters = OwnCounters::open(&events(list));
    counters.enable();
    counters
}

/// The counts of one interval during which the loop runs.
fn count<const N: usize>(counters: &mut OwnCounters, rounds: u64) -> [u64; N] {
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    spin(rounds);
    counters.read(&mut end);
    exact(&counters.interval(&start, &end))
}

#[test]
fn registers_and_read_give_the_same_counts() {
    if !in_guest(PMU) {
        return;
    }
    let _allowed = Allowed::now();
    let mut own = counting_own("cycles:u,instructions:u,armv8_pmuv3/inst_retired/u");
    let mut by_call = counting("cycles:u,instructions:u,armv8_pmuv3/inst_retired/u");
    let own_base = count::<3>(&mut own, 1);
    let mut count_by_call = |rounds| exact::<3>(&measure(&mut by_call, || spin(rounds)));
    let call_base = count_by_call(1);
    for rounds in [2, 1_000, 10_000_000] {
        let more = 2 * (rounds - 1);
        let more = [2 * more, more, more];
        let grown = |base: [u64; 3]| [0, 1, 2].map(|index| base[index] + more[index]);
        assert_eq!(count(&mut own, rounds), grown(own_base), "{rounds} rounds, from registers");
        assert_eq!(count_by_call(rounds), grown(call_base), "{rounds} rounds, by read");
    }
    let paths: Vec<_> = (0..3).map(|index| own.how(index)).collect();
    assert_eq!(paths, [Some(ReadPath::UserSpace); 3]);
    println!("cycles, instructions, instructions of a read: registers {own_base:?}, read(2) {call_base:?}");
}

#[test]
fn registers_and_read_agree_on_totals_and_times() {
    if !in_guest(PMU) {
        return;
    }
    let _allowed = Allowed::now();
    // One around the other, in all that they do.
    let mut by_call = counting("cycles:u,instructions:u");
    let mut own = counting_own("cycles:u,instructions:u");
    let mut outer = (by_call.snapshot(), by_call.snapshot());
    let mut inner = (own.snapshot(), own.snapshot());
    by_call.read(&mut outer.0);
    own.read(&mut inner.0);
    spin(10_000_000);
    own.read(&mut inner.1);
    by_call.read(&mut outer.1);
    for event in 0..2 {
        assert_eq!(own.how(event), Some(ReadPath::UserSpace));
        let totals = |snapshot: &Snapshot| snapshot.totals(event).unwrap();
        let (first, last, around) = (totals(&inner.0), totals(&inner.1), totals(&outer.1));
        // Totals as such, since a register does not start at 0 and the kernel knows where.
        assert!(first.count < 20_000_000 && last.count > 20_000_000, "{first:?} {last:?}");
        assert!(last.count < around.count, "{last:?} {around:?}");
        let inner_ns = last.enabled_ns - first.enabled_ns;
        let outer_ns = around.enabled_ns - totals(&outer.0).enabled_ns;
        assert!(inner_ns <= outer_ns && outer_ns - inner_ns < 1_000_000, "{inner_ns} {outer_ns}");
        assert_eq!(first.enabled_ns - first.running_ns, last.enabled_ns - last.running_ns);
    }
}

#[test]
fn a_register_read_costs_no_instruction_in_kernel_mode() {
    if !in_guest(PMU) {
        return;
    }
    let _allowed = Allowed::now();
    let mut own = counting_own("instructions:k,instructions:u");
    let least = |counters: &mut OwnCounters| (0..10).map(|_| count::<2>(counters, 1)[0]).min();
    assert_eq!(least(&mut own), Some(0));
    assert_eq!(own.how(0), Some(ReadPath::UserSpace));
}

#[test]
fn counters_that_wrap_in_32_bits_are_read_right() {
    if !in_guest(PMU) {
        return;
    }
    let _allowed = Allowed::now();
    let mut own = counting_own("cycles:u,instructions:u");
    let base = count::<2>(&mut own, 1);
    // The kernel starts a counter of 32 bits in the middle: it wraps after 2^31, and then starts there again.
    let rounds = (1 << 30) + 1;
    let more = 2 * (rounds - 1);
    assert_eq!(count(&mut own, rounds), [base[0] + 2 * more, base[1] + more]);
    assert_eq!(own.how(1), Some(ReadPath::UserSpace));
}

#[test]
fn where_it_is_forbidden_read_counts_the_same() {
    if !in_guest(PMU) {
        return;
    }
    let mut own = counting_own("cycles:u,instructions:u");
    let base = count::<2>(&mut own, 1);
    assert_eq!(count(&mut own, 1_001), [base[0] + 4_000, base[1] + 2_000]);
    let forbidden = ReadPath::SystemCall { reason: NoUserRead::Switch { path: SWITCH, value: 0 } };
    assert_eq!(own.how(0), Some(forbidden));
}

#[test]
fn events_of_the_kernel_are_read_by_call_next_to_registers() {
    if !in_guest(PMU) {
        return;
    }
    let _allowed = Allowed::now();
    let mut own = counting_own("instructions:u,page-faults");
    let [instructions, _] = count::<2>(&mut own, 1_000);
    assert!(instructions >= 2_000, "{instructions}");
    assert_eq!(own.how(0), Some(ReadPath::UserSpace));
    assert!(matches!(own.how(1), Some(ReadPath::SystemCall { .. })), "{:?}", own.how(1));
}
