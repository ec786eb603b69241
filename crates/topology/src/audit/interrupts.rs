//! Devices that interrupt the chosen CPUs.

use std::collections::BTreeMap;

use super::look::{Look, Machine};
use super::{Remedy, Why, parse, remedy};
use crate::cpuset::CpuSet;
use crate::read::{Interrupt, Interrupts};
use crate::view::words::cpus;

/// The number of devices that are named.
const NAMED_MAX: usize = 3;

pub(super) fn interrupts(machine: &Machine<'_>) -> Look {
    Look::of(look(machine))
}

fn look(machine: &Machine<'_>) -> Result<Look, Why> {
    let counts = machine.value("proc/interrupts", |text| parse::interrupts(text, machine.chosen))?;
    let listed = machine.numbered("proc/irq", "")?;
    let known = Interrupts::read(machine.source);
    let lands = |irq: &&Interrupt| !irq.lands_on().intersection(machine.chosen).is_empty();
    let landing = known.interrupts.iter().filter(lands);
    let landing = landing.filter_map(|irq| Some((*counts.get(&irq.number)?, irq)));
    let mut landing: Vec<(u64, &Interrupt)> = landing.filter(|&(count, _)| count > 0).collect();
    if landing.is_empty() {
        return Ok(none_seen(machine, &known, hidden(&counts, &listed)));
    }
    landing.sort_by_key(|&(count, irq)| (std::cmp::Reverse(count), irq.number));
    let mut seen =
        format!("{} interrupt {}: {}", sources(landing.len()), cpus(machine.chosen), named(&landing));
    let has_balancer = has_irqbalance(machine);
    if has_balancer {
        seen.push_str("; irqbalance runs and would move them back");
    }
    let numbers = landing.iter().map(|(_, irq)| irq.number).collect();
    Ok(Look::noisy(seen, elsewhere(machine, &numbers, has_balancer)))
}

/// Counts the interrupts of which it is not told where they land: the kernel has a directory for
/// each that it counts, but a container may not show it. `None` where all is told.
fn hidden(counts: &BTreeMap<u32, u64>, listed: &[u32]) -> Option<u64> {
    let hidden = counts.iter().filter(|&(&number, &count)| count > 0 && !listed.contains(&number));
    let count = hidden.fold(0_u64, |all, (_, count)| all.saturating_add(*count));
    (count > 0 || listed.is_empty()).then_some(count)
}

/// Nothing is known to land on the chosen CPUs; which is quiet only where all of it was seen.
fn none_seen(machine: &Machine<'_>, known: &Interrupts, hidden: Option<u64>) -> Look {
    let (on, dir) = (cpus(machine.chosen), machine.path("proc/irq"));
    if let Some(count) = hidden {
        let seen = format!("{count} interrupts of devices on {on} since boot");
        let message =
            format!("{} does not show where they may land, as in a container that hides it", dir.display());
        return Look::undecided(seen, message);
    }
    // Routing that could not be read may hide one that lands here.
    let problem = known.problems.iter().find(|problem| problem.path.starts_with(&dir));
    let untold = problem
        .map(|problem| Why::Malformed { path: problem.path.clone(), message: problem.message.clone() });
    Look::judged(format!("no device has interrupted {on} and still may"), None, untold)
}

fn sources(count: usize) -> String {
    if count == 1 { "1 device line".to_owned() } else { format!("{count} device lines") }
}

/// The busiest, with their numbers and counts.
fn named(landing: &[(u64, &Interrupt)]) -> String {
    let name = |&(count, irq): &(u64, &Interrupt)| {
        format!("{} (IRQ {}, {count} since boot)", irq.names.join("+"), irq.number)
    };
    let mut text = landing.iter().take(NAMED_MAX).map(name).collect::<Vec<_>>().join(", ");
    if landing.len() > NAMED_MAX {
        text.push_str(", …");
    }
    text
}

/// Moves interrupts to the CPUs that were not chosen.
fn elsewhere(machine: &Machine<'_>, numbers: &CpuSet, has_balancer: bool) -> Remedy {
    let rest = machine.topology.online().difference(machine.chosen);
    if rest.is_empty() {
        let (kept, spare) = machine.without_first_core();
        return Remedy::Do(match spare.is_empty() {
            true => "give the machine a second core, to which the interrupts can be moved".to_owned(),
            false => format!(
                "leave {kept} to the interrupts and choose {spare} only; the audit for these has the command"
            ),
        });
    }
    let write = |number: &str| format!("echo {rest} | sudo tee /proc/irq/{number}/smp_affinity_list");
    let moved = remedy::for_each("irq", numbers, write);
    Remedy::Run(if has_balancer { format!("sudo systemctl stop irqbalance\n{moved}") } else { moved })
}

/// Whether the daemon runs that moves interrupts about. A process that ended meanwhile is not it.
fn has_irqbalance(machine: &Machine<'_>) -> bool {
    let processes = machine.numbered("proc", "").unwrap_or_default();
    let name = |pid: &u32| machine.text(&format!("proc/{pid}/comm"));
    processes.iter().any(|pid| name(pid).is_ok_and(|name| name.trim() == "irqbalance"))
}
