//! The tables of the documentation, against what the rules give.

use tailcore_topology::{Request, Role, Topology, arrange};

use crate::fixture::Machine;

const PAGE: &str = include_str!("../../../../docs/placement.md");

fn six_cores() -> Topology {
    let machine = Machine::of_cores(&["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"]);
    machine.node(0, "0-11", 1);
    machine.read()
}

fn four_by_eight() -> Topology {
    let machine = Machine::bare(32);
    for cpu in 0..32 {
        let package: Vec<String> = (0..8).map(|core| (core * 4 + cpu % 4).to_string()).collect();
        let package = package.join(",");
        machine.cpu(cpu, &cpu.to_string(), &package);
        machine.cache(cpu, "index0 3 Unified 16384K", &package);
        machine.node(cpu % 4, &package, 1);
    }
    machine.read()
}

/// The rows below a heading whose first cell is code: its text, and the other cells.
fn rows(heading: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let (_, section) = PAGE.split_once(heading).expect("the page has the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ");
        Some((cells.next()?.strip_suffix('`')?, cells.collect()))
    };
    section.lines().filter_map(row).collect()
}

/// The CPUs as the page writes them; `–` where the rule does not work out.
fn given(topology: &Topology, rule: &str, threads: usize) -> String {
    let request = Request { role: Role::Server, rule: rule.parse().expect("a rule"), threads };
    arrange(topology, &[request]).map_or_else(
        |_| "–".to_owned(),
        |placement| {
            let cpus: Vec<String> = placement.cpus_of(Role::Server).iter().map(u32::to_string).collect();
            cpus.join(" ")
        },
    )
}

#[test]
fn the_table_of_rules_is_what_the_rules_give() {
    let machines = [six_cores(), four_by_eight()];
    let rows = rows("\n## Rules\n");
    for (rule, cells) in &rows {
        let threads = if *rule == "one-thread" { 1 } else { 4 };
        let found = machines.each_ref().map(|machine| given(machine, rule, threads));
        assert_eq!(cells[1..], found, "{rule}");
    }
    assert!(rows.len() >= 12, "{rows:?}");
}

#[test]
fn the_table_of_formulas_is_what_they_give() {
    let rows = rows("\n## Formulas\n");
    for (formula, cells) in &rows {
        assert_eq!(cells[1], given(&six_cores(), formula, 6), "{formula}");
    }
    assert_eq!(rows.len(), 6);
}
