//! `tailcore run`: one load against one server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use tailcore_harness::hgrm::write_hgrm;
use tailcore_harness::latency::Quantile;
use tailcore_harness::{Ending, RunResult};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::{RunOutcome, RunPlan, Session, limits, place_threads};
use tailcore_topology::{Role, Topology};

use crate::args::RunArgs;
use crate::exit::{self, Exit, UsageError};
use crate::output::{self, Destination};
use crate::progress::{self, Bar};
use crate::{plan, tables};

/// Where a run's results go besides the screen.
struct Outputs {
    json: Destination,
    hgrm: Destination,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let mut plan = plan::run_plan(args)?;
    // Everything that can be refused is refused before any load is offered.
    plan.check()?;
    limits::ensure_open_files(plan.connections, plan.threads as usize * plan.events.len())?;
    let outputs = Outputs::prepare(args)?;
    let topology = Topology::read()?;
    let roles = vec![Role::Client; plan.threads as usize];
    let placement = place_threads(&topology, &plan.pin, &roles)
        .map_err(|error| UsageError(format!("--pin {}: {error}", plan.pin)))?;
    let address = args.target.resolve()?;
    let stop = progress::stop_on_signal()?;
    if plan.preload {
        // Interrupted, it leads to a result that says so: of the run, and of the keys.
        plan.preload = store_keys(address, &plan, &stop)?;
    }
    let bar = Bar::new(format!("{} at {}", args.target, tailcore_harness::units::format_rps(plan.rate_rps)));
    let outcome = {
        let mut session = Session::new(&args.target.to_string(), &plan, &topology);
        session.placement = Some(placement);
        session.connections = plan.connections;
        session.stop = Some(&stop);
        let mut show = |progress| bar.show(progress);
        session.progress = Some(&mut show);
        drive_memcached(&mut session, address)
    };
    bar.finish();
    let outcome = outcome?;
    let is_written = outputs.write(&outcome)?;
    if let Ending::TargetLost(what) = &outcome.ending {
        eprintln!("tailcore: {what}; what was measured until then is reported");
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

/// Stores every key of the plan's workload, showing how far it is; false if `stop` ended it.
pub(crate) fn store_keys(address: SocketAddr, plan: &RunPlan, stop: &AtomicBool) -> anyhow::Result<bool> {
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
        let json = Destination::prepare(args.json.as_deref())?;
        let hgrm = Destination::prepare(args.hgrm.as_deref())?;
        let is_shared = match (&json, &hgrm) {
            (Destination::Stdout, Destination::Stdout) => true,
            (Destination::File(json), Destination::File(hgrm)) => json.is_same_place(hgrm),
            _ => false,
        };
        if is_shared {
            return Err(UsageError("--json and --hgrm name the same place: give each its own".to_owned()));
        }
        Ok(Self { json, hgrm })
    }

    /// Writes everything, files first: a standard output that fails must not cost a file. What a
    /// file does not take is printed, so that nothing measured is lost.
    ///
    /// Returns whether all files could be written.
    fn write(self, outcome: &RunOutcome) -> anyhow::Result<bool> {
        let json = output::pretty_json(&outcome.result)?;
        let hgrm = hgrm_text(outcome)?;
        let is_table_wanted =
            !matches!(self.json, Destination::Stdout) && !matches!(self.hgrm, Destination::Stdout);
        let mut to_print = if is_table_wanted { summary(&outcome.result) } else { String::new() };
        let mut is_written = true;
        for (destination, content) in [(self.json, &json), (self.hgrm, &hgrm)] {
            match destination {
                Destination::Unwanted => {}
                Destination::Stdout => to_print.push_str(content),
                Destination::File(file) => {
                    if let Err(error) = file.write(content.as_bytes()) {
                        let what = exit::describe(&error);
                        eprintln!("tailcore: {what}; its content follows on standard output");
                        to_print.push_str(content);
                        is_written = false;
                    }
                }
            }
        }
        output::print(&to_print)?;
        Ok(is_written)
    }
}

/// A run's sojourn times in the `.hgrm` format.
pub(crate) fn hgrm_text(outcome: &RunOutcome) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_hgrm(&outcome.sojourn, outcome.censored, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// One run for people: the table, the naive view beside it, the account, the threads, the verdict.
fn summary(result: &RunResult) -> String {
    let plan = &result.plan;
    let mut text = format!(
        "{} · open loop, {} arrivals · {}, {} connections · {} keys ({}), {:.0} % reads of {} bytes\n\n",
        plan.target,
        plan.arrivals,
        if plan.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", plan.threads) },
        plan.connections,
        plan.keys,
        plan.key_dist,
        plan.get_ratio * 100.0,
        plan.value_size
    );
    text.push_str(&tables::runs([result]));
    let tally = &result.tally;
    text.push_str("\nLatency counts from the intended arrival.");
    if let Some(p99) = result.latency_ns.since_send.quantile("0.99")
        && !matches!(p99, Quantile::TooFew { .. })
    {
        text.push_str(&format!(" Counted from the send, p99 would read {}.", tables::known_text(Some(p99))));
    }
    text.push('\n');
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
    text.push_str("\nThreads, over the measured phase:\n");
    text.push_str(&tables::threads(&result.threads));
    text.push_str(&format!("\nVerdict: {}\n", if result.verdict.valid { "valid" } else { "INVALID" }));
    text.push_str(&tables::reasons(result));
    text.push_str(&tables::legend([result]));
    text
}
