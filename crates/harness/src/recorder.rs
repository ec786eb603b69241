//! One thread's measurements: plain memory, written on the hot path, merged once at the end.

use crate::completion::{Completion, CompletionSink, Outcome};
use crate::histogram::LatencyHistogram;
use crate::phases::Phases;
use crate::tally::Tally;
use crate::timeline::Timeline;

/// Everything one load-offering thread records. All memory is allocated at creation.
#[derive(Clone, Debug)]
pub struct Recorder {
    phases: Phases,
    sojourn: LatencyHistogram,
    since_send: LatencyHistogram,
    lateness: LatencyHistogram,
    /// What censored requests had waited since their intended arrival, and since their send.
    censored_sojourn: LatencyHistogram,
    censored_since_send: LatencyHistogram,
    /// How late the requests already were that were never sent.
    censored_lateness: LatencyHistogram,
    tally: Tally,
    warmup: Tally,
    timeline: Timeline,
}

impl Recorder {
    /// An empty recorder for these phases.
    pub fn new(phases: Phases) -> Self {
        Self {
            phases,
            sojourn: LatencyHistogram::new(),
            since_send: LatencyHistogram::new(),
            lateness: LatencyHistogram::new(),
            censored_sojourn: LatencyHistogram::new(),
            censored_since_send: LatencyHistogram::new(),
            censored_lateness: LatencyHistogram::new(),
            tally: Tally::default(),
            warmup: Tally::default(),
            timeline: Timeline::new(phases),
        }
    }

    /// Counts a request that the schedule asked for; exactly one completion must follow.
    #[inline]
    pub fn schedule(&mut self, intended_ns: u64) {
        if self.phases.is_measured(intended_ns) {
            self.tally.scheduled += 1;
        } else {
            self.warmup.scheduled += 1;
        }
        self.timeline.offer(intended_ns);
    }

    /// Ends the measured phase early; requests scheduled before keep their place in the account.
    pub fn cut_at(&mut self, now_ns: u64) {
        self.timeline.cut_at(now_ns);
    }

    /// Adds what another thread recorded in the same phases.
    pub fn merge(&mut self, other: &Self) {
        self.sojourn.merge(&other.sojourn);
        self.since_send.merge(&other.since_send);
        self.lateness.merge(&other.lateness);
        self.censored_sojourn.merge(&other.censored_sojourn);
        self.censored_since_send.merge(&other.censored_since_send);
        self.censored_lateness.merge(&other.censored_lateness);
        self.tally.merge(&other.tally);
        self.warmup.merge(&other.warmup);
        self.timeline.merge(&other.timeline);
    }

    /// Completion − intended arrival of the answered requests.
    pub fn sojourn(&self) -> &LatencyHistogram {
        &self.sojourn
    }

    /// Completion − send of the answered requests.
    pub fn since_send(&self) -> &LatencyHistogram {
        &self.since_send
    }

    /// Send − intended arrival of all requests that were sent, however they ended.
    pub fn lateness(&self) -> &LatencyHistogram {
        &self.lateness
    }

    /// What censored requests had waited since their intended arrival.
    pub fn censored_sojourn(&self) -> &LatencyHistogram {
        &self.censored_sojourn
    }

    /// What censored requests had waited since their send; those never sent are not in it.
    pub fn censored_since_send(&self) -> &LatencyHistogram {
        &self.censored_since_send
    }

    /// How late the requests already were that were never sent.
    pub fn censored_lateness(&self) -> &LatencyHistogram {
        &self.censored_lateness
    }

    /// Where the measured requests ended.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where the warm-up requests ended.
    pub fn warmup(&self) -> &Tally {
        &self.warmup
    }

    /// What happened when.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}

impl CompletionSink for Recorder {
    #[inline]
    fn complete(&mut self, completion: Completion) {
        self.timeline.end(&completion);
        if !self.phases.is_measured(completion.intended_ns) {
            self.warmup.end(completion.outcome);
            return;
        }
        self.tally.end(completion.outcome);
        let (sojourn_ns, since_send_ns) = (completion.sojourn_ns(), completion.since_send_ns());
        match completion.lateness_ns() {
            Some(lateness_ns) => self.lateness.record(lateness_ns),
            None => self.censored_lateness.record(sojourn_ns),
        }
        let (sojourn, since_send) = match completion.outcome {
            Outcome::Ok(_) => (&mut self.sojourn, &mut self.since_send),
            censored if censored.is_censored() => (&mut self.censored_sojourn, &mut self.censored_since_send),
            _ => return,
        };
        sojourn.record(sojourn_ns);
        // A request that was never sent has waited, but not since any send.
        if let Some(since_send_ns) = since_send_ns {
            since_send.record(since_send_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::{FailCause, Reply};
    use std::time::Duration;

    fn recorder() -> Recorder {
        Recorder::new(Phases::new(0, Duration::from_millis(100), Duration::from_millis(900)))
    }

    fn ended(intended_ns: u64, outcome: Outcome) -> Completion {
        Completion { intended_ns, sent_ns: Some(intended_ns + 5), ended_ns: intended_ns + 25, outcome }
    }

    #[test]
    fn each_outcome_is_recorded_where_it_belongs() {
        let mut recorder = recorder();
        let outcomes = [
            Outcome::Ok(Reply::Hit),
            Outcome::Failed(FailCause::ServerError),
            Outcome::Failed(FailCause::ConnectionLost),
            Outcome::TimedOut,
            Outcome::Unfinished,
        ];
        for outcome in outcomes {
            recorder.schedule(200_000_000);
            recorder.complete(ended(200_000_000, outcome));
        }
        assert!(recorder.tally().is_balanced());
        assert_eq!(recorder.sojourn().count(), 1);
        assert_eq!(recorder.since_send().max_ns(), Some(20));
        assert_eq!(recorder.lateness().count(), 5);
        assert_eq!(
            recorder.censored_sojourn().count(),
            3,
            "an error reply is an answer, not a censored wait"
        );
    }

    #[test]
    fn what_was_never_sent_has_no_lateness_but_a_lower_bound_of_it() {
        let mut recorder = recorder();
        recorder.schedule(200_000_000);
        recorder.complete(Completion { sent_ns: None, ..ended(200_000_000, Outcome::Unfinished) });
        assert_eq!((recorder.lateness().count(), recorder.censored_lateness().max_ns()), (0, Some(25)));
        assert_eq!((recorder.censored_since_send().count(), recorder.censored_sojourn().count()), (0, 1));
    }

    #[test]
    fn the_warm_up_is_tallied_apart_and_not_measured() {
        let mut recorder = recorder();
        recorder.schedule(1);
        recorder.complete(ended(1, Outcome::Ok(Reply::Hit)));
        assert_eq!((recorder.tally().scheduled, recorder.warmup().ok), (0, 1));
        assert_eq!(recorder.sojourn().count(), 0);
    }

    #[test]
    fn merged_recorders_hold_the_sum() {
        let (mut a, mut b) = (recorder(), recorder());
        for recorder in [&mut a, &mut b] {
            recorder.schedule(150_000_000);
            recorder.complete(ended(150_000_000, Outcome::Ok(Reply::Stored)));
        }
        a.merge(&b);
        assert_eq!((a.tally().ok, a.sojourn().count(), a.lateness().count()), (2, 2, 2));
    }
}
