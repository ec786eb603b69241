//! Placement: from roles to logical CPUs. Pure: it looks at a topology and touches nothing.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;
use crate::topology::Topology;

mod arrange;
mod choose;
mod cpu_order;
mod enumerate;
mod error;
mod floor;
mod formulas;
mod order;
mod per_package;
mod placed;
mod policy;
mod role;
mod rule;

pub use arrange::{ParseRequestsError, Request, arrange, parse_requests};
pub use cpu_order::{CpuOrder, CpuOrderError};
pub use enumerate::{DistinctPlacements, EnumerateError, Exactness, distinct_placements};
pub use error::{PlacementError, Shortage};
pub use formulas::Formula;
pub use per_package::per_package_sets;
pub use placed::{Place, Placed, Placement};
pub use policy::{ParsePinPolicyError, PinPolicy};
pub use role::{ParseRoleError, Role};
pub use rule::{ParseRuleError, Rule};

/// Gives each role a logical CPU of its own, in the order of `roles`; `None` is "do not pin".
///
/// - [`PinPolicy::Auto`]: the lowest allowed logical CPU of each core, ascending, servers first.
///   The core that holds CPU 0 comes last, because interrupts tend to land there. When the cores
///   are used up, their SMT siblings follow in the same order. Isolated CPUs are somebody's
///   reservation, so they are touched only when nothing else is left.
/// - [`PinPolicy::None`]: `None` for every role.
/// - [`PinPolicy::List`]: the listed CPUs, ascending, in the order of `roles`. A list longer than
///   `roles` leaves its highest CPUs unused.
/// - [`PinPolicy::Rule`]: the CPUs that the rule gives for as many threads as there are roles;
///   the first of them to servers, the next to clients, then co-runners and samplers. Formulas
///   may give one CPU to several.
/// - [`PinPolicy::PerRole`]: the CPUs that [`arrange`] gives to as many threads of each role as
///   `roles` has of it.
///
/// # Errors
///
/// [`PlacementError`] says which CPU cannot be used and why, how many are missing, or which rule
/// does not work out. Every listed CPU is checked, used or not.
pub fn place(
    topology: &Topology,
    policy: &PinPolicy,
    roles: &[Role],
) -> Result<Vec<Option<u32>>, PlacementError> {
    match policy {
        PinPolicy::None => Ok(vec![None; roles.len()]),
        PinPolicy::List(cpus) => {
            cpus.iter().try_for_each(|cpu| arrange::usable(topology, cpu))?;
            let in_order: Vec<usize> = (0..roles.len()).collect();
            assign(&cpus.iter().collect::<Vec<_>>(), &in_order)
        }
        PinPolicy::Auto => {
            let mut servers_first: Vec<usize> = (0..roles.len()).collect();
            servers_first.sort_by_key(|&role| roles[role] != Role::Server);
            assign(&preferred(topology), &servers_first)
        }
        PinPolicy::Rule(rule) => {
            let ask = arrange::Ask { role: None, rule, threads: roles.len() };
            assign(&ask.answer(topology, &floor::Taken::new())?, &by_role(roles))
        }
        PinPolicy::PerRole(rules) => {
            let placement = arrange(topology, &requests(rules, roles)?)?;
            let cpus: Vec<u32> = placement.iter().flat_map(Placed::cpus).collect();
            assign(&cpus, &by_role(roles))
        }
    }
}

/// The indices of the roles, servers first, then clients, co-runners, samplers.
fn by_role(roles: &[Role]) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..roles.len()).collect();
    turns.sort_by_key(|&index| roles[index]);
    turns
}

/// A request for each role that occurs, in the order of [`by_role`].
fn requests(rules: &BTreeMap<Role, Rule>, roles: &[Role]) -> Result<Vec<Request>, PlacementError> {
    let mut counts: BTreeMap<Role, usize> = BTreeMap::new();
    for &role in roles {
        *counts.entry(role).or_default() += 1;
    }
    let request = |(role, threads)| {
        let rule = rules.get(&role).cloned().ok_or(PlacementError::RoleNotNamed { role })?;
        Ok(Request { role, rule, threads })
    };
    counts.into_iter().map(request).collect()
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
