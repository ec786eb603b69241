//! `tailcore events`: what this machine can count, and why not the rest.

use std::collections::BTreeMap;

use tailcore_pmu::{Answer, Availability, ParseEventError, Probe, Scope, catalogue, look_up};

use crate::args::EventsArgs;
use crate::exit::{Exit, UsageError};
use crate::{output, tables};

pub(crate) fn events(args: &EventsArgs) -> anyhow::Result<Exit> {
    let pattern = args.pattern.as_deref().unwrap_or("").to_lowercase();
    let mut all = catalogue();
    all.retain(|event| event.event.to_lowercase().contains(&pattern));
    if let (true, Some(typed)) = (all.is_empty(), &args.pattern) {
        // Not in the list is not unknown: codes, tracepoints, names of other processors.
        match typed.parse() {
            Ok(event) => all.push(look_up(&event)),
            Err(ParseEventError::Unknown { near, .. }) if near.is_empty() => {}
            Err(error) => return Err(UsageError(error.to_string()).into()),
        }
    }
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
        text.push_str(&format!("  {}{core}: {}\n", event.event, answer(&means.answer, in_full)));
    }
    if !in_full {
        text.push_str("`tailcore events NAME` tells what one of them counts and leaves out.\n");
    }
    text
}

fn answer(answer: &Answer, in_full: bool) -> String {
    match answer {
        Answer::Event { name, terms, unit, counts, leaves_out, source } => {
            let terms = terms.map_or_else(String::new, |terms| format!(" ({terms})"));
            if !in_full {
                return format!("{name}{terms}, in {unit}");
            }
            format!(
                "{name}{terms}, in {unit}\n      counts {counts}\n      but: {leaves_out}\n      source: {source}"
            )
        }
        Answer::None { why, nearest } => {
            let nearest = nearest.map_or_else(String::new, |nearest| format!("; nearest: {nearest}"));
            format!("none: {why}{nearest}")
        }
        _ => "unknown".to_owned(),
    }
}

/// Which mode an event counts, in words for a narrow column.
pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user mode",
        Scope::Kernel => "kernel mode",
        Scope::UserAndKernel => "both modes",
    }
}
