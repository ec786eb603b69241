//! Events by name, and those that count nothing.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tailcore_pmu::Outcome;
use tailcore_pmu::sysfs::{PmuKind, Pmus};

use crate::guest::{PMU, counting, exact, in_guest, measure};
use crate::sys::spin;

#[test]
fn events_that_this_pmu_lacks_are_unsupported_and_the_others_count() {
    if !in_guest(PMU) {
        return;
    }
    let lacking =
        "cache-misses,branch-misses,L1-dcache-load-misses,llc-misses,armv8_pmuv3/l1d_cache/,cpu/r8/";
    let mut counters = counting(&format!("{lacking},instructions:u"));
    let readings = measure(&mut counters, || spin(1_000));
    let (instructions, lacking) = readings.split_last().unwrap();
    assert!(matches!(instructions.outcome, Outcome::Counted { count } if count > 2_000), "{instructions:?}");
    for reading in lacking {
        assert!(matches!(reading.outcome, Outcome::Unsupported { .. }), "{reading:?}");
        println!("{}: {:?}", reading.event, reading.outcome);
    }
}

#[test]
fn what_the_pmu_names_is_what_it_counts() {
    if !in_guest(PMU) {
        return;
    }
    let pmus = Pmus::read(Path::new("/"));
    let pmu = pmus.get("armv8_pmuv3").unwrap();
    assert_eq!((pmu.kind(), pmu.cpus()), (PmuKind::Core, Some(&[0][..])));
    let code = |name: &str| pmu.encode(&name.parse().unwrap()).unwrap().config;
    let names: Vec<_> = pmu.events().keys().map(String::as_str).collect();
    assert_eq!(names, ["cpu_cycles", "inst_retired", "stall", "stall_backend", "stall_frontend"]);
    assert_eq!((code("cpu_cycles"), code("inst_retired"), code("event=0xffff")), (0x11, 0x8, 0xffff));

    let list: Vec<_> = names.iter().map(|name| format!("armv8_pmuv3/{name}/u")).collect();
    let mut counters = counting(&format!("cycles:u,instructions:u,{}", list.join(",")));
    let counts = exact::<7>(&measure(&mut counters, || spin(1_000)));
    assert_eq!(counts[2..], [counts[0], counts[1], 0, 0, 0]);
    assert!(counts[1] > 2_000, "{counts:?}");
}

#[test]
fn places_in_the_kernel_are_counted_by_name() {
    if !in_guest(PMU) {
        return;
    }
    let mut counters = counting("raw_syscalls:sys_enter,sched:sched_switch,context-switches");
    // Each is one call, and this thread has the machine to itself.
    let work = || (0..1_000).for_each(|_| thread::yield_now());
    let [calls, switches, again] = exact(&measure(&mut counters, work));
    assert!((1_000..1_010).contains(&calls), "{calls}");
    assert_eq!(switches, again);
    let sleep = || thread::sleep(Duration::from_millis(1));
    let [_, switches, again] = exact(&measure(&mut counters, sleep));
    assert!(switches == again && switches > 0, "{switches} {again}");
}
