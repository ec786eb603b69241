//! Placements that differ by more than a symmetry of the machine.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tailcore_topology::{CpuSet, EnumerateError, Exactness, Topology, distinct_placements};

use crate::fixture::{CPU, Machine, NODE};

/// The distances of a real machine: four packages of two nodes, one or two hops apart.
const HOPS: [[u32; 8]; 8] = [
    [10, 16, 16, 22, 16, 22, 16, 22],
    [16, 10, 22, 16, 16, 22, 22, 16],
    [16, 22, 10, 16, 16, 16, 16, 16],
    [22, 16, 16, 10, 16, 16, 22, 22],
    [16, 16, 16, 16, 10, 16, 16, 22],
    [22, 22, 16, 16, 16, 10, 22, 16],
    [16, 22, 16, 22, 16, 22, 10, 16],
    [22, 16, 16, 22, 22, 16, 16, 10],
];

/// The placements as CPU lists, of which each class is there once.
fn listed(topology: &Topology, threads: usize) -> Vec<String> {
    let found = distinct_placements(topology, threads, 10_000).expect("there are enough CPUs");
    assert_eq!(found.exactness, Exactness::Exact);
    found.placements.iter().map(CpuSet::to_string).collect()
}

fn list(cpus: impl IntoIterator<Item = u32>) -> String {
    cpus.into_iter().collect::<CpuSet>().to_string()
}

fn distances<const N: usize>(machine: &Machine, rows: &[[u32; N]]) {
    for (node, row) in rows.iter().enumerate() {
        let row = row.map(|distance| distance.to_string()).join(" ");
        machine.file(&format!("{NODE}/node{node}/distance"), format!("{row}\n"));
    }
}

/// Every permutation of the numbers below `count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let insert = |shorter: &Vec<usize>, at: usize| {
        let mut longer = shorter.clone();
        longer.insert(at, last);
        longer
    };
    let shorter = permutations(last);
    shorter.iter().flat_map(|shorter| (0..count).map(move |at| insert(shorter, at))).collect()
}

/// What a symmetry must not change. At most one node has no CPUs.
struct Looks {
    sets: Vec<(String, BTreeSet<usize>)>,
    nodes: Vec<Node>,
    distances: Vec<Vec<Option<u32>>>,
}

/// A node's CPUs, whether it has memory, and whether this process may use that.
type Node = (BTreeSet<usize>, bool, bool);

impl Looks {
    fn of(topology: &Topology) -> Self {
        let set = |cpus: &CpuSet| cpus.iter().map(|cpu| cpu as usize).collect::<BTreeSet<_>>();
        let mut sets = vec![
            ("allowed".to_owned(), set(topology.allowed())),
            ("isolated".to_owned(), set(topology.isolated())),
            ("tickless".to_owned(), set(topology.nohz_full())),
        ];
        sets.extend(topology.packages().iter().map(|part| ("package".to_owned(), set(&part.cpus))));
        sets.extend(topology.dies().iter().map(|part| ("die".to_owned(), set(&part.cpus))));
        sets.extend(topology.clusters().iter().map(|part| ("cluster".to_owned(), set(&part.cpus))));
        sets.extend(topology.cores().iter().map(|part| ("core".to_owned(), set(&part.cpus))));
        sets.extend(topology.caches().iter().map(|part| {
            let (level, kind, size) = (part.level, part.kind, part.size_bytes);
            (format!("L{level} {kind:?} {size:?}"), set(&part.cpus))
        }));
        sets.sort();
        let nodes = topology.numa_nodes();
        let distance = |from: usize, to: usize| nodes[from].distances.get(&nodes[to].os_index).copied();
        let usable = |node: u32| topology.allowed_nodes().is_none_or(|nodes| nodes.contains(&node));
        let row = |from| (0..nodes.len()).map(|to| distance(from, to)).collect();
        Self {
            sets,
            nodes: nodes
                .iter()
                .map(|node| (set(&node.cpus), node.memory_bytes > Some(0), usable(node.os_index)))
                .collect(),
            distances: (0..nodes.len()).map(row).collect(),
        }
    }

    /// Whether nothing looks different when each CPU is replaced by its image.
    fn same_after(&self, image: &[usize]) -> bool {
        let moved = |set: &BTreeSet<usize>| set.iter().map(|&cpu| image[cpu]).collect::<BTreeSet<_>>();
        let mut sets: Vec<_> = self.sets.iter().map(|(label, set)| (label.clone(), moved(set))).collect();
        sets.sort();
        let node = |(cpus, memory, usable): &Node| {
            let becomes = (moved(cpus), *memory, *usable);
            self.nodes.iter().position(|other| *other == becomes)
        };
        let Some(nodes) = self.nodes.iter().map(node).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let kept = |a: usize, b: usize| self.distances[a][b] == self.distances[nodes[a]][nodes[b]];
        sets == self.sets && (0..nodes.len()).all(|a| (0..nodes.len()).all(|b| kept(a, b)))
    }
}

/// Checks the placements of `threads` threads on CPUs numbered from 0 against every symmetry.
fn check(topology: &Topology, symmetries: &[Vec<usize>], threads: usize) {
    let count = symmetries[0].len();
    let allowed = topology.allowed();
    let class = |cpus: u32| {
        let image = |symmetry: &Vec<usize>| {
            (0..count).filter(|&cpu| cpus >> cpu & 1 == 1).map(|cpu| 1_u32 << symmetry[cpu]).sum::<u32>()
        };
        symmetries.iter().map(image).min().expect("the identity is a symmetry")
    };
    let possible = (0_u32..1 << count).filter(|cpus| {
        let mut members = (0..32).filter(|cpu| cpus >> cpu & 1 == 1);
        cpus.count_ones() as usize == threads && members.all(|cpu| allowed.contains(cpu))
    });
    let expected: BTreeSet<u32> = possible.map(class).collect();
    let found = distinct_placements(topology, threads, 10_000).expect("there are enough CPUs");
    assert_eq!(found.exactness, Exactness::Exact);
    let mask = |cpus: &CpuSet| cpus.iter().map(|cpu| 1_u32 << cpu).sum::<u32>();
    let classes: BTreeSet<u32> = found.placements.iter().map(|cpus| class(mask(cpus))).collect();
    assert_eq!(classes, expected, "{threads} threads");
    assert_eq!(found.placements.len(), expected.len(), "{threads} threads: {:?}", found.placements);
    assert!(found.placements.iter().all(|cpus| cpus.is_subset(allowed) && cpus.len() == threads));
}

fn symmetries(topology: &Topology) -> Vec<Vec<usize>> {
    let looks = Looks::of(topology);
    let all = permutations(topology.online().len());
    all.into_iter().filter(|image| looks.same_after(image)).collect()
}

#[test]
fn two_packages_of_two_cores_of_two_siblings() {
    let topology = Machine::two_packages().read();
    assert_eq!(listed(&topology, 0), [""]);
    assert_eq!(listed(&topology, 1), ["0"]);
    // One core; one package; both packages.
    assert_eq!(listed(&topology, 2), ["0,4", "0-1", "0,2"]);
    // A core and its neighbour; a core and the other package; two cores and the other package.
    assert_eq!(listed(&topology, 3), ["0-1,4", "0,2,4", "0-2"]);
    // By hand: a package; 3 + 1; 2 + 2 as core and core, core and cores, cores and cores.
    assert_eq!(listed(&topology, 4), ["0-1,4-5", "0-2,4", "0,2,4,6", "0,2-4", "0-3"]);
    assert_eq!(listed(&topology, 8), ["0-7"]);
}

#[test]
fn cpus_of_which_nothing_is_told_are_alike() {
    let topology = Machine::bare(6).read();
    for threads in 0..=6 {
        assert_eq!(listed(&topology, threads), [list(0..threads as u32)]);
    }
}

#[test]
fn caches_of_different_sizes_are_different_places() {
    let machine = Machine::of_cores(&["0", "1", "2", "3"]);
    for (cpus, size) in [("0-1", "4M"), ("2-3", "2M")] {
        for cpu in cpus.parse::<CpuSet>().expect("a list").iter() {
            machine.cache(cpu, &format!("index2 2 Unified {size}"), cpus);
        }
    }
    let topology = machine.read();
    assert_eq!(listed(&topology, 1), ["0", "2"]);
    assert_eq!(listed(&topology, 2), ["0-1", "0,2", "2-3"]);
}

#[test]
fn kinds_of_cpu_are_different_places() {
    let machine = Machine::of_cores(&["0", "1", "2", "3", "4"]);
    machine.file("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
    machine.file("sys/bus/event_source/devices/cpu_atom/cpus", "2-4\n");
    let topology = machine.read();
    assert_eq!(topology.kinds().len(), 2);
    assert_eq!(listed(&topology, 1), ["0", "2"]);
    assert_eq!(listed(&topology, 3), ["0-2", "0,2-3", "2-4"]);
}

#[test]
fn isolated_cpus_are_different_places() {
    let machine = Machine::bare(4);
    machine.file(&format!("{CPU}/isolated"), "3\n");
    machine.allowed("0-3");
    assert_eq!(listed(&machine.read(), 1), ["0", "3"]);
    assert_eq!(listed(&machine.read(), 2), ["0-1", "0,3"]);
}

#[test]
fn a_core_with_a_forbidden_sibling_is_not_like_a_core_without() {
    let machine = Machine::of_cores(&["0,3", "1,4", "2,5"]);
    machine.allowed("1-5");
    // CPU 3 has a sibling that others use.
    assert_eq!(listed(&machine.read(), 1), ["1", "3"]);
    assert_eq!(listed(&machine.read(), 2), ["1,4", "1-2", "1,3"]);
}

#[test]
fn like_nodes_may_differ_slightly_in_size_but_not_in_having_memory() {
    let machine = Machine::two_packages();
    machine.node(2, "2-3,6-7", 2047);
    assert_eq!(listed(&machine.read(), 1), ["0"]);
    machine.node(2, "2-3,6-7", 0);
    assert_eq!(listed(&machine.read(), 1), ["0", "2"]);
}

#[test]
fn memory_without_cpus_tells_its_neighbour_apart() {
    let machine = Machine::bare(4);
    for (node, cpus) in ["0-1", "2-3", ""].into_iter().enumerate() {
        machine.node(node as u32, cpus, 1024);
    }
    distances(&machine, &[[10, 20, 30], [20, 10, 30], [30, 30, 10]]);
    assert_eq!(listed(&machine.read(), 1), ["0"]);
    distances(&machine, &[[10, 20, 15], [20, 10, 30], [15, 30, 10]]);
    assert_eq!(listed(&machine.read(), 1), ["0", "2"]);
}

#[test]
fn nodes_in_a_ring_are_counted_as_necklaces() {
    let machine = Machine::bare(6);
    let hops = |a: usize, b: usize| a.abs_diff(b).min(6 - a.abs_diff(b)) as u32;
    for node in 0..6 {
        machine.node(node, &node.to_string(), 1024);
    }
    distances(
        &machine,
        &std::array::from_fn::<_, 6, _>(|a| std::array::from_fn::<_, 6, _>(|b| 10 + hops(a, b))),
    );
    // Bracelets of six beads of two colours.
    for (threads, bracelets) in [1, 1, 3, 3, 3, 1, 1].into_iter().enumerate() {
        assert_eq!(listed(&machine.read(), threads).len(), bracelets, "{threads} threads");
    }
    assert_eq!(listed(&machine.read(), 2), ["0-1", "0,2", "0,3"]);
}

#[test]
fn a_machine_of_hops_has_the_symmetries_of_its_distances() {
    let machine = Machine::bare(8);
    for node in 0..8 {
        let package = list([node / 2 * 2, node / 2 * 2 + 1]);
        machine.cpu(node, &node.to_string(), &package);
        machine.node(node, &node.to_string(), 1024);
    }
    distances(&machine, &HOPS);
    let topology = machine.read();
    let row = |node: usize| HOPS[node];
    let keeps = |image: &Vec<usize>| {
        (0..8).all(|a| (0..8).all(|b| row(a)[b] == row(image[a])[image[b]]))
            && (0..8).all(|a| image[a] / 2 == image[a ^ 1] / 2)
    };
    let symmetries: Vec<Vec<usize>> = permutations(8).into_iter().filter(keeps).collect();
    for threads in 0..=8 {
        check(&topology, &symmetries, threads);
    }
}

#[test]
fn parts_that_cross_are_taken_as_they_are() {
    let machine = Machine::bare(6);
    for cpu in 0..6 {
        machine.cpu(cpu, &cpu.to_string(), if cpu < 3 { "0-2" } else { "3-5" });
        machine.cache(cpu, "index2 2 Unified 1M", ["0-1", "2-3", "4-5"][cpu as usize / 2]);
    }
    // By hand: 0 1|2 3|4 5 can only be turned around, and 0, 1 and 4, 5 swapped.
    assert_eq!(listed(&machine.read(), 1), ["0", "2"]);
    assert_eq!(listed(&machine.read(), 2), ["0-1", "0,2", "0,3", "0,4", "2-3"]);
}

#[test]
fn sets_count_and_not_only_the_pairs_in_them() {
    // The Fano plane: any two CPUs have one cache in common, and three have one or none.
    let machine = Machine::bare(7);
    for line in 0..7 {
        let members = [line, (line + 1) % 7, (line + 3) % 7];
        for cpu in members {
            machine.cache(cpu, &format!("index{line} 2 Unified 1M"), &list(members));
        }
    }
    let counts: Vec<usize> = (0..=7).map(|threads| listed(&machine.read(), threads).len()).collect();
    assert_eq!(counts, [1, 1, 1, 2, 2, 1, 1, 1]);
}

#[test]
fn too_many_symmetries_are_admitted() {
    // Eight times a core and a cache that have one CPU in common: 8! symmetries.
    let machine = Machine::bare(24);
    for cpu in 0..24 {
        let (first, last) = (cpu / 3 * 3, cpu / 3 * 3 + 2);
        machine.topology(cpu, "core_cpus_list", &list(first..last));
        machine.cache(cpu, "index2 2 Unified 1M", &list(first + 1..=last));
    }
    let found = distinct_placements(&machine.read(), 1, 100).expect("there are enough CPUs");
    assert_eq!(found.exactness, Exactness::MayRepeat);
    // None of the three classes is missing.
    let places: BTreeSet<u32> = found.placements.iter().flatten().map(|cpu| cpu % 3).collect();
    assert_eq!(places, BTreeSet::from([0, 1, 2]));
}

#[test]
fn too_few_cpus_and_too_many_placements_are_errors() {
    let topology = Machine::two_packages().read();
    let error = distinct_placements(&topology, 9, 100).unwrap_err();
    assert_eq!(error, EnumerateError::NotEnough { threads: 9, allowed: 8 });
    assert!(distinct_placements(&topology, 4, 5).is_ok());
    let error = distinct_placements(&topology, 4, 4).unwrap_err();
    assert_eq!(error, EnumerateError::TooMany { threads: 4, limit: 4 });
    assert!(error.to_string().contains("more than 4 placements of 4 threads"), "{error}");
}

#[test]
fn a_large_machine_is_not_tried_cpu_by_cpu() {
    let machine = Machine::bare(256);
    for cpu in 0..256_u32 {
        let (core, node) = (cpu / 4 * 4, cpu / 32 * 32);
        machine.cpu(cpu, &list(core..core + 4), &list(node..node + 32));
        machine.node(cpu / 32, &list(node..node + 32), 1024);
    }
    let pairs = |a: usize, b: usize| [10, 20, 40][usize::from(a != b) + usize::from(a / 2 != b / 2)];
    distances(&machine, &std::array::from_fn::<_, 8, _>(|a| std::array::from_fn::<_, 8, _>(|b| pairs(a, b))));
    let topology = machine.read();
    // One core, one node, two near nodes, two far nodes.
    assert_eq!(listed(&topology, 2), ["0-1", "0,4", "0,32", "0,64"]);
    // By hand: threads on nodes as 4 (5 ways on cores), 3+1 (3 ways), 2+2 (3), 2+1+1 (2), 1+1+1+1; on
    // near and far nodes in 1, 2, 2, 2 (the 2 near a 1 or not; the 1s near each other) and so on.
    assert_eq!(listed(&topology, 4).len(), 5 + 3 * 2 + 3 * 2 + 2 * 3 + 3);
    let many = distinct_placements(&topology, 128, 1000);
    assert_eq!(many, Err(EnumerateError::TooMany { threads: 128, limit: 1000 }));
}

/// How a random machine of six CPUs is made.
#[derive(Clone, Debug)]
struct Recipe {
    /// The CPU number at each position.
    numbers: Vec<u32>,
    /// How many neighbouring positions make a core, an L2, a package and a node.
    widths: [usize; 4],
    /// Positions of which the L2 is larger, that are isolated, and that are not allowed, as bits.
    special: [u8; 3],
    /// Distances between nodes, used as far as there are nodes.
    distances: Vec<u32>,
    /// Whether a way back may be longer, there is memory without CPUs, and all memory may be used.
    oddities: [bool; 3],
}

const COUNT: usize = 6;

fn recipe() -> impl Strategy<Value = Recipe> {
    let width = || prop_oneof![Just(1_usize), Just(2), Just(3), Just(4), Just(6)];
    let bits = || prop_oneof![4 => Just(0_u8), 1 => 0_u8..63];
    let numbers = Just((0..COUNT as u32).collect::<Vec<_>>()).prop_shuffle();
    let near = prop_oneof![2 => Just(20_u32), 1 => Just(30_u32)];
    let distances = proptest::collection::vec(near, 49);
    let widths = [width(), width(), width(), width()];
    (numbers, widths, [bits(), bits(), bits()], distances, any::<[bool; 3]>()).prop_map(
        |(numbers, widths, special, distances, oddities)| Recipe {
            numbers,
            widths,
            special,
            distances,
            oddities,
        },
    )
}

impl Recipe {
    fn build(&self) -> Machine {
        let machine = Machine::bare(COUNT as u32);
        let is = |special: usize, at: usize| self.special[special] >> at & 1 == 1;
        let group = |at: usize, width: usize| {
            let first = at / width * width;
            list(self.numbers[first..COUNT.min(first + width)].iter().copied())
        };
        let chosen = |special| list((0..COUNT).filter(|&at| is(special, at)).map(|at| self.numbers[at]));
        let [core, cache, package, node] = self.widths;
        for (at, &cpu) in self.numbers.iter().enumerate() {
            machine.cpu(cpu, &group(at, core), &group(at, package));
            let size = if is(0, at / cache * cache) { "2M" } else { "1M" };
            machine.cache(cpu, &format!("index2 2 Unified {size}"), &group(at, cache));
        }
        machine.file(&format!("{CPU}/isolated"), format!("{}\n", chosen(1)));
        let [one_way, memory_alone, all_memory] = self.oddities;
        let allowed = list((0..COUNT).filter(|&at| !is(2, at)).map(|at| self.numbers[at]));
        let memory = if all_memory { "0-6" } else { "0" };
        let status = format!("Cpus_allowed_list:\t{allowed}\nMems_allowed_list:\t{memory}\n");
        machine.file("proc/self/status", status);
        let mut nodes: Vec<String> = (0..COUNT).step_by(node).map(|at| group(at, node)).collect();
        nodes.extend(memory_alone.then(String::new));
        for (index, cpus) in nodes.iter().enumerate() {
            machine.node(index as u32, cpus, 1024);
            let cell = |to: usize| if one_way { (index, to) } else { (index.min(to), index.max(to)) };
            let to = |to: usize| if to == index { 10 } else { self.distances[cell(to).0 * 7 + cell(to).1] };
            let row: Vec<String> = (0..nodes.len()).map(|node| to(node).to_string()).collect();
            machine.file(&format!("{NODE}/node{index}/distance"), format!("{}\n", row.join(" ")));
        }
        machine
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn small_machines_are_counted_as_by_trying_every_permutation(recipe in recipe()) {
        let topology = recipe.build().read();
        let symmetries = symmetries(&topology);
        for threads in 0..=topology.allowed().len() {
            check(&topology, &symmetries, threads);
            let again = distinct_placements(&topology, threads, 10_000);
            prop_assert_eq!(again, distinct_placements(&topology, threads, 10_000));
        }
    }

    #[test]
    fn other_numbers_do_not_change_the_counts(recipe in recipe()) {
        let plain = Recipe { numbers: (0..COUNT as u32).collect(), ..recipe.clone() };
        let count = |recipe: &Recipe| {
            let topology = recipe.build().read();
            let counts = (0..=topology.allowed().len()).map(|threads| listed(&topology, threads).len());
            counts.enumerate().collect::<BTreeMap<_, _>>()
        };
        prop_assert_eq!(count(&recipe), count(&plain));
    }
}
