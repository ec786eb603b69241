//! Results as tables for people.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use tailcore_harness::latency::Quantile;
use tailcore_harness::units::{format_ns, format_rps};
use tailcore_harness::verdict::{LATENESS_SHARE_NAMED, lateness_share};
use tailcore_harness::{Latencies, LatencySummary, RunResult, ThreadReport, ThreadResidence};
use tailcore_pmu::Outcome;

/// Width of running text.
const TEXT_WIDTH: usize = 96;

/// A table without lines.
pub(crate) fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    table
}

/// A table whose columns after the first are numbers.
fn numeric(header: &[&str]) -> Table {
    let mut table = plain(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// One line per run: what was offered, what came back, the tail, and what to think of it.
pub(crate) fn runs<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> String {
    let mut table =
        numeric(&["offered", "achieved", "p50", "p90", "p99", "p99.9", "max", "lateness p99", "verdict"]);
    for result in results {
        let sojourn = &result.latency_ns.sojourn;
        table.add_row([
            format_rps(result.offered_rps),
            format_rps(result.achieved_rps),
            sojourn_text(&result.latency_ns, "0.5"),
            sojourn_text(&result.latency_ns, "0.9"),
            sojourn_text(&result.latency_ns, "0.99"),
            sojourn_text(&result.latency_ns, "0.999"),
            known_text(sojourn.max()),
            quantile_text(&result.latency_ns.lateness, "0.99"),
            result.verdict.label(),
        ]);
    }
    format!("{table}\n")
}

/// A sojourn quantile in a cell, with `*` where too much of it is the generator's own lateness.
fn sojourn_text(latencies: &Latencies, name: &str) -> String {
    let mark = if lateness_share(latencies, name) > LATENESS_SHARE_NAMED { "*" } else { "" };
    format!("{}{mark}", quantile_text(&latencies.sojourn, name))
}

/// A quantile in a cell: `–` where samples are too few, `≥` where it is a lower bound.
fn quantile_text(summary: &LatencySummary, name: &str) -> String {
    known_text(summary.quantile(name))
}

/// `–` for what is not known, `≥` before a lower bound.
pub(crate) fn known_text(quantile: Option<Quantile>) -> String {
    match quantile {
        Some(Quantile::Known(ns)) => format_ns(ns),
        Some(Quantile::AtLeast(ns)) => format!("≥{}", format_ns(ns)),
        Some(Quantile::TooFew { .. }) | None => "–".to_owned(),
    }
}

/// What the marks in a table of runs mean; only those that occur.
pub(crate) fn legend<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> String {
    let table = runs(results);
    let marks = [
        ("–", "too few requests for this quantile"),
        ("*", "more than a tenth of it is the generator's own lateness, so it is not the service's"),
        ("≥", "some requests never ended, so this is a lower bound"),
    ];
    let occurring = marks.iter().filter(|(mark, _)| table.contains(mark));
    let lines: String = occurring.map(|(mark, meaning)| format!("  {mark}  {meaning}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The reasons of a verdict, one bullet each; empty if there are none.
pub(crate) fn reasons(result: &RunResult) -> String {
    let bullets = result.verdict.reasons.iter().map(|reason| bullet(&reason.message));
    bullets.collect()
}

/// A line of the table of threads: its name, and what it says of one thread.
type ResidenceRow = (&'static str, fn(&ThreadResidence) -> String);

/// The lines that say where threads really ran.
fn residence_rows() -> [ResidenceRow; 2] {
    [
        ("ran on CPUs", |residence| residence.cpus_seen.to_string()),
        ("moves between CPUs", |residence| {
            residence.migrations.map_or_else(|| "-".to_owned(), |n| n.to_string())
        }),
    ]
}

/// The threads of a run: placement, counts, and for each missing count the reason, once.
pub(crate) fn threads(threads: &[ThreadReport]) -> String {
    let mut header = vec!["event".to_owned()];
    header.extend(threads.iter().map(|thread| match thread.cpu {
        Some(cpu) => format!("{} (CPU {cpu})", thread.role),
        None => format!("{} (any CPU)", thread.role),
    }));
    let mut table = numeric(&header.iter().map(String::as_str).collect::<Vec<_>>());
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    let mut absent: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut is_counted = false;
    let events = threads.first().map_or(0, |thread| thread.counters.len());
    for index in 0..events {
        let readings: Vec<_> = threads.iter().filter_map(|thread| thread.counters.get(index)).collect();
        let Some(first) = readings.first() else { continue };
        for reading in &readings {
            if let Some(reason) = absence(&reading.outcome) {
                let events = absent.entry(reason).or_default();
                if !events.contains(&first.event.as_str()) {
                    events.push(&first.event);
                }
            }
        }
        if readings.iter().all(|reading| absence(&reading.outcome).is_some()) {
            continue;
        }
        is_counted = true;
        let mut row = vec![first.event.clone()];
        row.extend(readings.iter().map(|reading| count(&first.event, &reading.outcome)));
        table.add_row(row);
    }
    for (name, cell) in residence_rows() {
        if threads.iter().any(|thread| thread.residence.is_some()) {
            is_counted = true;
            let mut row = vec![name.to_owned()];
            row.extend(
                threads.iter().map(|thread| thread.residence.as_ref().map_or_else(|| "-".to_owned(), cell)),
            );
            table.add_row(row);
        }
    }
    let placement = || header[1..].iter().map(|thread| format!("  {thread}\n")).collect();
    let mut text = if is_counted { format!("{table}\n") } else { placement() };
    text.push_str(&absences(&absent));
    text
}

/// Why a count is missing altogether.
fn absence(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Unsupported { reason } => Some(format!("unsupported: {reason}")),
        Outcome::Forbidden { reason } => Some(format!("forbidden: {reason}")),
        _ => None,
    }
}

/// A count of an event, or a few words on why it is none.
pub(crate) fn count(event: &str, outcome: &Outcome) -> String {
    let number = |count: u64| number(event, count);
    match outcome {
        Outcome::Counted { count } => number(*count),
        Outcome::Scaled { count, running } => format!("~{} ({:.0} %)", number(*count), running * 100.0),
        Outcome::NotScheduled { .. } => "did not run".to_owned(),
        Outcome::Dead { .. } => "lost its counter".to_owned(),
        Outcome::Suspect { count, .. } => format!("{} (suspect)", number(*count)),
        _ => "–".to_owned(),
    }
}

/// A count of an event, or the time that a clock counted.
pub(crate) fn number(event: &str, count: u64) -> String {
    if event.ends_with("-clock") { format_ns(count) } else { grouped(count) }
}

/// A count with its thousands apart: `1,234,567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Events without a count, gathered by reason.
pub(crate) fn absences(absent: &BTreeMap<String, Vec<&str>>) -> String {
    let mut text = String::new();
    for (reason, events) in absent {
        text.push_str(&wrapped(&format!("not counted: {}", events.join(", ")), "  "));
        text.push_str(&wrapped(reason, "      "));
    }
    text
}

/// A line of a list, broken at spaces.
pub(crate) fn bullet(message: &str) -> String {
    let mut text = wrapped(message, "    ");
    text.replace_range(2..3, "-");
    text
}

/// Breaks text at spaces; every line begins with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = indent.to_owned();
    for word in text.split(' ') {
        if line.trim_start().is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() > TEXT_WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = format!("{indent}{word}");
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (count, text) in table {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn text_is_broken_at_spaces_and_indented() {
        let text = wrapped(&"word ".repeat(40), "    ");
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.starts_with("    ") && line.chars().count() <= TEXT_WIDTH));
        assert!(bullet("short").starts_with("  - short"), "{}", bullet("short"));
    }
}
