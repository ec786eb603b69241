//! Control groups: cpusets that narrow the process, and quotas.

use tailcore_topology::{ExclusionReason, PinError, PinPolicy, PlacementError, Quota, Role};
use tailcore_topology::{current_affinity, pin_current_thread, place};

use crate::guest::{Group, cpus, in_guest, in_thread_of_its_own, read};

#[test]
fn a_cpuset_narrows_what_is_allowed_and_is_named_as_the_reason() {
    if !in_guest() {
        return;
    }
    let before = read();
    let group = Group::enter("/narrow", &[("cpuset.cpus", "2-3")]);
    let machine = read();
    assert_eq!((machine.online(), machine.allowed()), (&cpus("0-7"), &cpus("2-3")));
    let by_group = ExclusionReason::NotInCpuset { cgroup: "/narrow".to_owned() };
    let excluded: Vec<_> = machine.excluded().iter().map(|part| (&part.cpus, &part.reason)).collect();
    assert_eq!(excluded, [(&cpus("0-1,4-7"), &by_group)]);

    let pinned = in_thread_of_its_own(|| pin_current_thread(2).map(|()| read())).unwrap();
    let excluded: Vec<_> = pinned.excluded().iter().map(|part| (&part.cpus, &part.reason)).collect();
    let by_mask = ExclusionReason::NotInAffinityMask;
    assert_eq!(excluded, [(&cpus("0-1,4-7"), &by_group), (&cpus("3"), &by_mask)]);
    drop(group);
    assert_eq!(read(), before);
}

#[test]
fn no_thread_gets_out_of_its_cpuset() {
    if !in_guest() {
        return;
    }
    let _group = Group::enter("/narrow", &[("cpuset.cpus", "2-3")]);
    in_thread_of_its_own(|| {
        let refused = pin_current_thread(4).unwrap_err();
        assert!(matches!(refused, PinError::Refused { .. }), "{refused}");
        assert_eq!(current_affinity().unwrap(), cpus("2-3"));
    });
    let refused = place(&read(), &PinPolicy::List(cpus("3-4")), &[Role::Server]).unwrap_err();
    assert!(matches!(refused, PlacementError::NotAllowed { cpu: 4, .. }), "{refused}");
}

#[test]
fn a_cpuset_narrows_the_memory_as_well() {
    if !in_guest() {
        return;
    }
    let _group = Group::enter("/near", &[("cpuset.mems", "1")]);
    assert_eq!(read().allowed_nodes(), Some(&[1][..]));
}

#[test]
fn a_quota_of_a_group_above_is_found() {
    if !in_guest() {
        return;
    }
    assert_eq!(read().cpu_quota(), &Quota::Unlimited);
    let _group = Group::enter("/outer/inner", &[("cpu.max", "150000 50000")]);
    let machine = read();
    let quota = machine.cpu_quota().limit().unwrap();
    assert_eq!((quota.quota_us, quota.period_us, quota.cgroup.as_str()), (150_000, 50_000, "/outer"));
    assert_eq!(quota.cpus(), 3.0);
    // A quota takes time away, not CPUs.
    assert_eq!(*machine.allowed(), cpus("0-7"));
}
