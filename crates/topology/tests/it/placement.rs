//! From roles to logical CPUs, over built trees.

use tailcore_topology::Role::{self, Client, Server};
use tailcore_topology::{PlacementError, place};

use crate::fixture::{CPU, Machine};

fn try_place(machine: &Machine, policy: &str, roles: &[Role]) -> Result<Vec<u32>, PlacementError> {
    let policy = policy.parse().expect("a policy");
    let placed = place(&machine.read(), &policy, roles)?;
    assert_eq!(placed.len(), roles.len());
    Ok(placed.into_iter().flatten().collect())
}

#[track_caller]
fn assert_placed(machine: &Machine, roles: &[Role], expected: &[u32]) {
    assert_eq!(try_place(machine, "auto", roles).unwrap(), expected);
}

#[test]
fn two_cpus_keep_the_server_off_cpu_0() {
    let machine = Machine::of_cores(&["0", "1"]);
    assert_placed(&machine, &[Server, Client], &[1, 0]);
    assert_placed(&machine, &[Client, Server], &[0, 1]);
    assert_placed(&machine, &[Client], &[1]);
    assert_placed(&machine, &[], &[]);
}

#[test]
fn one_cpu_is_enough_for_one_role_only() {
    let machine = Machine::of_cores(&["0"]);
    assert_placed(&machine, &[Server], &[0]);
    let error = try_place(&machine, "auto", &[Server, Client]).unwrap_err();
    let expected = PlacementError::NotEnough { needed: 2, available: 1 };
    assert_eq!(error, expected);
}

#[test]
fn every_core_is_used_before_any_sibling() {
    let machine = Machine::two_packages(); // cores 0,4 1,5 2,6 3,7
    assert_placed(&machine, &[Client, Client, Server, Server], &[3, 0, 1, 2]);
    let all = [Server; 8];
    assert_placed(&machine, &all, &[1, 2, 3, 0, 5, 6, 7, 4]);
    let nine = try_place(&machine, "auto", &[Client; 9]).unwrap_err();
    let expected = PlacementError::NotEnough { needed: 9, available: 8 };
    assert_eq!(nine, expected);
}

#[test]
fn the_core_of_cpu_0_is_last_even_through_its_sibling() {
    let machine = Machine::two_packages();
    machine.allowed("4-5");
    assert_placed(&machine, &[Server, Client], &[5, 4]);
}

#[test]
fn the_lowest_allowed_cpu_stands_for_its_core() {
    let machine = Machine::two_packages();
    machine.allowed("0,5-6");
    assert_placed(&machine, &[Server, Client, Client], &[5, 6, 0]);
}

#[test]
fn isolated_cpus_are_left_until_nothing_else_is() {
    let machine = Machine::of_cores(&["0", "1", "2"]);
    machine.file(&format!("{CPU}/isolated"), "1\n");
    assert_placed(&machine, &[Server, Client], &[2, 0]);
    assert_placed(&machine, &[Server, Client, Client], &[2, 0, 1]);
    machine.allowed("1");
    assert_placed(&machine, &[Server], &[1]);
}

#[test]
fn cpus_of_unknown_core_count_as_cores() {
    let machine = Machine::bare(3);
    assert_placed(&machine, &[Server, Server, Client], &[1, 2, 0]);
}

#[test]
fn none_pins_nobody() {
    let machine = Machine::of_cores(&["0"]);
    let policy = "none".parse().unwrap();
    let placed = place(&machine.read(), &policy, &[Server, Client]).unwrap();
    assert_eq!(placed, [None, None]);
}

#[test]
fn a_list_is_taken_in_order_and_never_twice() {
    let machine = Machine::two_packages();
    let placed = try_place(&machine, "6,2,0", &[Client, Server]).unwrap();
    assert_eq!(placed, [0, 2]);
    let error = try_place(&machine, "0-1", &[Client, Server, Server]).unwrap_err();
    let message = "3 pinned threads need a logical CPU each, but only 2 can be had; start fewer \
                   threads, allow or list more CPUs, or use the pin policy `none`";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_listed_cpu_that_cannot_be_used_is_named_with_the_reason() {
    let machine = Machine::of_cores(&["0", "1", "2", "3"]);
    machine.file(&format!("{CPU}/online"), "0-2\n");
    machine.allowed("0,2");
    let message = |list| try_place(&machine, list, &[Server]).unwrap_err().to_string();
    assert!(message("3").starts_with("CPU 3 is offline; "));
    let absent = "CPU 9 does not exist; online CPUs are 0-2; ";
    assert!(message("9").starts_with(absent));
    let outside = "CPU 1 is not in this process's affinity mask; list allowed CPUs (0,2), or widen";
    assert!(message("1").starts_with(outside));
    // Not needed by the one role, but wrong all the same.
    assert!(message("0,9").starts_with(absent));
    assert!(["3", "9", "1"].iter().all(|list| !message(list).contains('\n')));
}
