//! Servers that exist only in time: exact queueing under a virtual clock.
//!
//! The engine, the recorder and the verdict run unchanged against them, so what queueing theory
//! says about the simulated system is a test of the whole measuring path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand_distr::{Distribution, Exp1};
use tailcore_harness::phases::as_ns;
use tailcore_harness::{Clock, Completion, CompletionSink, Outcome, Reply};

use crate::random::{Purpose, StreamRng, stream};
use crate::schedule::Scheduled;
use crate::stall::StallScript;
use crate::transport::Transport;

/// Law of the service times.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServiceLaw {
    /// Always the same time.
    Constant(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

/// `k` equal servers with one first-come-first-served queue, and an optional script of stalls in
/// which none of them works.
#[derive(Debug)]
pub struct Simulated {
    law: ServiceLaw,
    rng: StreamRng,
    stalls: Option<StallScript>,
    /// When each server becomes free, earliest first.
    free_ns: BinaryHeap<Reverse<u64>>,
    /// Completions to come, earliest first.
    open: BinaryHeap<Reverse<(u64, u64, u64)>>,
}

impl Simulated {
    /// `servers` idle servers (at least 1), their service times drawn from `seed`.
    pub fn new(servers: usize, law: ServiceLaw, seed: u64) -> Self {
        Self {
            law,
            rng: stream(seed, 0, Purpose::Service),
            stalls: None,
            free_ns: (0..servers.max(1)).map(|_| Reverse(0)).collect(),
            open: BinaryHeap::new(),
        }
    }

    /// Freezes all servers as `script` says.
    pub fn with_stalls(mut self, script: StallScript) -> Self {
        self.stalls = Some(script);
        self
    }

    fn service_ns(&mut self) -> u64 {
        match self.law {
            ServiceLaw::Constant(time) => as_ns(time),
            ServiceLaw::Exponential(mean) => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                (unit * mean.as_nanos() as f64).round() as u64
            }
        }
    }
}

impl Transport for Simulated {
    fn submit(&mut self, scheduled: Scheduled, clock: &impl Clock, _sink: &mut impl CompletionSink) {
        let sent_ns = clock.now_ns();
        let service_ns = self.service_ns();
        let Reverse(free_ns) = self.free_ns.pop().unwrap_or(Reverse(0));
        let start_ns = free_ns.max(sent_ns);
        let end_ns = match &self.stalls {
            None => start_ns + service_ns,
            Some(script) => script.finish_ns(start_ns, service_ns),
        };
        self.free_ns.push(Reverse(end_ns));
        self.open.push(Reverse((end_ns, scheduled.intended_ns, sent_ns)));
    }

    fn flush(&mut self, _clock: &impl Clock, _sink: &mut impl CompletionSink) {}

    fn poll(&mut self, clock: &impl Clock, sink: &mut impl CompletionSink) {
        let now_ns = clock.now_ns();
        while let Some(&Reverse((ended_ns, intended_ns, sent_ns))) = self.open.peek() {
            if ended_ns > now_ns {
                break;
            }
            self.open.pop();
            let outcome = Outcome::Ok(Reply::Done);
            sink.complete(Completion { intended_ns, sent_ns: Some(sent_ns), ended_ns, outcome });
        }
    }

    fn expire(&mut self, deadline_ns: u64, now_ns: u64, sink: &mut impl CompletionSink) {
        self.open.retain(|&Reverse((_, intended_ns, sent_ns))| {
            let is_open = intended_ns >= deadline_ns;
            if !is_open {
                let outcome = Outcome::TimedOut;
                sink.complete(Completion { intended_ns, sent_ns: Some(sent_ns), ended_ns: now_ns, outcome });
            }
            is_open
        });
    }

    fn abandon(&mut self, now_ns: u64, sink: &mut impl CompletionSink) {
        for Reverse((_, intended_ns, sent_ns)) in self.open.drain() {
            let outcome = Outcome::Unfinished;
            sink.complete(Completion { intended_ns, sent_ns: Some(sent_ns), ended_ns: now_ns, outcome });
        }
    }

    fn in_flight(&self) -> usize {
        self.open.len()
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.open.peek().map(|&Reverse((ended_ns, ..))| ended_ns)
    }
}
