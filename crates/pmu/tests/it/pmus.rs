//! PMUs and tracepoints of systems that are described by their files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use tailcore_pmu::sysfs::{
    Config, EncodeError, Pmu, PmuError, PmuKind, Pmus, Slashed, TermError, Tracepoint, TracepointError,
    tracepoints,
};
use tempfile::TempDir;

const DEVICES: &str = "sys/bus/event_source/devices";

/// A root directory with these files; a line is a path and, behind a space, the content.
fn tree(below: &str, lines: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (path, content) = line.split_once(' ').unwrap();
        let path = root.path().join(below).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

fn pmus(lines: &str) -> Pmus {
    let root = tree(DEVICES, lines);
    let pmus = Pmus::read(root.path());
    // All is read before the directory goes.
    for (_, pmu) in pmus.iter().unwrap() {
        let _ = pmu;
    }
    pmus
}

/// What `pmu/terms/` opens: for each PMU its name, type and words.
fn encode(pmus: &Pmus, typed: &str) -> Result<Vec<(String, u32, [u64; 4])>, EncodeError> {
    let typed: Slashed = typed.parse().unwrap();
    let words = |c: Config| [c.config, c.config1, c.config2, c.config3];
    let encodings = pmus.encode(&typed.pmu, &typed.terms)?;
    Ok(encodings.into_iter().map(|(pmu, c)| (pmu.name().to_owned(), pmu.type_(), words(c))).collect())
}

/// The words of an event of one PMU.
fn words(pmus: &Pmus, typed: &str) -> [u64; 4] {
    encode(pmus, typed).unwrap_or_else(|error| panic!("{typed}: {error}"))[0].2
}

fn refusal(pmus: &Pmus, typed: &str) -> TermError {
    match encode(pmus, typed) {
        Err(EncodeError::Term(error)) => error,
        other => panic!("{typed}: {other:?}"),
    }
}

const AMD: &str = "
    cpu/type 4
    cpu/format/event config:0-7,32-35
    cpu/format/umask config:8-15
    cpu/format/edge config:18
    cpu/format/inv config:23
    cpu/format/cmask config:24-31
    cpu/events/cpu-cycles event=0x76
    cpu/caps/branches 16
    amd_l3/type 12
    amd_l3/cpumask 0,8
    amd_l3/format/event config:0-7
    amd_l3/format/umask config:8-15
    amd_l3/format/coreid config:42-44
    amd_l3/format/enallslices config:46
    amd_l3/format/enallcores config:47
    amd_l3/format/sliceid config:48-50
    amd_l3/format/threadmask config:56-57
";

const HYBRID: &str = "
    cpu_core/type 4
    cpu_core/cpus 0-15
    cpu_core/format/event config:0-7
    cpu_core/format/umask config:8-15,40-47
    cpu_core/format/edge config:18
    cpu_core/format/inv config:23
    cpu_core/format/cmask config:24-31
    cpu_core/format/offcore_rsp config1:0-63
    cpu_core/format/ldlat config1:0-15
    cpu_core/events/cpu-cycles event=0x3c
    cpu_core/events/mem-loads event=0xcd,umask=0x1,ldlat=3
    cpu_core/events/topdown-retiring event=0x00,umask=0x80
    cpu_atom/type 10
    cpu_atom/cpus 16-31
    cpu_atom/format/event config:0-7
    cpu_atom/format/umask config:8-15
    cpu_atom/format/snoop_rsp config2:0-63
    cpu_atom/events/cpu-cycles event=0x3c
";

const SERVER: &str = "
    cpu/type 4
    cpu/format/event config:0-7
    cpu/format/umask config:8-15
    cpu/events/cpu-cycles event=0x3c
    uncore_imc_0/type 14
    uncore_imc_0/cpumask 0,24
    uncore_imc_0/format/event config:0-7
    uncore_imc_0/format/umask config:8-15
    uncore_imc_0/format/threshold config:24-31
    uncore_imc_0/events/cas_count_read event=0x04,umask=0x03
    uncore_imc_0/events/cas_count_read.scale 6.103515625e-5
    uncore_imc_0/events/cas_count_read.unit MiB
    uncore_imc_1/type 15
    uncore_imc_1/cpumask 0,24
    uncore_imc_1/format/event config:0-7
    uncore_imc_1/format/umask config:8-15
    uncore_imc_1/events/cas_count_read event=0x05,umask=0x03
    uncore_imc_free_running_0/type 16
    uncore_imc_free_running_0/cpumask 0,24
    uncore_imc_free_running_0/format/event config:0-7
    uncore_type_0_0/type 17
    uncore_type_0_0/alias uncore_cha_7
    uncore_type_0_0/cpumask 0,24
    uncore_type_0_0/format/event config:0-7
";

#[test]
fn amd_codes_are_split_over_the_word() {
    let pmus = pmus(AMD);
    let cases = [
        ("cpu/event=0x1a0,umask=0x1e/", 0x1_0000_1ea0),
        ("cpu/event=0xfff/", 0xf_0000_00ff),
        ("cpu/event=0xae,umask=4,cmask=1,inv/", 0x0180_04ae),
        ("cpu/cpu-cycles/", 0x76),
        ("cpu/CPU-Cycles,edge,cmask=0x10/", 0x1004_0076),
        ("cpu/event=cpu-cycles,umask=1/", 0x176),
        ("amd_l3/event=4,umask=1,enallslices,enallcores,threadmask=3/", 0x0300_c000_0000_0104),
    ];
    for (typed, config) in cases {
        assert_eq!(words(&pmus, typed), [config, 0, 0, 0], "{typed}");
    }
    assert_eq!(pmus.get("cpu").unwrap().caps()["branches"], "16");
    assert_eq!(pmus.get("amd_l3").unwrap().cpumask(), Some(&[0, 8][..]));
}

#[test]
fn the_core_types_of_a_hybrid_are_two_pmus() {
    let pmus = pmus(HYBRID);
    let (core, atom) = (pmus.get("cpu_core").unwrap(), pmus.get("cpu_atom").unwrap());
    assert_eq!((core.kind(), atom.kind()), (PmuKind::Core, PmuKind::Core));
    assert_eq!((core.cpus().unwrap().len(), atom.cpus().unwrap()[0]), (16, 16));
    assert_eq!(
        words(&pmus, "cpu_core/event=0x2a,umask=0x1201,offcore_rsp=0x10003/")[..2],
        [0x1200_0000_012a, 0x10003]
    );
    assert_eq!(words(&pmus, "cpu_atom/event=0xb7,snoop_rsp=7/"), [0xb7, 0, 7, 0]);
    assert!(matches!(refusal(&pmus, "cpu_atom/event=1,umask=0x1201/"), TermError::TooWide { .. }));
    let both = encode(&pmus, "cpu_*/cpu-cycles/").unwrap();
    assert_eq!(
        both,
        [("cpu_atom".to_owned(), 10, [0x3c, 0, 0, 0]), ("cpu_core".to_owned(), 4, [0x3c, 0, 0, 0])]
    );
    let names: Vec<&str> = pmus.with_event("cpu-cycles").iter().map(|pmu| pmu.name()).collect();
    assert_eq!(names, ["cpu_atom", "cpu_core"]);
    let message = encode(&pmus, "cpu/cpu-cycles/").unwrap_err().to_string();
    assert_eq!(message, r#"PMU "cpu": this system has none of that name; it has cpu_atom, cpu_core"#);
}

#[test]
fn arm_fields_are_in_two_words() {
    let pmus = pmus(
        "
        armv8_cortex_a72/type 8
        armv8_cortex_a72/cpus 4-5
        armv8_cortex_a72/format/event config:0-15
        armv8_cortex_a72/format/long config1:0
        armv8_cortex_a72/format/rdpmc config1:1
        armv8_cortex_a72/events/l1d_cache_refill event=0x0003
    ",
    );
    assert_eq!(words(&pmus, "armv8_cortex_a72/event=0x4005,long,rdpmc/"), [0x4005, 3, 0, 0]);
    assert_eq!(words(&pmus, "armv8_cortex_a72/l1d_cache_refill,rdpmc/"), [3, 2, 0, 0]);
    let pmu = pmus.get("armv8_cortex_a72").unwrap();
    assert_eq!((pmu.kind(), pmu.cpus()), (PmuKind::Core, Some(&[4, 5][..])));
}

#[test]
fn terms_take_effect_from_left_to_right() {
    let pmus = pmus(HYBRID);
    let cases = [
        ("cpu_core/mem-loads/", [0x1cd, 3]),
        ("cpu_core/mem-loads,ldlat=0x20/", [0x1cd, 0x20]),
        ("cpu_core/ldlat=0x20,mem-loads/", [0x1cd, 3]),
        ("cpu_core/mem-loads,umask=2/", [0x2cd, 3]),
        ("cpu_core/event=1,event=2/", [2, 0]),
        ("cpu_core/config=0x1ff,umask=0/", [0xff, 0]),
        ("cpu_core/r1a8,edge/", [0x401a8, 0]),
        ("cpu_core/config1=0xf0000,ldlat=5/", [0, 0xf0005]),
    ];
    for (typed, expected) in cases {
        assert_eq!(words(&pmus, typed)[..2], expected, "{typed}");
    }
}

#[test]
fn the_boxes_of_an_uncore_are_all_meant_by_their_common_name() {
    let pmus = pmus(SERVER);
    let imc = [
        ("uncore_imc_0".to_owned(), 14, [0x304, 0, 0, 0]),
        ("uncore_imc_1".to_owned(), 15, [0x305, 0, 0, 0]),
    ];
    for typed in ["uncore_imc/cas_count_read/", "imc/cas_count_read/", "uncore_imc_?/cas_count_read/"] {
        assert_eq!(encode(&pmus, typed).unwrap(), imc, "{typed}");
    }
    assert_eq!(encode(&pmus, "uncore_imc_1/cas_count_read/").unwrap(), imc[1..]);
    assert_eq!(encode(&pmus, "uncore_cha/event=1/").unwrap()[0].1, 17, "by the driver's alias");
    assert!(matches!(encode(&pmus, "uncore_upi/event=1/"), Err(EncodeError::Pmu(PmuError::NoSuch { .. }))));

    let pmu = pmus.get("uncore_imc_0").unwrap();
    assert!(pmu.is_uncore());
    assert_eq!(pmu.cpumask(), Some(&[0, 24][..]));
    let (name, event) = pmu.event_of(&"cas_count_read,threshold=1".parse().unwrap()).unwrap();
    assert_eq!(
        (name, event.scale, event.unit.as_deref()),
        ("cas_count_read", Some(6.103515625e-5), Some("MiB"))
    );
}

#[test]
fn a_pmu_of_exactly_the_typed_name_is_meant_alone() {
    let pmus = pmus("uncore_imc/type 14\n uncore_imc_1/type 15");
    assert_eq!(pmus.matching("uncore_imc").unwrap().len(), 1);
    assert_eq!(pmus.matching("imc").unwrap().len(), 2);
}

#[test]
fn an_uncore_event_is_refused_on_the_core_pmu_which_is_told_the_right_one() {
    let pmus = pmus(SERVER);
    assert_eq!(
        refusal(&pmus, "cpu/cas_count_read/").to_string(),
        r#"PMU cpu has no event and no field "cas_count_read", but uncore_imc has: ask that PMU"#
    );
    let owners = vec!["uncore_imc".to_owned()];
    let (pmu, term) = ("cpu".to_owned(), "threshold".to_owned());
    let wrong_field = refusal(&pmus, "cpu/event=4,threshold=1/");
    assert_eq!(wrong_field, TermError::OfAnotherPmu { pmu, term, owners });
    let other_way = refusal(&pmus, "uncore_imc/cpu-cycles/");
    assert!(matches!(other_way, TermError::OfAnotherPmu { owners, .. } if owners == ["cpu"]));
}

#[test]
fn refusals_name_the_pmu_the_term_and_the_remedy() {
    let pmus = pmus(AMD);
    let cases = [
        (
            "cpu/umsk=1/",
            r#"PMU cpu has no event and no field "umsk"; its fields are cmask, edge, event, inv, umask; did you mean umask?"#,
        ),
        (
            "cpu/cpu-cycle/",
            r#"PMU cpu has no event and no field "cpu-cycle"; its fields are cmask, edge, event, inv, umask; did you mean cpu-cycles?"#,
        ),
        (
            "cpu/event=a2/",
            r#"PMU cpu has no event and no field "a2"; its fields are cmask, edge, event, inv, umask"#,
        ),
        ("cpu/event=1,inv=2/", "PMU cpu: inv=0x2 does not fit: config:23 holds at most 0x1"),
        ("cpu/event=0x1000/", "PMU cpu: event=0x1000 does not fit: config:0-7,32-35 holds at most 0xfff"),
        ("cpu/umask/", "PMU cpu: umask needs a number, decimal or 0x and hexadecimal, as in event=0x3c"),
        (
            "cpu/umask=ff/",
            "PMU cpu: umask=ff needs a number, decimal or 0x and hexadecimal, as in event=0x3c",
        ),
        ("cpu/event=?/", "PMU cpu: event=? needs a number, decimal or 0x and hexadecimal, as in event=0x3c"),
        (
            "cpu/cpu-cycles,period=1000/",
            "PMU cpu: period cannot be part of an event: it is about sampling, and events are counted here",
        ),
        (
            "cpu/cpu-cycles,cpu-cycles/",
            "PMU cpu: cpu-cycles and cpu-cycles are two events: type cpu/cpu-cycles/ and cpu/cpu-cycles/",
        ),
    ];
    for (typed, message) in cases {
        assert_eq!(refusal(&pmus, typed).to_string(), message);
    }
    for no_code in ["r", "rg", "ra-1", "r10000000000000000"] {
        let error = refusal(&pmus, &format!("cpu/{no_code}/"));
        assert!(matches!(error, TermError::Unknown { .. }), "{error}");
    }
}

#[test]
fn a_value_that_an_event_leaves_open_has_to_be_given() {
    let pmus = pmus(
        "
        hv_24x7/type 9
        hv_24x7/format/domain config:0-3
        hv_24x7/format/core config:16-31
        hv_24x7/format/offset config:32-63
        hv_24x7/events/HPM_CCYC domain=?,offset=0xe0,core=?
    ",
    );
    assert_eq!(words(&pmus, "hv_24x7/HPM_CCYC,domain=2,core=5/"), [0xe0_0005_0002, 0, 0, 0]);
    assert_eq!(words(&pmus, "hv_24x7/core=5,domain=2,HPM_CCYC/"), [0xe0_0005_0002, 0, 0, 0]);
    assert_eq!(
        refusal(&pmus, "hv_24x7/HPM_CCYC,domain=2/").to_string(),
        "PMU hv_24x7: event HPM_CCYC needs a value for core: add core=NUMBER, as in hv_24x7/HPM_CCYC,core=1/"
    );
    assert!(matches!(refusal(&pmus, "hv_24x7/HPM_CCYC,domain=2,core=65536/"), TermError::TooWide { .. }));
}

#[test]
fn what_is_described_wrongly_is_refused_and_the_rest_is_not() {
    let pmus = pmus(
        "
        cpu/type 4
        cpu/format/event config:0-7
        cpu/format/far config4:0-7
        cpu/format/turned config:7-0
        cpu/events/good event=0x3c
        cpu/events/wide event=0x3c3c
        cpu/events/stray event=0x3c,elsewhere=1
        cpu/events/shapeless event:0x3c
        uncore_imc_0/type fourteen
        uncore_imc_1/type 15
        uncore_imc_1/format/event config:0-7
        uncore_pcu/type 16
        uncore_pcu/cpumask 0;24
        lost/format/event config:0-7
    ",
    );
    assert_eq!(words(&pmus, "cpu/good/"), [0x3c, 0, 0, 0]);
    assert!(matches!(refusal(&pmus, "cpu/far=1/"), TermError::BrokenField { .. }));
    assert!(matches!(refusal(&pmus, "cpu/turned=1/"), TermError::BrokenField { .. }));
    assert!(matches!(refusal(&pmus, "cpu/shapeless/"), TermError::BrokenEvent { .. }));
    assert!(matches!(refusal(&pmus, "cpu/stray/"), TermError::InEvent { .. }));
    assert_eq!(
        refusal(&pmus, "cpu/wide/").to_string(),
        "PMU cpu: the system's description of the event wide is broken: \
         PMU cpu: event=0x3c3c does not fit: config:0-7 holds at most 0xff"
    );
    // One box of two would give half of the count.
    let half = encode(&pmus, "uncore_imc/event=1/");
    assert!(matches!(half, Err(EncodeError::Pmu(PmuError::Malformed { file: "type", .. }))));
    assert!(matches!(pmus.get("uncore_pcu"), Err(PmuError::Malformed { file: "cpumask", .. })));
    assert!(matches!(pmus.get("lost"), Err(PmuError::Unreadable { .. })));
}

#[test]
fn without_a_list_every_question_is_answered_with_the_reason() {
    let root = tempfile::tempdir().unwrap();
    let pmus = Pmus::read(root.path());
    assert!(matches!(pmus.get("cpu"), Err(PmuError::NoList { .. })));
    assert!(matches!(pmus.matching("cpu"), Err(PmuError::NoList { .. })));
    assert!(pmus.iter().is_err() && pmus.with_event("cpu-cycles").is_empty());
}

#[test]
fn files_that_are_folders_are_errors() {
    let root = tree(DEVICES, "cpu/type 4\n cpu/format/event/deep 1\n cpu/events 1\n msr/type/deep 1");
    let pmus = Pmus::read(root.path());
    assert!(matches!(pmus.get("cpu"), Err(PmuError::Unreadable { file, .. }) if file == "events"));
    assert!(matches!(pmus.get("msr"), Err(PmuError::Unreadable { file, .. }) if file == "type"));
}

#[test]
fn every_event_that_this_system_names_can_be_encoded() {
    let pmus = Pmus::read(Path::new("/"));
    let all = match pmus.iter() {
        Ok(all) => all,
        Err(reason) => {
            skipped!("every_event_that_this_system_names_can_be_encoded: {reason}");
            return;
        }
    };
    for (name, pmu) in all {
        let pmu = pmu.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pmu.name(), name);
        for event in pmu.events().keys() {
            match event.parse().map(|terms| pmu.encode(&terms)) {
                Ok(Ok(_) | Err(TermError::ValueAsked { .. })) => {}
                other => panic!("{name}/{event}/: {other:?}"),
            }
        }
    }
}

#[test]
fn the_msr_pmu_of_this_system_is_read() {
    let pmus = Pmus::read(Path::new("/"));
    let msr = match pmus.get("msr") {
        Ok(msr) => msr,
        Err(reason) => {
            skipped!("the_msr_pmu_of_this_system_is_read: {reason}");
            return;
        }
    };
    let type_ = fs::read_to_string(format!("/{DEVICES}/msr/type")).unwrap();
    assert_eq!(msr.type_().to_string(), type_.trim());
    assert_eq!(msr.kind(), PmuKind::Other);
    assert_eq!(msr.fields()["event"].as_ref().unwrap().to_string(), "config:0-63");
    // The code of the time stamp counter is 0 in every kernel that has this PMU.
    assert_eq!(words(&pmus, "msr/tsc/"), [0, 0, 0, 0]);
}

const TRACEFS: &str = "
    events/enable 0
    events/sched/enable 0
    events/sched/sched_switch/id 316
    events/sched/sched_wakeup/id 318
    events/raw_syscalls/sys_enter/id 358
    events/broken/none/id x
    events/ftrace/print/format name:
";

fn id(root: &Path, name: &str) -> Result<u64, TracepointError> {
    name.parse::<Tracepoint>().unwrap().id(root)
}

#[test]
fn tracepoints_have_the_numbers_of_their_files() {
    for place in ["sys/kernel/tracing", "sys/kernel/debug/tracing"] {
        let root = tree(place, TRACEFS);
        assert_eq!(id(root.path(), "sched:sched_switch"), Ok(316), "{place}");
        let all: Vec<String> = tracepoints(root.path()).unwrap().iter().map(Tracepoint::to_string).collect();
        let known = [
            "broken:none",
            "ftrace:print",
            "raw_syscalls:sys_enter",
            "sched:sched_switch",
            "sched:sched_wakeup",
        ];
        assert_eq!(all, known);
    }
}

#[test]
fn a_tracepoint_without_a_number_says_why() {
    let root = tree("sys/kernel/tracing", TRACEFS);
    let near = |name| match id(root.path(), name) {
        Err(TracepointError::NoSuch { near, .. }) => near,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(near("sched:sched_swich"), ["sched:sched_switch"]);
    assert_eq!(near("shed:sched_switch"), ["sched:sched_switch"]);
    assert_eq!(near("syscalls:sys_enter"), ["raw_syscalls:sys_enter"]);
    assert_eq!(near("no:thing"), [""; 0]);
    assert!(matches!(id(root.path(), "broken:none"), Err(TracepointError::Malformed { .. })));
    assert!(matches!(id(root.path(), "ftrace:print"), Err(TracepointError::NotCountable { .. })));

    let bare = tree("sys/kernel/tracing", "README x");
    let error = id(bare.path(), "sched:sched_switch").unwrap_err();
    assert!(matches!(error, TracepointError::NotMounted { .. }));
    assert!(error.to_string().contains("mount -t tracefs"));
    assert!(matches!(tracepoints(bare.path()), Err(TracepointError::NotMounted { .. })));
}

#[test]
fn a_closed_tracefs_is_forbidden_not_missing() {
    let root = tree("sys/kernel/tracing", TRACEFS);
    let door = root.path().join("sys/kernel/tracing");
    fs::set_permissions(&door, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&door).is_ok() {
        skipped!("a_closed_tracefs_is_forbidden_not_missing: no door is closed to this user");
    } else {
        assert!(matches!(id(root.path(), "sched:sched_switch"), Err(TracepointError::Forbidden { .. })));
    }
    fs::set_permissions(&door, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_tracepoints_of_this_system_have_numbers() {
    let all = match tracepoints(Path::new("/")) {
        Ok(all) => all,
        Err(reason) => {
            skipped!("the_tracepoints_of_this_system_have_numbers: {reason}");
            return;
        }
    };
    assert!(!all.is_empty());
    for tracepoint in all {
        let name = tracepoint.to_string();
        assert_eq!(name.parse(), Ok(tracepoint), "{name}");
        match id(Path::new("/"), &name) {
            Ok(number) => assert!(number > 0, "{name}"),
            Err(error) => assert!(matches!(error, TracepointError::NotCountable { .. }), "{error}"),
        }
    }
}

/// The files of one PMU, some of them nonsense.
fn any_files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let path = r"type|cpus|cpumask|alias|(format|events|caps)/[a-c](\.scale|\.unit|\.per-pkg)?";
    let content = r"[0-9]{1,3}\n?|config[0-4]?:[0-9]{1,2}(-[0-9]{1,2})?(,[0-9]{1,2})?|[a-d](=(0x)?[0-9?]{1,3})?(,[a-d](=[0-9])?)*|\PC*";
    prop::collection::btree_map(path, content, 0..12).prop_map(|mut files| {
        files.entry("type".to_owned()).or_insert_with(|| "4".to_owned());
        files
    })
}

proptest! {
    #[test]
    fn no_description_and_no_terms_panic(files in any_files(), terms in r"[a-d](=[0-9]{1,3})?(,[a-d](=[0-9x]{1,2})?){0,3}") {
        let Ok(pmu) = Pmu::from_files("cpu", files) else {
            return Ok(());
        };
        let Ok(terms) = terms.parse() else {
            return Ok(());
        };
        let pmus = Pmus::of([pmu]);
        if let Err(error) = pmus.encode("cpu", &terms) {
            prop_assert!(error.to_string().contains("cpu"), "{}", error);
        }
    }

    #[test]
    fn fields_that_share_no_bit_keep_their_values(values in prop::array::uniform4(0_u64..16)) {
        let files = [
            ("type", "4"),
            ("format/a", "config:0-1,62-63"),
            ("format/b", "config:2-3,60-61"),
            ("format/c", "config1:5,7,9,11"),
            ("format/d", "config3:60-63"),
        ];
        let pmu = Pmu::from_files("cpu", files).unwrap();
        let [a, b, c, d] = values;
        let config = pmu.encode(&format!("d={d},b={b},c={c:#x},a={a}").parse().unwrap()).unwrap();
        let stored: Vec<u64> = pmu.fields().values().map(|field| field.as_ref().unwrap().get(&config)).collect();
        prop_assert_eq!(stored, values);
    }
}
