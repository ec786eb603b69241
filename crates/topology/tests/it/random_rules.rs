//! Rules on machines of random shape and numbering: what holds whatever the machine.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tailcore_topology::Role::{Client, Server};
use tailcore_topology::{Request, Rule, Topology, arrange};

use crate::fixture::Machine;
use crate::rules::{list, requests};

/// A machine of a random shape and numbering, and some of its CPUs.
fn machines() -> impl Strategy<Value = Topology> {
    let shape = (1..=2_usize, 1..=2_usize, 1..=3_usize, 1..=2_usize);
    let numbered = shape.prop_flat_map(|(packages, caches, cores, siblings)| {
        let count = packages * caches * cores * siblings;
        let numbers: Vec<usize> = (0..count).collect();
        let allowed = proptest::sample::subsequence(numbers.clone(), 1..=count);
        (Just([packages, caches, cores, siblings]), Just(numbers).prop_shuffle(), allowed)
    });
    numbered.prop_map(|(shape, numbers, allowed)| build(shape, &numbers, &list(&allowed)))
}

fn build([packages, caches, _, siblings]: [usize; 4], numbers: &[usize], allowed: &str) -> Topology {
    let machine = Machine::bare(u32::try_from(numbers.len()).unwrap());
    machine.allowed(allowed);
    for (index, package) in numbers.chunks(numbers.len() / packages).enumerate() {
        machine.node(u32::try_from(index).unwrap(), &list(package), 1024);
        for cache in package.chunks(package.len() / caches) {
            for core in cache.chunks(siblings) {
                for &cpu in core {
                    let cpu = u32::try_from(cpu).unwrap();
                    machine.cpu(cpu, &list(core), &list(package));
                    machine.cache(cpu, "index0 3 Unified 8M", &list(cache));
                }
            }
        }
    }
    machine.read()
}

/// A rule that names no CPUs, with a number of threads.
fn rules() -> impl Strategy<Value = (String, usize)> {
    let names = [
        "one-thread",
        "one-per-core",
        "smt-pair",
        "pack",
        "spread",
        "one-l3",
        "one-node",
        "2-physical-3-logical",
        "1-per-package",
        "2-per-package",
        "same-package",
        "other-package",
        "client-on-rest",
    ];
    (proptest::sample::select(names.map(str::to_owned).to_vec()), 1..=4_usize)
}

fn core_of(topology: &Topology, cpu: u32) -> u32 {
    topology.smt_siblings(cpu).iter().chain([cpu]).min().unwrap()
}

fn cores_of(topology: &Topology, cpus: &[u32]) -> BTreeSet<u32> {
    cpus.iter().map(|&cpu| core_of(topology, cpu)).collect()
}

/// What the name of a rule promises of the cores.
fn keeps_its_word(topology: &Topology, rule: &str, cpus: &[u32]) -> bool {
    let cores = cores_of(topology, cpus).len();
    let parts = |parts: Vec<&tailcore_topology::CpuSet>| {
        let touched = |part: &&&tailcore_topology::CpuSet| cpus.iter().any(|&cpu| part.contains(cpu));
        parts.iter().filter(touched).count()
    };
    let packages = || parts(topology.packages().iter().map(|package| &package.cpus).collect());
    match rule {
        "smt-pair" => cores * 2 == cpus.len(),
        "2-physical-3-logical" => cores == 2 && cpus.len() == 3,
        "one-l3" => parts(topology.caches().iter().map(|cache| &cache.cpus).collect()) == 1,
        "one-node" => parts(topology.numa_nodes().iter().map(|node| &node.cpus).collect()) == 1,
        "1-per-package" => cores == cpus.len() && packages() == cpus.len(),
        "2-per-package" => cores == cpus.len() && packages() * 2 == cpus.len(),
        "other-package" => cores == cpus.len() && packages() == 1,
        "pack" | "spread" => true,
        _ => cores == cpus.len(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn roles_are_disjoint_allowed_and_as_their_rules_say(
        topology in machines(),
        asked in proptest::collection::vec(rules(), 8),
    ) {
        // Several pairs for each machine, because machines are slow to build.
        for pair in asked.chunks(2) {
            let typed: Vec<_> =
                [Server, Client].into_iter().zip(pair).map(|(role, (rule, n))| (role, rule.as_str(), *n)).collect();
            let requests = requests(&typed);
            let placement = arrange(&topology, &requests);
            prop_assert_eq!(&placement, &arrange(&topology, &requests));
            let Ok(placement) = placement else { continue };
            for (placed, (role, rule, threads)) in placement.iter().zip(&typed) {
                let cpus = placed.cpus();
                prop_assert_eq!(placed.role, *role);
                prop_assert_eq!(cpus.len(), *threads);
                prop_assert_eq!(cpus.iter().collect::<BTreeSet<_>>().len(), *threads);
                prop_assert!(cpus.iter().all(|&cpu| topology.allowed().contains(cpu)));
                prop_assert!(keeps_its_word(&topology, rule, &cpus), "{} {:?}", rule, cpus);
            }
            let cores = |role| cores_of(&topology, &placement.cpus_of(role));
            prop_assert!(cores(Server).is_disjoint(&cores(Client)), "{}", placement);
        }
    }

    #[test]
    fn all_allowed_cpus_can_be_packed_and_spread(topology in machines()) {
        let allowed: Vec<u32> = topology.allowed().iter().collect();
        for rule in [Rule::Pack, Rule::Spread] {
            let request = |threads| Request { role: Server, rule: rule.clone(), threads };
            let placed = arrange(&topology, &[request(allowed.len())]).unwrap();
            let mut cpus = placed.cpus_of(Server);
            let cores = cores_of(&topology, &cpus).len();
            if rule == Rule::Spread {
                prop_assert_eq!(cores_of(&topology, &cpus[..cores]).len(), cores, "a sibling came early");
            }
            cpus.sort_unstable();
            prop_assert_eq!(&cpus, &allowed);
            prop_assert!(arrange(&topology, &[request(allowed.len() + 1)]).is_err());
        }
    }
}
