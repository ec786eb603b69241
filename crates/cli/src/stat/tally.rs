//! Counters of one target, from the moment when they start.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tailcore_pmu::{
    Counters, Event, Metric, MetricReading, Outcome, Reading, Snapshot, Symbol, Target, Value,
};

use super::wanted::{Wanted, unit_of};

/// The kernel refuses to add up a group over the processes that inherited it (ECHILD) while one of them has
/// a part of the group only: for some microseconds after its fork and before its end, or longer if it loses
/// its CPU there.
const AGAIN_FOR: Duration = Duration::from_millis(100);
const AGAIN_AFTER: Duration = Duration::from_micros(50);

/// Counters of one target for the wanted events.
#[derive(Debug)]
pub(crate) struct Tally {
    wanted: Rc<Wanted>,
    counters: Counters,
    start: Snapshot,
}

impl Tally {
    /// Counts from the exec of a process that waits before it.
    pub(crate) fn on_exec(wanted: &Rc<Wanted>, target: Target) -> Tally {
        let options = wanted.options.clone().on_exec();
        Tally::of(wanted, Counters::open_groups(target, &wanted.groups, &options))
    }

    /// Counts from now on.
    pub(crate) fn now(wanted: &Rc<Wanted>, target: Target) -> Tally {
        let counters = Counters::open_groups(target, &wanted.groups, &wanted.options);
        let mut tally = Tally::of(wanted, counters);
        tally.counters.enable();
        tally
    }

    fn of(wanted: &Rc<Wanted>, mut counters: Counters) -> Tally {
        let mut start = counters.snapshot();
        counters.read(&mut start);
        Tally { wanted: Rc::clone(wanted), counters, start }
    }

    pub(crate) fn is_any_open(&self) -> bool {
        self.counters.is_any_open()
    }

    /// The state before anything was counted.
    pub(crate) fn start(&self) -> &Snapshot {
        &self.start
    }

    /// Reads all counters, again where that failed because a process or thread was just made or ending.
    pub(crate) fn read(&mut self) -> Snapshot {
        let mut now = self.counters.snapshot();
        let first = Instant::now();
        loop {
            self.counters.read(&mut now);
            let is_unread = |at: usize| self.counters.group_of(at).is_some() && now.totals(at).is_none();
            let is_whole = !(0..self.counters.events().len()).any(is_unread);
            if is_whole || first.elapsed() > AGAIN_FOR {
                return now;
            }
            thread::sleep(AGAIN_AFTER);
        }
    }

    /// One reading per wanted event, in their order.
    pub(crate) fn readings(&self, from: &Snapshot, to: &Snapshot) -> Vec<Reading> {
        let all = self.counters.interval(from, to);
        let reading = |event: &Event| {
            let mut places = self.places(event).filter_map(|at| all.get(at));
            let first = places.next()?;
            // An event of several groups may have run in one of them only.
            let best = std::iter::once(first).chain(places).find(|reading| has_count(&reading.outcome));
            Some(best.unwrap_or(first).clone())
        };
        self.wanted.events.iter().filter_map(reading).collect()
    }

    /// The time of the counted threads on CPUs, ns; `None` if that was not counted.
    pub(crate) fn clock_ns(&self, from: &Snapshot, to: &Snapshot) -> Option<u64> {
        let at = self.places(&self.wanted.clock).next()?;
        match self.counters.outcome(at, from, to) {
            Outcome::Counted { count } => Some(count),
            _ => None,
        }
    }

    /// The metrics of the wanted set, none without one.
    pub(crate) fn metrics(&self, from: &Snapshot, to: &Snapshot, elapsed: Duration) -> Vec<MetricReading> {
        let Some(set) = &self.wanted.set else { return Vec::new() };
        set.read(|metric, symbol| match symbol {
            Symbol::Event { index, .. } => self.value(metric, *index, (from, to)),
            Symbol::Seconds => Value::Number(elapsed.as_secs_f64()),
            Symbol::BusySeconds => match self.clock_ns(from, to) {
                Some(ns) => Value::Number(Duration::from_nanos(ns).as_secs_f64()),
                None => missing("task-clock was not counted: see its reason in `tailcore events`"),
            },
            _ => missing("`tailcore stat` sees no requests: use `tailcore run`"),
        })
    }

    /// What the event at `index` of the set is worth in a metric.
    fn value(&self, metric: &Metric, index: usize, (from, to): (&Snapshot, &Snapshot)) -> Value {
        let home = self.home(metric);
        let Some(event) = self.wanted.events.get(index) else {
            return missing("the event was not opened: report it");
        };
        let is_home = |at: &usize| home.is_some() && self.counters.group_of(*at) == home;
        let Some(at) = self.places(event).find(is_home).or_else(|| self.places(event).next()) else {
            return missing("the event was not opened: report it");
        };
        let outcome = self.counters.outcome(at, from, to);
        // What ran throughout goes with every group.
        let group = self.counters.group_of(at).filter(|_| matches!(outcome, Outcome::Scaled { .. }));
        Value::of(&outcome, group, unit_of(event))
    }

    /// The group that has most of a metric's events.
    fn home(&self, metric: &Metric) -> Option<usize> {
        let events = metric.events();
        let wanted = || events.iter().filter_map(|&index| self.wanted.events.get(index));
        let groups = |event| self.places(event).filter_map(|at| self.counters.group_of(at));
        let members = |group: &usize| wanted().filter(|event| groups(event).any(|it| it == *group)).count();
        wanted().flat_map(groups).max_by_key(|group| (members(group), std::cmp::Reverse(*group)))
    }

    /// Where an event stands among the counters.
    fn places<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = usize> + 'a {
        let all = self.counters.events().iter().enumerate();
        all.filter(move |(_, other)| *other == event).map(|(at, _)| at)
    }
}

fn has_count(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Counted { .. } | Outcome::Scaled { .. })
}

fn missing(reason: &str) -> Value {
    Value::Missing { reason: reason.to_owned() }
}
