//! `tailcore topo`: the machine, its picture, and where threads would go on it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use tailcore_topology::{
    CpuSet, Directory, EnumerateError, Exactness, Frequencies, FrequencyPolicy, Interrupts, Topology,
    arrange, distinct_placements,
};

use crate::args::TopoArgs;
use crate::exit::{Exit, UsageError};
use crate::output::{self, OutputFile};

/// The most placements that are listed; a table of more answers nobody's question.
const DISTINCT_MAX: usize = 1000;

pub(crate) fn topo(args: &TopoArgs) -> anyhow::Result<Exit> {
    let root = args.root.as_deref().unwrap_or(Path::new("/"));
    // Opened before anything else, so that a mistyped path costs no second try.
    let picture = args.svg.as_deref().map(OutputFile::prepare).transpose()?;
    let topology = Topology::read_from(root)?;
    if let Some(picture) = picture {
        picture.write(topology.svg().to_string().as_bytes())?;
    }
    let text = if let Some(requests) = &args.place {
        placement(&topology, &requests.0, args.json)?
    } else if let Some(threads) = args.distinct {
        distinct(&topology, threads, args.json)?
    } else {
        let source = Directory::new(root);
        let machine = Machine {
            frequencies: Frequencies::read(&source, &topology),
            interrupts: Interrupts::read(&source),
            topology: &topology,
        };
        if args.json { output::pretty_json(&machine.view())? } else { machine.text() }
    };
    output::print(&text)?;
    Ok(Exit::Valid)
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
                "more than {limit} placements of {threads} threads differ on this machine: more than a list \
                 is good for; ask for fewer threads"
            ),
            other => other.to_string(),
        })
    })?;
    let exact = found.exactness == Exactness::Exact;
    let placements = &found.placements;
    if json {
        return output::pretty_json(&Distinct { threads, exact, placements });
    }
    let mut text =
        format!("{} placements of {threads} threads that differ by more than symmetry:\n", placements.len());
    for cpus in placements {
        writeln!(text, "  {cpus}")?;
    }
    if !exact {
        text.push_str("The machine's parts do not nest, so some of these may be alike.\n");
    }
    Ok(text)
}

/// What the plain command shows: the topology, and what changes while a machine runs.
struct Machine<'a> {
    topology: &'a Topology,
    frequencies: Frequencies,
    interrupts: Interrupts,
}

#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    topology: &'a Topology,
    frequencies: &'a Frequencies,
    interrupts: &'a Interrupts,
}

impl Machine<'_> {
    fn view(&self) -> View<'_> {
        View { topology: self.topology, frequencies: &self.frequencies, interrupts: &self.interrupts }
    }

    fn text(&self) -> String {
        let mut text = self.topology.tree().to_string();
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
