//! Steering of interrupts, over trees of files that stand for `/proc/irq`. No interrupt of this
//! machine is touched, except by the test that has to be asked for.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tailcore_topology::{CpuSet, SteerError, SteerOutcome, SteeredInterrupts, interrupt_affinity};

use crate::fixture::Machine;
use crate::pinning::{CHILD, child_test, say_ready_and_wait_for_the_end};

/// Interrupts with these lists.
fn machine(lists: &[(u32, &str)]) -> Machine {
    let machine = Machine::empty();
    for (irq, list) in lists {
        machine.file(&format!("proc/irq/{irq}/smp_affinity_list"), format!("{list}\n"));
    }
    machine
}

fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

fn list(machine: &Machine, irq: u32) -> String {
    fs::read_to_string(machine.path(&format!("proc/irq/{irq}/smp_affinity_list"))).unwrap()
}

fn moved(former: &str) -> SteerOutcome {
    SteerOutcome::Moved { former: cpus(former) }
}

#[test]
fn interrupts_move_and_come_back_when_dropped() {
    let machine = machine(&[(24, "0-127"), (25, "3"), (26, "0")]);
    {
        let steered = SteeredInterrupts::steer(machine.root(), &[26, 25, 24, 25, 99], &cpus("0")).unwrap();
        let outcomes = steered.outcomes().iter().map(|(&irq, outcome)| (irq, outcome.clone()));
        let expected = [
            (24, moved("0-127")),
            (25, moved("3")),
            (26, SteerOutcome::AlreadyThere),
            (99, SteerOutcome::Gone),
        ];
        assert!(outcomes.eq(expected), "{steered:?}");
        assert_eq!([24, 25, 26].map(|irq| list(&machine, irq)), ["0\n", "0\n", "0\n"]);
    }
    assert_eq!([24, 25, 26].map(|irq| list(&machine, irq)), ["0-127\n", "3\n", "0\n"]);
    assert!(!machine.path("proc/irq/99").exists(), "nothing is made that was not there");
}

#[test]
fn restoring_says_that_it_worked_and_forgives_an_interrupt_that_has_gone() {
    let machine = machine(&[(24, "0-3"), (25, "0-3")]);
    let steered = SteeredInterrupts::steer(machine.root(), &[24, 25], &cpus("2")).unwrap();
    assert_eq!(interrupt_affinity(machine.root(), 25).unwrap(), cpus("2"));
    machine.remove("proc/irq/24");
    steered.restore().unwrap();
    assert_eq!(list(&machine, 25), "0-3\n");
    assert!(matches!(interrupt_affinity(machine.root(), 24), Err(SteerError::Gone { irq: 24, .. })));
}

#[test]
fn an_interrupt_is_steered_once_at_a_time() {
    let machine = machine(&[(24, "0-3"), (25, "0-3")]);
    let steer = |irqs: &[u32], list| SteeredInterrupts::steer(machine.root(), irqs, &cpus(list));
    let first = steer(&[24], "1").unwrap();
    let error = steer(&[25, 24], "2").unwrap_err();
    assert!(matches!(error, SteerError::Steered { irq: 24 }), "{error}");
    assert_eq!([list(&machine, 24), list(&machine, 25)], ["1\n", "0-3\n"]);
    drop(first);
    steer(&[25, 24], "2").unwrap().restore().unwrap();
    assert_eq!([list(&machine, 24), list(&machine, 25)], ["0-3\n", "0-3\n"]);
}

#[test]
fn what_was_moved_before_a_refusal_is_put_back() {
    // A list that can be read and never written, not even by root.
    let online = Path::new("/sys/devices/system/cpu/online");
    let Ok(readable) = fs::read_to_string(online) else {
        skipped!("what_was_moved_before_a_refusal_is_put_back: there is no {}", online.display());
        return;
    };
    let machine = machine(&[(24, "5"), (26, "6")]);
    fs::create_dir(machine.path("proc/irq/25")).unwrap();
    symlink(online, machine.path("proc/irq/25/smp_affinity_list")).unwrap();
    let error = SteeredInterrupts::steer(machine.root(), &[24, 25, 26], &cpus("1048575")).unwrap_err();
    assert!(
        matches!(&error, SteerError::Refused { path, .. } if path.ends_with("25/smp_affinity_list")),
        "{error}"
    );
    assert!(error.to_string().contains("run as root"), "{error}");
    assert_eq!([24, 25, 26].map(|irq| list(&machine, irq)), ["5\n".to_owned(), readable, "6\n".to_owned()]);
}

#[test]
fn what_cannot_be_restored_is_listed() {
    let machine = machine(&[(24, "5"), (25, "6")]);
    let steered = SteeredInterrupts::steer(machine.root(), &[24, 25], &cpus("0")).unwrap();
    machine.remove("proc/irq/25/smp_affinity_list");
    fs::create_dir(machine.path("proc/irq/25/smp_affinity_list")).unwrap();
    let error = steered.restore().unwrap_err();
    let SteerError::NotRestored { left } = &error else { panic!("{error}") };
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].former, cpus("6"));
    assert!(error.to_string().contains("`6` to "), "{error}");
    assert_eq!(list(&machine, 24), "5\n", "the other one is restored all the same");
}

#[test]
fn nothing_is_moved_when_a_list_makes_no_sense() {
    let machine = machine(&[(24, "5"), (25, "x")]);
    let error = SteeredInterrupts::steer(machine.root(), &[24, 25], &cpus("0")).unwrap_err();
    assert!(matches!(error, SteerError::Malformed { .. }), "{error}");
    let empty = SteeredInterrupts::steer(machine.root(), &[24], &CpuSet::new());
    assert!(matches!(empty, Err(SteerError::Empty)));
    assert_eq!(list(&machine, 24), "5\n");
}

#[test]
#[ignore = "the child process of another test"]
fn child_that_steers() {
    let Some(root) = env::var_os(CHILD) else { return };
    let _steered = SteeredInterrupts::steer(Path::new(&root), &[24, 25], &cpus("0")).unwrap();
    say_ready_and_wait_for_the_end();
}

#[test]
fn interrupts_come_back_when_the_process_is_killed() {
    // Spaces and quotes in the path, because a shell is at work.
    let machine = machine(&[(24, "0-7"), (25, "4,6")]);
    let root = machine.path("a 'root'; $(of) \"mine\"");
    fs::create_dir(&root).unwrap();
    fs::rename(machine.path("proc"), root.join("proc")).unwrap();
    let lists = || [24, 25].map(|irq| interrupt_affinity(&root, irq).unwrap_or_default().to_string());

    let mut child = child_test("steering::child_that_steers", &root);
    assert_eq!(lists(), ["0", "0"]);
    child.kill().unwrap(); // SIGKILL: nothing of the child runs any more.
    child.wait().unwrap();
    // The limit is for a watcher that never acts, not for its speed.
    let end = Instant::now() + Duration::from_secs(60);
    while lists() != ["0-7", "4,6"] {
        assert!(Instant::now() < end, "{:?}", lists());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn interrupts_are_back_before_a_process_that_steered_them_ends() {
    let machine = machine(&[(24, "0-7"), (25, "4,6")]);
    let mut child = child_test("steering::child_that_steers", machine.root());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!([24, 25].map(|irq| list(&machine, irq)), ["0-7\n", "4,6\n"]);
}

/// Needs root and moves an interrupt of this machine for a moment: name it in
/// `TAILCORE_TEST_IRQ` and run with `--ignored`.
#[test]
#[ignore = "moves an interrupt of this machine"]
fn a_real_interrupt_moves_and_comes_back() {
    let Some(irq) = env::var("TAILCORE_TEST_IRQ").ok().and_then(|irq| irq.parse().ok()) else {
        skipped!("a_real_interrupt_moves_and_comes_back: TAILCORE_TEST_IRQ names none");
        return;
    };
    let root = Path::new("/");
    let before = interrupt_affinity(root, irq).unwrap();
    let target: CpuSet = before.iter().take(1).collect();
    let steered = SteeredInterrupts::steer(root, &[irq], &target).unwrap();
    println!("{:?}", steered.outcomes());
    if steered.outcomes()[&irq] != SteerOutcome::Managed {
        assert_eq!(interrupt_affinity(root, irq).unwrap(), target);
    }
    steered.restore().unwrap();
    assert_eq!(interrupt_affinity(root, irq).unwrap(), before);
}
