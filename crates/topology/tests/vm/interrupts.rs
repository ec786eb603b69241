//! Interrupts that are steered, and where they are served then.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tailcore_topology::{CpuSet, SteerOutcome, SteeredInterrupts, interrupt_affinity};

use crate::guest::in_guest;

/// The interrupt of the serial line on which this is printed: it comes when a test wants it to.
const SERIAL: u32 = 4;
/// The interrupt of the timer, which the kernel does not let anybody move.
const TIMER: u32 = 0;

/// How often each logical CPU has served the serial line, from `/proc/interrupts`.
fn served() -> Vec<u64> {
    let table = fs::read_to_string("/proc/interrupts").unwrap();
    let begin = format!("{SERIAL}:");
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(&begin)).unwrap();
    line.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

#[test]
fn a_steered_interrupt_is_served_where_it_was_steered_to() {
    if !in_guest() {
        return;
    }
    let root = Path::new("/");
    let former = interrupt_affinity(root, SERIAL).unwrap();
    // Two CPUs, so that one of them is another than before.
    for cpu in [5, 6] {
        let there = CpuSet::from_iter([cpu]);
        let steered = SteeredInterrupts::steer(root, &[SERIAL], &there).unwrap();
        let moved = SteerOutcome::Moved { former: former.clone() };
        assert_eq!(steered.outcomes()[&SERIAL], moved);
        assert_eq!(interrupt_affinity(root, SERIAL).unwrap(), there);
        let before = served()[cpu as usize];
        // The first may still be on its way to another CPU. Only the guest's own limit ends a failure.
        while served()[cpu as usize] == before {
            io::stderr().write_all(b"................").unwrap();
        }
        steered.restore().unwrap();
        assert_eq!(interrupt_affinity(root, SERIAL).unwrap(), former);
    }
}

#[test]
fn an_interrupt_that_belongs_to_the_kernel_stays() {
    if !in_guest() {
        return;
    }
    let steered = SteeredInterrupts::steer(Path::new("/"), &[TIMER, 200], &CpuSet::from_iter([3])).unwrap();
    assert_eq!(steered.outcomes()[&TIMER], SteerOutcome::Managed);
    assert_eq!(steered.outcomes()[&200], SteerOutcome::Gone);
}
