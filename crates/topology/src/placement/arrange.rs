//! Several requests on one machine.

use super::choose::choose;
use super::error::{PlacementError, Shortage};
use super::floor::{Taken, of_one_kind};
use super::placed::{Placed, Placement};
use super::policy::split_at_roles;
use super::role::{ParseRoleError, Role};
use super::rule::{ParseRuleError, Rule};
use crate::cpulist::quoted;
use crate::model::ExclusionReason;
use crate::topology::Topology;

/// The most threads of one request; see [`Request::threads`].
const THREADS_MAX: usize = 65_536;

/// Threads of one role that want logical CPUs by one rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What the threads do.
    pub role: Role,
    /// Where they want to be.
    pub rule: Rule,
    /// How many they are, at most 65 536: eight for each CPU of the largest kernel (`NR_CPUS`, 8192),
    /// so that a mistyped number is an error and not an allocation. None is no error, whatever the rule.
    pub threads: usize,
}

/// Text that is not a list of requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRequestsError {
    /// A part is not in the form.
    #[error("`{typed}` is not ROLE:THREADS=RULE, such as server:2=smt-pair")]
    Form {
        /// What was typed, shortened.
        typed: String,
    },
    /// What stands before the colon is no role.
    #[error(transparent)]
    Role(#[from] ParseRoleError),
    /// What stands between the colon and `=` is no number of threads.
    #[error("`{typed}` is no number of threads; write it like `{role}:2=…`")]
    Threads {
        /// The role.
        role: Role,
        /// What was typed, shortened.
        typed: String,
    },
    /// What stands behind `=` is no rule.
    #[error(transparent)]
    Rule(#[from] ParseRuleError),
}

/// Parses requests as they are typed: `server:2=smt-pair,client:4=client-on-rest`.
///
/// # Errors
///
/// [`ParseRequestsError`] names the part that is wrong.
pub fn parse_requests(text: &str) -> Result<Vec<Request>, ParseRequestsError> {
    split_at_roles(text).into_iter().map(|(who, rule)| parse_request(who, &rule)).collect()
}

fn parse_request(who: Option<&str>, rule: &str) -> Result<Request, ParseRequestsError> {
    let Some((role, threads)) = who.and_then(|who| who.split_once(':')) else {
        let typed = who.map_or_else(|| rule.to_owned(), |who| format!("{who}={rule}"));
        return Err(ParseRequestsError::Form { typed: quoted(&typed) });
    };
    let role = role.parse()?;
    let threads =
        threads.parse().map_err(|_| ParseRequestsError::Threads { role, typed: quoted(threads) })?;
    Ok(Request { role, rule: rule.parse()?, threads })
}

/// Gives every thread of every request a logical CPU. Pure: the same topology and requests give
/// the same placement.
///
/// No CPU is given to two requests, and only lists and formulas may put two requests on one
/// core. Lists and formulas come first, as they cannot yield; then the other rules; then
/// `same-package`, so that it joins nobody who wants to be elsewhere; then `other-package`, and at
/// last `client-on-rest`. Among those of one turn the order of the requests counts.
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
        Rule::SamePackage => 2,
        Rule::OtherPackage => 3,
        Rule::ClientOnRest => 4,
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
        if self.threads > THREADS_MAX {
            return Err(self.impossible(Shortage::TooManyThreads { most: THREADS_MAX }));
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
        let excluded = topology.excluded().iter().find(|excluded| excluded.cpus.contains(cpu));
        let reason = excluded.map_or(ExclusionReason::NotInAffinityMask, |excluded| excluded.reason.clone());
        Err(PlacementError::NotAllowed { cpu, reason, allowed })
    } else if topology.offline().contains(cpu) {
        let online = online();
        Err(PlacementError::Offline { cpu, online })
    } else {
        let online = online();
        Err(PlacementError::NoSuchCpu { cpu, online })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_as_typed() {
        let requests = parse_requests("server:2=0-1,5,client:4=client-on-rest").unwrap();
        let typed: Vec<String> =
            requests.iter().map(|r| format!("{}:{}={}", r.role, r.threads, r.rule)).collect();
        assert_eq!(typed, ["server:2=0-1,5", "client:4=client-on-rest"]);
    }

    #[test]
    fn wrong_requests_say_what_may_be_written() {
        let complaints = [
            ("", "`` is not ROLE:THREADS=RULE"),
            ("server=pack", "`server=pack` is not ROLE:THREADS=RULE"),
            ("server:two=pack", "`two` is no number"),
            ("servant:2=pack", "servant"),
            ("server:2=heap", "heap"),
        ];
        for (typed, complaint) in complaints {
            let error = parse_requests(typed).unwrap_err().to_string();
            assert!(error.contains(complaint), "{typed}: {error}");
        }
    }
}
