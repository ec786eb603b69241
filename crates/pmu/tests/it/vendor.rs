//! The codes of vendors' events against tables made independently of ours.

use tailcore_pmu::vendor::{self, CounterSet};
use tailcore_pmu::{Meaning, Microarchitecture, Unit};

/// Packs terms as the kernel's plain formats do: Intel's, and AMD's with its split event number.
fn config(terms: &str) -> u64 {
    terms.split(',').fold(0, |config, term| {
        let (key, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            None => value.parse().unwrap(),
        };
        config
            | match key {
                "event" => (value & 0xff) | (value >> 8) << 32,
                "umask" => value << 8,
                "inv" => value << 23,
                "cmask" => value << 24,
                _ => panic!("{terms}"),
            }
    })
}

fn core(id: &str) -> Microarchitecture {
    Microarchitecture::find(id).unwrap_or_else(|| panic!("{id} is not in the table"))
}

/// What Linux is asked for to reach a fixed counter, where the list has a code that it would not know.
fn kernel_code(name: &str, listed: u64) -> u64 {
    match name {
        "INST_RETIRED.ANY" => 0xc0,
        "CPU_CLK_UNHALTED.THREAD" | "CPU_CLK_UNHALTED.CORE" => 0x3c,
        _ => listed,
    }
}

#[test]
fn every_intel_event_has_the_code_and_the_counters_of_intels_list() {
    let mut table = include_str!("golden/intel-events.txt").lines().filter(|line| !line.starts_with('#'));
    let cores: Vec<_> = table.next().unwrap().split(' ').skip(1).map(core).collect();
    let mut checked = 0;
    for line in table {
        let (name, cells) = line.split_once(' ').unwrap();
        for (&core, cell) in cores.iter().zip(cells.split(' ')) {
            let found = vendor::find(core, name);
            let Some((listed, counters)) = cell.split_once('@') else {
                assert_eq!(found, None, "{name} on {core:?}");
                continue;
            };
            let found = found.unwrap_or_else(|| panic!("{name} is missing on {core:?}"));
            let listed = u64::from_str_radix(listed, 16).unwrap();
            assert_eq!(config(found.terms), kernel_code(name, listed), "{name} on {core:?}");
            assert!(
                runs_on(found.counters, counters),
                "{name} on {core:?}: {:?}, {counters}",
                found.counters
            );
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked}");
}

fn runs_on(ours: CounterSet, listed: &str) -> bool {
    match ours {
        // The list of Nehalem numbers fixed counters from 1, that of all others from 0.
        CounterSet::Fixed(_) => listed.starts_with('F'),
        CounterSet::General(mask) => {
            let (first, last) = listed.split_once('-').unwrap_or((listed, listed));
            let bits: Vec<u32> = (0..16).filter(|bit| mask >> bit & 1 == 1).collect();
            bits.first().map(u32::to_string).as_deref() == Some(first)
                && bits.last().map(u32::to_string).as_deref() == Some(last)
        }
        _ => false,
    }
}

#[test]
fn client_cores_have_the_events_of_the_server_core_of_their_design() {
    let twins = [
        ("ivy-bridge", "ivy-bridge-ep"),
        ("haswell", "haswell-ep"),
        ("broadwell", "broadwell-ep"),
        ("skylake", "skylake-sp"),
        ("rocket-lake", "ice-lake-sp"),
        ("tiger-lake", "ice-lake-sp"),
        ("crestmont", "sierra-forest"),
    ];
    for (client, server) in twins {
        // Where a line came from in a machine of several packages is a server's question.
        let shared =
            vendor::events(core(server)).filter(|it| !it.name.starts_with("mem_load_l3_miss_retired."));
        assert!(vendor::events(core(client)).eq(shared), "{client}");
    }
}

#[test]
fn amd_codes_are_those_of_each_generation() {
    let golden = [
        ("zen1", "de_dis_dispatch_token_stalls0.retire_token_stall", 0x40af),
        ("zen2", "de_dis_dispatch_token_stalls0.retire_token_stall", 0x20af),
        ("zen3", "de_dis_dispatch_token_stalls2.retire_token_stall", 0x20af),
        ("zen4", "de_dis_dispatch_token_stalls2.retire_token_stall", 0x20af),
        ("zen5", "de_dispatch_stall_cycle_dynamic_tokens_part2.retq", 0x20af),
        ("zen3", "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall", 0x04ae),
        ("zen4", "DE_DIS_DISPATCH_TOKEN_STALLS1.STORE_QUEUE_RSRC_STALL", 0x04ae),
        ("zen5", "de_dispatch_stall_cycle_dynamic_tokens_part1.load_queue_rsrc_stall", 0x02ae),
        ("zen5", "de_dispatch_stall_cycle_dynamic_tokens_part2.ex_flush_recovery", 0x04af),
        ("zen4", "de_no_dispatch_per_slot.backend_stalls", 0x1_0000_1ea0),
        ("zen5", "de_no_dispatch_per_slot.no_ops_from_frontend", 0x1_0000_01a0),
        ("zen5", "de_no_dispatch_per_slot.smt_contention", 0x1_0000_60a0),
        ("zen4", "ls_not_halted_p0_cyc.p0_freq_cyc", 0x1_0000_0120),
        ("zen4", "ex_no_retire.load_not_complete", 0xa2d6),
        ("zen5", "ex_no_retire.all", 0x1bd6),
        ("zen1", "ic_fetch_stall.ic_stall_back_pressure", 0x0187),
        ("zen1", "ic_fetch_stall.ic_stall_dq_empty", 0x0287),
        ("zen2", "l2_cache_accesses_from_dc_misses", 0xc860),
        ("zen4", "l2_request_g1.all_dc", 0xe860),
        ("zen5", "l2_request_g1.all_dc", 0xe060),
        ("zen3", "l2_cache_req_stat.ic_dc_miss_in_l2", 0x0964),
        ("zen3", "l2_dtlb_misses", 0xf045),
        ("zen5", "ls_dmnd_fills_from_sys.dram_io_all", 0x4843),
        ("zen4", "ls_any_fills_from_sys.all", 0xff44),
        ("zen2", "ls_not_halted_cyc", 0x76),
    ];
    for (id, name, code) in golden {
        let found = vendor::find(core(id), name).unwrap_or_else(|| panic!("{name} is missing on {id}"));
        assert_eq!(config(found.terms), code, "{name} on {id}");
    }
    assert_eq!(vendor::find(core("zen4"), "ex_ret_instr").map(|it| it.pmu), Some(None));
    assert_eq!(vendor::find(core("zen4"), "l3_lookup_state.l3_miss").map(|it| it.pmu), Some(Some("amd_l3")));
}

#[test]
fn arm_codes_are_those_of_the_architecture_and_absent_where_a_core_lacks_them() {
    let on = |id, name| vendor::find(core(id), name).map(|event| event.terms);
    assert_eq!(on("neoverse-n1", "STALL_BACKEND"), Some("event=0x24"));
    assert_eq!(on("neoverse-v2", "stall_slot_backend"), Some("event=0x3d"));
    assert_eq!(on("neoverse-n1", "STALL_SLOT_BACKEND"), None);
    assert_eq!(on("neoverse-v1", "STALL_BACKEND_MEM"), Some("event=0x4005"));
    assert_eq!(on("neoverse-n1", "STALL_BACKEND_MEM"), None);
    assert_eq!(on("neoverse-v3", "STALL_BACKEND_ST"), Some("event=0x8168"));
    assert_eq!(on("neoverse-v2", "STALL_BACKEND_ST"), None);
    assert_eq!(on("neoverse-v3", "L3D_CACHE_REFILL"), None);
    assert_eq!(on("neoverse-v2", "LL_CACHE_MISS_RD"), Some("event=0x37"));
}

#[test]
fn the_events_of_the_tailbench_study_exist_on_haswell() {
    let golden = [
        ("mem_load_uops_retired.l1_hit", 0x01d1),
        ("mem_load_uops_retired.l1_miss", 0x08d1),
        ("mem_load_uops_retired.l2_miss", 0x10d1),
        ("mem_load_uops_retired.l3_miss", 0x20d1),
        ("cycle_activity.stalls_l1d_pending", 0x0c00_0ca3),
        ("cycle_activity.stalls_l2_pending", 0x0500_05a3),
        ("cycle_activity.stalls_ldm_pending", 0x0600_06a3),
        ("resource_stalls.any", 0x01a2),
        ("resource_stalls.rob", 0x10a2),
        ("resource_stalls.rs", 0x04a2),
        ("resource_stalls.sb", 0x08a2),
        ("uops_executed.stall_cycles", 0x0180_01b1),
    ];
    for (name, code) in golden {
        let found = vendor::find(core("haswell-ep"), name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(config(found.terms), code, "{name}");
    }
}

#[test]
fn portable_names_of_core_stalls_follow_the_end_of_resource_stalls() {
    let event = |name, id| Meaning::find(name).unwrap().on(core(id)).map(|it| (it.event, it.unit));
    assert_eq!(event("backend-stalls", "cascade-lake"), Ok(("resource_stalls.any", Unit::Cycles)));
    assert_eq!(event("backend-stalls", "ice-lake-sp"), Ok(("topdown.backend_bound_slots", Unit::Slots)));
    assert_eq!(event("backend-stalls", "neoverse-v2"), Ok(("STALL_BACKEND", Unit::Cycles)));
    assert_eq!(event("store-buffer-stalls", "granite-rapids"), Ok(("resource_stalls.sb", Unit::Cycles)));
    assert_eq!(event("rob-stalls", "broadwell"), Ok(("resource_stalls.rob", Unit::Cycles)));
    let rob = event("rob-stalls", "skylake-sp").unwrap_err();
    assert_eq!(rob.nearest, Some("resource_stalls.any"));
    assert!(rob.to_string().ends_with("; nearest: resource_stalls.any"), "{rob}");
}

#[test]
fn a_missing_name_tells_which_cores_have_it() {
    let ids: Vec<_> = vendor::cores_with("RESOURCE_STALLS.LB").map(Microarchitecture::id).collect();
    assert_eq!(ids, ["sandy-bridge", "sandy-bridge-ep"]);
    assert_eq!(vendor::cores_with("no_such_event").count(), 0);
}
