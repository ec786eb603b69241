//! `tailcore events`: what this machine can count, and why not the rest.

use std::collections::BTreeMap;

use tailcore_pmu::{Availability, Probe, Scope, catalogue};

use crate::args::EventsArgs;
use crate::exit::Exit;
use crate::{output, tables};

pub(crate) fn events(args: &EventsArgs) -> anyhow::Result<Exit> {
    let pattern = args.pattern.as_deref().unwrap_or("").to_lowercase();
    let mut all = catalogue();
    all.retain(|event| event.event.to_lowercase().contains(&pattern));
    if args.json {
        output::print(&output::pretty_json(&all)?)?;
    } else if all.is_empty() {
        output::print(&format!("no event has `{pattern}` in its name; `tailcore events` lists them all\n"))?;
    } else {
        output::print(&listing(&all))?;
    }
    Ok(Exit::Valid)
}

fn listing(all: &[Availability]) -> String {
    let mut text = String::new();
    let mut absent: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut table = tables::plain(&["event", "kind", "counts", "meaning"]);
    let mut available = 0;
    for event in all {
        match &event.outcome {
            Probe::Available { scope } => {
                available += 1;
                let kind = format!("{:?}", event.kind).to_lowercase();
                table.add_row([&event.event, &kind, scope_name(*scope), event.description]);
            }
            Probe::Unsupported { reason } => {
                absent.entry(format!("unsupported: {reason}")).or_default().push(&event.event);
            }
            Probe::Forbidden { reason } => {
                absent.entry(format!("forbidden: {reason}")).or_default().push(&event.event);
            }
            _ => absent.entry("unknown".to_owned()).or_default().push(&event.event),
        }
    }
    if available > 0 {
        text.push_str(&format!("This machine counts, for a thread of this user:\n\n{table}\n"));
    }
    text.push_str(&tables::absences(&absent));
    text
}

/// Which mode an event counts, in words for a narrow column.
fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user mode",
        Scope::Kernel => "kernel mode",
        Scope::UserAndKernel => "both modes",
    }
}
