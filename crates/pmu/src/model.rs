//! Which processor this is: the key to the tables of events.

mod cores;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use cores::Microarchitecture;
use cores::Processor;
pub(crate) use cores::{BadLine, expand, lines};

/// The processor of a machine, as far as the kernel tells it.
///
/// Taken from `proc/cpuinfo`, and on ARM from `midr_el1` in sysfs where that says nothing. The instruction
/// `cpuid` is not used: a recorded machine has none, and in a virtual one it costs microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    id: String,
    cores: Vec<CoreModel>,
    unknown: Option<UnknownModel>,
}

/// One type of core of a processor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreModel {
    /// Which core it is. `None`: the tables have no such core, so vendor names and portable meanings cannot
    /// be resolved on it; everything else can.
    pub microarchitecture: Option<Microarchitecture>,
    /// The kernel's name of the PMU that counts on these cores: `cpu`, `cpu_core`, `cpu_atom`. On ARM only
    /// how that name begins, `armv`: the rest depends on the firmware (`armv8_pmuv3_0`, `armv9_neoverse_n2`),
    /// and the PMU's file `cpus` says which of several it is.
    pub pmu: &'static str,
    /// The online logical CPUs with such cores, ascending. Empty for a hybrid x86 processor, where only the
    /// PMU's file `cpus` tells them apart.
    pub cpus: Vec<u32>,
}

/// Why a processor has no row in the tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownModel {
    /// The kernel's description of the processor cannot be read.
    #[error("{}: {cause}; without it only generic and raw events have a meaning", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The description names no model, and `midr_el1` in sysfs does not either.
    #[error("{} names no processor model; use generic or raw events", path.display())]
    Unnamed {
        /// The file.
        path: PathBuf,
    },
    /// The model is none of those in the tables.
    #[error("no event table for processor {id}; use generic events, those of its sysfs PMU, or raw codes")]
    NotListed {
        /// As [`Model::id`].
        id: String,
    },
}

impl Model {
    /// Reads the files below `root`, which is `/` or a recorded machine.
    pub fn read(root: &Path) -> Model {
        let path = root.join("proc/cpuinfo");
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return Model::unknown_because(unreadable(path, &error)),
        };
        let mut cpus = from_cpuinfo(&text);
        if cpus.is_empty() {
            cpus = from_midr(root);
        }
        if cpus.is_empty() {
            return Model::unknown_because(UnknownModel::Unnamed { path });
        }
        let pmus = root.join("sys/bus/event_source/devices");
        Model::of(cpus, |pmu| pmus.join(pmu).exists())
    }

    /// The identification that event lists are keyed by: `GenuineIntel-6-A7-1` (vendor, family, model in
    /// hexadecimal, stepping), `arm-41-D0C` (implementer, part); several of them joined by `+` where cores
    /// differ in it. Empty if the processor could not be identified.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The types of core: one, or on a hybrid processor several. Empty if nothing was found out.
    pub fn cores(&self) -> &[CoreModel] {
        &self.cores
    }

    /// Why some core has no [`CoreModel::microarchitecture`], if so.
    pub fn unknown(&self) -> Option<&UnknownModel> {
        self.unknown.as_ref()
    }

    fn unknown_because(reason: UnknownModel) -> Model {
        Model { id: String::new(), cores: Vec::new(), unknown: Some(reason) }
    }

    fn of(cpus: Vec<(u32, Processor)>, has_pmu: impl Fn(&str) -> bool) -> Model {
        let mut by_type: BTreeMap<Processor, Vec<u32>> = BTreeMap::new();
        for (cpu, processor) in cpus {
            by_type.entry(processor).or_default().push(cpu);
        }
        // The steppings of one x86 machine may differ; its cores do not, as far as this file can tell.
        if let Some(first) = by_type.keys().find(|processor| processor.vendor != "arm").cloned() {
            let mut all: Vec<u32> = by_type.into_values().flatten().collect();
            all.sort_unstable();
            by_type = BTreeMap::from([(first, all)]);
        }
        let ids: Vec<String> = by_type.keys().map(Processor::id).collect();
        let cores: Vec<CoreModel> = by_type
            .into_iter()
            .flat_map(|(processor, cpus)| core_models(&processor, cpus, &has_pmu))
            .collect();
        let id = ids.join("+");
        let strange = cores.iter().any(|core| core.microarchitecture.is_none());
        let unknown = strange.then(|| UnknownModel::NotListed { id: id.clone() });
        Model { id, cores, unknown }
    }
}

fn unreadable(path: PathBuf, error: &std::io::Error) -> UnknownModel {
    UnknownModel::Unreadable { path, cause: error.to_string() }
}

impl Processor {
    fn id(&self) -> String {
        let Processor { vendor, family, model, stepping } = self;
        match vendor.as_str() {
            "arm" => format!("arm-{family:X}-{model:X}"),
            _ => format!("{vendor}-{family}-{model:X}-{stepping}"),
        }
    }
}

/// The core types of one kind of processor, given which PMUs the kernel has made.
fn core_models(processor: &Processor, cpus: Vec<u32>, has_pmu: &impl Fn(&str) -> bool) -> Vec<CoreModel> {
    let model = |(pmu, core), cpus| CoreModel { microarchitecture: core, pmu, cpus };
    let arm = processor.vendor == "arm";
    let listed = cores::of_processor(processor);
    match listed[..] {
        [] if arm => vec![model(("armv", None), cpus)],
        [] if has_pmu("cpu_core") => {
            let present = ["cpu_core", "cpu_atom", "cpu_lowpower"].into_iter().filter(|pmu| has_pmu(pmu));
            present.map(|pmu| model((pmu, None), Vec::new())).collect()
        }
        [] => vec![model(("cpu", None), cpus)],
        [(pmu, core)] => vec![model((pmu, Some(core)), cpus)],
        // A hybrid whose small cores are switched off has one PMU, and the kernel calls it `cpu`.
        [(_, core), ..] if has_pmu("cpu") => vec![model(("cpu", Some(core)), cpus)],
        _ => {
            let some = listed.iter().any(|(pmu, _)| has_pmu(pmu));
            let present = listed.into_iter().filter(|(pmu, _)| !some || has_pmu(pmu));
            present.map(|(pmu, core)| model((pmu, Some(core)), Vec::new())).collect()
        }
    }
}

/// The processors of `/proc/cpuinfo`, one per online logical CPU; those without a model are left out.
fn from_cpuinfo(text: &str) -> Vec<(u32, Processor)> {
    let mut cpus = Vec::new();
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        // A blank line ends a block, but not on every architecture; the next "processor" does on all.
        if key.trim() == "processor" {
            cpus.extend(from_fields(&fields));
            fields.clear();
        }
        fields.insert(key.trim(), value.trim());
    }
    cpus.extend(from_fields(&fields));
    cpus
}

fn from_fields(fields: &BTreeMap<&str, &str>) -> Option<(u32, Processor)> {
    let decimal = |key| fields.get(key)?.parse().ok();
    let hexadecimal = |key| u32::from_str_radix(fields.get(key)?.trim_start_matches("0x"), 16).ok();
    let cpu = decimal("processor")?;
    let processor = match fields.get("vendor_id") {
        Some(vendor) => Processor {
            vendor: (*vendor).to_owned(),
            family: decimal("cpu family")?,
            model: decimal("model")?,
            stepping: decimal("stepping").unwrap_or(0),
        },
        None => arm(hexadecimal("CPU implementer")?, hexadecimal("CPU part")?),
    };
    Some((cpu, processor))
}

fn arm(implementer: u32, part: u32) -> Processor {
    Processor { vendor: "arm".into(), family: implementer, model: part, stepping: 0 }
}

/// The processors of the register MIDR_EL1 in sysfs: implementer in bits 31–24, part in bits 15–4.
fn from_midr(root: &Path) -> Vec<(u32, Processor)> {
    let folder = root.join("sys/devices/system/cpu");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut cpus: Vec<(u32, Processor)> = entries
        .filter_map(|entry| {
            let cpu = entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("regs/identification/midr_el1")).ok()?;
            let midr = u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()?;
            Some((cpu, arm(((midr >> 24) & 0xff) as u32, ((midr >> 4) & 0xfff) as u32)))
        })
        .collect();
    cpus.sort_unstable();
    cpus
}
