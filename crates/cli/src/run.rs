//! `tailcore run`: one load against one server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tailcore_harness::hgrm::write_hgrm;
use tailcore_harness::{Ending, LatencyHistogram, RunResult};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::{RunOutcome, RunPlan, Session, limits};
use tailcore_topology::Topology;

use crate::args::RunArgs;
use crate::exit::{Exit, UsageError};
use crate::output::{self, OutputFile};
use crate::progress::{self, Bar};
use crate::{plan, tables};

/// Where a run's results go besides the screen.
struct Outputs {
    json: Option<OutputFile>,
    hgrm: Option<OutputFile>,
    json_to_stdout: bool,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let plan = plan::run_plan(args)?;
    // Everything that can be refused is refused before any load is offered.
    plan.check()?;
    limits::ensure_open_files(plan.connections)?;
    let outputs = Outputs::prepare(args)?;
    let topology = Topology::read()?;
    let address = args.target.resolve()?;
    let stop = progress::stop_on_signal()?;
    if plan.preload {
        store_keys(address, &plan, &stop)?;
    }
    let bar = Bar::new(format!("{} at {}", args.target, tailcore_harness::units::format_rps(plan.rate_rps)));
    let outcome = {
        let mut session = Session::new(&args.target.to_string(), &plan, &topology);
        session.connections = plan.connections;
        session.stop = &stop;
        let mut show = |progress| bar.show(progress);
        session.progress = &mut show;
        drive_memcached(&mut session, address)
    };
    bar.finish();
    let outcome = outcome?;
    let is_written = outputs.write(&outcome)?;
    if let Ending::TargetLost(what) = &outcome.ending {
        eprintln!("tailcore: {what}; what was measured before is in the result");
    }
    Ok(if is_written { Exit::of_run(&outcome.result, &outcome.ending) } else { Exit::Failed })
}

/// Offers a session's plan to a memcached server.
pub(crate) fn drive_memcached(
    session: &mut Session<'_>,
    address: SocketAddr,
) -> Result<RunOutcome, tailcore_loadgen::LoadError> {
    let plan: &RunPlan = session.plan;
    tailcore_loadgen::run(session, |worker| {
        Tcp::connect(address, plan.connections_of(worker), MemcachedText::new(plan.workload.value_len))
    })
}

/// Stores every key of the plan's workload, showing how far it is.
pub(crate) fn store_keys(address: SocketAddr, plan: &RunPlan, stop: &AtomicBool) -> anyhow::Result<()> {
    let bar = Bar::new(format!("storing {} keys", plan.workload.keys));
    let mut protocol = MemcachedText::new(plan.workload.value_len);
    let stored = preload(address, &plan.workload, &mut protocol, &mut |done| {
        bar.count(done, plan.workload.keys);
        !stop.load(Ordering::Relaxed)
    });
    bar.finish();
    Ok(stored?)
}

impl Outputs {
    fn prepare(args: &RunArgs) -> Result<Self, UsageError> {
        let json_to_stdout = args.json.as_deref() == Some(Path::new("-"));
        let prepare =
            |path: &Option<std::path::PathBuf>| path.as_deref().map(OutputFile::prepare).transpose();
        Ok(Self {
            json: if json_to_stdout { None } else { prepare(&args.json)? },
            hgrm: prepare(&args.hgrm)?,
            json_to_stdout,
        })
    }

    /// Writes everything; false if something could not be.
    fn write(self, outcome: &RunOutcome) -> anyhow::Result<bool> {
        let json = output::pretty_json(&outcome.result)?;
        if self.json_to_stdout {
            output::print(&json)?;
        } else {
            output::print(&summary(&outcome.result))?;
        }
        let mut is_written = true;
        if let Some(file) = self.json {
            is_written &= output::write_or_print(file, &json)?;
        }
        if let Some(file) = self.hgrm {
            is_written &= output::write_or_print(file, &hgrm_text(&outcome.sojourn)?)?;
        }
        Ok(is_written)
    }
}

/// A distribution in the `.hgrm` format.
pub(crate) fn hgrm_text(histogram: &LatencyHistogram) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_hgrm(histogram, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// One run for people: the table, the naive view beside it, the account, the threads, the verdict.
fn summary(result: &RunResult) -> String {
    let plan = &result.plan;
    let mut text = format!(
        "{} · open loop, {} arrivals · {} thread(s), {} connections · {} keys ({}), {:.0} % reads of {} bytes\n\n",
        plan.target,
        plan.arrivals,
        plan.threads,
        plan.connections,
        plan.keys,
        plan.key_dist,
        plan.get_ratio * 100.0,
        plan.value_size
    );
    text.push_str(&tables::runs([result]));
    let tally = &result.tally;
    text.push_str(&format!(
        "\nLatency counts from the intended arrival. Counted from the send, p99 would read {}.\n",
        tables::quantile_text(&result.latency_ns.since_send, "0.99")
    ));
    text.push_str(&format!(
        "Requests: {} scheduled = {} ok + {} failed + {} timed out + {} unfinished (schedule {}, seed {}).\n",
        tally.scheduled,
        tally.ok,
        tally.failed(),
        tally.timed_out,
        tally.unfinished,
        result.schedule_hash,
        result.seed
    ));
    if !result.threads.is_empty() {
        text.push_str("\nThreads, over the measured phase:\n");
        text.push_str(&tables::threads(&result.threads));
    }
    text.push_str(&format!("\nVerdict: {}\n", if result.verdict.valid { "valid" } else { "INVALID" }));
    text.push_str(&tables::reasons(result));
    text
}
