//! One run from plan to result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use tailcore_harness::phases::as_ns;
use tailcore_harness::{
    Clock, Ending, Idle, LatencyHistogram, MonotonicClock, Overhead, RunResult, ThreadId, ThreadReport,
    ThreadWatch,
};
use tailcore_topology::Role;

use crate::assemble::assemble;
use crate::coordinator::{Coordinator, CounterSample};
use crate::engine::EngineReport;
use crate::error::LoadError;
use crate::floor;
use crate::limits;
use crate::session::{Placement, Session, place_threads};
use crate::transport::Transport;
use crate::worker::{Assignment, Ready, Signals, work};

/// Time between the last worker's readiness and the start: enough to allocate the recorders.
const START_LEAD: Duration = Duration::from_millis(50);

/// A result, and what does not fit into its JSON.
#[derive(Debug)]
pub struct RunOutcome {
    /// The result.
    pub result: RunResult,
    /// Sojourn times of the answered requests, for `.hgrm`.
    pub sojourn: LatencyHistogram,
    /// Requests that have no sojourn time because they never ended.
    pub censored: u64,
    /// How the run came to its end.
    pub ending: Ending,
}

/// Offers the session's plan through the transports that `connect` makes, one per worker, each in
/// its worker's own thread.
///
/// # Errors
///
/// [`LoadError`] if there can be no run. Once load is offered, faults end in the result instead.
pub fn run<T: Transport>(
    session: &mut Session<'_>,
    connect: impl Fn(u32) -> Result<T, LoadError> + Sync,
) -> Result<RunOutcome, LoadError> {
    session.plan.check()?;
    let counted = session.plan.threads as usize + session.observed.len();
    limits::ensure_open_files(session.connections, counted * session.plan.events.len())?;
    let placement = match &session.placement {
        Some(placement) => placement.clone(),
        None => {
            let roles = vec![Role::Client; session.plan.threads as usize];
            place_threads(session.topology, &session.plan.pin, &roles)?
        }
    };
    if placement.cpus.len() != session.plan.threads as usize {
        let problem = format!("the placement has room for {}", placement.cpus.len());
        return Err(LoadError::plan("--threads", session.plan.threads, problem));
    }
    let clock = MonotonicClock::start(idle_for(session));
    let overhead = Overhead {
        null_service_ns: floor::null_service_ns(&clock),
        ..Overhead::measure(&clock, &session.plan.events)
    };
    let crew = Crew { session, placement: &placement, clock: &clock };
    let (reports, watched) = crew.offer(&connect)?;
    let drift = clock.drift_ppm();
    let overhead = Overhead { clock_drift_ppm: drift, ..overhead };
    Ok(assemble(session, &placement, (reports, watched, overhead)))
}

/// Spinning threads on every usable CPU would leave none to a server on this machine: then they
/// must give way.
fn idle_for(session: &Session<'_>) -> Idle {
    let usable = thread::available_parallelism().map_or(1, usize::from);
    if session.plan.threads as usize >= usable { Idle::Yield } else { Idle::Spin }
}

/// What the coordinator saw: the threads over the measured phase, and their counters per interval.
pub(crate) type Watched = (Vec<ThreadReport>, Vec<CounterSample>);
type WorkerHandle<'scope> = ScopedJoinHandle<'scope, Option<EngineReport>>;

/// The workers and their coordinator while a run goes on.
struct Crew<'a, 's> {
    session: &'a mut Session<'s>,
    placement: &'a Placement,
    clock: &'a MonotonicClock,
}

impl Crew<'_, '_> {
    fn offer<T: Transport>(
        mut self,
        connect: &(impl Fn(u32) -> Result<T, LoadError> + Sync),
    ) -> Result<(Vec<EngineReport>, Watched), LoadError> {
        // Apart from the session's: a worker that loses its target sets it to end the others' runs.
        let stop = AtomicBool::new(false);
        let (ready, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            let (mut handles, mut starts) = (Vec::new(), Vec::new());
            for index in 0..self.session.plan.threads {
                let (start, is_start) = mpsc::channel();
                let assignment = Assignment {
                    index,
                    cpu: self.placement.cpus.get(index as usize).copied().flatten(),
                    plan: self.session.plan,
                    clock: self.clock.clone(),
                    stop: &stop,
                };
                let signals = Signals { ready: ready.clone(), start: is_start };
                let name = format!("tailcore-client-{index}");
                let handle = thread::Builder::new()
                    .name(name.clone())
                    .spawn_scoped(scope, move || work(&assignment, signals, connect))
                    .map_err(|source| LoadError::Thread { name, source })?;
                handles.push(handle);
                starts.push(start);
            }
            drop(ready);
            let watched = self.conduct(&handles, starts, (&is_ready, &stop));
            // Joined in any case: a panic that nobody took up would become ours.
            let reports: Vec<_> = handles.into_iter().map(join).collect();
            let watched = watched?;
            Ok((reports.into_iter().collect::<Result<_, _>>()?, watched))
        })
    }

    /// Starts the workers once all are ready, and watches them to their end. An error hangs up on the
    /// workers that still wait for the start.
    fn conduct(
        &mut self,
        handles: &[WorkerHandle<'_>],
        starts: Vec<Sender<u64>>,
        (is_ready, stop): (&Receiver<Ready>, &AtomicBool),
    ) -> Result<Watched, LoadError> {
        let mut clients = Vec::with_capacity(handles.len());
        for _ in handles {
            clients.push(is_ready.recv().map_err(|_| panicked())??);
        }
        clients.sort_unstable_by_key(|&(index, _)| index);
        let watches = self.watches(clients.into_iter().map(|(_, id)| id));
        let start_ns = self.clock.now_ns() + as_ns(START_LEAD);
        let phases = self.session.plan.phases(start_ns);
        let mut coordinator = Coordinator::new(self.clock.clone(), phases, watches);
        for start in starts {
            start.send(start_ns).map_err(|_| panicked())?;
        }
        let mut ignore = |_| {};
        let progress = self.session.progress.as_deref_mut().unwrap_or(&mut ignore);
        coordinator.watch(|| is_over(handles, self.session.stop, stop), progress);
        Ok(coordinator.finish())
    }

    /// Opens the counters of the observed threads and of the clients, in this order.
    fn watches(&self, clients: impl Iterator<Item = ThreadId>) -> Vec<ThreadWatch> {
        let observed = self.session.observed.iter().cloned();
        observed.chain(clients).map(|id| ThreadWatch::open(id, &self.session.plan.events)).collect()
    }
}

/// Whether all workers are done. Passes an early end on to those that are not.
fn is_over(handles: &[WorkerHandle<'_>], asked: Option<&AtomicBool>, stop: &AtomicBool) -> bool {
    if asked.is_some_and(|asked| asked.load(Ordering::Relaxed)) {
        stop.store(true, Ordering::Relaxed);
    }
    handles.iter().all(ScopedJoinHandle::is_finished)
}

fn join(handle: WorkerHandle<'_>) -> Result<EngineReport, LoadError> {
    let name = handle.thread().name().unwrap_or("tailcore-client").to_owned();
    match handle.join() {
        Ok(Some(report)) => Ok(report),
        Ok(None) | Err(_) => Err(LoadError::Panicked { name }),
    }
}

fn panicked() -> LoadError {
    LoadError::Panicked { name: "tailcore-client".to_owned() }
}
