//! What surrounds a run: the machine, the threads beside the generator's, and who is watching.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::ThreadId;
use tailcore_topology::{PinPolicy, PlacementError, Role, Topology, place};

use crate::plan::RunPlan;

/// Surroundings of one run.
pub struct Session<'a> {
    /// What is driven, for the record.
    pub target: String,
    /// What is asked.
    pub plan: &'a RunPlan,
    /// The machine.
    pub topology: &'a Topology,
    /// Where the generator's threads go; `None` places them by the plan.
    pub placement: Option<Placement>,
    /// Connections over all threads, for the record; 0 in process.
    pub connections: u32,
    /// Threads of the service in this process, to be counted beside the generator's.
    pub observed: Vec<ThreadId>,
    /// Set by somebody else to end the run early, keeping what was measured.
    pub stop: Option<&'a AtomicBool>,
    /// Told about twenty times a second how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("target", &self.target)
            .field("plan", &self.plan)
            .field("placement", &self.placement)
            .field("observed", &self.observed)
            .finish_non_exhaustive()
    }
}

impl<'a> Session<'a> {
    /// A session that nobody watches or stops.
    pub fn new(target: &str, plan: &'a RunPlan, topology: &'a Topology) -> Self {
        Self {
            target: target.to_owned(),
            plan,
            topology,
            placement: None,
            connections: 0,
            observed: Vec::new(),
            stop: None,
            progress: None,
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time since the start of the warm-up.
    pub elapsed: Duration,
    /// Planned time to the end of the measured phase.
    pub total: Duration,
}

/// Logical CPUs for the threads of a run, in the order of the roles asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// One per role; `None` leaves the thread to the scheduler.
    pub cpus: Vec<Option<u32>>,
    /// Why `auto` had to leave the threads to the scheduler.
    pub problem: Option<String>,
}

/// Places threads by policy.
///
/// `auto` on a machine with too few logical CPUs places nothing and says so in
/// [`Placement::problem`], which ends up in the verdict.
///
/// # Errors
///
/// [`PlacementError`] if an explicit list cannot be followed.
pub fn place_threads(
    topology: &Topology,
    policy: &PinPolicy,
    roles: &[Role],
) -> Result<Placement, PlacementError> {
    match place(topology, policy, roles) {
        Ok(cpus) => Ok(Placement { cpus, problem: None }),
        Err(error) if *policy == PinPolicy::Auto => {
            Ok(Placement { cpus: vec![None; roles.len()], problem: Some(error.to_string()) })
        }
        Err(error) => Err(error),
    }
}
