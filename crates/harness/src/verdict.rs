//! Whether a result answers the question that was asked, and why not.

use serde::{Deserialize, Serialize};
use tailcore_pmu::Outcome;

use crate::counters::ThreadReport;
use crate::latency::{QUANTILES, Quantile};
use crate::result::Latencies;
use crate::tally::Tally;
use crate::timeline::IntervalView;
use crate::units::{format_ns, format_rps};

/// Share of a sojourn quantile from which on the generator's own lateness in it is named.
///
/// The share is measured, not guessed: it is the distance between the quantile counted from the
/// intended arrival and the same one counted from the send.
pub const LATENESS_SHARE_NAMED: f64 = 0.10;
/// Largest share of the decisive quantile that may be the generator's own lateness in a valid run.
pub const LATENESS_SHARE_MAX: f64 = 0.25;
/// Lateness in a quantile that is never held against a run, in nanoseconds: a microsecond, which no
/// generator in user space can promise.
pub const LATENESS_FLOOR_NS: u64 = 1_000;
/// The quantile whose lateness decides whether a run is valid: the beginning of the tail, or, where samples are too few for it, the highest quantile that is known. Others are named where they are not: the median suffers first from the cost of each send,
/// p99.9 from whatever else the kernel now and then runs.
pub const DECISIVE_QUANTILE: &str = "0.99";
/// Largest share of the measured requests that may fail or time out in a valid run.
pub const FAILURE_SHARE_MAX: f64 = 0.01;
/// Largest share of the measured arrivals that may be open at the end of the measured phase; together
/// with a backlog that grows, more means that the load exceeds the capacity.
pub const SHORTFALL_SHARE_MAX: f64 = 0.01;
/// Largest growth of the requests in flight over the measured phase, as a share of the arrivals in it.
///
/// Growth is what tells an overload from a backlog that is being worked off, however large either is;
/// it is measured between the means of the first and the last third and extrapolated to the whole.
pub const BACKLOG_GROWTH_MAX: f64 = 0.02;
/// Fewest requests by which a backlog must have grown: with a handful in flight, doubling is chance.
pub const BACKLOG_MIN: f64 = 10.0;

/// Judgement of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the latencies may be read as the service's under the offered load.
    pub valid: bool,
    /// Everything worth knowing before the numbers are used, invalidating reasons first.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What was found, for programs.
    pub code: ReasonCode,
    /// Whether it makes the run invalid.
    pub severity: Severity,
    /// What was found, what it means and what to do, for people.
    pub message: String,
}

/// Weight of a reason. Sorts invalidating reasons first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The numbers do not answer the question.
    Invalid,
    /// The numbers stand, with this limit.
    Note,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasonCode {
    /// The target went away before the run's end.
    TargetLost,
    /// The run was stopped early.
    Interrupted,
    /// Nothing was answered in the measured phase.
    NothingMeasured,
    /// Requests are missing from the account: a defect of tailcore.
    Unbalanced,
    /// The generator sent too late to blame the service for the tail.
    GeneratorLate,
    /// The offered load exceeds the capacity: the backlog grew, quantiles depend on the duration.
    Unstable,
    /// Requests failed.
    Failures,
    /// Requests were not answered within the time limit.
    Timeouts,
    /// Requests were open at the drain limit.
    Unfinished,
    /// Some connections broke; the others carried the load.
    ConnectionsLost,
    /// Sends waited for the limit of requests in flight: not an open loop.
    Capped,
    /// A quantile has too few observations.
    TooFewSamples,
    /// A quantile is only a lower bound.
    CensoredQuantile,
    /// Reads did not find their keys.
    Misses,
    /// Counters shared the hardware and were scaled.
    Multiplexed,
    /// Threads could not be placed as asked.
    NotPinned,
    /// A pinned thread was found on another CPU.
    Moved,
    /// tailcore was built without optimisation.
    DebugBuild,
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As planned.
    Completed,
    /// Stopped from outside.
    Interrupted,
    /// The target went away: what happened, at which address.
    TargetLost(String),
}

/// What a verdict is based on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How the run ended.
    pub ending: &'a Ending,
    /// Offered load in requests per second.
    pub offered_rps: f64,
    /// Good answers per second of the measured phase.
    pub achieved_rps: f64,
    /// Where the measured requests ended.
    pub tally: &'a Tally,
    /// The three latencies.
    pub latencies: &'a Latencies,
    /// What happened when.
    pub timeline: &'a [IntervalView],
    /// Time at the limit of requests in flight, summed over threads, in nanoseconds.
    pub time_at_cap_ns: u64,
    /// Connections that broke during the run.
    pub connections_lost: u32,
    /// Connections at its start.
    pub connections: u32,
    /// The threads and their counters.
    pub threads: &'a [ThreadReport],
    /// Why threads could not be placed as asked.
    pub pin_problem: Option<&'a str>,
    /// Whether tailcore was built without optimisation.
    pub debug_build: bool,
}

impl Verdict {
    /// Judges a run. Pure: the same evidence gives the same verdict.
    pub fn judge(evidence: &Evidence<'_>) -> Self {
        let mut reasons = Vec::new();
        judge_ending(evidence, &mut reasons);
        judge_accounting(evidence, &mut reasons);
        judge_generator(evidence, &mut reasons);
        judge_stability(evidence, &mut reasons);
        judge_quantiles(evidence.latencies, &mut reasons);
        judge_surroundings(evidence, &mut reasons);
        reasons.sort_by_key(|reason| reason.severity);
        let valid = reasons.iter().all(|reason| reason.severity != Severity::Invalid);
        Self { valid, reasons }
    }

    /// One word for a table: `valid`, or the first invalidating reason.
    pub fn label(&self) -> String {
        match self.reasons.first().filter(|_| !self.valid) {
            None => "valid".to_owned(),
            Some(reason) => format!("{:?}", reason.code).chars().fold(String::new(), spell),
        }
    }
}

/// Appends a letter of a CamelCase name as lower-case words.
fn spell(mut words: String, letter: char) -> String {
    if letter.is_uppercase() && !words.is_empty() {
        words.push(' ');
    }
    words.push(letter.to_ascii_lowercase());
    words
}

fn invalid(code: ReasonCode, message: String) -> Reason {
    Reason { code, severity: Severity::Invalid, message }
}

fn note(code: ReasonCode, message: String) -> Reason {
    Reason { code, severity: Severity::Note, message }
}

fn judge_ending(evidence: &Evidence<'_>, reasons: &mut Vec<Reason>) {
    match evidence.ending {
        Ending::Completed => {}
        Ending::Interrupted => reasons.push(invalid(
            ReasonCode::Interrupted,
            "the run was interrupted: the numbers cover only what was offered until then".to_owned(),
        )),
        Ending::TargetLost(what) => reasons.push(invalid(
            ReasonCode::TargetLost,
            format!("{what}; the numbers cover only what was offered until then"),
        )),
    }
    if evidence.tally.ok == 0 {
        reasons.push(invalid(
            ReasonCode::NothingMeasured,
            "no request of the measured phase was answered: there is no latency to read".to_owned(),
        ));
    }
}

fn judge_accounting(evidence: &Evidence<'_>, reasons: &mut Vec<Reason>) {
    let tally = evidence.tally;
    if !tally.is_balanced() {
        let ended = tally.ok + tally.failed() + tally.timed_out + tally.unfinished;
        reasons.push(invalid(
            ReasonCode::Unbalanced,
            format!(
                "{} requests were scheduled but {ended} ended: please report this defect",
                tally.scheduled
            ),
        ));
    }
    let scheduled = tally.scheduled.max(1) as f64;
    let lost = tally.failed() + tally.timed_out + tally.unfinished;
    let is_invalid = lost as f64 / scheduled > FAILURE_SHARE_MAX;
    let mut push = |code, count: u64, what: &str| {
        if count > 0 {
            let share = 100.0 * count as f64 / scheduled;
            let message = format!("{count} of {} requests ({share:.2} %) {what}", tally.scheduled);
            reasons.push(if is_invalid { invalid(code, message) } else { note(code, message) });
        }
    };
    push(ReasonCode::Failures, tally.failed(), "failed: the tally names the causes");
    push(ReasonCode::Timeouts, tally.timed_out, "were not answered within the time limit");
    push(ReasonCode::Unfinished, tally.unfinished, "were still open when the run ended");
    let (lost, all) = (evidence.connections_lost, evidence.connections);
    if lost > 0 && lost < all {
        reasons.push(note(
            ReasonCode::ConnectionsLost,
            format!(
                "{lost} of {all} connections broke during the run; the others carried the load from then on"
            ),
        ));
    }
    if tally.misses > 0 {
        reasons.push(note(
            ReasonCode::Misses,
            format!(
                "{} of {} reads did not find their key, and a miss is cheaper than a hit: store the keys first with --preload",
                tally.misses,
                tally.hits + tally.misses
            ),
        ));
    }
}

/// Share of a sojourn quantile that is the generator's own lateness, 0 to 1; 0 below the floor and
/// where the quantile is not known.
pub fn lateness_share(latencies: &Latencies, quantile: &str) -> f64 {
    match (latencies.lateness_in_ns(quantile), latencies.sojourn.value_or_bound_ns(quantile)) {
        (Some(late_ns), Some(sojourn_ns)) if late_ns > LATENESS_FLOOR_NS => {
            late_ns as f64 / sojourn_ns as f64
        }
        _ => 0.0,
    }
}

/// [`DECISIVE_QUANTILE`], or the highest known one below it.
fn decisive_quantile(latencies: &Latencies) -> Option<&'static str> {
    let is_known = |name: &str| latencies.sojourn.value_or_bound_ns(name).is_some();
    let upto = QUANTILES.iter().position(|&(name, _)| name == DECISIVE_QUANTILE)?;
    QUANTILES[..=upto].iter().map(|&(name, _)| name).rfind(|name| is_known(name))
}

fn judge_generator(evidence: &Evidence<'_>, reasons: &mut Vec<Reason>) {
    if evidence.time_at_cap_ns > 0 {
        reasons.push(invalid(
            ReasonCode::Capped,
            format!(
                "not an open loop: sends waited {} at the limit of requests in flight; raise --max-in-flight",
                format_ns(evidence.time_at_cap_ns)
            ),
        ));
        // What was late then was late because of the limit.
        return;
    }
    let latencies = evidence.latencies;
    let is_named = |name: &str| lateness_share(latencies, name) > LATENESS_SHARE_NAMED;
    let affected: Vec<_> = QUANTILES.into_iter().filter(|(name, _)| is_named(name)).collect();
    if !affected.is_empty() {
        let named: Vec<String> = affected
            .iter()
            .map(|(name, q)| {
                let late = latencies.lateness_in_ns(name).map_or_else(String::new, format_ns);
                let whole = latencies.sojourn.value_or_bound_ns(name).map_or_else(String::new, format_ns);
                format!("p{} by {late} of its {whole}", percent(*q))
            })
            .collect();
        let message = format!(
            "the generator sent late; sending on time would have lowered {}: do not read these as the service's; give the generator CPUs of its own, lower the rate or add threads",
            named.join(", ")
        );
        let is_invalid = decisive_quantile(latencies)
            .is_some_and(|decisive| lateness_share(latencies, decisive) > LATENESS_SHARE_MAX);
        let code = ReasonCode::GeneratorLate;
        reasons.push(if is_invalid { invalid(code, message) } else { note(code, message) });
    }
}

fn judge_stability(evidence: &Evidence<'_>, reasons: &mut Vec<Reason>) {
    let timeline = evidence.timeline;
    let arrived: u64 = timeline.iter().map(|interval| interval.offered).sum();
    let open_at_end = timeline.last().map_or(0, |interval| interval.in_flight);
    if timeline.len() < 3 || open_at_end as f64 <= SHORTFALL_SHARE_MAX * arrived as f64 {
        return;
    }
    let third = timeline.len() / 3;
    let mean_in_flight =
        |part: &[IntervalView]| part.iter().map(|i| i.in_flight as f64).sum::<f64>() / part.len() as f64;
    let (first, last) =
        (mean_in_flight(&timeline[..third]), mean_in_flight(&timeline[timeline.len() - third..]));
    // The middles of the two thirds lie two thirds of the phase apart.
    let growth = (last - first) * 1.5;
    if growth >= BACKLOG_MIN && growth > BACKLOG_GROWTH_MAX * arrived as f64 {
        reasons.push(invalid(
            ReasonCode::Unstable,
            format!(
                "unstable: {} offered, {} answered, and the requests in flight grew from {first:.0} to {last:.0}; above capacity, quantiles grow with the duration",
                format_rps(evidence.offered_rps),
                format_rps(evidence.achieved_rps)
            ),
        ));
    }
}

fn judge_quantiles(latencies: &Latencies, reasons: &mut Vec<Reason>) {
    let (mut few, mut bounded) = (Vec::new(), Vec::new());
    for (name, q) in QUANTILES {
        match latencies.sojourn.quantile(name) {
            Some(Quantile::TooFew { needed }) => few.push(format!("p{} ({needed})", percent(q))),
            Some(Quantile::AtLeast(_)) => bounded.push(format!("p{}", percent(q))),
            Some(Quantile::Known(_)) | None => {}
        }
    }
    let have = latencies.sojourn.count + latencies.sojourn.censored;
    // Without any request there is a graver reason.
    if !few.is_empty() && have > 0 {
        reasons.push(note(
            ReasonCode::TooFewSamples,
            format!(
                "{have} requests are too few for {}: offer more or measure longer (in brackets: requests needed)",
                few.join(", ")
            ),
        ));
    }
    if !bounded.is_empty() {
        reasons.push(note(
            ReasonCode::CensoredQuantile,
            format!(
                "{} could have been reached by requests that never ended: read it as a lower bound",
                bounded.join(", ")
            ),
        ));
    }
}

fn judge_surroundings(evidence: &Evidence<'_>, reasons: &mut Vec<Reason>) {
    let scaled = |outcome: &Outcome| matches!(outcome, Outcome::Scaled { .. });
    if evidence.threads.iter().flat_map(|thread| &thread.counters).any(|reading| scaled(&reading.outcome)) {
        reasons.push(note(
            ReasonCode::Multiplexed,
            "counters shared the hardware and were scaled: ask for fewer events at once (-e)".to_owned(),
        ));
    }
    if let Some(problem) = evidence.pin_problem {
        reasons.push(note(ReasonCode::NotPinned, format!("threads are not pinned: {problem}")));
    }
    reasons.extend(evidence.threads.iter().filter_map(moved));
    if evidence.debug_build {
        reasons.push(note(
            ReasonCode::DebugBuild,
            "tailcore was built without optimisation: use `cargo run --release`".to_owned(),
        ));
    }
}

/// Says of a pinned thread that it was found elsewhere: somebody else set its affinity, or a cpuset
/// changed under it.
fn moved(thread: &ThreadReport) -> Option<Reason> {
    let cpu = thread.cpu?;
    let seen = &thread.residence.as_ref()?.cpus_seen;
    (!seen.iter().eq([cpu])).then(|| {
        note(
            ReasonCode::Moved,
            format!(
                "the {} thread pinned to CPU {cpu} was found on CPUs {seen}: look for who sets affinities or cpusets",
                thread.role
            ),
        )
    })
}

/// A quantile as a percentage, without trailing zeros: `99.9`.
fn percent(q: f64) -> String {
    let text = format!("{:.4}", q * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
