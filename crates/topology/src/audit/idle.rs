//! How deep idle CPUs sleep, and so how long they take to wake.

use std::collections::BTreeMap;

use super::look::{EachCpu, Look, Machine};
use super::remedy::write_each;
use super::{Remedy, Why, parse};
use crate::cpuset::CpuSet;
use crate::read::Hypervisor;
use crate::read::files::CPU_DIR;
use crate::read::parse as read;
use crate::view::words::cpus;

/// The longest exit latency in microseconds that a quiet machine has. C1 has 1 or 2; the next
/// deeper states of servers begin at some 10.
const EXIT_QUIET_US: u64 = 5;

/// An idle state that the kernel may choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Idle {
    /// Its `stateN`.
    number: u32,
    name: String,
    exit_us: u64,
}

pub(super) fn c_states(machine: &Machine<'_>) -> Look {
    // With idle=poll no state is ever entered, whatever is listed.
    let is_polling =
        machine.text("proc/cmdline").is_ok_and(|line| line.split_whitespace().any(|o| o == "idle=poll"));
    if is_polling {
        return Look::quiet("idle CPUs poll (booted with idle=poll)");
    }
    let driver = machine.value(&format!("{CPU_DIR}/cpuidle/current_driver"), parse::word);
    let driver = driver.unwrap_or_else(|_| "unknown".to_owned());
    let states = machine.each(|cpu| enabled(machine, cpu));
    let deep = |states: &Vec<Idle>| states.iter().any(|state| state.exit_us > EXIT_QUIET_US);
    let noisy = states.except(|states| !deep(states));
    if noisy.is_empty() {
        return shallow(machine, &driver, states);
    }
    let seen = format!("driver {driver}; {}", described(&states));
    Look::noisy(seen, Remedy::Run(commands(&states)))
}

/// No deep state is listed: which is the truth only where the states are those of the processor.
fn shallow(machine: &Machine<'_>, driver: &str, states: EachCpu<Vec<Idle>>) -> Look {
    let is_missing = matches!(states.untold, Some(Why::Missing { .. }));
    // Of the states that the kernel lists, the host may make anything; of none listed, only a guest
    // can be told what it means.
    let is_guest = driver == "haltpoll" || machine.hypervisor.is_present() && is_missing;
    if is_guest || machine.hypervisor != Hypervisor::Absent && states.untold.is_none() {
        let host = if machine.hypervisor == Hypervisor::Unknown && !is_guest {
            "nothing tells whether this is a virtual machine, in which the hypervisor would decide how deep the \
             processor sleeps"
        } else {
            "the hypervisor decides how deep the processor sleeps and how long a wake-up takes; booting the \
             guest with idle=poll avoids it, at the price of a busy virtual CPU"
        };
        let seen = match states.told.is_empty() {
            true => "no idle states in this virtual machine".to_owned(),
            false => format!("driver {driver}; at most {} us to leave a state", slowest(&states)),
        };
        return Look::undecided(seen, host);
    }
    let seen = format!("driver {driver}; at most {} us to leave a state", slowest(&states));
    Look::judged(seen, None, states.untold)
}

fn slowest(states: &EachCpu<Vec<Idle>>) -> u64 {
    states.told.keys().flatten().map(|state| state.exit_us).max().unwrap_or(0)
}

/// Reads the states of a CPU that are not disabled.
fn enabled(machine: &Machine<'_>, cpu: u32) -> Result<Vec<Idle>, Why> {
    let dir = format!("{CPU_DIR}/cpu{cpu}/cpuidle");
    let mut states = Vec::new();
    for number in machine.numbered(&dir, "state")? {
        let dir = format!("{dir}/state{number}");
        // Any bit set disables: the user's, or the driver's.
        if machine.value(&format!("{dir}/disable"), read::number::<u64>)? != 0 {
            continue;
        }
        let name = machine.value(&format!("{dir}/name"), parse::word)?;
        let exit_us = machine.value(&format!("{dir}/latency"), read::number)?;
        states.push(Idle { number, name, exit_us });
    }
    Ok(states)
}

/// `C6 (170 us) on CPUs 0-3`, deepest last.
fn described(states: &EachCpu<Vec<Idle>>) -> String {
    let mut by_state: BTreeMap<(u64, &str), CpuSet> = BTreeMap::new();
    for (states, set) in &states.told {
        for state in states.iter().filter(|state| state.exit_us > EXIT_QUIET_US) {
            by_state.entry((state.exit_us, &state.name)).or_default().extend(set);
        }
    }
    let parts = by_state.iter().map(|((us, name), set)| format!("{name} ({us} us) on {}", cpus(set)));
    format!("enabled: {}", parts.collect::<Vec<_>>().join(", "))
}

/// One command for each state. Kinds of core number their states differently, so each state is
/// disabled only where it is deep.
fn commands(states: &EachCpu<Vec<Idle>>) -> String {
    let mut by_number: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (states, set) in &states.told {
        for state in states.iter().filter(|state| state.exit_us > EXIT_QUIET_US) {
            by_number.entry(state.number).or_default().extend(set);
        }
    }
    let command =
        |(number, set): (&u32, &CpuSet)| write_each("1", set, &format!("cpuidle/state{number}/disable"));
    by_number.iter().map(command).collect::<Vec<_>>().join("\n")
}
