//! The result for people: tables, and below them what is missing.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{CellAlignment, Table};
use tailcore_harness::units::format_ns;
use tailcore_pmu::{Flag, MetricReading, MetricValue, Outcome, Reading};

use super::super::threads::LOOK_EVERY;
use super::{Ending, Run, ThreadCounts, Unseen, is_absent};
use crate::{events, tables};

/// The whole.
pub(super) fn text(run: &Run) -> String {
    let ended = match run.ended {
        Ending::ExitStatus(0) => String::new(),
        Ending::ExitStatus(code) => format!(" (exit status {code})"),
        Ending::Signal(signal) => format!(" (ended by signal {signal})"),
    };
    let mut text = format!("\ncounted of `{}`{ended}:\n\n", run.command.join(" "));
    if run.threads.is_empty() {
        text.push_str(&events_table(&run.events));
        text.push_str(&metrics_table(&run.metrics));
    } else {
        text.push_str(&threads_table(&run.threads));
    }
    let readings = run.events.iter().chain(run.threads.iter().flat_map(|thread| &thread.events));
    text.push_str(&reasons(readings, &run.metrics));
    for note in &run.notes {
        text.push_str(&tables::bullet(note));
    }
    if let Some(unseen) = &run.unseen {
        text.push_str(&unseen_text(unseen));
    }
    let (elapsed, user, system) =
        (format_ns(run.elapsed_ns), format_ns(run.user_ns), format_ns(run.system_ns));
    text.push_str(&format!("\nelapsed {elapsed}, user {user}, system {system}\n"));
    text
}

fn events_table(readings: &[Reading]) -> String {
    let mut table = tables::plain(&["event", "count", "outcome", "running", "modes"]);
    right(&mut table, &[1, 3]);
    for Reading { event, scope, outcome, .. } in readings {
        let (count, running) = match outcome {
            Outcome::Counted { count } => (tables::number(event, *count), "100.0 %".to_owned()),
            Outcome::Scaled { count, running } | Outcome::Suspect { count, running, .. } => {
                (tables::number(event, *count), format!("{:.1} %", running * 100.0))
            }
            _ => ("–".to_owned(), "–".to_owned()),
        };
        let row = [event, &count, label(outcome), &running, events::scope_name(*scope)];
        table.add_row(row);
    }
    format!("{table}\n")
}

fn threads_table(threads: &[ThreadCounts]) -> String {
    let readings = threads.iter().flat_map(|thread| &thread.events);
    let counted: BTreeSet<&str> =
        readings.filter(|it| !is_absent(&it.outcome)).map(|it| it.event.as_str()).collect();
    let events = threads.first().map(|thread| thread.events.as_slice()).unwrap_or_default();
    let events = events.iter().enumerate().filter(|(_, it)| counted.contains(it.event.as_str()));
    let events: Vec<(usize, &str)> = events.map(|(at, it)| (at, it.event.as_str())).collect();
    let mut header = vec!["thread", "name", "found at"];
    header.extend(events.iter().map(|(_, event)| *event));
    let mut table = tables::plain(&header);
    right(&mut table, &(2..header.len()).collect::<Vec<_>>());
    for thread in threads {
        let mut row = vec![thread.tid.to_string(), thread.name.clone(), format_ns(thread.found_ns)];
        row.extend(events.iter().map(|(at, event)| {
            thread.events.get(*at).map_or_else(String::new, |it| tables::count(event, &it.outcome))
        }));
        table.add_row(row);
    }
    format!("{table}\n")
}

fn metrics_table(metrics: &[MetricReading]) -> String {
    if metrics.is_empty() {
        return String::new();
    }
    let mut table = tables::plain(&["metric", "value", "unit", "beware"]);
    right(&mut table, &[1]);
    for metric in metrics {
        let (value, beware) = match &metric.value {
            MetricValue::Known { value, flags } => {
                let flags: Vec<&str> = flags.iter().map(flag_words).collect();
                (format!("{value:.4}"), flags.join(", "))
            }
            MetricValue::Missing { symbol, .. } => ("–".to_owned(), format!("{symbol} is missing")),
            MetricValue::DivisionByZero => ("–".to_owned(), "the divisor is 0".to_owned()),
            _ => ("–".to_owned(), "out of range".to_owned()),
        };
        table.add_row([&metric.metric, &value, &metric.unit, &beware]);
    }
    format!("\n{table}\n")
}

fn flag_words(flag: &Flag) -> &'static str {
    match flag {
        Flag::Negative => "negative: its events do not nest",
        Flag::AboveWhole => "above 100 %: its events are no part and whole",
        Flag::AcrossGroups => "counted at different times",
        Flag::Estimated => "estimated",
        _ => "flagged: see --json",
    }
}

fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Counted { .. } => "counted",
        Outcome::Scaled { .. } => "scaled",
        Outcome::NotScheduled { .. } => "not scheduled",
        Outcome::Dead { .. } => "dead",
        Outcome::Suspect { .. } => "suspect",
        Outcome::Forbidden { .. } => "forbidden",
        _ => "unsupported",
    }
}

/// Why counts are missing or not to be believed, and what metrics miss beside events: each reason once.
fn reasons<'a>(readings: impl Iterator<Item = &'a Reading>, metrics: &'a [MetricReading]) -> String {
    let mut absent: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut add = |reason: String, name: &'a str| {
        let names = absent.entry(reason).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for Reading { event, outcome, .. } in readings {
        match outcome {
            Outcome::Counted { .. } | Outcome::Scaled { .. } => {}
            Outcome::NotScheduled { reason }
            | Outcome::Dead { reason }
            | Outcome::Suspect { reason, .. }
            | Outcome::Unsupported { reason }
            | Outcome::Forbidden { reason } => add(format!("{}: {reason}", label(outcome)), event),
            _ => {}
        }
    }
    for metric in metrics {
        // Events have given their reasons above.
        if let MetricValue::Missing { symbol, reason } = &metric.value
            && matches!(symbol.as_str(), "seconds" | "busy-seconds" | "requests")
        {
            add(format!("missing: {reason}"), symbol);
        }
    }
    let text = tables::absences(&absent);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn unseen_text(unseen: &Unseen) -> String {
    let Unseen { seen_ns, whole_ns } = *unseen;
    let missed = whole_ns.saturating_sub(seen_ns);
    let percent = if whole_ns == 0 { 0.0 } else { missed as f64 / whole_ns as f64 * 100.0 };
    let text = format!(
        "not seen: {} of {} on CPUs ({percent:.1} %): child processes, threads before they were found, and \
         threads that came and went between two looks, {LOOK_EVERY:?} apart",
        format_ns(missed),
        format_ns(whole_ns),
    );
    format!("\n{}", tables::bullet(&text))
}

fn right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
