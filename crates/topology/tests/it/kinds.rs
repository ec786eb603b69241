//! Machines whose cores are not all alike.

use tailcore_topology::{KindEvidence, Topology};

use crate::fixture::{CPU, Machine};

/// Two fast cores of two threads and four slow cores of one, sharing nothing but L3.
fn hybrid() -> Machine {
    Machine::of_cores(&["0,1", "2,3", "4", "5", "6", "7"])
}

fn per_cpu(machine: &Machine, name: &str, value: impl Fn(u32) -> String) {
    for cpu in 0..8 {
        machine.file(&format!("{CPU}/cpu{cpu}/{name}"), format!("{}\n", value(cpu)));
    }
}

fn kinds(topology: &Topology) -> Vec<(String, Option<&str>)> {
    topology.kinds().iter().map(|kind| (kind.cpus.to_string(), kind.name.as_deref())).collect()
}

fn told_by(topology: &Topology) -> Option<KindEvidence> {
    topology.kinds().first().map(|kind| kind.told_by)
}

#[test]
fn nothing_told_is_no_kind() {
    assert_eq!(hybrid().read().kinds(), []);
}

#[test]
fn counting_units_name_the_kinds() {
    let machine = hybrid();
    machine.file("sys/bus/event_source/devices/cpu_core/cpus", "0-3\n");
    machine.file("sys/bus/event_source/devices/cpu_atom/cpus", "4-7\n");
    machine.file("sys/bus/event_source/devices/uncore_imc/cpumask", "0\n");
    per_cpu(&machine, "cpufreq/cpuinfo_max_freq", |cpu| {
        if cpu < 4 { "5000000" } else { "3900000" }.to_owned()
    });
    let topology = machine.read();
    // The least capable first.
    assert_eq!(
        kinds(&topology),
        [("4-7".to_owned(), Some("cpu_atom")), ("0-3".to_owned(), Some("cpu_core"))]
    );
    assert_eq!(told_by(&topology), Some(KindEvidence::CountingUnits));
    assert_eq!(topology.kinds()[1].max_khz, Some(5_000_000));
}

#[test]
fn the_names_of_units_rank_them_where_nothing_else_does() {
    let machine = hybrid();
    machine.file("sys/devices/cpu_core/cpus", "0-3\n");
    machine.file("sys/devices/cpu_atom/cpus", "4-7\n");
    assert_eq!(kinds(&machine.read())[1], ("0-3".to_owned(), Some("cpu_core")));
}

#[test]
fn caches_tell_cores_apart_whose_frequencies_are_close() {
    let machine = hybrid();
    per_cpu(&machine, "cpufreq/cpuinfo_max_freq", |cpu| {
        if cpu < 4 { "3000000" } else { "2800000" }.to_owned()
    });
    assert_eq!(machine.read().kinds().len(), 1);
    per_cpu(&machine, "cache/index0/size", |cpu| if cpu < 4 { "48K" } else { "32K" }.to_owned());
    let topology = machine.read();
    assert_eq!(kinds(&topology), [("4-7".to_owned(), None), ("0-3".to_owned(), None)]);
    assert_eq!(told_by(&topology), Some(KindEvidence::CacheSizes));
}

#[test]
fn one_model_is_one_kind_unless_capacity_says_otherwise() {
    let machine = hybrid();
    per_cpu(&machine, "regs/identification/midr_el1", |_| "0x410fd870".to_owned());
    per_cpu(&machine, "cpufreq/cpuinfo_max_freq", |cpu| {
        if cpu < 4 { "3000000" } else { "2000000" }.to_owned()
    });
    assert_eq!(kinds(&machine.read()), [("0-7".to_owned(), Some("midr 0x410fd870"))]);
    per_cpu(&machine, "cpu_capacity", |cpu| if cpu < 4 { "1024" } else { "446" }.to_owned());
    assert_eq!(told_by(&machine.read()), Some(KindEvidence::Capacity));
}

#[test]
fn units_that_leave_cpus_out_are_no_evidence() {
    let machine = hybrid();
    machine.file("sys/devices/cpu_core/cpus", "0-3\n");
    machine.file("sys/devices/cpu_atom/cpus", "4-5\n");
    let topology = machine.read();
    assert_eq!(topology.kinds(), []);
    let [problem] = topology.problems() else { panic!("{:#?}", topology.problems()) };
    assert!(problem.path.ends_with("sys/devices/cpu_atom/cpus"), "{problem}");
    assert!(problem.message.starts_with("leaves out CPUs 6-7, "), "{problem}");
    machine.file("sys/devices/cpu_atom/cpus", "4-9\n"); // Two are offline.
    assert_eq!((machine.read().kinds().len(), machine.read().problems()), (2, [].as_slice()));
}

#[test]
fn units_that_overlap_are_told_and_no_evidence() {
    let machine = hybrid();
    machine.file("sys/devices/cpu_core/cpus", "0-4\n");
    machine.file("sys/devices/cpu_atom/cpus", "4-7\n");
    let topology = machine.read();
    assert_eq!(topology.kinds(), []);
    let [problem] = topology.problems() else { panic!("{:#?}", topology.problems()) };
    assert!(problem.message.starts_with("claims CPUs 0-4, some of which another unit has"), "{problem}");
}

#[test]
fn units_of_some_cores_only_are_no_problem_on_arm() {
    let machine = hybrid();
    machine.file("sys/bus/event_source/devices/armv8_cortex_a53/cpus", "4-7\n");
    let topology = machine.read();
    assert_eq!((topology.kinds().len(), topology.problems()), (0, [].as_slice()));
}

#[test]
fn what_one_cpu_does_not_tell_is_known_of_the_others() {
    let machine = hybrid();
    machine.file("sys/devices/cpu_core/cpus", "0-3\n");
    machine.file("sys/devices/cpu_atom/cpus", "4-7\n");
    for end in [0, 7] {
        per_cpu(&machine, "cpu_capacity", |cpu| if cpu < 4 { "1024" } else { "446" }.to_owned());
        machine.remove(&format!("{CPU}/cpu{end}/cpu_capacity"));
        let topology = machine.read();
        let capacities: Vec<_> = topology.kinds().iter().map(|kind| kind.capacity).collect();
        assert_eq!(capacities, [Some(446), Some(1024)]);
        let [problem] = topology.problems() else { panic!("{:#?}", topology.problems()) };
        assert!(problem.path.ends_with(format!("cpu{end}/cpu_capacity")), "{problem}");
        assert_eq!(problem.message, format!("is missing for CPU {end}, although other CPUs have it"));
    }
    machine.remove("sys/devices/cpu_core/cpus");
    machine.remove("sys/devices/cpu_atom/cpus");
    // Of which kind the last one is, nothing tells.
    assert_eq!(machine.read().kinds(), []);
}

#[test]
fn a_cpu_that_is_not_governed_is_no_problem() {
    let machine = hybrid();
    machine.file(&format!("{CPU}/cpu7/cpufreq/cpuinfo_max_freq"), "3000000\n");
    let topology = machine.read();
    assert_eq!((topology.kinds().len(), topology.problems()), (0, [].as_slice()));
}

#[test]
fn a_model_register_goes_before_capacity() {
    let machine = hybrid();
    let model =
        |cpu: u32| format!("0x00000000{:08x}", if cpu < 4 { 0x411f_d850 } else { 0x410f_d870 } + cpu % 2);
    per_cpu(&machine, "regs/identification/midr_el1", model);
    per_cpu(&machine, "cpu_capacity", |cpu| (1024 - 100 * cpu).to_string());
    let topology = machine.read();
    assert_eq!(told_by(&topology), Some(KindEvidence::ModelRegister));
    let expected = [("4-7".to_owned(), Some("midr 0x410fd870")), ("0-3".to_owned(), Some("midr 0x411fd850"))];
    assert_eq!(kinds(&topology), expected);
    assert_eq!(topology.kinds()[1].capacity, Some(1024));
}

#[test]
fn capacity_and_frequency_split_at_gaps() {
    let machine = hybrid();
    per_cpu(&machine, "cpufreq/cpuinfo_max_freq", |cpu| (3_000_000 + 10_000 * cpu).to_string());
    assert_eq!(kinds(&machine.read()), [("0-7".to_owned(), None)]);
    per_cpu(&machine, "cpu_capacity", |cpu| if cpu < 4 { "1024" } else { "446" }.to_owned());
    let topology = machine.read();
    assert_eq!(kinds(&topology), [("4-7".to_owned(), None), ("0-3".to_owned(), None)]);
    assert_eq!(told_by(&topology), Some(KindEvidence::Capacity));
}
