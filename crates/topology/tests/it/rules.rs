//! Named rules, over built trees.

use std::collections::BTreeSet;

use tailcore_topology::Role::{self, Client, CoRunner, Sampler, Server};
use tailcore_topology::{
    CpuOrder, PinPolicy, Placement, PlacementError, Request, Rule, Shortage, arrange, per_package_sets, place,
};

use crate::fixture::{CPU, Machine};

/// Six cores with two siblings each, `{i, i+6}`, below one L3.
fn six_cores() -> Machine {
    Machine::of_cores(&["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"])
}

/// The list form of some CPUs, in their order.
pub(crate) fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Four packages of eight cores without SMT; the CPU number modulo 4 is the package.
fn thesis() -> Machine {
    let machine = Machine::bare(32);
    for cpu in 0..32 {
        let package: Vec<String> = (0..8).map(|core| (core * 4 + cpu % 4).to_string()).collect();
        machine.cpu(cpu, &cpu.to_string(), &package.join(","));
        machine.cache(cpu, "index0 3 Unified 16384K", &package.join(","));
    }
    machine
}

/// Typed requests such as `server=smt-pair`, with numbers of threads.
pub(crate) fn requests(typed: &[(Role, &str, usize)]) -> Vec<Request> {
    let request = |&(role, rule, threads): &(Role, &str, usize)| {
        let rule = rule.parse().expect("a rule");
        Request { role, rule, threads }
    };
    typed.iter().map(request).collect()
}

fn arranged(machine: &Machine, typed: &[(Role, &str, usize)]) -> Placement {
    arrange(&machine.read(), &requests(typed)).unwrap()
}

fn refused(machine: &Machine, typed: &[(Role, &str, usize)]) -> PlacementError {
    arrange(&machine.read(), &requests(typed)).unwrap_err()
}

/// What one request on an empty machine gives.
fn alone(machine: &Machine, rule: &str, threads: usize) -> Vec<u32> {
    arranged(machine, &[(Server, rule, threads)]).cpus_of(Server)
}

#[track_caller]
fn assert_lacks(machine: &Machine, (rule, threads): (&str, usize), expected: Shortage) {
    match refused(machine, &[(Server, rule, threads)]) {
        PlacementError::Impossible { role: Some(Server), rule: named, reason, .. } => {
            assert_eq!(reason, expected, "{rule}");
            assert_eq!(named.to_string(), rule);
        }
        other => panic!("{rule}: {other}"),
    }
}

fn sets(lists: &[&str]) -> BTreeSet<BTreeSet<u32>> {
    let set = |list: &&str| list.parse::<CpuOrder>().unwrap().cpus().iter().copied().collect();
    lists.iter().map(set).collect()
}

#[track_caller]
fn assert_sets(cores: usize, threads: usize, expected: &[&str]) {
    let found = per_package_sets(&thesis().read(), cores, threads).unwrap();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    let found: BTreeSet<BTreeSet<u32>> = found.into_iter().map(|set| set.into_iter().collect()).collect();
    assert_eq!(found, sets(expected));
}

#[test]
fn the_core_sets_of_the_thesis_for_four_threads() {
    assert_sets(1, 4, &["0-3", "4-7", "8-11", "12-15"]);
    assert_sets(2, 4, &["0,4,1,5", "0,4,2,6", "0,4,3,7", "1,5,2,6", "1,5,3,7", "2,6,3,7"]);
    assert_sets(4, 4, &["0,4,8,12", "1,5,9,13", "2,6,10,14", "3,7,11,15"]);
}

#[test]
fn the_core_sets_of_the_thesis_for_eight_threads() {
    assert_sets(2, 8, &["0-7", "16-23", "8-15", "24-31"]);
    let package =
        |first: u32| (0..8).map(|core| (first + core * 4).to_string()).collect::<Vec<_>>().join(",");
    let whole: Vec<String> = (0..4).map(package).collect();
    assert_sets(8, 8, &whole.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn sets_come_in_the_order_of_the_table_package_by_package() {
    let found = per_package_sets(&thesis().read(), 2, 4).unwrap();
    assert_eq!(found[0], [0, 4, 1, 5]);
    assert_eq!(found[3], [1, 5, 2, 6]);
    assert_eq!(found[5], [2, 6, 3, 7]);
}

#[test]
fn per_package_gives_the_first_free_set() {
    let machine = thesis();
    assert_eq!(alone(&machine, "2-per-package", 4), [0, 4, 1, 5]);
    let two = arranged(&machine, &[(Server, "1-per-package", 4), (CoRunner, "1-per-package", 4)]);
    assert_eq!(two.cpus_of(CoRunner), [4, 5, 6, 7]);
    let two = arranged(&machine, &[(Server, "2-per-package", 4), (CoRunner, "2-per-package", 4)]);
    assert_eq!(two.cpus_of(CoRunner), [2, 6, 3, 7]);
    let error = refused(&machine, &[(Server, "3-per-package", 9), (CoRunner, "3-per-package", 6)]);
    assert!(error.to_string().starts_with("`3-per-package` cannot place 6 co-runner threads: "), "{error}");
    assert!(matches!(error, PlacementError::Impossible { reason: Shortage::SetsTaken, .. }));
}

#[test]
fn per_package_says_what_does_not_fit() {
    let machine = thesis();
    assert_lacks(&machine, ("3-per-package", 4), Shortage::NotAMultiple { of: 3 });
    assert_lacks(&machine, ("1-per-package", 5), Shortage::Packages { needed: 5, cores: 1, usable: 4 });
    assert_lacks(&machine, ("9-per-package", 9), Shortage::Packages { needed: 1, cores: 9, usable: 0 });
    assert_lacks(&Machine::bare(4), ("1-per-package", 1), Shortage::NoPackages);
    assert!(per_package_sets(&machine.read(), 0, 4).is_err());
    assert!(per_package_sets(&machine.read(), 1, 0).is_err());
}

#[test]
fn rules_of_cores_and_siblings() {
    let machine = six_cores();
    assert_eq!(alone(&machine, "one-thread", 1), [0]);
    assert_eq!(alone(&machine, "one-per-core", 2), [0, 1]);
    assert_eq!(alone(&machine, "smt-pair", 2), [0, 6]);
    assert_eq!(alone(&machine, "smt-pair", 4), [0, 6, 1, 7]);
    assert_eq!(alone(&machine, "pack", 5), [0, 6, 1, 7, 2]);
    assert_eq!(alone(&machine, "spread", 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(alone(&machine, "2-physical-4-logical", 4), [0, 1, 6, 7]);
    assert_eq!(alone(&machine, "2-physical-3-logical", 3), [0, 1, 6]);
    assert_eq!(alone(&machine, "3-physical-3-logical", 3), [0, 1, 2]);
    assert_eq!(alone(&machine, "4,0,2-3", 4), [4, 0, 2, 3]);
    assert_eq!(alone(&machine, "4,0,2-3", 2), [4, 0]);
}

#[test]
fn a_client_on_the_rest_stays_while_the_server_changes() {
    let machine = six_cores();
    for (rule, threads, server) in
        [("smt-pair", 2, vec![0, 6]), ("one-per-core", 2, vec![0, 1]), ("one-thread", 1, vec![0])]
    {
        // Asked for first, decided last.
        let placed = arranged(&machine, &[(Client, "client-on-rest", 4), (Server, rule, threads)]);
        assert_eq!(placed.cpus_of(Server), server, "{rule}");
        assert_eq!(placed.cpus_of(Client), [2, 3, 4, 5], "{rule}");
        assert_eq!(placed.placed()[0].role, Client);
    }
}

#[test]
fn shortages_of_cores_and_siblings_are_named() {
    let machine = six_cores();
    assert_lacks(&machine, ("one-thread", 2), Shortage::ThreadsMustBe { exactly: 1 });
    assert_lacks(&machine, ("one-per-core", 7), Shortage::Cores { needed: 7, free: 6 });
    assert_lacks(&machine, ("client-on-rest", 7), Shortage::Cores { needed: 7, free: 6 });
    assert_lacks(&machine, ("smt-pair", 3), Shortage::NotAMultiple { of: 2 });
    assert_lacks(&machine, ("smt-pair", 14), Shortage::Siblings { needed: 7, siblings: 2, free: 6 });
    assert_lacks(&machine, ("2-physical-4-logical", 3), Shortage::ThreadsMustBe { exactly: 4 });
    assert_lacks(
        &machine,
        ("1-physical-3-logical", 3),
        Shortage::Siblings { needed: 1, siblings: 3, free: 0 },
    );
    assert_lacks(&machine, ("7-physical-7-logical", 7), Shortage::Cores { needed: 7, free: 6 });
    assert_lacks(&machine, ("pack", 13), Shortage::Cpus { free: 12 });
    assert_lacks(&machine, ("spread", 13), Shortage::Cpus { free: 12 });
    assert_lacks(&machine, ("one-l3", 13), Shortage::CacheTooSmall { largest: 12 });
    assert_lacks(&machine, ("one-node", 1), Shortage::NoNumaNodes);
    assert_lacks(&machine, ("4,0", 3), Shortage::List { listed: 2 });
    assert_lacks(&Machine::bare(2), ("one-l3", 1), Shortage::NoLastLevelCache { highest: None });
    assert_lacks(&Machine::bare(2), ("other-package", 1), Shortage::NoPackages);
    assert_lacks(&Machine::bare(2), ("smt-pair", 2), Shortage::Siblings { needed: 1, siblings: 2, free: 0 });
    let shapeless = Rule::PhysicalLogical { physical: 0, logical: 2 };
    let request = Request { role: Server, rule: shapeless, threads: 2 };
    assert!(arrange(&machine.read(), &[request]).is_err());
}

#[test]
fn near_and_far_on_two_packages() {
    let machine = Machine::two_packages(); // Packages 0,4 1,5 and 2,6 3,7; a node for each.
    assert_eq!(alone(&machine, "pack", 8), [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(alone(&machine, "spread", 8), [0, 2, 1, 3, 4, 6, 5, 7]);
    // Near means one package even where the first has a core left.
    let placed = arranged(&machine, &[(Server, "one-thread", 1), (CoRunner, "pack", 4)]);
    assert_eq!(placed.cpus_of(CoRunner), [2, 6, 3, 7]);
    let placed = arranged(&machine, &[(Server, "one-thread", 1), (CoRunner, "pack", 2)]);
    assert_eq!(placed.cpus_of(CoRunner), [1, 5]);
}

#[test]
fn far_means_other_caches_of_a_package_before_other_cores() {
    let machine = Machine::bare(8); // Two packages of two L3 of two cores, numbered in a row.
    for cpu in 0..8 {
        machine.cpu(cpu, &cpu.to_string(), if cpu < 4 { "0-3" } else { "4-7" });
        machine.cache(cpu, "index0 3 Unified 8M", &format!("{}-{}", cpu & !1, cpu | 1));
    }
    assert_eq!(alone(&machine, "spread", 8), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(alone(&machine, "pack", 2), [0, 1]);
    let placed = arranged(&machine, &[(Server, "one-thread", 1), (CoRunner, "pack", 2)]);
    assert_eq!(placed.cpus_of(CoRunner), [2, 3]);
    assert_eq!(alone(&machine, "one-l3", 2), [0, 1]);
    assert_lacks(&machine, ("one-l3", 3), Shortage::CacheTooSmall { largest: 2 });
}

#[test]
fn what_has_fewer_parts_is_the_coarser_level() {
    let machine = Machine::bare(4); // A package of two dies of two NUMA nodes of one core.
    for cpu in 0..4 {
        machine.cpu(cpu, &cpu.to_string(), "0-3");
        machine.topology(cpu, "die_cpus_list", if cpu % 2 == 0 { "0,2" } else { "1,3" });
        machine.node(cpu, &cpu.to_string(), 1024);
    }
    assert_eq!(alone(&machine, "pack", 4), [0, 2, 1, 3]);
    assert_eq!(alone(&machine, "spread", 2), [0, 1]);
}

#[test]
fn one_cache_and_one_node_prefer_cores_to_siblings() {
    let machine = Machine::two_packages();
    for rule in ["one-l3", "one-node"] {
        assert_eq!(alone(&machine, rule, 2), [0, 1]);
        assert_eq!(alone(&machine, rule, 3), [0, 1, 4]);
        // With one core of the first taken, the second has two cores.
        let placed = arranged(&machine, &[(Server, "one-thread", 1), (Client, rule, 2)]);
        assert_eq!(placed.cpus_of(Client), [2, 3], "{rule}");
        // With a core of each taken, siblings of the first must do.
        let typed = [(Server, "0,2", 2), (Client, rule, 2)];
        assert_eq!(arranged(&machine, &typed).cpus_of(Client), [1, 5], "{rule}");
    }
    assert_lacks(&machine, ("one-node", 5), Shortage::NodeTooSmall { largest: 4 });
}

#[test]
fn another_package_is_one_that_nobody_else_has_touched() {
    let machine = Machine::two_packages();
    // Decided after the server, whatever the order, and before the rest.
    let typed = [(Client, "client-on-rest", 1), (CoRunner, "other-package", 2), (Server, "one-thread", 1)];
    let placed = arranged(&machine, &typed);
    assert_eq!(placed.cpus_of(CoRunner), [2, 3]);
    assert_eq!(placed.cpus_of(Client), [1]);
    let error = refused(&machine, &[(Server, "spread", 2), (Client, "other-package", 1)]);
    let none = Shortage::NoOtherPackage { needed: 1, largest: 0 };
    assert!(matches!(error, PlacementError::Impossible { reason, .. } if reason == none));
    assert_lacks(&machine, ("other-package", 3), Shortage::NoOtherPackage { needed: 3, largest: 2 });
}

#[test]
fn two_programs_share_packages_as_in_the_co_runs_of_the_thesis() {
    let machine = thesis();
    for (rule, server, co_runner) in [
        ("4-per-package", [0, 4, 8, 12], [16, 20, 24, 28]),
        ("2-per-package", [0, 4, 1, 5], [8, 9, 12, 13]),
        ("1-per-package", [0, 1, 2, 3], [4, 5, 6, 7]),
        ("1,5,2,6", [1, 5, 2, 6], [9, 10, 13, 14]),
    ] {
        // Asked for first, decided later; a client on another package is not joined.
        let mut typed = vec![(CoRunner, "same-package", 4), (Server, rule, 4)];
        if rule != "1-per-package" {
            typed.push((Client, "other-package", 2));
        }
        let placed = arranged(&machine, &typed);
        assert_eq!(placed.cpus_of(Server), server, "{rule}");
        assert_eq!(placed.cpus_of(CoRunner), co_runner, "{rule}");
    }
}

#[test]
fn the_same_packages_get_even_shares_or_it_is_an_error() {
    let machine = Machine::two_packages(); // Packages 0,4 1,5 and 2,6 3,7.
    let typed = |server, threads| [(Server, server, 2), (CoRunner, "same-package", threads)];
    assert_eq!(arranged(&machine, &typed("0,2", 2)).cpus_of(CoRunner), [1, 3]);
    assert_eq!(arranged(&machine, &typed("0,4", 1)).cpus_of(CoRunner), [1]);
    assert_eq!(
        arranged(&machine, &[(Server, "0,1,2", 3), (CoRunner, "same-package", 1)]).cpus_of(CoRunner),
        [3]
    );
    let lacking = |typed: &[(Role, &str, usize)]| match refused(&machine, typed) {
        PlacementError::Impossible { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(lacking(&typed("0,2", 3)), Shortage::SamePackages { packages: 2, free: 2, least: 1 });
    assert_eq!(lacking(&typed("0,1", 1)), Shortage::SamePackages { packages: 1, free: 0, least: 0 });
    assert_eq!(lacking(&[(CoRunner, "same-package", 1)]), Shortage::NoPackageInUse);
    assert_lacks(&Machine::bare(2), ("same-package", 1), Shortage::NoPackages);
    // Enough cores together, and still not evenly: 1 of 8 in one package, 2 of 8 in another, 8 in a third.
    let server = [(0..7).map(|core| core * 4).collect(), (0..6).map(|core| core * 4 + 1).collect(), vec![2]];
    let server = list(&server.concat());
    let machine = thesis();
    let typed = |threads| [(Server, server.as_str(), 14), (CoRunner, "same-package", threads)];
    assert_eq!(arranged(&machine, &typed(5)).cpus_of(CoRunner), [28, 25, 6, 29, 10]);
    let reason = Shortage::SamePackages { packages: 3, free: 10, least: 1 };
    let error = refused(&machine, &typed(6));
    assert!(matches!(error, PlacementError::Impossible { reason: found, .. } if found == reason));
}

#[test]
fn more_threads_than_any_machine_has_are_refused_before_they_are_counted_out() {
    for rule in ["dummy", "numapair", "4,0", "pack", "one-per-core", "client-on-rest"] {
        for threads in [65_537, 4_000_000_000, usize::MAX] {
            assert_lacks(&six_cores(), (rule, threads), Shortage::TooManyThreads { most: 65_536 });
        }
    }
    assert_eq!(alone(&six_cores(), "dummy", 65_536).len(), 65_536);
}

#[test]
fn a_last_level_cache_below_level_3_is_named() {
    let machine = Machine::of_cores(&["0", "1"]);
    for cpu in 0..2 {
        machine.remove(&format!("{CPU}/cpu{cpu}/cache/index3"));
    }
    assert_lacks(&machine, ("one-l3", 1), Shortage::NoLastLevelCache { highest: Some(2) });
    let error = refused(&machine, &[(Server, "one-l3", 1)]).to_string();
    assert!(error.contains("the last-level cache is an L2, ") && !error.contains("one-node"), "{error}");
}

#[test]
fn one_of_a_thing_is_not_several() {
    let machine = Machine::bare(1);
    machine.allowed("0");
    for (rule, message) in [
        (
            "one-per-core",
            "`one-per-core` cannot place 2 server threads: it needs 2 free cores, and 1 can be had",
        ),
        ("pack", "`pack` cannot place 2 server threads: free cores have 1 allowed logical CPU;"),
        (
            "smt-pair",
            "`smt-pair` cannot place 2 server threads: it needs 1 free core with 2 allowed SMT siblings",
        ),
    ] {
        let error = refused(&machine, &[(Server, rule, 2)]).to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error = refused(&machine, &[(Server, "0", 1), (Client, "one-per-core", 1)]).to_string();
    assert!(error.contains("1 client thread: it needs 1 free core, and 0 can be had"), "{error}");
}

#[test]
fn lists_and_formulas_come_first_and_must_not_meet() {
    let machine = six_cores();
    let placed = arranged(&machine, &[(Server, "one-per-core", 2), (Client, "0", 1)]);
    assert_eq!(placed.cpus_of(Server), [1, 2]);
    let error = refused(&machine, &[(Server, "6,0", 2), (Client, "dummy", 1)]);
    let rule = "dummy".parse().unwrap();
    assert_eq!(error, PlacementError::Taken { cpu: 0, role: Client, rule, by: Server });
    assert!(error.to_string().starts_with("CPU 0, wanted for client by `dummy`, is taken by server; "));
}

#[test]
fn formulas_are_cpu_numbers_and_may_repeat() {
    let machine = six_cores();
    assert_eq!(alone(&machine, "dummy", 3), [0, 0, 0]);
    assert_eq!(alone(&machine, "equitative", 3), [1, 2, 3]);
    assert_eq!(alone(&machine, "pair", 7), [0, 2, 4, 6, 8, 10, 0]);
    assert_eq!(alone(&machine, "impair", 2), [1, 3]);
    assert_eq!(alone(&machine, "simplecore", 4), [0, 6, 0, 6]);
    assert_eq!(alone(&machine, "numapair", 4), [0, 6, 2, 8]);
    machine.allowed("0-3");
    let error = refused(&machine, &[(Server, "numapair", 2)]);
    assert!(matches!(error, PlacementError::NotAllowed { cpu: 6, .. }), "{error}");
}

#[test]
fn only_allowed_cpus_count() {
    let machine = six_cores();
    machine.allowed("1,3-4,6,10");
    assert_eq!(alone(&machine, "one-per-core", 4), [1, 3, 4, 6]);
    assert_eq!(alone(&machine, "smt-pair", 2), [4, 10]);
    assert_eq!(alone(&machine, "2-physical-3-logical", 3), [1, 4, 10]);
    assert_lacks(&machine, ("smt-pair", 4), Shortage::Siblings { needed: 2, siblings: 2, free: 1 });
    let error = refused(&machine, &[(Server, "1,0", 1)]);
    assert!(matches!(error, PlacementError::NotAllowed { cpu: 0, .. }), "{error}");
}

#[test]
fn isolated_cpus_that_are_allowed_count_like_others() {
    let machine = six_cores();
    machine.file(&format!("{CPU}/isolated"), "0,6\n");
    assert_eq!(alone(&machine, "smt-pair", 2), [0, 6]);
}

#[test]
fn cpus_of_unknown_core_are_cores() {
    let machine = Machine::bare(3);
    assert_eq!(alone(&machine, "one-per-core", 2), [0, 1]);
    assert_eq!(alone(&machine, "pack", 3), [0, 1, 2]);
    assert_eq!(alone(&machine, "spread", 3), [0, 1, 2]);
    let placed = arranged(&machine, &[(Server, "one-thread", 1), (Client, "client-on-rest", 2)]);
    assert_eq!(placed.cpus_of(Client), [1, 2]);
}

#[test]
fn no_threads_are_no_error() {
    let placed = arranged(&six_cores(), &[(Server, "3-per-package", 0), (Client, "one-thread", 0)]);
    assert_eq!(placed.placed().len(), 2);
    assert!(placed.iter().all(|placed| placed.cpus().is_empty()));
}

/// Two large cores with SMT, and two small ones with the lower CPU numbers.
fn hybrid() -> Machine {
    let machine = Machine::of_cores(&["0", "1", "2,3", "4,5"]);
    machine.file("sys/devices/cpu_core/cpus", "2-5\n");
    machine.file("sys/devices/cpu_atom/cpus", "0-1\n");
    machine
}

#[test]
fn kinds_of_cpu_are_not_mixed() {
    let machine = hybrid();
    assert_eq!(machine.read().kinds().len(), 2);
    assert_eq!(alone(&machine, "one-per-core", 2), [2, 4]);
    assert_eq!(alone(&machine, "pack", 4), [2, 3, 4, 5]);
    let placed = arranged(&machine, &[(Server, "one-per-core", 2), (Client, "client-on-rest", 2)]);
    assert_eq!(placed.cpus_of(Client), [0, 1]);
    assert_lacks(&machine, ("one-per-core", 3), Shortage::OneKind { kinds: 2 });
    assert_lacks(&machine, ("one-per-core", 5), Shortage::Cores { needed: 5, free: 4 });
    assert_eq!(alone(&machine, "0,2", 2), [0, 2]);
}

#[test]
fn a_placement_prints_as_a_table() {
    let placed =
        arranged(&Machine::two_packages(), &[(Server, "smt-pair", 2), (CoRunner, "other-package", 1)]);
    let table = "\
role       thread  CPU  core  package  node
server          0    0   0,4        0     0
server          1    4   0,4        0     0
co-runner       0    2   2,6     8442     2
";
    assert_eq!(placed.to_string(), table);
    let bare = arranged(&Machine::bare(1), &[(Sampler, "one-thread", 1)]).to_string();
    assert!(bare.ends_with("sampler       0    0  unknown  unknown  unknown\n"), "{bare}");
}

#[test]
fn a_placement_serialises_with_the_places() {
    let placed = arranged(&Machine::two_packages(), &[(Server, "one-thread", 1)]);
    let place = serde_json::json!({"cpu": 0, "core": "0,4", "package": 0, "node": 0});
    let expected = serde_json::json!([{"role": "server", "rule": "one-thread", "threads": [place]}]);
    assert_eq!(serde_json::to_value(&placed).unwrap(), expected);
}

fn place_typed(machine: &Machine, policy: &str, roles: &[Role]) -> Result<Vec<u32>, PlacementError> {
    let policy: PinPolicy = policy.parse().expect("a policy");
    Ok(place(&machine.read(), &policy, roles)?.into_iter().flatten().collect())
}

#[test]
fn a_bare_rule_places_all_threads_together_servers_first() {
    let machine = six_cores();
    let roles = [Client, Server, Sampler, Server];
    assert_eq!(place_typed(&machine, "one-per-core", &roles).unwrap(), [2, 0, 3, 1]);
    assert_eq!(place_typed(&machine, "smt-pair", &[Client, Server]).unwrap(), [6, 0]);
    assert_eq!(place_typed(&machine, "dummy", &[Client, Server]).unwrap(), [0, 0]);
    let error = place_typed(&machine, "smt-pair", &[Client, Server, Server]).unwrap_err().to_string();
    let message = "`smt-pair` cannot place 3 threads: the number of threads must be a positive multiple of 2";
    assert_eq!(error, message);
}

#[test]
fn rules_for_each_role() {
    let machine = six_cores();
    let roles = [Client, Server, Client, Server];
    let placed = place_typed(&machine, "server=smt-pair,client=client-on-rest", &roles).unwrap();
    assert_eq!(placed, [4, 0, 5, 6]);
    let placed = place_typed(&machine, "client=2,8,server=5,0-1", &roles).unwrap();
    assert_eq!(placed, [2, 5, 8, 0]);
    // A role without threads needs no threads that fit.
    assert_eq!(place_typed(&machine, "server=one-thread,client=smt-pair", &[Server]).unwrap(), [0]);
    let error = place_typed(&machine, "server=one-thread", &[Server, Sampler]).unwrap_err();
    assert_eq!(error, PlacementError::RoleNotNamed { role: Sampler });
}
