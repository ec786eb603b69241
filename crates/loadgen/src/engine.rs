//! The loop of one worker: send what is due, take in what has come back, wait for neither.

use std::sync::atomic::{AtomicBool, Ordering};

use tailcore_harness::{Clock, Completion, CompletionSink, Ending, Outcome, Phases, Recorder};

use crate::schedule::{Schedule, ScheduleHash};
use crate::transport::Transport;

/// Most requests sent between two looks at the replies: bounds what sending adds to their latency.
const SEND_BATCH: usize = 32;
/// Shortest interval between two searches for timed-out requests; longer time limits are looked at
/// within 1 % of their length, because each search visits every connection.
const EXPIRE_EVERY_NS: u64 = 1_000_000;
/// Time in which answers are still awaited after an early end: what is in flight then is no outlier,
/// and should not make quantiles unknown.
const DRAIN_AFTER_STOP_NS: u64 = 100_000_000;
/// Unsent requests counted between two looks at the stop flag.
const COUNT_BATCH: u64 = 1 << 16;
/// A send due this soon is waited for without another look at the sockets, which costs about as
/// much (one `epoll_wait(2)` without events).
const GUARD_NS: u64 = 1_000;

/// Limits of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// The run's phases.
    pub phases: Phases,
    /// Time after which an open request counts as timed out.
    pub timeout_ns: u64,
    /// Time after the last arrival in which answers are still awaited.
    pub drain_ns: u64,
    /// Most open requests before sends wait. Waiting sends are late, never skipped.
    pub max_in_flight: usize,
}

/// What one worker brings home.
#[derive(Debug)]
pub struct EngineReport {
    /// Everything measured.
    pub recorder: Recorder,
    /// Fingerprint of what was scheduled.
    pub schedule_hash: ScheduleHash,
    /// How it ended.
    pub ending: Ending,
    /// The phases, cut where the run was.
    pub phases: Phases,
    /// Time in which a due send waited for the limit of open requests, in nanoseconds.
    pub time_at_cap_ns: u64,
    /// Connections that broke during the run.
    pub connections_lost: u32,
}

/// One worker: a schedule, a way to the service, and a recorder.
#[derive(Debug)]
pub struct Engine<'a, C, T> {
    clock: &'a C,
    schedule: Schedule,
    transport: T,
    limits: EngineLimits,
    stop: &'a AtomicBool,
    recorder: Recorder,
    time_at_cap_ns: u64,
    capped_since_ns: Option<u64>,
    expire_every_ns: u64,
    next_expire_ns: u64,
    /// When the run was cut short.
    cut_ns: Option<u64>,
}

impl<'a, C: Clock, T: Transport> Engine<'a, C, T> {
    /// A worker ready to run. All its memory is allocated here.
    ///
    /// Setting `stop` ends the run early; what was measured until then is kept. The engine sets it
    /// itself when its target is lost, so that workers that share it end together.
    pub fn new(
        clock: &'a C,
        schedule: Schedule,
        transport: T,
        (limits, stop): (EngineLimits, &'a AtomicBool),
    ) -> Self {
        let expire_every_ns = EXPIRE_EVERY_NS.max(limits.timeout_ns / 100);
        Self {
            clock,
            schedule,
            transport,
            limits,
            stop,
            recorder: Recorder::new(limits.phases),
            time_at_cap_ns: 0,
            capped_since_ns: None,
            expire_every_ns,
            cut_ns: None,
            next_expire_ns: limits.phases.start_ns.saturating_add(expire_every_ns),
        }
    }

    /// Offers the whole schedule and waits for the answers, up to the drain limit.
    pub fn run(mut self) -> EngineReport {
        let ending = self.offer();
        let now_ns = self.clock.now_ns();
        if let Ending::TargetLost(_) = ending {
            self.stop.store(true, Ordering::Relaxed);
            self.cut_at(now_ns);
        }
        self.leave_cap(now_ns);
        self.count_unsent(now_ns);
        let phases = self.cut_ns.map_or(self.limits.phases, |cut_ns| self.limits.phases.cut_at(cut_ns));
        let ending = match ending {
            Ending::Completed if self.cut_ns.is_some() => Ending::Interrupted,
            ending => ending,
        };
        self.transport.abandon(now_ns, &mut self.recorder);
        EngineReport {
            recorder: self.recorder,
            schedule_hash: self.schedule.hash(),
            ending,
            phases,
            time_at_cap_ns: self.time_at_cap_ns,
            connections_lost: self.transport.connections_lost(),
        }
    }

    /// Ends the schedule early: what was due by then stays scheduled, sent or not.
    fn cut_at(&mut self, cut_ns: u64) {
        self.schedule.cut_at(cut_ns);
        self.recorder.cut_at(cut_ns);
        self.cut_ns = Some(self.cut_ns.map_or(cut_ns, |earlier| earlier.min(cut_ns)));
    }

    /// Accounts for every scheduled request that the run's end overtook before it could be sent.
    fn count_unsent(&mut self, now_ns: u64) {
        let mut counted = 0;
        while let Some(unsent) = self.schedule.advance() {
            self.recorder.schedule(unsent.intended_ns);
            self.recorder.complete(Completion {
                intended_ns: unsent.intended_ns,
                sent_ns: None,
                ended_ns: now_ns,
                outcome: Outcome::Unfinished,
            });
            counted += 1;
            // A plan far beyond any machine leaves billions; whoever stops it need not wait for them.
            if counted == COUNT_BATCH {
                counted = 0;
                if self.stop.load(Ordering::Relaxed) {
                    self.cut_at(unsent.intended_ns + 1);
                }
            }
        }
    }

    fn offer(&mut self) -> Ending {
        let mut drain_end_ns = self.limits.phases.end_ns.saturating_add(self.limits.drain_ns);
        loop {
            let now_ns = self.clock.now_ns();
            self.send_due(now_ns);
            // Also with nothing in flight: a peer that closes, or talks without being asked, is noticed
            // before the next request is sent to it.
            self.transport.poll(self.clock, &mut self.recorder);
            // After the replies have been taken in: one that was there in time is not timed out because
            // this thread was not.
            if now_ns >= self.next_expire_ns {
                self.expire(now_ns);
            }
            if let Some(what) = self.transport.lost() {
                return Ending::TargetLost(what.to_owned());
            }
            if self.stop.load(Ordering::Relaxed) && self.cut_ns.is_none() {
                self.cut_at(now_ns);
                drain_end_ns = drain_end_ns.min(now_ns.saturating_add(DRAIN_AFTER_STOP_NS));
            }
            let is_done = self.schedule.peek().is_none() && self.transport.in_flight() == 0;
            if is_done || now_ns >= drain_end_ns {
                return Ending::Completed;
            }
            self.schedule.refill();
            self.relax(drain_end_ns);
        }
    }

    /// Sends what is due at `now_ns`, at most a batch of it.
    #[inline]
    fn send_due(&mut self, now_ns: u64) {
        let mut sent = 0;
        while let Some(next) = self.schedule.peek()
            && next.intended_ns <= now_ns
            && sent < SEND_BATCH
        {
            if self.transport.held() >= self.limits.max_in_flight {
                self.capped_since_ns.get_or_insert(now_ns);
                break;
            }
            self.leave_cap(now_ns);
            self.recorder.schedule(next.intended_ns);
            self.transport.submit(next, self.clock, &mut self.recorder);
            self.schedule.advance();
            sent += 1;
        }
        if sent > 0 {
            self.transport.flush(self.clock, &mut self.recorder);
        }
    }

    fn leave_cap(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.capped_since_ns.take() {
            // What waited only in the warm-up is not measured.
            self.time_at_cap_ns += now_ns.saturating_sub(since_ns.max(self.limits.phases.measure_ns));
        }
    }

    fn expire(&mut self, now_ns: u64) {
        self.next_expire_ns = now_ns.saturating_add(self.expire_every_ns);
        if self.transport.in_flight() == 0 {
            return;
        }
        if let Some(deadline_ns) = now_ns.checked_sub(self.limits.timeout_ns) {
            self.transport.expire(deadline_ns, now_ns, &mut self.recorder);
        }
    }

    /// Lets time pass up to the next thing that can happen.
    #[inline]
    fn relax(&self, drain_end_ns: u64) {
        let next_send_ns = self.schedule.peek().map_or(drain_end_ns, |next| next.intended_ns);
        let until_ns = match self.transport.next_event_ns() {
            // A capped sender can do nothing before the next end.
            Some(event_ns) if self.capped_since_ns.is_some() => event_ns,
            Some(event_ns) => event_ns.min(next_send_ns),
            None => next_send_ns,
        };
        let until_ns = until_ns.min(drain_end_ns).min(self.next_expire_ns);
        self.clock.relax_until(until_ns);
        if until_ns.saturating_sub(self.clock.now_ns()) <= GUARD_NS {
            while self.clock.now_ns() < until_ns && !self.stop.load(Ordering::Relaxed) {
                self.clock.relax_until(until_ns);
            }
        }
    }
}
