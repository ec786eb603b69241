//! What was asked for: events, how they share the counters, and formulas over them.

use std::path::Path;

use anyhow::Context;
use tailcore_pmu::{
    Event, EventSet, Machine, Meaning, Options, Plan, Unit, calibrate, default_events, parse_units,
};

use crate::args::StatArgs;
use crate::exit::UsageError;

/// The events of one measurement.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// As asked for; of a set, in its order.
    pub(crate) events: Vec<Event>,
    pub(crate) set: Option<EventSet>,
    /// As they are opened: those that are asked for, and the clock.
    pub(crate) groups: Vec<Vec<Event>>,
    pub(crate) options: Options,
    /// The time of the counted threads on CPUs: no counter of the processor is taken for it.
    pub(crate) clock: Event,
    plan: Plan,
}

impl Wanted {
    pub(crate) fn of(args: &StatArgs) -> anyhow::Result<Wanted> {
        if let Some(name) = &args.set {
            let set = find_set(name)?;
            let events = set_events(&set)?;
            let pick = |unit: Vec<usize>| unit.iter().filter_map(|&at| events.get(at)).cloned().collect();
            let units: Vec<Vec<Event>> = set.together().into_iter().map(pick).collect();
            return Wanted::new(events, Some(set), &units);
        }
        let units = match args.events.as_deref() {
            None | Some("default") => default_events().into_iter().map(|event| vec![event]).collect(),
            Some(list) => parse_units(list).map_err(|error| UsageError(format!("--events: {error}")))?,
        };
        Wanted::new(units.concat(), None, &units)
    }

    /// The clock alone.
    pub(crate) fn clock() -> anyhow::Result<Wanted> {
        Wanted::new(vec!["task-clock".parse()?], None, &[])
    }

    fn new(events: Vec<Event>, set: Option<EventSet>, units: &[Vec<Event>]) -> anyhow::Result<Wanted> {
        let clock: Event = "task-clock".parse()?;
        let plan = Plan::new(units);
        let mut groups = plan.multiplexed();
        if !groups.iter().flatten().any(|event| *event == clock) {
            groups.push(vec![clock.clone()]);
        }
        let mut options = Options::default();
        if events.iter().any(|event| event.kind().needs_pmu()) {
            options = options.calibrated(calibrate());
        }
        Ok(Wanted { events, set, groups, options, clock, plan })
    }

    pub(crate) fn set_name(&self) -> Option<String> {
        self.set.as_ref().map(|set| set.name().to_owned())
    }

    /// What could not be planned.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.plan.notes().iter().map(ToString::to_string).collect()
    }
}

/// A built-in set, or the set in a file.
fn find_set(name: &str) -> anyhow::Result<EventSet> {
    if let Some(set) = EventSet::find(name) {
        return Ok(set.clone());
    }
    let names: Vec<&str> = EventSet::all().iter().map(EventSet::name).collect();
    if !Path::new(name).exists() {
        let names = names.join(", ");
        return Err(
            UsageError(format!("--set {name}: no such set and no such file; the sets are {names}")).into()
        );
    }
    let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
    Ok(EventSet::parse(&text).map_err(|error| UsageError(format!("--set {name}: {error}")))?)
}

fn set_events(set: &EventSet) -> Result<Vec<Event>, UsageError> {
    let parse = |event: &tailcore_pmu::SetEvent| event.name.parse::<Event>();
    let events: Result<Vec<Event>, _> = set.events().iter().map(parse).collect();
    events.map_err(|error| UsageError(format!("--set {}: {error}", set.name())))
}

/// What one count of `event` is, where that is known of all types of core.
pub(crate) fn unit_of(event: &Event) -> Option<Unit> {
    let name = event.to_string();
    let name = name.split(':').next().unwrap_or_default();
    if name == "cycles" {
        return Some(Unit::Cycles);
    }
    let meaning = Meaning::find(name)?;
    let cores = Machine::this().model().cores();
    let mut units = cores.iter().map(|core| meaning.on(core.microarchitecture?).ok().map(|on| on.unit));
    let first = units.next().flatten()?;
    units.all(|unit| unit == Some(first)).then_some(first)
}
