//! `tailcore doctor`: what on this machine disturbs a latency measurement. Changes nothing.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tailcore_topology::audit::{Audit, Finding, Remedy, State};
use tailcore_topology::{CpuSet, Topology};

use crate::args::DoctorArgs;
use crate::exit::{Exit, UsageError};
use crate::output;

/// Time between the two looks at stolen time: twenty of the kernel's steps, and still no wait.
const STEAL_SAMPLE: Duration = Duration::from_millis(200);

/// Width of running text.
const TEXT_WIDTH: usize = 96;

/// What stands before each line of a block but the first: as wide as the longest verdict.
const INDENT: &str = "         ";

pub(crate) fn doctor(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let root = args.root.as_deref().unwrap_or(Path::new("/"));
    let topology = Topology::read_from(root)?;
    let cpus = chosen(args.cpus.as_ref(), &topology)?;
    let mut audit = Audit::read_from(root, &topology, &cpus);
    if root == Path::new("/") {
        sample_steal(&mut audit);
    }
    let text = if args.json { output::pretty_json(&audit)? } else { report(&audit) };
    output::print(&text)?;
    Ok(Exit::Valid)
}

/// The CPUs that were typed, or else all that may be used.
fn chosen(typed: Option<&CpuSet>, topology: &Topology) -> Result<CpuSet, UsageError> {
    let Some(typed) = typed else { return Ok(topology.allowed().clone()) };
    let online = topology.online();
    let unknown = typed.difference(online);
    match () {
        () if typed.is_empty() => {
            Err(UsageError(format!("--cpus names no CPU; choose among the online CPUs {online}")))
        }
        () if !unknown.is_empty() => Err(UsageError(format!(
            "--cpus {typed}: {unknown} not online; choose among the online CPUs {online}"
        ))),
        () => Ok(typed.clone()),
    }
}

/// Without the file the audit has said so already.
fn sample_steal(audit: &mut Audit) {
    let read = || fs::read_to_string("/proc/stat");
    if let Ok(before) = read() {
        thread::sleep(STEAL_SAMPLE);
        if let Ok(after) = read() {
            audit.sample_steal(&before, &after);
        }
    }
}

fn report(audit: &Audit) -> String {
    let findings = audit.findings();
    let of = |verdict| findings.iter().filter(move |finding| self::verdict(finding) == verdict);
    let (noisy, unknown, quiet) = (of("noisy").count(), of("unknown").count(), of("quiet").count());
    let (noun, cpus) = (if audit.cpus().len() == 1 { "CPU" } else { "CPUs" }, audit.cpus());
    let mut text =
        format!("sources of noise for {noun} {cpus}: {noisy} noisy, {unknown} unknown, {quiet} quiet\n");
    for (title, verdict) in [
        ("what lengthens the tail or hides why, the worst usually first", "noisy"),
        ("what could not be seen", "unknown"),
        ("what is in order", "quiet"),
    ] {
        let blocks: Vec<String> = of(verdict).map(block).collect();
        if !blocks.is_empty() {
            // Blocks of several lines need air between them.
            let between = if verdict == "noisy" { "\n" } else { "" };
            text.push_str(&format!("\n# {title}\n\n{}", blocks.join(between)));
        }
    }
    if noisy > 0 {
        let closing = "\nNothing was changed. What the commands change lasts until the next boot; taskset(1) changes only \
                       the shell in which it is typed.";
        text.push_str(&hanging(closing, ""));
    }
    text
}

fn verdict(finding: &Finding) -> &'static str {
    match finding.state {
        State::Quiet => "quiet",
        State::Noisy => "noisy",
        _ => "unknown",
    }
}

fn block(finding: &Finding) -> String {
    let head = format!("{:<8} {}: {}", verdict(finding), finding.check, finding.seen);
    match &finding.state {
        State::Unknown { why } => hanging(&format!("{head}; {why}"), INDENT),
        State::Noisy => {
            let mut text = hanging(&head, INDENT);
            text.push_str(&hanging(&format!("{INDENT}{}", finding.effect), INDENT));
            text.push_str(&finding.remedy.as_ref().map(remedy).unwrap_or_default());
            text
        }
        _ => hanging(&head, INDENT),
    }
}

/// Commands stand alone on their lines, however long, so that they can be copied.
fn remedy(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Run(commands) => commands.lines().map(|line| format!("{INDENT}$ {line}\n")).collect(),
        Remedy::Boot(options) => format!("{INDENT}on the kernel's command line: {options}\n"),
        Remedy::Do(what) => hanging(&format!("{INDENT}remedy: {what}"), INDENT),
        _ => String::new(),
    }
}

/// Breaks text at spaces; every line but the first begins with `indent`.
fn hanging(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if width + length > TEXT_WIDTH && width > indent.len() {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.push_str(indent);
            width = indent.len();
        }
        lines.push_str(word);
        width += word.chars().count();
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_hangs_from_its_first_line() {
        let text = hanging(&format!("noisy    {}", "word ".repeat(40).trim_end()), INDENT);
        assert!(text.starts_with("noisy    word word "), "{text}");
        assert!(text.lines().count() > 1, "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("         word")), "{text}");
        assert!(text.lines().all(|line| line.len() <= TEXT_WIDTH && line == line.trim_end()), "{text}");
    }
}
