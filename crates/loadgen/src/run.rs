//! One run from plan to result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use tailcore_harness::phases::as_ns;
use tailcore_harness::{
    Clock, Ending, Environment, Evidence, Idle, IntervalReport, Latencies, LatencyHistogram, LatencySummary,
    MonotonicClock, Overhead, Phases, Recorder, RunResult, ThreadId, ThreadReport, ThreadWatch, Verdict,
    result,
};
use tailcore_topology::Role;

use crate::coordinator::{Coordinator, CounterSample};
use crate::engine::EngineReport;
use crate::error::LoadError;
use crate::floor;
use crate::limits;
use crate::schedule::ScheduleHash;
use crate::session::{Placement, Session, place_threads};
use crate::transport::Transport;
use crate::worker::{Assignment, Signals, work};

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

type Watched = (Vec<ThreadReport>, Vec<CounterSample>);

/// The workers and their coordinator while a run goes on.
struct Crew<'a, 's> {
    session: &'a mut Session<'s>,
    placement: &'a Placement,
    clock: &'a MonotonicClock,
}

impl Crew<'_, '_> {
    fn offer<T: Transport>(
        self,
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
            let mut clients = Vec::with_capacity(handles.len());
            for _ in 0..handles.len() {
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
            coordinator.watch(|| is_over(&handles, self.session.stop, &stop), progress);
            let reports = handles.into_iter().map(join).collect::<Result<Vec<_>, _>>()?;
            Ok((reports, coordinator.finish()))
        })
    }

    /// Opens the counters of the observed threads and of the clients, in this order.
    fn watches(&self, clients: impl Iterator<Item = ThreadId>) -> Vec<ThreadWatch> {
        let observed = self.session.observed.iter().cloned();
        observed.chain(clients).map(|id| ThreadWatch::open(id, &self.session.plan.events)).collect()
    }
}

/// Whether all workers are done. Passes an early end on to those that are not.
fn is_over<T>(handles: &[ScopedJoinHandle<'_, T>], asked: Option<&AtomicBool>, stop: &AtomicBool) -> bool {
    if asked.is_some_and(|asked| asked.load(Ordering::Relaxed)) {
        stop.store(true, Ordering::Relaxed);
    }
    handles.iter().all(ScopedJoinHandle::is_finished)
}

fn join(handle: ScopedJoinHandle<'_, Option<EngineReport>>) -> Result<EngineReport, LoadError> {
    let name = handle.thread().name().unwrap_or("tailcore-client").to_owned();
    match handle.join() {
        Ok(Some(report)) => Ok(report),
        Ok(None) | Err(_) => Err(LoadError::Panicked { name }),
    }
}

fn panicked() -> LoadError {
    LoadError::Panicked { name: "tailcore-client".to_owned() }
}

/// Merges what the workers brought home and judges it.
fn assemble(
    session: &Session<'_>,
    placement: &Placement,
    (reports, (mut threads, samples), overhead): (Vec<EngineReport>, Watched, Overhead),
) -> RunOutcome {
    // The observed threads come first; they offer nothing.
    for (thread, report) in threads.iter_mut().skip(session.observed.len()).zip(&reports) {
        thread.sojourn_ns = Some(latencies(&report.recorder).sojourn);
    }
    let merged = Merged::new(reports, session.plan.phases(0));
    let (recorder, phases) = (&merged.recorder, merged.phases);
    let latencies = latencies(recorder);
    let measured_s = phases.measured_ns() as f64 / 1e9;
    let achieved_rps =
        if measured_s > 0.0 { recorder.timeline().completed() as f64 / measured_s } else { 0.0 };
    let views = recorder.timeline().view(phases);
    let verdict = Verdict::judge(&Evidence {
        ending: &merged.ending,
        offered_rps: session.plan.rate_rps,
        achieved_rps,
        tally: recorder.tally(),
        latencies: &latencies,
        timeline: &views,
        time_at_cap_ns: merged.time_at_cap_ns,
        connections_lost: merged.connections_lost,
        connections: session.connections,
        threads: &threads,
        pin_problem: placement.problem.as_deref(),
        debug_build: cfg!(debug_assertions),
    });
    let mut samples = samples.into_iter();
    let timeline = views
        .into_iter()
        .map(|view| {
            let sample = samples.next();
            IntervalReport {
                view,
                counters_read_ns: sample.as_ref().map(|s| s.read_ns.saturating_sub(phases.measure_ns)),
                counters: sample.map_or_else(Vec::new, |s| s.deltas),
            }
        })
        .collect();
    let result = RunResult {
        schema: result::SCHEMA.to_owned(),
        plan: session.plan.record(&session.target, session.connections),
        seed: session.plan.seed,
        schedule_hash: merged.hash.to_hex(),
        environment: Environment::capture(session.topology),
        interrupted: merged.ending == Ending::Interrupted,
        measured_ns: phases.measured_ns(),
        offered_rps: session.plan.rate_rps,
        achieved_rps,
        tally: recorder.tally().clone(),
        warmup_tally: recorder.warmup().clone(),
        latency_ns: latencies,
        time_at_cap_ns: merged.time_at_cap_ns,
        connections_lost: merged.connections_lost,
        threads,
        timeline,
        overhead,
        verdict,
    };
    let sojourn = merged.recorder.sojourn().clone();
    let censored = merged.recorder.censored_sojourn().count();
    RunOutcome { result, sojourn, censored, ending: merged.ending }
}

fn latencies(recorder: &Recorder) -> Latencies {
    Latencies {
        sojourn: LatencySummary::new(recorder.sojourn(), recorder.censored_sojourn()),
        since_send: LatencySummary::new(recorder.since_send(), recorder.censored_since_send()),
        lateness: LatencySummary::new(recorder.lateness(), recorder.censored_lateness()),
    }
}

/// The workers' reports as one.
struct Merged {
    recorder: Recorder,
    hash: ScheduleHash,
    ending: Ending,
    phases: Phases,
    time_at_cap_ns: u64,
    connections_lost: u32,
}

impl Merged {
    fn new(reports: Vec<EngineReport>, planned: Phases) -> Self {
        let mut reports = reports.into_iter();
        let Some(first) = reports.next() else {
            return Self {
                recorder: Recorder::new(planned),
                hash: ScheduleHash::default(),
                ending: Ending::Completed,
                phases: planned,
                time_at_cap_ns: 0,
                connections_lost: 0,
            };
        };
        let mut merged = Self {
            recorder: first.recorder,
            hash: first.schedule_hash,
            ending: first.ending,
            phases: first.phases,
            time_at_cap_ns: first.time_at_cap_ns,
            connections_lost: first.connections_lost,
        };
        for report in reports {
            merged.recorder.merge(&report.recorder);
            merged.hash.combine(report.schedule_hash);
            merged.time_at_cap_ns += report.time_at_cap_ns;
            merged.connections_lost += report.connections_lost;
            merged.phases.end_ns = merged.phases.end_ns.max(report.phases.end_ns);
            // A lost target explains more than the interruption that it caused elsewhere.
            if merged.ending == Ending::Completed || matches!(report.ending, Ending::TargetLost(_)) {
                merged.ending = report.ending;
            }
        }
        merged
    }
}
