//! What names come to on machines that are not at hand, seen by a kernel that notes what it is asked.

use std::fs::{self, File};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tailcore_pmu::{Counters, Errno, Event, EventAttr, Kernel, Machine, Outcome, Place, SystemFacts, Target};

/// Opens everything, and notes it.
#[derive(Debug, Clone)]
struct Noting {
    machine: Arc<Machine>,
    opened: Arc<Mutex<Vec<(EventAttr, Place)>>>,
    cpus: Vec<u32>,
}

impl Kernel for Noting {
    fn open(&self, attr: &EventAttr, place: &Place, _: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
        self.opened.lock().unwrap().push((*attr, place.clone()));
        Ok(File::open("/dev/null").unwrap().into())
    }

    fn enable(&self, _: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    fn read(&self, _: BorrowedFd<'_>, _: &mut [u8]) -> Result<usize, Errno> {
        Ok(0)
    }

    fn facts(&self) -> SystemFacts {
        SystemFacts::default()
    }

    fn threads(&self, pid: u32) -> Result<Vec<u32>, Errno> {
        Ok(vec![pid])
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        Ok(self.cpus.clone())
    }

    fn work(&self) -> Option<u64> {
        None
    }

    fn machine(&self) -> &Machine {
        &self.machine
    }
}

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const PMUS: &str = "sys/bus/event_source/devices";

/// A machine with this processor and these PMUs, each with the fields of an Intel core and a `cpumask`, or none.
fn machine(cpu: (&str, u32, u32), pmus: &[(&str, u32, Option<&str>)]) -> (tempfile::TempDir, Noting) {
    let dir = tempfile::tempdir().unwrap();
    let (vendor, family, model) = cpu;
    let cpuinfo = format!(
        "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nstepping\t: 2\n"
    );
    write(dir.path(), &[("proc/cpuinfo", &cpuinfo)]);
    for (name, type_, cpumask) in pmus {
        let file = |file: &str| format!("{PMUS}/{name}/{file}");
        write(
            dir.path(),
            &[
                (&file("type"), &type_.to_string()),
                (&file("format/event"), "config:0-7\n"),
                (&file("format/umask"), "config:8-15\n"),
                (&file("format/cmask"), "config:24-31\n"),
                (&file("format/inv"), "config:23\n"),
            ],
        );
        match cpumask {
            Some(mask) => write(
                dir.path(),
                &[(&file("cpumask"), mask), (&file("events/cas_count_read"), "event=0x04,umask=0x03")],
            ),
            None if *name != "cpu" => write(dir.path(), &[(&file("cpus"), "0-3")]),
            None => {}
        }
    }
    let machine = Arc::new(Machine::read_from(dir.path()));
    (dir, Noting { machine, opened: Arc::default(), cpus: vec![0] })
}

/// What the kernel is asked for when `name` is opened on the current thread, or the reason why it is not.
fn asked(kernel: &Noting, name: &str) -> Result<Vec<(u32, u64, Place)>, String> {
    kernel.opened.lock().unwrap().clear();
    let event: Event = name.parse().unwrap();
    let counters = Counters::open_with(kernel.clone(), Target::CurrentThread, &[event]);
    let (start, end) = (counters.snapshot(), counters.snapshot());
    let reading = counters.interval(&start, &end).remove(0);
    if let Outcome::Unsupported { reason } | Outcome::Forbidden { reason } = reading.outcome {
        return Err(reason);
    }
    let opened = kernel.opened.lock().unwrap();
    Ok(opened.iter().map(|(attr, place)| (attr.type_, attr.config, place.clone())).collect())
}

fn here(type_: u32, config: u64) -> (u32, u64, Place) {
    (type_, config, Place::CurrentThread)
}

const HASWELL: (&str, u32, u32) = ("GenuineIntel", 6, 0x3f);
const ALDER_LAKE: (&str, u32, u32) = ("GenuineIntel", 6, 0x97);

#[test]
fn vendor_and_portable_names_come_to_the_codes_of_the_model() {
    let (_dir, kernel) = machine(HASWELL, &[("cpu", 4, None)]);
    assert_eq!(asked(&kernel, "resource_stalls.sb"), Ok(vec![here(4, 0x8a2)]));
    assert_eq!(asked(&kernel, "store-buffer-stalls"), Ok(vec![here(4, 0x8a2)]));
    assert_eq!(asked(&kernel, "cpu/event=0xa2,umask=0x01,cmask=1,inv/"), Ok(vec![here(4, 0x180_01a2)]));
    assert_eq!(asked(&kernel, "cycles"), Ok(vec![here(0, 0)]));
}

#[test]
fn a_name_of_another_processor_says_whose_it_is() {
    let (_dir, kernel) = machine(HASWELL, &[("cpu", 4, None)]);
    let reason = asked(&kernel, "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall").unwrap_err();
    assert!(reason.contains("Haswell") && reason.contains("Zen"), "{reason}");
    // No silent substitute where the model has none.
    let (_dir, kernel) = machine(("GenuineIntel", 6, 0x8f), &[("cpu", 4, None)]);
    let reason = asked(&kernel, "rob-stalls").unwrap_err();
    assert!(reason.contains("rob-stalls") && reason.contains("nearest"), "{reason}");
}

#[test]
fn without_a_driver_or_a_known_model_the_reason_says_so() {
    let (_dir, kernel) = machine(HASWELL, &[]);
    assert!(asked(&kernel, "resource_stalls.sb").unwrap_err().contains("no PMU driver"));
    let (_dir, kernel) = machine(("GenuineIntel", 6, 0xfe), &[("cpu", 4, None)]);
    assert!(asked(&kernel, "l2-misses").unwrap_err().contains("GenuineIntel-6-FE"), "the model is named");
    assert_eq!(asked(&kernel, "r01c2"), Ok(vec![here(4, 0x1c2)]), "codes need no table");
}

#[test]
fn a_hybrid_counts_generic_events_on_each_type_of_core() {
    let (_dir, kernel) = machine(ALDER_LAKE, &[("cpu_core", 4, None), ("cpu_atom", 10, None)]);
    let both = vec![here(0, 4 << 32 | 1), here(0, 10 << 32 | 1)];
    assert_eq!(asked(&kernel, "instructions"), Ok(both));
    // A code is one thing on the big cores and another on the small ones; so are some portable names.
    let reason = asked(&kernel, "r1c0").unwrap_err();
    assert!(reason.contains("cpu_core/config=0x1c0/"), "{reason}");
    let reason = asked(&kernel, "l1d-misses").unwrap_err();
    assert!(reason.contains("count different things") && reason.contains("Gracemont"), "{reason}");
    // The store buffer event is the big cores' alone.
    assert_eq!(asked(&kernel, "resource_stalls.sb"), Ok(vec![here(4, 0x8a2)]));
}

#[test]
fn an_event_of_one_core_type_is_counted_on_the_cpus_that_have_it() {
    let (dir, kernel) = machine(ALDER_LAKE, &[("cpu_core", 4, None), ("cpu_atom", 10, None)]);
    write(dir.path(), &[(&format!("{PMUS}/cpu_core/cpus"), "0"), (&format!("{PMUS}/cpu_atom/cpus"), "1-2")]);
    let kernel = Noting { machine: Arc::new(Machine::read_from(dir.path())), cpus: vec![0, 1, 2], ..kernel };
    let opened = |name: &str| {
        kernel.opened.lock().unwrap().clear();
        let counters = Counters::open_with(kernel.clone(), Target::AllCpus, &[name.parse().unwrap()]);
        assert!(counters.is_any_open(), "{name}");
        let opened = kernel.opened.lock().unwrap();
        opened.iter().map(|(_, place)| place.clone()).collect::<Vec<_>>()
    };
    assert_eq!(opened("resource_stalls.sb"), [Place::Cpu(0)]);
    assert_eq!(opened("cycles"), [0, 1, 2].map(Place::Cpu));
}

#[test]
fn uncore_is_opened_once_on_each_cpu_of_its_mask_and_refused_on_the_core() {
    let (_dir, kernel) = machine(
        HASWELL,
        &[("cpu", 4, None), ("uncore_imc_0", 20, Some("0,18")), ("uncore_imc_1", 21, Some("0,18"))],
    );
    let opened = asked(&kernel, "uncore_imc/cas_count_read/").unwrap();
    let places: Vec<(u32, Place)> = opened.iter().map(|(type_, _, place)| (*type_, place.clone())).collect();
    let expected = [(20, 0), (21, 0), (20, 18), (21, 18)].map(|(type_, cpu)| (type_, Place::Cpu(cpu)));
    assert_eq!(places, expected);
    assert!(opened.iter().all(|(_, config, _)| *config == 0x304));
    assert!(kernel.opened.lock().unwrap().iter().all(|(attr, _)| !attr.exclude_kernel && !attr.exclude_hv));
    let reason = asked(&kernel, "cpu/cas_count_read/").unwrap_err();
    assert!(reason.contains("uncore_imc"), "{reason}");
}

#[test]
fn a_name_can_be_asked_about_another_machine() {
    let (_dir, kernel) = machine(HASWELL, &[("cpu", 4, None), ("uncore_imc_0", 20, Some("0,18"))]);
    let on = |name: &str| name.parse::<Event>().unwrap().on(&kernel.machine);
    let code = on("rob-stalls").unwrap().remove(0);
    assert_eq!(
        (code.pmu.as_deref(), code.config, code.cpus.as_slice()),
        (Some("cpu"), 0x10a2, [].as_slice())
    );
    assert_eq!(on("uncore_imc_0/cas_count_read/").unwrap()[0].cpus, [0, 18]);
    assert!(matches!(on("uncore_imc_9/cas_count_read/"), Err(Outcome::Unsupported { .. })));
}

#[test]
fn a_reading_says_what_counted_a_portable_name_and_what_one_count_is() {
    let (dir, kernel) = machine(HASWELL, &[("cpu", 4, None), ("power", 22, Some("0"))]);
    let file = |name: &str| format!("{PMUS}/power/events/{name}");
    write(
        dir.path(),
        &[
            (&file("energy-pkg"), "event=0x02\n"),
            (&file("energy-pkg.scale"), "2.5e-10\n"),
            (&file("energy-pkg.unit"), "Joules\n"),
            (&file("level"), "event=0x03\n"),
            (&file("level.snapshot"), "1\n"),
        ],
    );
    let kernel = Noting { machine: Arc::new(Machine::read_from(dir.path())), ..kernel };
    let means = |name: &str| {
        let counters = Counters::open_with(kernel.clone(), Target::CurrentThread, &[name.parse().unwrap()]);
        let snapshot = counters.snapshot();
        counters.interval(&snapshot, &snapshot).remove(0).means
    };
    assert_eq!(means("cycles"), None);
    assert!(
        means("store-buffer-stalls").is_some_and(|means| means.starts_with("resource_stalls.sb, in cycles"))
    );
    assert_eq!(means("power/energy-pkg/").as_deref(), Some("one count is 0.00000000025 Joules"));
    assert!(asked(&kernel, "power/level/").unwrap_err().contains("a level, not a count"));
}

#[test]
fn a_breakpoint_has_its_address_and_length() {
    let (_dir, kernel) = machine(HASWELL, &[]);
    asked(&kernel, "mem:0x1234/8:w").unwrap();
    let (attr, _) = kernel.opened.lock().unwrap()[0].clone();
    assert_eq!((attr.type_, attr.bp_type, attr.config1, attr.config2), (5, 2, 0x1234, 8));
}

#[test]
fn an_arm_pmu_is_believed_about_what_it_implements() {
    let dir = tempfile::tempdir().unwrap();
    let pmu = format!("{PMUS}/armv8_pmuv3_0");
    let file = |name: &str| format!("{pmu}/{name}");
    write(
        dir.path(),
        &[
            (
                "proc/cpuinfo",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
            ),
            (&file("type"), "8\n"),
            (&file("cpus"), "0-3\n"),
            (&file("format/event"), "config:0-15\n"),
            (&file("events/cpu_cycles"), "event=0x11\n"),
            (&file("events/l1d_cache_refill"), "event=0x03\n"),
        ],
    );
    let machine = Arc::new(Machine::read_from(dir.path()));
    let kernel = Noting { machine, opened: Arc::default(), cpus: vec![0] };
    assert_eq!(asked(&kernel, "l1d-misses"), Ok(vec![here(8, 0x03)]));
    for name in ["llc-misses", "r37", "armv8_pmuv3_0/event=0x17/"] {
        let reason = asked(&kernel, name).unwrap_err();
        assert!(reason.contains("does not implement"), "{name}: {reason}");
    }
    // What is the implementer's own is not listed in any case.
    assert_eq!(asked(&kernel, "r42"), Ok(vec![here(4, 0x42)]));
}

#[test]
fn a_tracepoint_has_the_number_of_this_kernel() {
    let (dir, kernel) = machine(HASWELL, &[]);
    write(dir.path(), &[("sys/kernel/tracing/events/sched/sched_switch/id", "316\n")]);
    assert_eq!(asked(&kernel, "sched:sched_switch"), Ok(vec![here(2, 316)]));
    assert!(asked(&kernel, "sched:sched_swich").unwrap_err().contains("sched_switch"));
}
