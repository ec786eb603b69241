//! What was counted: for people, or as JSON with one object per line.
//!
//! It goes to standard error, because standard output is the command's, or to a file.

mod text;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tailcore_pmu::{MetricReading, Outcome, Reading};

use super::Ended;
use crate::args::StatArgs;
use crate::exit::{Exit, UsageError};
use crate::output::OutputFile;
use crate::tables;

/// Width of a column of intervals, unless the event's name is longer.
const COLUMN: usize = 14;

/// The JSON of the whole.
#[derive(Serialize)]
pub(crate) struct Run {
    format: &'static str,
    command: Vec<String>,
    ended: Ending,
    elapsed_ns: u64,
    user_ns: u64,
    system_ns: u64,
    pub(crate) events: Vec<Reading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) metrics: Vec<MetricReading>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) threads: Vec<ThreadCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unseen: Option<Unseen>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    #[serde(skip)]
    exit: Exit,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    ExitStatus(i32),
    Signal(i32),
}

/// One thread, since it was found.
#[derive(Debug, Serialize)]
pub(crate) struct ThreadCounts {
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) found_ns: u64,
    pub(crate) events: Vec<Reading>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) metrics: Vec<MetricReading>,
}

/// Time on CPUs of the threads that were found, and of the command with all its children.
#[derive(Debug, Serialize)]
pub(crate) struct Unseen {
    pub(crate) seen_ns: u64,
    pub(crate) whole_ns: u64,
}

/// A stretch of time since the start of the command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: Duration,
    end: Duration,
}

/// The JSON of one interval.
#[derive(Serialize)]
struct Interval {
    format: &'static str,
    start_ns: u64,
    length_ns: u64,
    events: Vec<Reading>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<MetricReading>,
}

impl Span {
    pub(crate) fn new(start: Duration, end: Duration) -> Span {
        Span { start, end }
    }

    pub(crate) fn length(self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

impl Run {
    /// A command that has ended, without counts as yet.
    pub(crate) fn of(args: &StatArgs, ended: &Ended, elapsed: Duration) -> Run {
        Run {
            format: "tailcore.stat/1",
            command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            ended: match ended.signal() {
                Some(signal) => Ending::Signal(signal),
                None => Ending::ExitStatus(ended.code()),
            },
            elapsed_ns: ns(elapsed),
            user_ns: ns(ended.user),
            system_ns: ns(ended.system),
            events: Vec::new(),
            set: None,
            metrics: Vec::new(),
            threads: Vec::new(),
            unseen: None,
            notes: Vec::new(),
            exit: ended.exit(),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Where the results go.
pub(crate) struct Printer {
    file: Option<OutputFile>,
    /// What the file will hold.
    text: String,
    is_json: bool,
    is_headed: bool,
}

impl Printer {
    /// Proves that the file, if one is given, can be written.
    pub(crate) fn prepare(path: Option<&Path>, is_json: bool) -> Result<Printer, UsageError> {
        let file = path.map(OutputFile::prepare).transpose()?;
        Ok(Printer { file, text: String::new(), is_json, is_headed: false })
    }

    fn put(&mut self, text: &str) {
        if self.file.is_some() {
            self.text.push_str(text);
        } else {
            // The command's status matters more than a reader that has gone away.
            io::stderr().lock().write_all(text.as_bytes()).ok();
        }
    }

    fn put_json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(value) {
            self.put(&format!("{text}\n"));
        }
    }

    /// One interval: counts since the last one, never since the start.
    pub(crate) fn interval(&mut self, span: Span, events: Vec<Reading>, metrics: Vec<MetricReading>) {
        let (start_ns, length_ns) = (ns(span.start), ns(span.length()));
        if self.is_json {
            let format = "tailcore.stat.interval/1";
            self.put_json(&Interval { format, start_ns, length_ns, events, metrics });
            return;
        }
        let shown: Vec<&Reading> = events.iter().filter(|event| !is_absent(&event.outcome)).collect();
        if !self.is_headed {
            self.is_headed = true;
            let cells = shown.iter().map(|event| cell(&event.event, &event.event));
            self.put(&format!("{:>10}{}\n", "until", cells.collect::<String>()));
        }
        let counts =
            shown.iter().map(|event| cell(&event.event, &tables::count(&event.event, &event.outcome)));
        self.put(&format!("{:>9.3}s{}\n", span.end.as_secs_f64(), counts.collect::<String>()));
    }

    /// The whole.
    pub(crate) fn total(mut self, run: &Run) -> anyhow::Result<()> {
        if self.is_json {
            self.put_json(run);
        } else {
            self.put(&text::text(run));
        }
        match self.file {
            Some(file) => file.write(self.text.as_bytes()),
            None => Ok(()),
        }
    }
}

/// A cell of the table of intervals, which is printed line by line.
fn cell(event: &str, text: &str) -> String {
    let width = event.chars().count().max(COLUMN);
    format!("  {text:>width$}")
}

/// Whether the event can have no count in any interval.
fn is_absent(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unsupported { .. } | Outcome::Forbidden { .. })
}
