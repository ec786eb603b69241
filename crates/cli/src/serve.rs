//! `tailcore serve`: the built-in key-value server, with an optional script of stalls.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::stall::StallScript;
use tailcore_topology::{PinPolicy, Role, Topology, place};

use crate::args::ServeArgs;
use crate::exit::{Exit, UsageError};
use crate::{output, progress};

/// How often a serving process looks whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    let stalls = match args.stall {
        None => None,
        Some(stall) => Some(StallScript::new(args.every, stall).ok_or_else(|| {
            UsageError(format!(
                "--stall {stall:?} must be longer than 0 and shorter than --every {:?}",
                args.every
            ))
        })?),
    };
    if let Some(cpu) = args.cpu {
        let policy = PinPolicy::List([cpu].into_iter().collect());
        place(&Topology::read()?, &policy, &[Role::Server])
            .map_err(|error| UsageError(format!("--cpu {cpu}: {error}")))?;
    }
    let stop = progress::stop_on_signal()?;
    let server = TcpServer::start(args.listen, KvService::new(), ServerOptions { cpu: args.cpu, stalls })?;
    let frozen = args.stall.map_or_else(String::new, |stall| {
        format!(", frozen for the last {stall:?} of every {:?}", args.every)
    });
    output::print(&format!("serving memcached://{}{frozen} (stop with Ctrl-C)\n", server.address()))?;
    let started = Instant::now();
    while !stop.load(Ordering::Relaxed) && args.lifetime.is_none_or(|lifetime| started.elapsed() < lifetime) {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Exit::Valid)
}
