//! `tailcore demo`: the whole way on a built-in server, in about 20 seconds.

use std::cell::Cell;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::units::format_rps;
use tailcore_harness::{Ending, RunResult};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::protocol::Protocol;
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::service::Service;
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::workload::{Operation, Request};
use tailcore_loadgen::{Placement, RunOutcome, RunPlan, Session, Workload, place_threads};
use tailcore_study::sweep;
use tailcore_topology::{PinPolicy, Role, Topology};

use crate::args::DemoArgs;
use crate::exit::{self, Exit, UsageError};
use crate::output::{self, OutputFile};
use crate::progress::{self, Bar};
use crate::run::{drive_memcached, hgrm_text, store_keys};
use crate::tables;

/// Offered loads: five over a decade and more, the highest within reach of a small machine.
const RATES_RPS: [f64; 5] = [2_000.0, 5_000.0, 10_000.0, 20_000.0, 40_000.0];
/// 5 × 3 s over TCP and 1 × 3 s in process: about 20 s with everything around it.
const WARMUP: Duration = Duration::from_millis(500);
const DURATION: Duration = Duration::from_millis(2_500);

/// The parts of the demo that all its runs share.
struct Stage<'a> {
    topology: &'a Topology,
    placement: Placement,
    seed: u64,
    scale: f64,
    stop: &'a AtomicBool,
    folder: PathBuf,
    /// Whether a result could not be written.
    is_incomplete: Cell<bool>,
}

pub(crate) fn demo(args: &DemoArgs) -> anyhow::Result<Exit> {
    if !(args.scale > 0.0 && args.scale <= 100.0) {
        return Err(UsageError(format!("--scale {}: use a factor above 0 and up to 100", args.scale)).into());
    }
    let folder = make_folder(&args.out)?;
    let topology = Topology::read()?;
    let stop = progress::stop_on_signal()?;
    let placement = place_threads(&topology, &PinPolicy::Auto, &[Role::Server, Role::Client])?;
    let stage = Stage {
        topology: &topology,
        placement,
        seed: args.seed,
        scale: args.scale,
        stop: &stop,
        folder,
        is_incomplete: Cell::new(false),
    };

    let server = TcpServer::start(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        KvService::new(),
        ServerOptions { cpu: stage.placement.cpus[0], stalls: None },
    )?;
    output::print(&stage.introduction(&server))?;

    let plan = stage.plan(RATES_RPS[0]);
    if !store_keys(server.address(), &plan, &stop)? {
        return Ok(Exit::Failed);
    }
    let over_tcp = sweep(&RATES_RPS, &stop, |rate_rps| stage.run_tcp(&server, rate_rps))?;
    print_runs("Over TCP (loopback)", &over_tcp)?;
    drop(server);

    let top_rate_rps = RATES_RPS[RATES_RPS.len() - 1];
    let in_process = sweep(&[top_rate_rps], &stop, |rate_rps| stage.run_in_process(rate_rps))?;
    print_runs("The same service in process (no network, no server thread)", &in_process)?;

    let all: Vec<&RunOutcome> = over_tcp.iter().chain(&in_process).collect();
    output::print(&stage.explanation(&over_tcp, &all))?;
    // A demo asks no question that an invalid verdict would leave unanswered; it only must get through.
    let is_through = all.len() > RATES_RPS.len() && all.iter().all(|o| o.ending == Ending::Completed);
    Ok(if is_through && !stage.is_incomplete.get() { Exit::Valid } else { Exit::Failed })
}

/// A folder of its own for each demo, named by the time in UTC.
fn make_folder(parent: &Path) -> Result<PathBuf, UsageError> {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let refused = |folder: &Path, error: io::Error| {
        let place = folder.display();
        UsageError(format!("cannot create {place}: {error}; choose a writable folder with --out"))
    };
    fs::create_dir_all(parent).map_err(|error| refused(parent, error))?;
    let mut folder = parent.join(format!("demo-{stamp}"));
    let mut number = 1;
    loop {
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            // Demos started within the same second are numbered.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(refused(&folder, error)),
        }
        folder = parent.join(format!("demo-{stamp}-{number}"));
    }
}

fn print_runs(title: &str, outcomes: &[RunOutcome]) -> anyhow::Result<()> {
    if outcomes.is_empty() {
        return Ok(());
    }
    let table = tables::runs(outcomes.iter().map(|outcome| &outcome.result));
    output::print(&format!("{title}\n{table}\n"))
}

impl Stage<'_> {
    fn plan(&self, rate_rps: f64) -> RunPlan {
        RunPlan {
            rate_rps,
            warmup: WARMUP.mul_f64(self.scale),
            duration: DURATION.mul_f64(self.scale),
            preload: true,
            seed: self.seed,
            ..RunPlan::default()
        }
    }

    fn introduction(&self, server: &TcpServer) -> String {
        let Workload { keys, key_law, value_len, get_ratio } = Workload::default();
        let plan = self.plan(RATES_RPS[0]);
        let place = |index: usize| match self.placement.cpus[index] {
            Some(cpu) => format!("pinned to CPU {cpu}"),
            None => "not pinned".to_owned(),
        };
        format!(
            "An open-loop Poisson load on a built-in key-value server, at five rising rates.\n\n\
             \x20 server   memcached text protocol on {}, one thread, {}\n\
             \x20 client   one thread, {}, {} connections\n\
             \x20 content  {keys} keys ({key_law}), {:.0} % reads of {value_len} bytes, seed {}\n\n",
            server.address(),
            place(0),
            place(1),
            plan.connections,
            get_ratio * 100.0,
            self.seed,
        )
    }

    fn run_tcp(&self, server: &TcpServer, rate_rps: f64) -> anyhow::Result<RunOutcome> {
        let plan = self.plan(rate_rps);
        let target = format!("memcached://{} (built in)", server.address());
        let outcome = self.watch(&plan, &target, |session| {
            session.observed = vec![server.thread_id().clone()];
            session.connections = plan.connections;
            drive_memcached(session, server.address())
        })?;
        self.save("tcp", &outcome);
        Ok(outcome)
    }

    fn run_in_process(&self, rate_rps: f64) -> anyhow::Result<RunOutcome> {
        let plan = self.plan(rate_rps);
        let outcome = self.watch(&plan, "in-process key-value service (built in)", |session| {
            tailcore_loadgen::run(session, |_| {
                let protocol = MemcachedText::new(plan.workload.value_len);
                Ok(InProcess::new(protocol.clone(), filled_store(&plan.workload, protocol)))
            })
        })?;
        self.save("in-process", &outcome);
        Ok(outcome)
    }

    /// Runs with a progress bar, placed as the stage says.
    fn watch(
        &self,
        plan: &RunPlan,
        target: &str,
        drive: impl FnOnce(&mut Session<'_>) -> Result<RunOutcome, tailcore_loadgen::LoadError>,
    ) -> anyhow::Result<RunOutcome> {
        let bar =
            Bar::new(format!("{} · {}", format_rps(plan.rate_rps), target.split(' ').next().unwrap_or("")));
        let mut show = |progress| bar.show(progress);
        let mut session = Session::new(target, plan, self.topology);
        session.placement = Some(Placement {
            cpus: self.placement.cpus[1..].to_vec(),
            problem: self.placement.problem.clone(),
        });
        session.stop = Some(self.stop);
        session.progress = Some(&mut show);
        let outcome = drive(&mut session);
        bar.finish();
        Ok(outcome?)
    }

    /// Writes a run's JSON and `.hgrm` as soon as it is over. What cannot be written is said, and the
    /// demo goes on: its table still shows what was measured.
    fn save(&self, deployment: &str, outcome: &RunOutcome) {
        let name = format!("{deployment}-{:.0}rps", outcome.result.offered_rps);
        let write = |extension, content: anyhow::Result<String>| -> anyhow::Result<()> {
            OutputFile::prepare(&self.folder.join(format!("{name}.{extension}")))?.write(content?.as_bytes())
        };
        let written = write("json", output::pretty_json(&outcome.result))
            .and_then(|()| write("hgrm", hgrm_text(outcome)));
        if let Err(error) = written {
            eprintln!("tailcore: {}", exit::describe(&error));
            self.is_incomplete.set(true);
        }
    }

    fn explanation(&self, over_tcp: &[RunOutcome], all: &[&RunOutcome]) -> String {
        let mut text = String::new();
        if let Some(last) = over_tcp.last() {
            let result: &RunResult = &last.result;
            text.push_str(&format!(
                "Threads of the run at {} over TCP, over its measured phase:\n",
                format_rps(result.offered_rps)
            ));
            text.push_str(&tables::threads(&result.threads));
        }
        let judged = all.iter().filter(|outcome| !outcome.result.verdict.valid);
        for outcome in judged {
            let (rate, target) = (format_rps(outcome.result.offered_rps), &outcome.result.plan.target);
            let reasons = tables::reasons(&outcome.result);
            text.push_str(&format!("\nThe run at {rate} on {target} is not valid:\n{reasons}"));
        }
        text.push_str(&format!(
            "\nHow to read it: latency counts from the instant at which a request was meant to arrive,\n\
             so a stall of the server is charged to every request that it kept waiting. `lateness` is\n\
             the generator's own delay, and the verdict says whether it made the tail.\n{}\n\
             Results (JSON and .hgrm per run): {}\n\
             Next: tailcore run memcached://HOST:PORT --rate 20k --preload\n",
            tables::legend(all.iter().map(|outcome| &outcome.result)),
            self.folder.display()
        ));
        text
    }
}

/// A store that holds every key of the workload, as [`store_keys`] does over the network.
fn filled_store(workload: &Workload, mut protocol: MemcachedText) -> KvService {
    let mut service = KvService::new();
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    for key in 0..workload.keys {
        request.clear();
        reply.clear();
        protocol
            .encode(&Request { operation: Operation::Set, key, value_len: workload.value_len }, &mut request);
        service.handle(&request, &mut reply);
    }
    service
}
