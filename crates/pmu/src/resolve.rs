//! How a machine counts an event: one or several encodings, and where they are opened.

use crate::diagnose::Absence;
use crate::event::{Event, What};
use crate::machine::Machine;
use crate::meaning::{Meaning, MeaningOn};
use crate::model::{CoreModel, Microarchitecture};
use crate::names::{EventKind, TYPE_BREAKPOINT, TYPE_RAW, TYPE_TRACEPOINT};
use crate::reading::Outcome;
use crate::sysfs::{Config, EncodeError, Pmu, PmuKind, Terms, TracepointError};
use crate::vendor;

/// What perf_event_open(2) is told of an event, without the modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) type_: u32,
    pub(crate) config: u64,
    pub(crate) config1: u64,
    pub(crate) config2: u64,
    pub(crate) config3: u64,
    /// The name of the PMU, where the encoding is not generic.
    pub(crate) pmu: Option<String>,
    /// The CPUs on which the PMU counts, if not all do: those of one core type.
    pub(crate) cpus: Option<Vec<u32>>,
    /// The PMU does not tell modes apart: any exclude bit is refused, as by uncore PMUs and `msr`.
    pub(crate) no_exclude: bool,
}

/// Where the encodings of an event are opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Where the target says.
    One,
    /// One encoding per core type of a hybrid: a thread runs on one at a time, so counts and running times
    /// add up.
    CoreTypes,
    /// Once on each of these CPUs, whatever the target: uncore; counts add up.
    Places(Vec<u32>),
}

/// An event, as this machine counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) encodings: Vec<Encoding>,
    pub(crate) spread: Spread,
    /// What counts a name that means another event on another processor, and who says so.
    pub(crate) means: Option<String>,
}

/// What perf_event_open(2) is told of an event on one machine; given by [`Event::on`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// The PMU's name in sysfs; `None` for what the kernel itself gives a number.
    pub pmu: Option<String>,
    /// `perf_event_attr.type`.
    pub type_: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// `perf_event_attr.config1`.
    pub config1: u64,
    /// `perf_event_attr.config2`.
    pub config2: u64,
    /// The CPUs on which it is opened once each; empty: where the target runs.
    pub cpus: Vec<u32>,
}

impl Event {
    /// Tells what the event comes to on `machine`: one code, or one for each core type or box of an uncore
    /// PMU.
    ///
    /// # Errors
    ///
    /// [`Outcome::Unsupported`] with the reason why it comes to nothing there.
    pub fn on(&self, machine: &Machine) -> Result<Vec<Code>, Outcome> {
        let resolved = resolve(self, machine).map_err(Outcome::from)?;
        let cpus = match resolved.spread {
            Spread::Places(cpus) => cpus,
            Spread::One | Spread::CoreTypes => Vec::new(),
        };
        let code = |encoding: Encoding| Code {
            pmu: encoding.pmu,
            type_: encoding.type_,
            config: encoding.config,
            config1: encoding.config1,
            config2: encoding.config2,
            cpus: cpus.clone(),
        };
        Ok(resolved.encodings.into_iter().map(code).collect())
    }
}

impl Resolved {
    fn one(encoding: Encoding) -> Resolved {
        Resolved { encodings: vec![encoding], spread: Spread::One, means: None }
    }
}

impl Encoding {
    /// An event that the kernel itself gives a number.
    pub(crate) fn generic(type_: u32, config: u64) -> Encoding {
        Encoding {
            type_,
            config,
            config1: 0,
            config2: 0,
            config3: 0,
            pmu: None,
            cpus: None,
            no_exclude: false,
        }
    }

    fn of(pmu: &Pmu, config: Config) -> Encoding {
        Encoding {
            type_: pmu.type_(),
            config: config.config,
            config1: config.config1,
            config2: config.config2,
            config3: config.config3,
            pmu: Some(pmu.name().to_owned()),
            cpus: pmu.cpus().map(<[u32]>::to_vec),
            // sysfs does not say which PMUs refuse the exclude bits. Those beside the cores do.
            no_exclude: pmu.kind() != PmuKind::Core,
        }
    }
}

/// Tells how `machine` counts `event`.
pub(crate) fn resolve(event: &Event, machine: &Machine) -> Result<Resolved, Absence> {
    match &event.what {
        What::Named(entry) if !event.kind().needs_pmu() => {
            Ok(Resolved::one(Encoding::generic(entry.type_(), entry.config)))
        }
        What::Named(entry) => Ok(on_each_core_type(machine, |pmu| match pmu {
            // On a hybrid the upper half of a generic event's config says which PMU is meant.
            Some(pmu) => Encoding {
                pmu: Some(pmu.name().to_owned()),
                cpus: pmu.cpus().map(<[u32]>::to_vec),
                ..Encoding::generic(entry.type_(), entry.config | u64::from(pmu.type_()) << 32)
            },
            None => Encoding::generic(entry.type_(), entry.config),
        })),
        What::Raw(code) => raw(machine, *code),
        What::Pmu(slashed) => on_pmu(machine, &slashed.pmu, &slashed.terms),
        What::Vendor(name) => by_vendor(machine, name),
        What::Meaning(name) => by_meaning(machine, name),
        What::Tracepoint(tracepoint) => match tracepoint.id(machine.root()) {
            Ok(id) => Ok(Resolved::one(Encoding::generic(TYPE_TRACEPOINT, id))),
            Err(error @ TracepointError::Forbidden { .. }) => Err(Absence::Forbidden(error.to_string())),
            Err(error) => Err(unsupported(error)),
        },
        What::Breakpoint(point) => Ok(Resolved::one(Encoding {
            config1: point.address,
            config2: point.length,
            ..Encoding::generic(TYPE_BREAKPOINT, point.access.into())
        })),
    }
}

/// An event that every core has: on a hybrid once for each type, else once with no PMU named.
fn on_each_core_type(machine: &Machine, encode: impl Fn(Option<&Pmu>) -> Encoding) -> Resolved {
    let pmus: Vec<&Pmu> = HYBRID.iter().filter_map(|name| machine.pmus().get(name).ok()).collect();
    if pmus.len() < 2 {
        return Resolved::one(encode(None));
    }
    let encodings = pmus.into_iter().map(|pmu| encode(Some(pmu))).collect();
    Resolved { encodings, spread: Spread::CoreTypes, means: None }
}

/// A code of the manual. It means one thing on one type of core and another on the next, so a hybrid has to be
/// told which; and where the PMU tells what it implements, it is asked.
fn raw(machine: &Machine, code: u64) -> Result<Resolved, Absence> {
    let hybrid: Vec<&str> = HYBRID.into_iter().filter(|name| machine.pmus().get(name).is_ok()).collect();
    if let [first, _, ..] = hybrid.as_slice() {
        let types = hybrid.join(", ");
        return Err(unsupported(format_args!(
            "a code means different events on the core types of this processor ({types}): write {first}/config={code:#x}/"
        )));
    }
    let mut pmus = machine.pmus().iter().into_iter().flatten().filter_map(|(_, pmu)| pmu.ok());
    if let Some(pmu) = pmus.find(|pmu| pmu.name().starts_with("armv")) {
        implemented(pmu, Config { config: code, ..Config::default() })?;
    }
    Ok(Resolved::one(Encoding::generic(TYPE_RAW, code)))
}

/// Refuses an architected event that an Arm PMU does not list: it would open, and count 0.
///
/// The kernel lists of these exactly the ones that the PMU says it implements (PMCEID registers). Events beyond
/// them are the implementer's own, and nothing tells.
fn implemented(pmu: &Pmu, config: Config) -> Result<(), Absence> {
    let told = matches!(config.config, 0..=0x3f | 0x4000..=0x403f);
    let same = |terms: &Terms| pmu.encode(terms).is_ok_and(|listed| listed.config & 0xffff == config.config);
    let listed = pmu.events().values().flatten().any(|event| same(&event.terms));
    if !pmu.name().starts_with("armv") || pmu.events().is_empty() || !told || listed {
        return Ok(());
    }
    Err(unsupported(format_args!(
        "PMU {} does not implement event {:#x}: it would count 0; it has those in its events folder in sysfs",
        pmu.name(),
        config.config
    )))
}

/// The PMUs of a hybrid x86 processor, the fastest cores first.
const HYBRID: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// An event of one PMU, or of all that a name such as `uncore_imc` stands for.
fn on_pmu(machine: &Machine, name: &str, terms: &Terms) -> Result<Resolved, Absence> {
    let encoded = machine.pmus().encode(name, terms).map_err(|error: EncodeError| unsupported(error))?;
    for (pmu, config) in &encoded {
        if pmu.event_of(terms).is_some_and(|(_, event)| event.snapshot) {
            return Err(unsupported("it is a level, not a count: an interval of it means nothing"));
        }
        implemented(pmu, *config)?;
    }
    let means = encoded.first().and_then(|(pmu, _)| scaled(pmu, terms));
    let encodings = encoded.iter().map(|(pmu, config)| Encoding::of(pmu, *config)).collect();
    let mut masks = encoded.iter().filter_map(|(pmu, _)| pmu.cpumask());
    let Some(cpus) = masks.next() else {
        // Several without a mask are the PMUs of core types.
        let spread = if encoded.len() > 1 { Spread::CoreTypes } else { Spread::One };
        return Ok(Resolved { encodings, spread, means });
    };
    if cpus.is_empty() {
        return Err(unsupported(format_args!(
            "all CPUs that count for PMU {name} are offline: bring one online"
        )));
    }
    if masks.any(|other| other != cpus) {
        let message = format!("the PMUs {name} are counted on different CPUs: ask for one of them by number");
        return Err(unsupported(message));
    }
    Ok(Resolved { encodings, spread: Spread::Places(cpus.to_vec()), means })
}

/// What one count of an event is, where its PMU says that it is not one.
fn scaled(pmu: &Pmu, terms: &Terms) -> Option<String> {
    let (_, event) = pmu.event_of(terms)?;
    let scale = event.scale?;
    Some(format!("one count is {scale} {}", event.unit.as_deref().unwrap_or("of its unit")))
}

/// An event by its vendor's name, on the core types that have it.
fn by_vendor(machine: &Machine, name: &str) -> Result<Resolved, Absence> {
    let cores = machine.model().cores();
    let found = cores.iter().filter_map(|core| Some((core, vendor::find(core.microarchitecture?, name)?)));
    let mut encodings = Vec::new();
    for (core, event) in found {
        let terms = parse_terms(event.terms)?;
        if let Some(pmu) = event.pmu {
            return on_pmu(machine, pmu, &terms);
        }
        encodings.push(on_core(machine, core, &terms)?);
    }
    match encodings.len() {
        0 => Err(unsupported(foreign(machine, name))),
        _ => Ok(of_core_types(encodings, cores)),
    }
}

/// A portable name: on each core type the event that means it there.
fn by_meaning(machine: &Machine, name: &str) -> Result<Resolved, Absence> {
    let meaning =
        Meaning::find(name).ok_or_else(|| unsupported(format_args!("no table has the name {name}")))?;
    let cores = machine.model().cores();
    let known: Vec<_> = cores.iter().filter_map(|core| Some((core, core.microarchitecture?))).collect();
    if known.is_empty() {
        return Err(unsupported(unknown_model(machine)));
    }
    // Two numbers that count different things have no sum.
    let counted: Vec<_> =
        known.iter().filter_map(|(_, core)| Some((core, meaning.on(*core).ok()?))).collect();
    if let Some(pair) = counted.windows(2).find(|pair| pair[0].1.counts != pair[1].1.counts) {
        let on = |(core, on): &(&Microarchitecture, MeaningOn)| format!("{} on {}", on.event, core.title());
        let (a, b) = (on(&pair[0]), on(&pair[1]));
        return Err(unsupported(format_args!(
            "{} is {a} and {b}, which count different things and have no sum: ask for one of them",
            meaning.name()
        )));
    }
    let (mut encodings, mut missing) = (Vec::new(), None);
    for &(core, microarchitecture) in &known {
        match meaning.on(microarchitecture) {
            Err(none) => {
                missing = Some(format!("{} on {}: {none}", meaning.name(), microarchitecture.title()));
            }
            Ok(on) if on.event.contains('/') => return by_name(machine, &on),
            Ok(on) => match vendor::find(microarchitecture, on.event) {
                Some(event) if event.pmu.is_none() => {
                    encodings.push(on_core(machine, core, &parse_terms(event.terms)?)?);
                }
                _ => return by_name(machine, &on),
            },
        }
    }
    let means = counted.first().map(|(_, on)| provenance(on));
    match missing {
        Some(why) if encodings.is_empty() => Err(unsupported(why)),
        _ => Ok(Resolved { means, ..of_core_types(encodings, cores) }),
    }
}

/// What the event of another PMU, or one without a name, comes to.
fn by_name(machine: &Machine, on: &MeaningOn) -> Result<Resolved, Absence> {
    let event: Event = on.event.parse().map_err(unsupported)?;
    // The tables name events of vendors and PMUs only, which are no portable names again.
    if event.kind() == EventKind::Portable {
        return Err(unsupported(on.event));
    }
    let resolved = resolve(&event, machine)?;
    Ok(Resolved { means: Some(provenance(on)), ..resolved })
}

fn provenance(on: &MeaningOn) -> String {
    format!("{}, in {}: {}; source: {}", on.event, on.unit, on.counts, on.source)
}

fn of_core_types(encodings: Vec<Encoding>, cores: &[CoreModel]) -> Resolved {
    let spread = if cores.len() > 1 { Spread::CoreTypes } else { Spread::One };
    Resolved { encodings, spread, means: None }
}

/// Terms on the PMU of a core type.
fn on_core(machine: &Machine, core: &CoreModel, terms: &Terms) -> Result<Encoding, Absence> {
    let pmus = machine.pmus();
    let exact = pmus.get(core.pmu).ok();
    // On ARM only the beginning of the name is known.
    let mut begins = pmus.iter().into_iter().flatten().filter(|(name, _)| name.starts_with(core.pmu));
    let pmu =
        exact.or_else(|| begins.find_map(|(_, pmu)| pmu.ok().filter(|pmu| pmu.kind() == PmuKind::Core)));
    let Some(pmu) = pmu else {
        return Err(unsupported(NO_CORE_PMU));
    };
    let config = pmu.encode(terms).map_err(unsupported)?;
    implemented(pmu, config)?;
    Ok(Encoding::of(pmu, config))
}

fn parse_terms(terms: &str) -> Result<Terms, Absence> {
    terms.parse().map_err(unsupported)
}

const NO_CORE_PMU: &str =
    "no PMU driver for this processor's cores: run on bare metal, or enable the vPMU on the host";

/// Why a vendor's name says nothing here.
fn foreign(machine: &Machine, name: &str) -> String {
    let cores = machine.model().cores();
    let here: Vec<&str> = cores.iter().filter_map(|core| Some(core.microarchitecture?.title())).collect();
    if here.is_empty() {
        return unknown_model(machine);
    }
    let others: Vec<&str> = vendor::cores_with(name).map(|core| core.title()).collect();
    format!("this processor ({}) has no such event; it is one of {}", here.join(", "), others.join(", "))
}

fn unknown_model(machine: &Machine) -> String {
    let why = machine.model().unknown().map(ToString::to_string);
    why.unwrap_or_else(|| "no table has the events of this processor: use generic or raw events".to_owned())
}

fn unsupported(reason: impl ToString) -> Absence {
    Absence::Unsupported(reason.to_string())
}
