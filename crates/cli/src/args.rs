//! What was typed. Nothing here looks at the machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tailcore_loadgen::{ArrivalLaw, KeyLaw, Target};
use tailcore_topology::{
    CpuSet, ParseRequestsError, ParseRuleError, PinPolicy, Request, Rule, parse_requests,
};

use crate::units::{parse_address, parse_count, parse_duration, parse_number, parse_seed, parse_small_count};

/// Offer a load honestly and explain the latency tail.
#[derive(Debug, Parser)]
#[command(name = "tailcore", version, about, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Numbers may be typed as 20k or 1.5M, times as 10s, 500us or 2m.
Exit status of run: 0 valid, 1 the run failed, 2 bad usage, 3 it finished but its verdict is invalid;
of stat: that of its command; of the others: 0 done, 1 failed, 2 bad usage.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show in 20 seconds what tailcore does, on a built-in server
    Demo(DemoArgs),
    /// Offer an open-loop load to a server and print its latency tail
    Run(RunArgs),
    /// Run a built-in server, to try tools on
    Serve(ServeArgs),
    /// Show the machine: packages, cores, caches, NUMA nodes, and which CPUs may be used
    Topo(TopoArgs),
    /// Show what this machine can count, and why not the rest
    Events(EventsArgs),
    /// Show what on this machine disturbs a measurement, and the command that would stop it
    Doctor(DoctorArgs),
    /// Count what a command does, and say why wherever a count is missing
    Stat(StatArgs),
    /// Wait for a word of `tailcore stat`, then become a command
    #[command(hide = true)]
    HeldExec(HeldExecArgs),
}

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct DemoArgs {
    /// Seed of the schedules: the same seed offers the same load
    #[arg(long, default_value_t = 1, value_parser = parse_seed)]
    pub(crate) seed: u64,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "tailcore-results")]
    pub(crate) out: PathBuf,
    /// Factor on all durations, for a quicker look (fewer samples, fewer quantiles)
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse_number)]
    pub(crate) scale: f64,
}

#[derive(Debug, clap::Args)]
// So that `--rate -5` is refused for being negative, not taken for an unknown option.
#[command(allow_negative_numbers = true)]
pub(crate) struct RunArgs {
    /// What to drive: memcached://HOST:PORT
    pub(crate) target: Target,
    /// Offered load of all threads together, requests per second
    #[arg(long, short, value_name = "RPS", default_value = "10k", value_parser = parse_number)]
    pub(crate) rate: f64,
    /// Measured time
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Time before the measurement
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) warmup: Duration,
    /// Connections over all threads
    #[arg(long, short, value_name = "N", default_value = "16", value_parser = parse_small_count)]
    pub(crate) connections: u32,
    /// Load-offering threads, each spinning on a CPU of its own
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = parse_small_count)]
    pub(crate) threads: u32,
    /// Arrival process: poisson or constant
    #[arg(long, value_name = "LAW", default_value_t = ArrivalLaw::Poisson)]
    pub(crate) arrivals: ArrivalLaw,
    /// Number of distinct keys
    #[arg(long, value_name = "N", default_value = "10k", value_parser = parse_count)]
    pub(crate) keys: u64,
    /// Popularity of the keys: zipf:EXPONENT or uniform
    #[arg(long, value_name = "LAW", default_value_t = KeyLaw::Zipf(0.99))]
    pub(crate) key_dist: KeyLaw,
    /// Bytes of each value
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = parse_small_count)]
    pub(crate) value_size: u32,
    /// Share of reads, 0 to 1; the rest are writes
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = parse_number)]
    pub(crate) get_ratio: f64,
    /// Seed of the schedule: the same seed offers the same load
    #[arg(long, default_value_t = 1, value_parser = parse_seed)]
    pub(crate) seed: u64,
    /// Where the threads run: auto, none, logical CPUs such as 0,2-3, a rule such as one-per-core, or client=RULE
    #[arg(long, value_name = "PLACEMENT", default_value_t = PinPolicy::Auto)]
    pub(crate) pin: PinPolicy,
    /// Events to count per thread, comma separated (see `tailcore events`), or none
    #[arg(long, short, value_name = "EVENTS", default_value = "default")]
    pub(crate) events: String,
    /// Write the result as JSON ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the latency distribution in HdrHistogram's percentile format ("-": likewise)
    #[arg(long, value_name = "FILE")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Store every key before the run, so that reads find them
    #[arg(long)]
    pub(crate) preload: bool,
    /// Time after which an unanswered request counts as timed out
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
    /// Time after the last arrival in which answers are still awaited
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) drain: Duration,
    /// Most requests in flight before sends wait (which ends the open loop, and is reported)
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    pub(crate) max_in_flight: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:11311", value_parser = parse_address)]
    pub(crate) listen: std::net::SocketAddr,
    /// Logical CPU to pin the server's thread to
    #[arg(long, value_name = "CPU")]
    pub(crate) cpu: Option<u32>,
    /// Freeze for this long at the end of every period, to see what a tool makes of it
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) stall: Option<Duration>,
    /// Period of the freezes
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) every: Duration,
    /// Stop by itself after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) lifetime: Option<Duration>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TopoArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the machine into this file as well ("-": to standard output, instead of the tree)
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Show where threads would go, as ROLE:THREADS=RULE, such as server:2=smt-pair,client:4=client-on-rest
    #[arg(long, value_name = "PLACES", value_parser = parse_places)]
    pub(crate) place: Option<Places>,
    /// List the placements of N threads that differ by more than a symmetry of the machine
    #[arg(long, value_name = "N", conflicts_with = "place")]
    pub(crate) distinct: Option<usize>,
    /// List all sets of CPUs of a rule of packages, as THREADS=RULE, such as 4=2-per-package
    #[arg(long, value_name = "SETS", value_parser = parse_sets, conflicts_with_all = ["place", "distinct"])]
    pub(crate) sets: Option<Sets>,
    /// Read another machine's /sys and /proc below this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// What `--place` asks for. An argument of type `Vec` would be one that may be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Places(pub(crate) Vec<Request>);

fn parse_places(text: &str) -> Result<Places, ParseRequestsError> {
    parse_requests(text).map(Places)
}

/// What `--sets` asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sets {
    pub(crate) threads: usize,
    /// In each package.
    pub(crate) cores: usize,
}

fn parse_sets(text: &str) -> Result<Sets, String> {
    let (threads, rule) = text.split_once('=').ok_or("write THREADS=RULE, such as 4=2-per-package")?;
    let threads = threads.parse().map_err(|_| format!("`{threads}` is no number of threads"))?;
    match rule.parse().map_err(|error: ParseRuleError| error.to_string())? {
        Rule::PerPackage { cores } => Ok(Sets { threads, cores }),
        other => Err(format!(
            "`{other}` gives one set, which `--place server:{threads}={other}` shows; take a rule such as \
             `2-per-package`"
        )),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Show only the events whose name contains this
    pub(crate) pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Logical CPUs to be measured on, such as 2-3; all that may be used if not given
    #[arg(long, value_name = "CPUS")]
    pub(crate) cpus: Option<CpuSet>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read another machine's /sys and /proc below this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = STAT_AFTER_HELP)]
pub(crate) struct StatArgs {
    /// Events to count, comma separated (see `tailcore events`); braces hold what belongs together: {a,b},c
    #[arg(long, short, value_name = "EVENTS", conflicts_with = "set")]
    pub(crate) events: Option<String>,
    /// Count an event set and compute its metrics: a name, such as smt or memory, or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) set: Option<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write to this file when the command has ended, instead of standard error
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Count each thread of the command by itself (not its child processes), as it is found
    #[arg(long, conflicts_with = "interval")]
    pub(crate) per_thread: bool,
    /// Print what was counted in each interval too
    #[arg(long, short = 'I', value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

const STAT_AFTER_HELP: &str = "\
Counting begins at the command's exec, and includes its threads and child processes.
Exit status: that of the command, 128 and its number after a signal; 127 if it cannot be started, 2 bad usage.";

#[derive(Debug, clap::Args)]
pub(crate) struct HeldExecArgs {
    pub(crate) await_go: i32,
    pub(crate) tell: i32,
    #[arg(required = true, last = true)]
    pub(crate) command: Vec<OsString>,
}

/// What clap has to say about a bad command line, on one line.
pub(crate) fn complaint(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.split("\n\n").filter(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let lines: Vec<String> = paragraphs
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_complaint_is_one_line_that_names_the_argument() {
        let error = Args::try_parse_from(["tailcore", "run", "nowhere"]).unwrap_err();
        let text = complaint(&error);
        assert!(text.starts_with("invalid value 'nowhere' for '<TARGET>'"), "{text}");
        assert!(!text.contains('\n') && !text.contains("--help"), "{text}");
    }

    #[test]
    fn sets_are_of_rules_that_have_several() {
        let sets = parse_sets("4=2-per-package").unwrap();
        assert_eq!((sets.threads, sets.cores), (4, 2));
        let complaints = [
            ("4", "write THREADS=RULE"),
            ("four=2-per-package", "`four` is no number"),
            ("4=pack", "`pack` gives one set"),
            ("4=heap", "`heap` is not a placement rule"),
        ];
        for (typed, complaint) in complaints {
            let error = parse_sets(typed).unwrap_err();
            assert!(error.starts_with(complaint), "{typed}: {error}");
        }
    }
}
