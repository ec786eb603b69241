//! Placement: from roles to logical CPUs. Pure: it looks at a topology and touches nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::topology::Topology;

mod policy;

pub use policy::{ParsePinPolicyError, PinPolicy};

/// What a thread does in a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// It serves requests: it is what is measured, and gets the quietest CPU.
    Server,
    /// It sends requests and times the answers.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// A placement that the machine cannot give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There are fewer logical CPUs than roles. None is shared: two threads that take turns on
    /// one CPU measure the scheduler.
    #[error(
        "{needed} pinned threads need a logical CPU each, but only {available} can be had; start \
         fewer threads, allow or list more CPUs, or use the pin policy `none`"
    )]
    NotEnough {
        /// The logical CPUs needed: one for each role.
        needed: usize,
        /// The logical CPUs allowed, or listed.
        available: usize,
    },
    /// A listed CPU is switched off.
    #[error(
        "CPU {cpu} is offline; list online CPUs only ({online}), or write 1 to \
         /sys/devices/system/cpu/cpu{cpu}/online"
    )]
    Offline {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A listed CPU is not there.
    #[error("CPU {cpu} does not exist; online CPUs are {online}; list some of those")]
    NoSuchCpu {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A listed CPU is online, but not for this process.
    #[error(
        "CPU {cpu} is not in this process's affinity mask ({allowed}); list CPUs of the mask, or \
         widen it with taskset or the cgroup's cpuset"
    )]
    NotAllowed {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are allowed.
        allowed: CpuSet,
    },
}

/// Gives each role a logical CPU of its own, in the order of `roles`; `None` is "do not pin".
///
/// - [`PinPolicy::Auto`]: the lowest allowed logical CPU of each core, ascending, servers first.
///   The core that holds CPU 0 comes last, because interrupts tend to land there. When the cores
///   are used up, their SMT siblings follow in the same order. Isolated CPUs are somebody's
///   reservation, so they are touched only when nothing else is left.
/// - [`PinPolicy::None`]: `None` for every role.
/// - [`PinPolicy::List`]: the listed CPUs, ascending, in the order of `roles`. A list longer than
///   `roles` leaves its highest CPUs unused.
///
/// # Errors
///
/// [`PlacementError`] says which CPU cannot be used and why, or how many are missing. Every
/// listed CPU is checked, used or not.
pub fn place(
    topology: &Topology,
    policy: &PinPolicy,
    roles: &[Role],
) -> Result<Vec<Option<u32>>, PlacementError> {
    match policy {
        PinPolicy::None => Ok(vec![None; roles.len()]),
        PinPolicy::List(cpus) => {
            cpus.iter().try_for_each(|cpu| usable(topology, cpu))?;
            let in_order: Vec<usize> = (0..roles.len()).collect();
            assign(&cpus.iter().collect::<Vec<_>>(), &in_order)
        }
        PinPolicy::Auto => {
            let mut servers_first: Vec<usize> = (0..roles.len()).collect();
            servers_first.sort_by_key(|&role| roles[role] != Role::Server);
            assign(&preferred(topology), &servers_first)
        }
    }
}

/// Gives `cpus` to the roles in the order of `turns`, which holds each index of a role once.
fn assign(cpus: &[u32], turns: &[usize]) -> Result<Vec<Option<u32>>, PlacementError> {
    if cpus.len() < turns.len() {
        return Err(PlacementError::NotEnough { needed: turns.len(), available: cpus.len() });
    }
    let mut placed = vec![None; turns.len()];
    for (&role, &cpu) in turns.iter().zip(cpus) {
        placed[role] = Some(cpu);
    }
    Ok(placed)
}

/// Says why a listed CPU cannot be used.
fn usable(topology: &Topology, cpu: u32) -> Result<(), PlacementError> {
    let online = || topology.online().clone();
    if topology.allowed().contains(cpu) {
        Ok(())
    } else if topology.online().contains(cpu) {
        let allowed = topology.allowed().clone();
        Err(PlacementError::NotAllowed { cpu, allowed })
    } else if topology.offline().contains(cpu) {
        let online = online();
        Err(PlacementError::Offline { cpu, online })
    } else {
        let online = online();
        Err(PlacementError::NoSuchCpu { cpu, online })
    }
}

/// Every allowed logical CPU once, best first.
fn preferred(topology: &Topology) -> Vec<u32> {
    let (allowed, isolated) = (topology.allowed(), topology.isolated());
    let mut order = one_per_core(topology, &allowed.difference(isolated));
    order.extend(one_per_core(topology, &allowed.intersection(isolated)));
    order
}

/// The given CPUs: first the lowest of each core, then the next of each, and so on; in every
/// round the core that holds CPU 0 is last.
fn one_per_core(topology: &Topology, cpus: &CpuSet) -> Vec<u32> {
    let mut ranked = Vec::with_capacity(cpus.len());
    let mut rest = cpus.clone();
    for core in topology.cores() {
        let members = core.cpus.intersection(cpus);
        rest = rest.difference(&members);
        let holds_cpu_0 = core.cpus.contains(0);
        let rounds = members.iter().enumerate();
        ranked.extend(rounds.map(|(round, cpu)| (round, holds_cpu_0, cpu)));
    }
    // CPUs of which no file tells the core count as cores of their own.
    ranked.extend(rest.iter().map(|cpu| (0, cpu == 0, cpu)));
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, cpu)| cpu).collect()
}
