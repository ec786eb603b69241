//! From what was typed to what it means.

use std::collections::BTreeSet;

use tailcore_harness::{Event, default_events, parse_events};
use tailcore_loadgen::{RunPlan, Workload};

use crate::args::RunArgs;
use crate::exit::UsageError;

/// The plan that the arguments of `tailcore run` ask for.
pub(crate) fn run_plan(args: &RunArgs) -> Result<RunPlan, UsageError> {
    Ok(RunPlan {
        rate_rps: args.rate,
        arrivals: args.arrivals,
        warmup: args.warmup,
        duration: args.duration,
        threads: args.threads,
        connections: args.connections,
        workload: Workload {
            keys: args.keys,
            key_law: args.key_dist,
            value_len: args.value_size,
            get_ratio: args.get_ratio,
        },
        preload: args.preload,
        seed: args.seed,
        timeout: args.timeout,
        drain: args.drain,
        max_in_flight: args.max_in_flight,
        pin: args.pin.clone(),
        events: events(&args.events)?,
    })
}

fn events(list: &str) -> Result<Vec<Event>, UsageError> {
    match list {
        "default" => Ok(default_events()),
        "none" => Ok(Vec::new()),
        list => {
            let mut events = parse_events(list).map_err(|error| {
                UsageError(format!("--events: {error}; `tailcore events` lists what can be counted"))
            })?;
            // The same event twice would only cost a second counter.
            let mut seen = BTreeSet::new();
            events.retain(|event| seen.insert(event.to_string()));
            Ok(events)
        }
    }
}
