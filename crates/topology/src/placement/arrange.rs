//! Several requests on one machine.

use super::choose::choose;
use super::error::{PlacementError, Shortage};
use super::floor::{Taken, of_one_kind};
use super::placed::{Placed, Placement};
use super::role::Role;
use super::rule::Rule;
use crate::topology::Topology;

/// Threads of one role that want logical CPUs by one rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What the threads do.
    pub role: Role,
    /// Where they want to be.
    pub rule: Rule,
    /// How many they are; none is no error, whatever the rule.
    pub threads: usize,
}

/// Gives every thread of every request a logical CPU. Pure: the same topology and requests give
/// the same placement.
///
/// No CPU is given to two requests, and only lists and formulas may put two requests on one
/// core. Lists and formulas come first, as they cannot yield; then the other rules; then
/// `other-package`, and at last `client-on-rest`. Among those of one turn the order of the
/// requests counts.
///
/// # Errors
///
/// [`PlacementError`] says whose rule does not work out and what is missing. Every listed CPU is
/// checked, used or not.
///
/// # Example
///
/// ```
/// use tailcore_topology::{Request, Role, Rule, Topology, arrange};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let topology = Topology::read()?;
/// let server = Request { role: Role::Server, rule: Rule::OneThread, threads: 1 };
/// let placement = arrange(&topology, &[server])?;
/// println!("{placement}");
/// assert_eq!(placement.cpus_of(Role::Server).len(), 1);
/// # Ok(())
/// # }
/// ```
pub fn arrange(topology: &Topology, requests: &[Request]) -> Result<Placement, PlacementError> {
    let mut taken = Taken::new();
    let mut chosen = vec![Vec::new(); requests.len()];
    let mut turns: Vec<usize> = (0..requests.len()).collect();
    turns.sort_by_key(|&index| turn(&requests[index].rule)); // Stable: equals keep their order.
    for index in turns {
        let request = &requests[index];
        let ask = Ask { role: Some(request.role), rule: &request.rule, threads: request.threads };
        chosen[index] = ask.answer(topology, &taken)?;
        taken.extend(chosen[index].iter().map(|&cpu| (cpu, request.role)));
    }
    let placed = requests.iter().zip(chosen).map(|(request, cpus)| Placed::new(topology, request, &cpus));
    Ok(Placement::new(placed.collect()))
}

/// When a rule is decided; the more it yields to others, the later.
fn turn(rule: &Rule) -> u8 {
    match rule {
        Rule::List(_) | Rule::Formula(_) => 0,
        Rule::OtherPackage => 2,
        Rule::ClientOnRest => 3,
        _ => 1,
    }
}

/// A question for logical CPUs.
pub(super) struct Ask<'a> {
    /// Whose; `None` for all threads together.
    pub(super) role: Option<Role>,
    pub(super) rule: &'a Rule,
    pub(super) threads: usize,
}

impl Ask<'_> {
    /// Gives a logical CPU for each thread.
    pub(super) fn answer(&self, topology: &Topology, taken: &Taken) -> Result<Vec<u32>, PlacementError> {
        if self.threads == 0 {
            return Ok(Vec::new());
        }
        match self.rule {
            Rule::List(order) => {
                let cpus = order.cpus();
                cpus.iter().try_for_each(|&cpu| usable(topology, cpu))?;
                let listed = cpus.len();
                let used =
                    cpus.get(..self.threads).ok_or_else(|| self.impossible(Shortage::List { listed }))?;
                self.not_taken(used.to_vec(), taken)
            }
            Rule::Formula(formula) => {
                let online = topology.online().len();
                let cpus: Vec<u32> = (0..self.threads).map(|thread| formula.cpu(thread, online)).collect();
                cpus.iter().try_for_each(|&cpu| usable(topology, cpu))?;
                self.not_taken(cpus, taken)
            }
            rule => of_one_kind(topology, taken, |floor| choose(floor, rule, self.threads))
                .map_err(|reason| self.impossible(reason)),
        }
    }

    fn not_taken(&self, cpus: Vec<u32>, taken: &Taken) -> Result<Vec<u32>, PlacementError> {
        let met = cpus.iter().find_map(|&cpu| Some((cpu, *taken.get(&cpu)?)));
        match (met, self.role) {
            (Some((cpu, by)), Some(role)) => {
                Err(PlacementError::Taken { cpu, role, rule: self.rule.clone(), by })
            }
            _ => Ok(cpus), // Where one rule places all threads, nobody was there before.
        }
    }

    fn impossible(&self, reason: Shortage) -> PlacementError {
        let (role, rule, threads) = (self.role, self.rule.clone(), self.threads);
        PlacementError::Impossible { role, rule, threads, reason }
    }
}

/// Says why a listed CPU cannot be used.
pub(super) fn usable(topology: &Topology, cpu: u32) -> Result<(), PlacementError> {
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
