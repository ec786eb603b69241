//! The sets of the studies, each metric with a value worked out by hand.

use super::*;
use crate::meaning::Meaning;
use crate::metric::{Flag, MetricValue};
use crate::model::Microarchitecture;
use crate::names;
use crate::vendor::{self, VendorEvent};
use proptest::prelude::*;

const HEAD: &str = "set s\nabout a\nevent cycles\nevent instructions\n";

#[test]
fn every_built_in_set_is_read_under_its_name() {
    for text in FILES {
        EventSet::parse(text).unwrap();
    }
    let names: Vec<_> = EventSet::all().iter().map(EventSet::name).collect();
    assert_eq!(names, ["tailbench-haswell", "udp-westmere", "smt", "memory"]);
    for set in EventSet::all() {
        assert_eq!(EventSet::find(set.name()), Some(set));
        assert!(set.source().contains("Table"), "{}: {}", set.name(), set.source());
    }
    assert_eq!(EventSet::find("Smt"), None);
}

#[test]
fn the_sets_count_what_their_studies_count() {
    assert_eq!(EventSet::find("tailbench-haswell").unwrap().events().len(), 14);
    // Each code of Table 3.2 once; the codes of Fig. 3.12 beside it end in b4 and b8.
    let westmere = EventSet::find("udp-westmere").unwrap();
    let mut codes: Vec<&str> = westmere
        .events()
        .iter()
        .filter_map(|event| event.note.split_once(": ").map(|(code, _)| code))
        .filter(|code| code.starts_with("r5") && !code.contains("b4") && !code.ends_with("b8"))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 30);
}

/// What a vendor's table says of the events of a set that the generic names do not have.
fn vendor_events(set: &str, core: &str) -> Vec<(&'static SetEvent, VendorEvent)> {
    let core = Microarchitecture::find(core).unwrap();
    let events = EventSet::find(set).unwrap().events().iter();
    events
        .filter(|event| names::find(&event.name).is_none())
        .map(|event| (event, vendor::find(core, &event.name).unwrap_or_else(|| panic!("{}", event.name))))
        .collect()
}

#[test]
fn the_processor_of_a_study_has_the_events_of_its_set() {
    assert_eq!(vendor_events("tailbench-haswell", "haswell-ep").len(), 12);
    for (event, found) in vendor_events("udp-westmere", "westmere") {
        // The note starts with the study's code, r5FUUEE: flags 5F, unit mask UU, event EE.
        let code = event.note.strip_prefix('r').and_then(|note| note.get(..6)).unwrap();
        let code = u64::from_str_radix(code, 16).unwrap();
        let terms = format!("event={:#04x},umask={:#04x}", code & 0xff, (code >> 8) & 0xff);
        assert_eq!(found.terms, terms, "{}", event.name);
        assert_eq!(found.pmu.is_some(), event.name.starts_with("unc_"), "{}", event.name);
    }
}

#[test]
fn the_other_sets_are_for_any_processor() {
    for event in ["smt", "memory"].into_iter().flat_map(|set| EventSet::find(set).unwrap().events()) {
        let portable = names::find(&event.name).is_some() || Meaning::find(&event.name).is_some();
        assert!(portable || event.name.starts_with("uncore_imc/"), "{}", event.name);
    }
}

#[test]
fn no_formula_needs_a_group_across_pmus() {
    for set in EventSet::all() {
        for metric in set.metrics() {
            let uncore = |event: &usize| set.events()[*event].name.starts_with("unc");
            let outside = metric.events().iter().filter(|event| uncore(event)).count();
            assert!(outside == 0 || outside == metric.events().len(), "{}", metric.name());
        }
    }
}

#[test]
fn parts_of_a_set_are_kept_in_order() {
    let set = EventSet::parse(
        "# head\n\nset my.set_1\n  about one\nabout two \r\nsource three\n\
         event cycles \t of the core\nnote and more\nevent cpu/event=1,umask=2/\n\
         metric m [per thing] = cycles / requests\nnote x\nnote y\n\
         share s[things]=`cpu/event=1,umask=2/`/cycles\n",
    )
    .unwrap();
    assert_eq!((set.name(), set.about(), set.source()), ("my.set_1", "one two", "three"));
    let events: Vec<_> = set.events().iter().map(|e| (e.name.as_str(), e.note.as_str())).collect();
    assert_eq!(events, [("cycles", "of the core and more"), ("cpu/event=1,umask=2/", "")]);
    let metrics: Vec<_> =
        set.metrics().iter().map(|m| (m.name(), m.unit(), m.formula(), m.note(), m.bounds())).collect();
    assert_eq!(
        metrics,
        [
            ("m", "per thing", "cycles / requests", "x y", Bounds::NonNegative),
            ("s", "share of things", "`cpu/event=1,umask=2/`/cycles", "", Bounds::Share),
        ]
    );
    let cycles = Symbol::Event { index: 0, name: "cycles".to_owned() };
    assert_eq!(set.metrics()[0].symbols(), [cycles, Symbol::Requests]);
}

#[test]
fn faults_by_table() {
    let cases = [
        ("", 1, "`set NAME`"),
        ("about a", 1, "`set NAME`"),
        ("set s\nset t", 2, "above already"),
        ("set a b", 1, "no name"),
        ("set s\nevent cycles", 2, "no `about` line"),
        ("set s\nabout a\n\n", 3, "no `event` line"),
        ("set s\nabout", 2, "`about` needs something"),
        ("set s\nabout a\ncycles", 3, "\"cycles\" starts no line"),
        ("set s\nnote n", 2, "below an event"),
        ("set s\nevent a\nevent a", 3, "above already"),
        ("set s\nevent a`b", 2, "backtick"),
        ("set s\nevent seconds", 2, "the caller gives"),
        ("set s\nevent a\nmetric m = a", 3, "`metric NAME [UNIT] = FORMULA`"),
        ("set s\nevent a\nshare m [] = a", 3, "`share NAME [UNIT] = FORMULA`"),
        ("set s\nevent a\nmetric m [u] = ", 3, "[UNIT] = FORMULA"),
        ("set s\nevent a\nmetric m n [u] = a", 3, "no name"),
        ("set s\nevent a\nmetric m [u] = a\nshare m [u] = a", 4, "above already"),
        ("set s\nevent a\nmetric m [u] = 1 + 2", 3, "depends on nothing"),
        ("set s\nevent a\nevent b\nmetric m [u] = a-b", 4, "\"a-b\" is no event"),
        ("set s\nmetric m [u] = a\nevent a", 2, "no event of this set"),
        ("set s\nevent a\n metric m [µs] = a * ) 2", 3, "column 22: a number, a name"),
    ];
    for (text, line, words) in cases {
        let error = EventSet::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("event set, line {line}: ")), "{message}");
        assert!(message.contains(words) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn events_of_one_formula_belong_together() {
    let text = format!(
        "{HEAD}event a\nevent b\nevent c\nevent d\n\
         metric rate [u] = c / seconds\n\
         share p [u] = (a - b) / cycles\n\
         metric ipc [u] = instructions / cycles\n\
         metric again [u] = cycles / instructions\n\
         share q [u] = b / a\n"
    );
    let set = EventSet::parse(&text).unwrap();
    assert_eq!(set.together(), [vec![0, 2, 3], vec![0, 1], vec![2, 3], vec![4], vec![5]]);
}

/// All metrics of a built-in set for these counts; events that are not named count 1.
fn read(set: &str, counts: &[(&str, u64)]) -> Vec<(String, MetricValue)> {
    let set = EventSet::find(set).unwrap();
    for (name, _) in counts {
        assert!(set.events().iter().any(|event| event.name == *name), "{name}");
    }
    let readings = set.read(|_, symbol| match symbol {
        Symbol::Event { name, .. } => {
            let count = counts.iter().find(|(known, _)| known == name).map_or(1, |(_, count)| *count);
            Value::Count { count, group: Some(0), scaled: false, unit: None }
        }
        Symbol::Seconds => Value::Number(4.0),
        Symbol::BusySeconds => Value::Number(2.0),
        Symbol::Requests => Value::Number(1e6),
    });
    readings.into_iter().map(|reading| (reading.metric, reading.value)).collect()
}

/// Every metric of the set has the value worked out by hand, without a flag.
fn check(set: &str, counts: &[(&str, u64)], expected: &[(&str, f64)]) {
    let got = read(set, counts);
    let names: Vec<_> = got.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{set}");
    for ((name, value), (_, expected)) in got.iter().zip(expected) {
        let MetricValue::Known { value, flags } = value else { panic!("{set} {name}: {value:?}") };
        assert!((value - expected).abs() <= expected * 1e-12, "{set} {name}: {value}, by hand {expected}");
        assert_eq!(flags, &[], "{set} {name}");
    }
}

const HASWELL: [(&str, u64); 14] = [
    ("cpu-cycles", 3_200_000_000),
    ("instructions", 1_600_000_000),
    ("mem_load_uops_retired.l1_hit", 380_000_000),
    ("mem_load_uops_retired.l1_miss", 20_000_000),
    ("mem_load_uops_retired.l2_miss", 8_000_000),
    ("mem_load_uops_retired.l3_miss", 2_000_000),
    ("cycle_activity.stalls_l1d_pending", 960_000_000),
    ("cycle_activity.stalls_l2_pending", 640_000_000),
    ("cycle_activity.stalls_ldm_pending", 1_280_000_000),
    ("resource_stalls.any", 1_200_000_000),
    ("resource_stalls.rob", 300_000_000),
    ("resource_stalls.rs", 600_000_000),
    ("resource_stalls.sb", 180_000_000),
    ("uops_executed.stall_cycles", 1_600_000_000),
];

#[test]
fn tailbench_haswell_by_hand() {
    let expected = [
        ("ipc", 0.5),
        ("l1-load-hits", 0.95),
        ("l1-mpki", 12.5),
        ("l2-mpki", 5.0),
        ("l3-mpki", 1.25),
        ("l3-load-hits", 0.75),
        // The core ran at 1.6 GHz: the study's 3.2 GHz doubles the rate.
        ("mapus", 1.0),
        ("published-mapus", 2.0),
        ("dispatch-stalls", 0.5),
        ("load-stalls", 0.4),
        ("l1d-stalls", 0.3),
        ("l2-stalls", 0.2),
        ("resource-stalls", 0.375),
        ("rob-stalls", 0.25),
        ("rs-stalls", 0.5),
        ("sb-stalls", 0.15),
        ("other-resource-stalls", 0.1),
        ("published-stalls-res", 0.75),
        ("published-stalls-rob", 0.1875),
        ("published-stalls-rs", 0.375),
        ("published-stalls-sb", 0.1125),
        ("published-other-resources", 0.075),
        ("published-other-causes", 0.25),
    ];
    check("tailbench-haswell", &HASWELL, &expected);
}

#[test]
fn the_published_stall_shares_are_flagged_where_they_break() {
    let mut counts = HASWELL.to_vec();
    // More cycles of stalled allocation than cycles without execution, and two full buffers in one cycle.
    counts[9].1 = 2_000_000_000;
    counts[11].1 = 1_900_000_000;
    let got = read("tailbench-haswell", &counts);
    let flags = |name: &str| match got.iter().find(|(metric, _)| metric == name) {
        Some((_, MetricValue::Known { flags, .. })) => flags.clone(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(flags("published-stalls-res"), [Flag::AboveWhole]);
    assert_eq!(flags("published-stalls-rs"), [Flag::AboveWhole]);
    assert_eq!(flags("published-other-causes"), [Flag::Negative]);
    assert_eq!(flags("other-resource-stalls"), [Flag::Negative]);
    assert_eq!(flags("rs-stalls"), []);
}

#[test]
fn udp_westmere_by_hand() {
    let counts = [
        ("cycles", 4_000_000_000),
        ("instructions", 2_000_000_000),
        ("branch-misses", 6_000_000),
        ("l1d.m_evict", 5_000_000),
        ("l1d.m_snoop_evict", 3_000_000),
        ("l2_data_rqsts.demand.e_state", 10_000_000),
        ("l2_data_rqsts.demand.i_state", 4_000_000),
        ("l2_data_rqsts.demand.m_state", 20_000_000),
        ("l2_data_rqsts.demand.s_state", 6_000_000),
        ("snoopq_requests.invalidate", 4_000_000),
        ("snoop_response.hit", 2_000_000),
        ("snoop_response.hite", 1_000_000),
        ("snoop_response.hitm", 5_000_000),
        ("unc_gq_data_from.qpi", 7_000_000),
        ("unc_llc_hits.read", 30_000_000),
        ("unc_llc_hits.write", 10_000_000),
        ("unc_llc_miss.read", 8_000_000),
        ("unc_llc_miss.write", 2_000_000),
        ("unc_llc_lines_out.m_state", 3_000_000),
        ("unc_llc_lines_out.any", 12_000_000),
        ("unc_qhl_requests.remote_reads", 2_500_000),
        ("unc_qhl_requests.remote_writes", 500_000),
    ];
    let expected = [
        ("ipc", 0.5),
        ("instructions-per-packet", 2000.0),
        ("cycles-per-packet", 4000.0),
        ("branch-mpki", 3.0),
        ("modified-snooped-per-packet", 3.0),
        ("modified-evicted-per-packet", 5.0),
        ("l2-demand-mpki", 2.0),
        ("l2-demand-misses", 0.1),
        ("snooped-invalidations-per-packet", 4.0),
        ("hitm-per-packet", 5.0),
        ("hitm-responses", 0.625),
        ("llc-hits", 0.8),
        ("llc-modified-victims", 0.25),
        ("qpi-in-per-packet", 7.0),
        ("remote-reads-per-packet", 2.5),
        ("remote-writes-per-packet", 0.5),
    ];
    check("udp-westmere", &counts, &expected);
}

#[test]
fn smt_by_hand() {
    let counts = [
        ("cycles", 2_000_000_000),
        ("instructions", 1_000_000_000),
        ("branch-misses", 4_000_000),
        ("l1d-misses", 30_000_000),
        ("l2-misses", 8_000_000),
        ("llc-misses", 2_000_000),
        ("L1-icache-load-misses", 5_000_000),
        ("dtlb-walks", 1_000_000),
        ("iTLB-load-misses", 250_000),
        ("backend-stalls", 500_000_000),
        ("dispatch-slots", 8_000_000_000),
        ("smt-contention-slots", 1_000_000_000),
        ("store-buffer-stalls", 200_000_000),
        ("rob-stalls", 100_000_000),
        ("rs-stalls", 300_000_000),
    ];
    let expected = [
        ("ipc", 0.5),
        ("l1d-misses-per-kcycle", 15.0),
        ("l2-misses-per-kcycle", 4.0),
        ("l1i-misses-per-kcycle", 2.5),
        ("l1d-mpki", 30.0),
        ("l2-mpki", 8.0),
        ("llc-mpki", 2.0),
        ("branch-mpki", 4.0),
        ("dtlb-mpki", 1.0),
        ("itlb-mpki", 0.25),
        ("backend-stalls", 0.25),
        ("backend-slots", 0.0625),
        ("store-buffer-stalls", 0.1),
        ("rob-stalls", 0.05),
        ("rs-stalls", 0.15),
        ("smt-contention", 0.5),
    ];
    check("smt", &counts, &expected);
}

#[test]
fn memory_by_hand() {
    let counts = [
        ("cycles", 2_000_000_000),
        ("instructions", 3_000_000_000),
        ("l1d-misses", 60_000_000),
        ("l2-misses", 15_000_000),
        ("llc-misses", 6_000_000),
        ("llc-references", 15_000_000),
        ("dtlb-walks", 3_000_000),
        ("backend-stalls", 500_000_000),
        ("dispatch-slots", 8_000_000_000),
        ("uncore_imc/cas_count_read/", 25_000_000),
        ("uncore_imc/cas_count_write/", 12_500_000),
    ];
    let expected = [
        ("ipc", 1.5),
        ("l1d-mpki", 20.0),
        ("l2-mpki", 5.0),
        ("llc-mpki", 2.0),
        ("dtlb-mpki", 1.0),
        ("llc-hits", 0.6),
        ("mapus", 3.0),
        ("llc-misses-per-request", 6.0),
        ("backend-stalls", 0.25),
        ("backend-slots", 0.0625),
        ("memory-read", 4e8),
        ("memory-write", 2e8),
        ("memory-traffic", 6e8),
        ("memory-bytes-per-request", 2400.0),
        ("estimated-memory-read", 9.6e7),
    ];
    check("memory", &counts, &expected);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\n)*") {
        let _ = EventSet::parse(&text);
    }

    #[test]
    fn any_lines_after_a_good_head_are_read_or_refused(
        lines in prop::collection::vec(
            "(set|about|event|metric|share|note|#|) ?[abµ]{0,2} ?\\[?u?\\]? ?=? ?[-+*/() `ab1]{0,9}",
            0..6,
        ),
    ) {
        let text = format!("{HEAD}{}", lines.join("\n"));
        match EventSet::parse(&text) {
            Ok(set) => for symbol in set.metrics().iter().flat_map(|metric| metric.symbols()) {
                let there = symbol.event().is_none_or(|index| set.events()[index].name == symbol.name());
                prop_assert!(there);
            },
            Err(error) => prop_assert!((1..=text.lines().count()).contains(&error.line), "{error}"),
        }
    }
}
