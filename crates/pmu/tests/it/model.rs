//! Which processor a recorded machine has.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tailcore_pmu::{Model, UnknownModel};
use tempfile::TempDir;

/// A machine with these files; a name that ends with `/` is a folder.
fn machine(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        let folder = if name.ends_with('/') { Some(path.as_path()) } else { path.parent() };
        fs::create_dir_all(folder.unwrap()).unwrap();
        if !name.ends_with('/') {
            fs::write(path, text).unwrap();
        }
    }
    root
}

fn x86(vendor: &str, family: u32, model: u32, stepping: u32) -> String {
    let block = |cpu| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
             model name\t: Some CPU: fast\nstepping\t: {stepping}\n\n"
        )
    };
    block(0) + &block(1)
}

/// `PMU=CORE` for each type of core.
fn cores(root: &Path) -> Vec<String> {
    let model = Model::read(root);
    let id = |core: &tailcore_pmu::CoreModel| core.microarchitecture.map_or("?", |it| it.id());
    model.cores().iter().map(|core| format!("{}={}", core.pmu, id(core))).collect()
}

#[test]
fn x86_processors_are_told_by_vendor_family_model_and_stepping() {
    let cases = [
        ("GenuineIntel", 6, 0x2a, 7, "cpu=sandy-bridge"),
        ("GenuineIntel", 6, 0x2d, 7, "cpu=sandy-bridge-ep"),
        ("GenuineIntel", 6, 0x3e, 4, "cpu=ivy-bridge-ep"),
        ("GenuineIntel", 6, 0x45, 1, "cpu=haswell"),
        ("GenuineIntel", 6, 0x3f, 2, "cpu=haswell-ep"),
        ("GenuineIntel", 6, 0x4f, 1, "cpu=broadwell-ep"),
        ("GenuineIntel", 6, 0xa5, 1, "cpu=skylake"),
        ("GenuineIntel", 6, 0x55, 4, "cpu=skylake-sp"),
        ("GenuineIntel", 6, 0x55, 7, "cpu=cascade-lake"),
        ("GenuineIntel", 6, 0x6a, 6, "cpu=ice-lake-sp"),
        ("GenuineIntel", 6, 0x8f, 8, "cpu=sapphire-rapids"),
        ("GenuineIntel", 6, 0xad, 1, "cpu=granite-rapids"),
        ("GenuineIntel", 6, 0xaf, 3, "cpu=sierra-forest"),
        ("AuthenticAMD", 23, 0x08, 2, "cpu=zen1"),
        ("AuthenticAMD", 23, 0x31, 0, "cpu=zen2"),
        ("AuthenticAMD", 25, 0x01, 1, "cpu=zen3"),
        ("AuthenticAMD", 25, 0x50, 1, "cpu=zen3"),
        ("AuthenticAMD", 25, 0x11, 1, "cpu=zen4"),
        ("AuthenticAMD", 26, 0x02, 1, "cpu=zen5"),
    ];
    for (vendor, family, model, stepping, expected) in cases {
        let root = machine(&[("proc/cpuinfo", &x86(vendor, family, model, stepping))]);
        assert_eq!(cores(root.path()), [expected], "{vendor} {family} {model:x} {stepping}");
    }
}

#[test]
fn a_hybrid_processor_has_a_core_type_for_each_pmu_of_the_kernel() {
    let cpuinfo = x86("GenuineIntel", 6, 0xb7, 1);
    let pmu = |name: &str| format!("sys/bus/event_source/devices/{name}/");
    let both = machine(&[("proc/cpuinfo", &cpuinfo), (&pmu("cpu_core"), ""), (&pmu("cpu_atom"), "")]);
    assert_eq!(cores(both.path()), ["cpu_core=golden-cove", "cpu_atom=gracemont"]);
    let big_only = machine(&[("proc/cpuinfo", &cpuinfo), (&pmu("cpu"), "")]);
    assert_eq!(cores(big_only.path()), ["cpu=golden-cove"]);
    let none = machine(&[("proc/cpuinfo", &cpuinfo)]);
    assert_eq!(cores(none.path()), ["cpu_core=golden-cove", "cpu_atom=gracemont"]);
}

#[test]
fn arm_cores_come_from_cpuinfo_with_the_cpus_of_each_type() {
    let block = |cpu, part| format!("processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
    let text = [block(0, "0xd0c"), block(1, "0xd4f"), block(2, "0xd0c")].concat();
    let root = machine(&[("proc/cpuinfo", &text)]);
    let model = Model::read(root.path());
    assert_eq!(model.id(), "arm-41-D0C+arm-41-D4F");
    assert_eq!(cores(root.path()), ["armv=neoverse-n1", "armv=neoverse-v2"]);
    let cpus: Vec<_> = model.cores().iter().map(|core| core.cpus.clone()).collect();
    assert_eq!(cpus, [vec![0, 2], vec![1]]);
}

#[test]
fn arm_cores_come_from_midr_where_cpuinfo_names_none() {
    let file = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
    let root = machine(&[
        ("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 100\n"),
        (&file(0), "0x00000000410fd490\n"),
        (&file(10), "0x00000000410fd490\n"),
        (&file(2), "nonsense"),
    ]);
    assert_eq!(cores(root.path()), ["armv=neoverse-n2"]);
    assert_eq!(Model::read(root.path()).cores()[0].cpus, [0, 10]);
}

#[test]
fn an_unknown_processor_keeps_its_pmu_and_says_what_it_is() {
    let root = machine(&[("proc/cpuinfo", &x86("GenuineIntel", 6, 0xfe, 3))]);
    let model = Model::read(root.path());
    assert_eq!(cores(root.path()), ["cpu=?"]);
    assert_eq!(model.unknown(), Some(&UnknownModel::NotListed { id: "GenuineIntel-6-FE-3".into() }));
}

#[test]
fn without_a_description_there_are_no_cores_but_a_reason() {
    let empty = machine(&[("proc/cpuinfo", "")]);
    assert!(matches!(Model::read(empty.path()).unknown(), Some(UnknownModel::Unnamed { .. })));
    let nothing = Model::read(&empty.path().join("absent"));
    assert!(nothing.cores().is_empty());
    assert!(nothing.unknown().is_some_and(|why| why.to_string().contains("absent/proc/cpuinfo")));
}

const KEY: &str = "processor|vendor_id|cpu family|model|stepping|CPU part|CPU implementer|\\PC{0,5}";
const VALUE: &str = "GenuineIntel|0x41|[0-9]{0,12}|\\PC{0,8}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_description_makes_reading_panic(lines in proptest::collection::vec((KEY, VALUE), 0..20)) {
        let text: String = lines.iter().map(|(key, value)| format!("{key}\t: {value}\n")).collect();
        let root = machine(&[("proc/cpuinfo", &text)]);
        let _ = Model::read(root.path());
    }
}
