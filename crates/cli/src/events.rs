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
        output::print(&portable(&all, !pattern.is_empty()))?;
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

/// What the portable names come to here, with what they leave out where few are asked for.
fn portable(all: &[Availability], in_full: bool) -> String {
    let named = all.iter().flat_map(|event| event.means.iter().map(move |means| (event, means)));
    let named: Vec<_> = named.collect();
    let Some((_, first)) = named.first() else {
        return String::new();
    };
    let several = named.iter().any(|(_, means)| means.core != first.core);
    let on = if several { "this processor".to_owned() } else { format!("this processor ({})", first.core) };
    let mut text = format!("\nPortable names, and what counts them on {on}:\n");
    for (event, means) in named {
        let core = if several { format!(" ({})", means.core) } else { String::new() };
        text.push_str(&format!("  {}{core}: {}\n", event.event, means.event));
        if in_full && !means.counts.is_empty() {
            let (counts, leaves_out, source) = (means.counts, means.leaves_out, means.source);
            text.push_str(&format!(
                "      counts {counts}\n      but: {leaves_out}\n      source: {source}\n"
            ));
        }
    }
    if !in_full {
        text.push_str("`tailcore events NAME` tells what one of them counts and leaves out.\n");
    }
    text
}

/// Which mode an event counts, in words for a narrow column.
pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user mode",
        Scope::Kernel => "kernel mode",
        Scope::UserAndKernel => "both modes",
    }
}
