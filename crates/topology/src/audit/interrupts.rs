//! Devices that interrupt the chosen CPUs.

use super::look::{Look, Machine, cpus};
use super::{Remedy, Why, parse, remedy};
use crate::cpuset::CpuSet;
use crate::read::{Interrupt, Interrupts};

/// The number of devices that are named.
const NAMED_MAX: usize = 3;

pub(super) fn interrupts(machine: &Machine<'_>) -> Look {
    Look::of(look(machine))
}

fn look(machine: &Machine<'_>) -> Result<Look, Why> {
    let counts = machine.value("proc/interrupts", |text| parse::interrupts(text, machine.chosen))?;
    machine.numbered("proc/irq", "")?;
    let known = Interrupts::read(machine.source);
    let lands = |irq: &&Interrupt| {
        let cpus = irq.effective_cpus.as_ref().unwrap_or(&irq.cpus);
        !cpus.intersection(machine.chosen).is_empty()
    };
    let landing = known.interrupts.iter().filter(lands);
    let landing = landing.filter_map(|irq| Some((*counts.get(&irq.number)?, irq)));
    let mut landing: Vec<(u64, &Interrupt)> = landing.filter(|&(count, _)| count > 0).collect();
    // Routing that could not be read may hide one that lands here.
    let irq_dir = machine.path("proc/irq");
    let problem = known.problems.iter().find(|problem| problem.path.starts_with(&irq_dir));
    let untold = problem
        .map(|problem| Why::Malformed { path: problem.path.clone(), message: problem.message.clone() });
    if landing.is_empty() {
        let seen = format!("no device has interrupted {} and still may", cpus(machine.chosen));
        return Ok(Look::judged(seen, None, untold));
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
        let remedy = "choose fewer CPUs, so that one is left for the interrupts";
        return Remedy::Do(remedy.to_owned());
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
