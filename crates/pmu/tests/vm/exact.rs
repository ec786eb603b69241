//! Counts of work that is known, to the digit.

use tailcore_pmu::{Calibration, calibrate};

use crate::guest::{PMU, counting, exact, in_guest, measure};
use crate::sys::spin;

#[test]
fn a_loop_of_known_length_is_counted_exactly() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting("cycles:u,instructions:u");
    let mut count = |rounds| exact::<2>(&measure(&mut counters, || spin(rounds)));
    // The last is as long as some interrupts, which user mode must not see.
    let [cycles, instructions] = count(1);
    for rounds in [2, 3, 1_000, 10_000_000] {
        let more = 2 * (rounds - 1);
        assert_eq!(count(rounds), [cycles + 2 * more, instructions + more], "{rounds} rounds");
    }
}

#[test]
fn the_same_work_is_counted_the_same_again_and_again() {
    if !in_guest(PMU) {
        return;
    }
    let counts: Vec<[u64; 2]> = (0..20)
        .map(|_| {
            // Opened anew each time, so that nothing of the past can help.
            let mut counters = counting("cycles:u,instructions:u");
            exact(&measure(&mut counters, || spin(100_000)))
        })
        .collect();
    println!("cycles and instructions of 100000 rounds and a read: {:?}", counts[0]);
    assert!(counts.iter().all(|again| *again == counts[0]), "{counts:?}");
}

#[test]
fn members_of_a_group_count_over_the_very_same_instructions() {
    if !in_guest(PMU) {
        return;
    }
    // In kernel mode too, where interrupts make the counts differ from run to run.
    let mut counters = counting("instructions,cycles,r8,r11");
    for rounds in [1, 1_000, 10_000_000] {
        let [instructions, cycles, again, cycles_again] = exact(&measure(&mut counters, || spin(rounds)));
        assert!(instructions > 2 * rounds, "{instructions}");
        assert_eq!([again, cycles, cycles_again], [instructions, 2 * instructions, 2 * instructions]);
    }
}

#[test]
fn user_and_kernel_mode_add_up_to_both() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting("instructions,instructions:u,instructions:k");
    let work = || (0..100).for_each(|_| std::thread::yield_now());
    let [both, user, kernel] = exact(&measure(&mut counters, work));
    assert!(user > 0 && kernel > 0, "{user} and {kernel}");
    assert_eq!(both, user + kernel);
}

#[test]
fn this_pmu_is_sound() {
    if !in_guest(PMU) {
        return;
    }
    let calibration = calibrate();
    let Calibration::Sound { ratio } = calibration else { panic!("{calibration:?}") };
    assert!((1.0..1.1).contains(&ratio), "{ratio}");
}
