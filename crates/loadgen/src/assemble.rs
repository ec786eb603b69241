//! From what the workers and the coordinator brought home to one judged result.

use tailcore_harness::{
    Ending, Environment, Evidence, IntervalReport, Latencies, LatencySummary, Overhead, Phases, Recorder,
    RunResult, Verdict, result,
};

use crate::engine::EngineReport;
use crate::run::{RunOutcome, Watched};
use crate::schedule::ScheduleHash;
use crate::session::{Placement, Session};

/// Merges what the workers brought home and judges it.
pub(crate) fn assemble(
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
    let views = recorder.timeline().view(phases);
    let measured_s = phases.measured_ns() as f64 / 1e9;
    let completed: u64 = views.iter().map(|interval| interval.completed).sum();
    let achieved_rps = if measured_s > 0.0 { completed as f64 / measured_s } else { 0.0 };
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
