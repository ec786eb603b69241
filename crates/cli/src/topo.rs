//! `tailcore topo`: the machine, its picture, and where threads would go on it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use tailcore_topology::{
    CpuOrder, CpuSet, Directory, EnumerateError, Exactness, Frequencies, FrequencyPolicy, Hypervisor,
    Interrupts, Rule, Topology, arrange, distinct_placements, per_package_sets, unseen,
};

use crate::args::{Sets, TopoArgs};
use crate::exit::{Exit, UsageError};
use crate::output::{self, Destination};

/// The most placements that are listed; a table of more answers nobody's question.
const DISTINCT_MAX: usize = 1000;

pub(crate) fn topo(args: &TopoArgs) -> anyhow::Result<Exit> {
    let root = args.root.as_deref().unwrap_or(Path::new("/"));
    // Opened before anything else, so that a mistyped path costs no second try.
    let picture = Destination::prepare(args.svg.as_deref())?;
    if let (Destination::Stdout, Some(option)) = (&picture, other_output(args)) {
        return Err(UsageError(format!("--svg - and {option} cannot both go to standard output")).into());
    }
    let topology = Topology::read_from(root)?;
    let text = match picture {
        Destination::Stdout => topology.svg().to_string(),
        Destination::Unwanted => text(args, root, &topology)?,
        Destination::File(file) => {
            file.write(topology.svg().to_string().as_bytes())?;
            text(args, root, &topology)?
        }
    };
    output::print(&text)?;
    Ok(Exit::Valid)
}

/// The option that asks for something else than the tree.
fn other_output(args: &TopoArgs) -> Option<&'static str> {
    let asked = [
        (args.json, "--json"),
        (args.place.is_some(), "--place"),
        (args.distinct.is_some(), "--distinct"),
        (args.sets.is_some(), "--sets"),
    ];
    asked.into_iter().find_map(|(asked, option)| asked.then_some(option))
}

fn text(args: &TopoArgs, root: &Path, topology: &Topology) -> anyhow::Result<String> {
    if let Some(requests) = &args.place {
        placement(topology, &requests.0, args.json)
    } else if let Some(threads) = args.distinct {
        distinct(topology, threads, args.json)
    } else if let Some(asked) = args.sets {
        sets(topology, asked, args.json)
    } else {
        let source = Directory::new(root);
        let machine = Machine {
            frequencies: Frequencies::read(&source, topology),
            interrupts: Interrupts::read(&source),
            hypervisor: Hypervisor::read(&source),
            topology,
        };
        if args.json { output::pretty_json(&machine.view()) } else { Ok(machine.text()) }
    }
}

fn placement(
    topology: &Topology,
    requests: &[tailcore_topology::Request],
    json: bool,
) -> anyhow::Result<String> {
    let placement = arrange(topology, requests)?;
    if json { output::pretty_json(&placement) } else { Ok(placement.to_string()) }
}

/// What `--distinct` prints as JSON.
#[derive(Serialize)]
struct Distinct<'a> {
    threads: usize,
    exact: bool,
    placements: &'a [CpuSet],
}

fn distinct(topology: &Topology, threads: usize, json: bool) -> anyhow::Result<String> {
    let found = distinct_placements(topology, threads, DISTINCT_MAX).map_err(|error| {
        UsageError(match error {
            EnumerateError::TooMany { threads, limit, .. } => format!(
                "more than {limit} placements of {} differ on this machine: more than a list \
                 is good for; ask for fewer threads",
                count(threads, "thread")
            ),
            other => other.to_string(),
        })
    })?;
    let exact = found.exactness == Exactness::Exact;
    let placements = &found.placements;
    if json {
        return output::pretty_json(&Distinct { threads, exact, placements });
    }
    let differ = if placements.len() == 1 { "differs" } else { "differ" };
    let found = count(placements.len(), "placement");
    let mut text = format!("{found} of {} that {differ} by more than symmetry:\n", count(threads, "thread"));
    for cpus in placements {
        writeln!(text, "  {cpus}")?;
    }
    if !exact {
        text.push_str("The machine's parts do not nest, so some of these may be alike.\n");
    }
    Ok(text)
}

/// What `--sets` prints as JSON.
#[derive(Serialize)]
struct SetsView {
    threads: usize,
    rule: Rule,
    /// In the order of the threads, as a rule of such a list is typed.
    sets: Vec<Rule>,
}

fn sets(topology: &Topology, Sets { threads, cores }: Sets, json: bool) -> anyhow::Result<String> {
    let sets = per_package_sets(topology, cores, threads)?;
    let sets: Vec<Rule> =
        sets.into_iter().map(|cpus| CpuOrder::try_from(cpus).map(Rule::List)).collect::<Result<_, _>>()?;
    let rule = Rule::PerPackage { cores };
    if json {
        return output::pretty_json(&SetsView { threads, rule, sets });
    }
    let found = count(sets.len(), "set");
    let mut text = format!("{found} of CPUs for {} by {rule}:\n", count(threads, "thread"));
    for cpus in sets {
        writeln!(text, "  {cpus}")?;
    }
    Ok(text)
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// What the plain command shows: the topology, and what changes while a machine runs.
struct Machine<'a> {
    topology: &'a Topology,
    frequencies: Frequencies,
    interrupts: Interrupts,
    hypervisor: Hypervisor,
}

#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    topology: &'a Topology,
    frequencies: &'a Frequencies,
    interrupts: &'a Interrupts,
    hypervisor: &'a Hypervisor,
}

impl Machine<'_> {
    fn view(&self) -> View<'_> {
        View {
            topology: self.topology,
            frequencies: &self.frequencies,
            interrupts: &self.interrupts,
            hypervisor: &self.hypervisor,
        }
    }

    fn text(&self) -> String {
        let mut text = self.topology.tree().to_string();
        for line in unseen(&self.hypervisor, &self.interrupts) {
            text.push_str(&format!("unknown: {line}\n"));
        }
        for line in self.frequency_lines().into_iter().chain(self.interrupt_lines()) {
            text.push_str(&line);
            text.push('\n');
        }
        for problem in self.frequencies.problems.iter().chain(&self.interrupts.problems) {
            text.push_str(&format!("problem: {problem}\n"));
        }
        text
    }

    /// One line for all CPUs that are governed alike.
    fn frequency_lines(&self) -> Vec<String> {
        let mut alike: Vec<(String, CpuSet)> = Vec::new();
        for policy in &self.frequencies.policies {
            let how = how_governed(policy);
            match alike.iter_mut().find(|(known, _)| *known == how) {
                Some((_, cpus)) => *cpus = cpus.union(&policy.cpus),
                None => alike.push((how, policy.cpus.clone())),
            }
        }
        if alike.is_empty() {
            return vec!["frequency: not governed by this kernel".to_owned()];
        }
        alike.into_iter().map(|(how, cpus)| format!("frequency of {}: {how}", named(&cpus))).collect()
    }

    /// One line for each network interface.
    fn interrupt_lines(&self) -> Vec<String> {
        let mut entries: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for irq in self.interrupts.of_network() {
            let interface = irq.interface.as_deref().unwrap_or_default();
            let entry = format!("{} on {}", irq.number, named(irq.lands_on()));
            entries.entry(interface).or_default().push(entry);
        }
        let line = |(interface, entries): (&str, Vec<String>)| {
            format!("interrupts of {interface}: {}", entries.join(", "))
        };
        entries.into_iter().map(line).collect()
    }
}

/// `CPU 4` or `CPUs 0-3,6`.
fn named(cpus: &CpuSet) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

fn how_governed(policy: &FrequencyPolicy) -> String {
    let word = |word: &Option<String>, what: &str| word.clone().unwrap_or_else(|| format!("{what} unknown"));
    let range = match (policy.min_khz, policy.max_khz) {
        (Some(min), Some(max)) => format!("{} to {} MHz", min / 1000, max / 1000),
        (None, Some(max)) => format!("up to {} MHz", max / 1000),
        _ => "limits unknown".to_owned(),
    };
    let hardware = policy.hardware_max_khz.map(|max| format!(" (hardware up to {} MHz)", max / 1000));
    let (governor, driver) = (word(&policy.governor, "governor"), word(&policy.driver, "driver"));
    format!("{governor}, {driver}, {range}{}", hardware.unwrap_or_default())
}
