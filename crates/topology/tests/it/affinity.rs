//! Pinning of threads of this very process, on whatever machine runs the tests. Every test pins
//! threads of its own only, so that the test runner's keep their mask.

use std::thread;

use tailcore_topology::{
    CpuSet, PinError, Topology, current_affinity, current_cpu, current_tid, pin_current_thread,
};

fn in_thread_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().expect("the thread does not panic"))
}

#[test]
fn a_pinned_thread_runs_where_it_was_pinned() {
    let before = current_affinity().unwrap();
    for cpu in &before {
        in_thread_of_its_own(|| {
            pin_current_thread(cpu).unwrap();
            assert_eq!(current_affinity().unwrap(), CpuSet::from_iter([cpu]));
            assert_eq!(current_cpu().unwrap(), cpu);
            // A thread may be pinned anew, and its children inherit the mask.
            let inherited = in_thread_of_its_own(current_affinity).unwrap();
            assert!(inherited.iter().eq([cpu]));
        });
    }
    assert_eq!(current_affinity().unwrap(), before);
}

#[test]
fn what_is_allowed_follows_the_thread_that_reads() {
    let all = Topology::read().unwrap();
    assert_eq!(*all.allowed(), current_affinity().unwrap());
    let cpu = all.allowed().first().unwrap();
    let pinned = in_thread_of_its_own(|| {
        pin_current_thread(cpu).unwrap();
        Topology::read().unwrap()
    });
    assert!(pinned.allowed().iter().eq([cpu]));
    assert_eq!(pinned.online(), all.online());
}

#[test]
fn a_cpu_that_does_not_exist_is_refused_and_nothing_changes() {
    in_thread_of_its_own(|| {
        let before = current_affinity().unwrap();
        let error = pin_current_thread(1_048_575).unwrap_err();
        assert!(matches!(&error, PinError::Refused { cpus, tid, .. }
            if cpus.iter().eq([1_048_575]) && *tid == current_tid()));
        assert!(error.to_string().contains("CPU 1048575"), "{error}");
        assert!(matches!(pin_current_thread(u32::MAX), Err(PinError::OutOfRange { .. })));
        assert_eq!(current_affinity().unwrap(), before);
    });
}

#[test]
fn every_thread_has_its_own_id() {
    assert_ne!(current_tid(), in_thread_of_its_own(current_tid));
    assert_eq!(current_tid(), current_tid());
}
