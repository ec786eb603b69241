//! The schedule of one worker: which request is meant to arrive when.

use crate::arrivals::{ArrivalLaw, Arrivals, Share};
use crate::workload::{Contents, Operation, Request, Workload};

/// A request and its intended arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// Nanoseconds since the run's origin.
    pub intended_ns: u64,
    /// What is asked.
    pub request: Request,
}

/// What all workers' schedules have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleLaw {
    /// Law of the inter-arrival times.
    pub arrivals: ArrivalLaw,
    /// Offered load of all workers together, requests per second; finite and above 0.
    pub rate_rps: f64,
    /// Laws of the content.
    pub workload: Workload,
    /// Number of workers.
    pub workers: u32,
    /// One seed, one schedule.
    pub seed: u64,
}

/// One worker's scheduled requests from `start_ns` up to (not including) `end_ns`.
///
/// Two requests are drawn ahead, so that a due one can be sent, and the one after it looked at, before
/// anything is drawn: [`Schedule::refill`] draws while the worker has time.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    contents: Contents,
    start_ns: u64,
    end_ns: u64,
    next: Option<Scheduled>,
    after_next: Option<Scheduled>,
    is_exhausted: bool,
    hash: ScheduleHash,
}

impl Schedule {
    /// The schedule of `worker` (0-based).
    pub fn new(law: &ScheduleLaw, worker: u32, start_ns: u64, end_ns: u64) -> Self {
        let mut schedule = Self {
            arrivals: Arrivals::new(
                law.arrivals,
                law.rate_rps,
                Share { worker, workers: law.workers },
                law.seed,
            ),
            contents: Contents::new(&law.workload, worker, law.seed),
            start_ns,
            end_ns,
            next: None,
            after_next: None,
            is_exhausted: false,
            hash: ScheduleHash::of_seed(law.seed),
        };
        schedule.next = schedule.draw();
        schedule.refill();
        schedule
    }

    /// The next request, if one is left.
    #[inline]
    pub fn peek(&self) -> Option<Scheduled> {
        self.next
    }

    /// Takes the next request. Draws only if it was not refilled since the last one.
    #[inline]
    pub fn advance(&mut self) -> Option<Scheduled> {
        let taken = self.next?;
        self.hash.add(taken.intended_ns - self.start_ns, taken.request);
        self.next = self.after_next.take().or_else(|| self.draw());
        Some(taken)
    }

    /// Draws the request after the next one, if that has not been done.
    #[inline]
    pub fn refill(&mut self) {
        if self.after_next.is_none() {
            self.after_next = self.draw();
        }
    }

    /// Drops everything intended at `end_ns` or later: the run is being cut short.
    pub fn cut_at(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
        self.next = self.next.filter(|next| next.intended_ns < self.end_ns);
        self.after_next = self.after_next.filter(|next| next.intended_ns < self.end_ns);
    }

    /// Fingerprint of everything taken so far.
    pub fn hash(&self) -> ScheduleHash {
        self.hash
    }

    #[inline]
    fn draw(&mut self) -> Option<Scheduled> {
        if self.is_exhausted {
            return None;
        }
        let intended_ns = self.start_ns.saturating_add(self.arrivals.next_ns());
        self.is_exhausted = intended_ns >= self.end_ns;
        (!self.is_exhausted).then(|| Scheduled { intended_ns, request: self.contents.next_request() })
    }
}

/// Running fingerprint of a schedule: arrivals relative to the start, operations, keys, sizes.
///
/// A multiply-and-rotate mix of the FxHash family: two instructions per word, on the hot path. It
/// tells schedules apart; it is no protection against forgery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleHash(u64);

impl ScheduleHash {
    /// The fingerprint of a schedule from which nothing has been taken yet.
    ///
    /// The seed is part of it: two seeds are two schedules, even where a law leaves nothing to chance.
    fn of_seed(seed: u64) -> Self {
        let mut hash = Self(!0);
        hash.word(seed);
        hash
    }

    #[inline]
    fn add(&mut self, offset_ns: u64, request: Request) {
        let operation = u64::from(request.operation == Operation::Set);
        self.word(offset_ns);
        self.word(request.key);
        self.word(u64::from(request.value_len) << 1 | operation);
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Adds the next worker's fingerprint; the order of workers counts.
    pub fn combine(&mut self, other: Self) {
        self.word(other.0);
    }

    /// The fingerprint as 16 hexadecimal digits.
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(seed: u64) -> ScheduleLaw {
        ScheduleLaw {
            arrivals: ArrivalLaw::Poisson,
            rate_rps: 10_000.0,
            workload: Workload::default(),
            workers: 2,
            seed,
        }
    }

    fn drain(mut schedule: Schedule) -> (Vec<Scheduled>, ScheduleHash) {
        let all = std::iter::from_fn(|| schedule.advance()).collect();
        (all, schedule.hash())
    }

    #[test]
    fn one_seed_gives_one_schedule_and_another_seed_another() {
        let (first, hash) = drain(Schedule::new(&law(1), 0, 500, 1_000_000_500));
        assert_eq!((first.clone(), hash), drain(Schedule::new(&law(1), 0, 500, 1_000_000_500)));
        let (other, other_hash) = drain(Schedule::new(&law(2), 0, 500, 1_000_000_500));
        assert_ne!(first, other);
        assert_ne!(hash, other_hash);
        let (_, worker_hash) = drain(Schedule::new(&law(1), 1, 500, 1_000_000_500));
        assert_ne!(hash, worker_hash);
    }

    #[test]
    fn seeds_differ_even_where_nothing_is_random() {
        let workload = Workload { keys: 1, get_ratio: 1.0, ..Workload::default() };
        let constant = |seed| ScheduleLaw { arrivals: ArrivalLaw::Constant, workload, ..law(seed) };
        let (first, first_hash) = drain(Schedule::new(&constant(1), 0, 0, 1_000_000));
        let (second, second_hash) = drain(Schedule::new(&constant(2), 0, 0, 1_000_000));
        assert_eq!(first, second);
        assert_ne!(first_hash, second_hash);
    }

    #[test]
    fn the_fingerprint_does_not_depend_on_when_the_run_started() {
        let (_, early) = drain(Schedule::new(&law(1), 0, 0, 1_000_000_000));
        let (_, late) = drain(Schedule::new(&law(1), 0, 777, 1_000_000_777));
        assert_eq!(early, late);
    }

    #[test]
    fn arrivals_stay_inside_the_run() {
        let (all, _) = drain(Schedule::new(&law(1), 0, 1_000, 2_000_001_000));
        assert!(all.windows(2).all(|w| w[0].intended_ns <= w[1].intended_ns));
        assert!(all.iter().all(|s| (1_000..2_000_001_000).contains(&s.intended_ns)));
        // Half of 10,000/s for two seconds, five standard deviations either way.
        assert!((9_500..10_500).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn a_cut_drops_what_was_still_to_come() {
        let mut schedule = Schedule::new(&law(1), 0, 0, 1_000_000_000);
        schedule.cut_at(1_000_000);
        let (left, _) = drain(schedule);
        assert!(left.iter().all(|s| s.intended_ns < 1_000_000));
    }
}
