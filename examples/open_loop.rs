//! The smallest honest measurement: an open-loop load of 20,000 requests/s on the built-in key-value
//! server over loopback TCP, with the latency tail, the generator's own lateness, and the verdict.
//!
//! ```text
//! cargo run --release --example open_loop
//! ```

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tailcore_harness::units::{format_ns, format_rps};
use tailcore_harness::{LatencySummary, Quantile};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::{RunPlan, Session, place_threads, run};
use tailcore_topology::{Role, Topology};

fn main() -> Result<(), Box<dyn Error>> {
    let plan = RunPlan {
        rate_rps: 20_000.0,
        warmup: Duration::from_millis(500),
        duration: Duration::from_secs(2),
        preload: true,
        ..RunPlan::default()
    };
    let value_len = plan.workload.value_len;

    // Server and client are placed together, so that they do not get the same CPU.
    let topology = Topology::read()?;
    let mut placement = place_threads(&topology, &plan.pin, &[Role::Server, Role::Client])?;
    let options = ServerOptions { cpu: placement.cpus.remove(0), ..ServerOptions::default() };
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = TcpServer::start(any_port, KvService::new(), options)?;

    // A read that misses is cheaper than the one people mean to measure.
    preload(server.address(), &plan.workload, &mut MemcachedText::new(value_len), &mut |_| true)?;

    let mut session = Session::new("built-in key-value server", &plan, &topology);
    session.placement = Some(placement);
    session.connections = plan.connections;
    session.observed = vec![server.thread_id().clone()];
    let outcome = run(&mut session, |worker| {
        Tcp::connect(server.address(), plan.connections_of(worker), MemcachedText::new(value_len))
    })?;

    let result = &outcome.result;
    println!("offered {}, achieved {}", format_rps(result.offered_rps), format_rps(result.achieved_rps));
    print("sojourn (from the intended arrival)", &result.latency_ns.sojourn);
    print("lateness (the generator's own delay)", &result.latency_ns.lateness);
    println!("{}", if result.verdict.valid { "valid" } else { "NOT valid" });
    for reason in &result.verdict.reasons {
        println!("  {}", reason.message);
    }
    Ok(())
}

/// One line per quantile that the run can carry, and why not for the others.
fn print(what: &str, summary: &LatencySummary) {
    println!("{what}:");
    for name in summary.quantiles.keys() {
        match summary.quantile(name) {
            Some(Quantile::Known(ns)) => println!("  {name:<6} {:>9}", format_ns(ns)),
            Some(Quantile::AtLeast(ns)) => println!("  {name:<6} {:>9} at least", format_ns(ns)),
            Some(Quantile::TooFew { needed }) => println!("  {name:<6} needs {needed} requests"),
            None => {}
        }
    }
}
