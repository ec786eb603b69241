//! An open loop over loopback TCP: what the built-in key-value server can be made to answer.
//!
//! The `offered_…` runs offer a fixed load and print what came of it; their throughput is the load
//! itself as long as the machine can carry it. `saturated` offers more than can be carried: its
//! throughput is what the slower of the two threads can do (lateness tells which: a client that keeps up
//! sends in time). One sample is one run, whatever number of iterations criterion asks for, and its time
//! per iteration is 1 / achieved rate, so `elem/s` reads as requests per second.
//!
//! Server and client get CPUs of their own where the machine has two; where it has not, they take turns
//! and the numbers are those of the scheduler.
//!
//! `cargo bench -p tailcore-benches --bench open_loop_tcp`

use std::env;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tailcore_harness::units::{format_ns, format_rps};
use tailcore_harness::verdict::Severity;
use tailcore_harness::{LatencySummary, RunResult};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::{Placement, RunPlan, Session, place_threads, run};
use tailcore_topology::{Role, Topology};

/// One bench.
struct Case {
    name: &'static str,
    rate_rps: f64,
    /// How long answers are awaited after the last arrival.
    drain: Duration,
}

const CASES: [Case; 3] = [
    Case { name: "offered_150k", rate_rps: 150_000.0, drain: Duration::from_secs(1) },
    Case { name: "offered_200k", rate_rps: 200_000.0, drain: Duration::from_secs(1) },
    // More than one thread can send or answer. The backlog does not count as achieved, so it is not
    // waited for.
    Case { name: "saturated", rate_rps: 2e6, drain: Duration::ZERO },
];

/// The server, and where the client goes.
struct Rig {
    topology: Topology,
    server: TcpServer,
    client: Placement,
    duration: Duration,
}

impl Rig {
    fn start() -> Result<Self, Box<dyn Error>> {
        let topology = Topology::read()?;
        let plan = RunPlan::default();
        let mut placed = place_threads(&topology, &plan.pin, &[Role::Server, Role::Client])?;
        let options = ServerOptions { cpu: placed.cpus.remove(0), ..ServerOptions::default() };
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = TcpServer::start(any_port, KvService::new(), options)?;
        let mut codec = MemcachedText::new(plan.workload.value_len);
        preload(server.address(), &plan.workload, &mut codec, &mut |_| true)?;
        let duration = Duration::from_millis(if is_test() { 50 } else { 500 });
        Ok(Self { topology, server, client: placed, duration })
    }

    /// One run, checked.
    fn offer(&self, case: &Case) -> Result<RunResult, Box<dyn Error>> {
        let plan = RunPlan {
            rate_rps: case.rate_rps,
            warmup: self.duration / 10,
            duration: self.duration,
            drain: case.drain,
            preload: true,
            // Counters have a bench of their own.
            events: Vec::new(),
            ..RunPlan::default()
        };
        let address = self.server.address();
        let mut session = Session::new("built-in key-value server", &plan, &self.topology);
        session.placement = Some(self.client.clone());
        session.connections = plan.connections;
        session.observed = vec![self.server.thread_id().clone()];
        let outcome = run(&mut session, |worker| {
            Tcp::connect(address, plan.connections_of(worker), MemcachedText::new(plan.workload.value_len))
        })?;
        let result = outcome.result;
        for tally in [&result.tally, &result.warmup_tally] {
            assert!(tally.is_balanced(), "{tally:?}");
            assert_eq!((tally.failed(), tally.misses), (0, 0), "{tally:?}");
        }
        assert!(result.tally.ok > 0 && result.achieved_rps > 0.0, "{:?}", result.tally);
        Ok(result)
    }
}

/// Whether each bench is only tried once: `--test`, or `cargo test --benches`, which gives no `--bench`.
fn is_test() -> bool {
    env::args().any(|argument| argument == "--test") || !env::args().any(|argument| argument == "--bench")
}

fn print(result: &RunResult) {
    let p99 = |summary: &LatencySummary| {
        summary.value_or_bound_ns("0.99").map_or("too few requests".to_owned(), format_ns)
    };
    println!(
        "  offered {}: achieved {}, sojourn p99 {}, lateness p99 {}",
        format_rps(result.offered_rps),
        format_rps(result.achieved_rps),
        p99(&result.latency_ns.sojourn),
        p99(&result.latency_ns.lateness),
    );
    for reason in result.verdict.reasons.iter().filter(|reason| reason.severity == Severity::Invalid) {
        println!("    {}", reason.message);
    }
}

fn open_loop_tcp(criterion: &mut Criterion) {
    let rig = Rig::start().expect("a server can be started on the loopback");
    let mut group = criterion.benchmark_group("open_loop_tcp");
    group.throughput(Throughput::Elements(1)).sample_size(10);
    // One run before the samples, and room for ten of them.
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(10));
    for case in &CASES {
        let mut last = None;
        group.bench_function(case.name, |b| {
            b.iter_custom(|iterations| {
                let result = rig.offer(case).expect("the run can be offered");
                let time = Duration::from_secs_f64(iterations as f64 / result.achieved_rps);
                last = Some(result);
                time
            });
        });
        if let Some(result) = &last {
            print(result);
        }
    }
    group.finish();
}

criterion_group!(benches, open_loop_tcp);
criterion_main!(benches);
