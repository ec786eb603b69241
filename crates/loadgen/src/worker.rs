//! One load-offering thread, from its placement to its report.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

use tailcore_harness::{MonotonicClock, ThreadId};

use crate::engine::{Engine, EngineReport};
use crate::error::LoadError;
use crate::plan::RunPlan;
use crate::schedule::Schedule;
use crate::transport::Transport;

/// What a worker needs besides its way to the service.
pub(crate) struct Assignment<'a> {
    pub(crate) index: u32,
    pub(crate) cpu: Option<u32>,
    pub(crate) plan: &'a RunPlan,
    pub(crate) clock: MonotonicClock,
    pub(crate) stop: &'a AtomicBool,
}

/// Which worker is placed and connected, or why it is not.
pub(crate) type Ready = Result<(u32, ThreadId), LoadError>;

/// A worker's ends of the start-up conversation.
pub(crate) struct Signals {
    pub(crate) ready: Sender<Ready>,
    /// Gives the start, in nanoseconds on the run's clock; hangs up if there will be no run.
    pub(crate) start: Receiver<u64>,
}

/// Places the thread, connects, waits for the start and runs. `None` if there was no run.
pub(crate) fn work<T: Transport>(
    assignment: &Assignment<'_>,
    signals: Signals,
    connect: impl FnOnce(u32) -> Result<T, LoadError>,
) -> Option<EngineReport> {
    let Signals { ready, start } = signals;
    let transport = match prepare(assignment, connect) {
        Ok((transport, id)) => {
            ready.send(Ok((assignment.index, id))).ok()?;
            transport
        }
        Err(error) => {
            ready.send(Err(error)).ok();
            return None;
        }
    };
    // Held any longer, it would keep the coordinator waiting for a worker that has panicked.
    drop(ready);
    let start_ns = start.recv().ok()?;
    let phases = assignment.plan.phases(start_ns);
    let schedule = Schedule::new(&assignment.plan.schedule_law(), assignment.index, start_ns, phases.end_ns);
    let limits = assignment.plan.limits(phases);
    Some(Engine::new(&assignment.clock, schedule, transport, (limits, assignment.stop)).run())
}

fn prepare<T>(
    assignment: &Assignment<'_>,
    connect: impl FnOnce(u32) -> Result<T, LoadError>,
) -> Result<(T, ThreadId), LoadError> {
    if let Some(cpu) = assignment.cpu {
        tailcore_topology::pin_current_thread(cpu)?;
    }
    // Pinned first, so that the connection's memory is touched where it will be used.
    let transport = connect(assignment.index)?;
    let tid = tailcore_topology::current_tid();
    Ok((transport, ThreadId { role: "client".to_owned(), tid, cpu: assignment.cpu }))
}
