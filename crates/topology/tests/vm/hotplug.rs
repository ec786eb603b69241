//! Logical CPUs that are switched off and on again.

use tailcore_topology::{CpuSet, ExclusionReason, PinError, PinPolicy, PlacementError, Role, Topology};
use tailcore_topology::{pin_current_thread, place};

use crate::guest::{Switched, cpus, in_guest, in_thread_of_its_own, read};

/// The reason for which CPUs may not be used, checked to be the only one.
#[track_caller]
fn assert_all_excluded_offline(machine: &Topology, offline: &str) {
    let excluded: Vec<_> = machine.excluded().iter().map(|part| (&part.cpus, &part.reason)).collect();
    assert_eq!(excluded, [(&cpus(offline), &ExclusionReason::Offline)]);
    assert_eq!(*machine.offline(), cpus(offline));
}

#[test]
fn a_cpu_that_is_switched_off_is_in_no_part_of_the_machine() {
    if !in_guest() {
        return;
    }
    let before = read();
    let off = Switched::cpu_off(1);
    let machine = read();
    assert_all_excluded_offline(&machine, "1");
    assert_eq!(*machine.present(), cpus("0-7"));
    assert_eq!((machine.online(), machine.allowed()), (&cpus("0,2-7"), &cpus("0,2-7")));
    assert_eq!(machine.cores()[0].cpus, cpus("0"));
    assert_eq!(machine.smt_siblings(0), CpuSet::new());
    assert_eq!(machine.packages()[0].cpus, cpus("0,2-3"));
    assert_eq!(machine.numa_nodes()[0].cpus, cpus("0,2-3"));
    assert!(machine.caches().iter().all(|cache| !cache.cpus.contains(1)));
    drop(off);
    assert_eq!(read(), before);
}

#[test]
fn no_thread_gets_to_a_cpu_that_is_switched_off() {
    if !in_guest() {
        return;
    }
    let _off = Switched::cpu_off(1);
    let refused = place(&read(), &PinPolicy::List(cpus("1")), &[Role::Server]).unwrap_err();
    assert!(matches!(refused, PlacementError::Offline { cpu: 1, .. }), "{refused}");
    let refused = in_thread_of_its_own(|| pin_current_thread(1)).unwrap_err();
    assert!(matches!(refused, PinError::Refused { .. }), "{refused}");
}

#[test]
fn without_smt_every_core_is_one_cpu() {
    if !in_guest() {
        return;
    }
    let before = read();
    let off = Switched::smt_off();
    let machine = read();
    assert_eq!(machine.smt_control(), Some("off"));
    assert_all_excluded_offline(&machine, "1,3,5,7");
    let cores: Vec<_> = machine.cores().iter().map(|core| core.cpus.to_string()).collect();
    assert_eq!(cores, ["0", "2", "4", "6"]);
    drop(off);
    assert_eq!(read(), before);
}
