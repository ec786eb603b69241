//! Reading for an audit: files to values, or to the reason why not; values to a judgement.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use super::{Remedy, State, Why};
use crate::cpuset::CpuSet;
use crate::read::Hypervisor;
use crate::read::files::CPU_DIR;
use crate::read::source::Source;
use crate::topology::Topology;
use crate::view::words::cpus;

/// A judgement of one source, before the table says what it means.
pub(super) struct Look {
    pub(super) state: State,
    pub(super) seen: String,
    pub(super) remedy: Option<Remedy>,
}

impl Look {
    pub(super) fn quiet(seen: impl Into<String>) -> Self {
        Self { state: State::Quiet, seen: seen.into(), remedy: None }
    }

    pub(super) fn noisy(seen: impl Into<String>, remedy: Remedy) -> Self {
        Self { state: State::Noisy, seen: seen.into(), remedy: Some(remedy) }
    }

    /// Everything was read, and it does not decide.
    pub(super) fn undecided(seen: impl Into<String>, message: impl Into<String>) -> Self {
        let why = Why::Undecided { message: message.into() };
        Self { state: State::Unknown { why }, seen: seen.into(), remedy: None }
    }

    /// Noisy if a remedy is needed; otherwise unknown if something was not told; otherwise quiet.
    /// What is noisy on the CPUs that told is noisy whatever the others would say.
    pub(super) fn judged(seen: String, remedy: Option<Remedy>, untold: Option<Why>) -> Self {
        match (remedy, untold) {
            (Some(remedy), _) => Self::noisy(seen, remedy),
            (None, Some(why)) => Self::from(why),
            (None, None) => Self::quiet(seen),
        }
    }

    /// The look of a function that ends at the first thing untold.
    pub(super) fn of(outcome: Result<Self, Why>) -> Self {
        outcome.unwrap_or_else(Self::from)
    }
}

impl From<Why> for Look {
    fn from(why: Why) -> Self {
        let seen = match &why {
            Why::Missing { path, .. } => format!("no {}", path.display()),
            Why::Unreadable { path, .. } => format!("{} cannot be read", path.display()),
            Why::Malformed { path, .. } => format!("{} is malformed", path.display()),
            Why::Undecided { .. } => "nothing".to_owned(),
        };
        Self { state: State::Unknown { why }, seen, remedy: None }
    }
}

/// The machine under audit. Paths are relative to its root.
pub(super) struct Machine<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) topology: &'a Topology,
    pub(super) chosen: &'a CpuSet,
    pub(super) hypervisor: Hypervisor,
}

/// What a file said for each chosen CPU.
pub(super) struct EachCpu<T> {
    pub(super) told: BTreeMap<T, CpuSet>,
    /// The first of those that said nothing usable.
    pub(super) untold: Option<Why>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(source: &'a dyn Source, topology: &'a Topology, chosen: &'a CpuSet) -> Self {
        Self { source, topology, chosen, hypervisor: Hypervisor::read(source) }
    }

    /// Gives the core of the first chosen CPU, for the rest of the machine, and the chosen CPUs
    /// that are then left.
    pub(super) fn without_first_core(&self) -> (CpuSet, CpuSet) {
        let first = self.chosen.first().unwrap_or(0);
        let core = self.topology.cores().iter().find(|core| core.cpus.contains(first));
        let kept = core.map_or_else(|| [first].into_iter().collect(), |core| core.cpus.clone());
        let spare = self.chosen.difference(&kept);
        (kept, spare)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.source.name(path)
    }

    /// Reads a file whole.
    pub(super) fn text(&self, path: &str) -> Result<String, Why> {
        let mut text = String::new();
        self.source.read(path, &mut text).map_err(|error| self.why(path, &error))?;
        Ok(text)
    }

    fn why(&self, path: &str, error: &io::Error) -> Why {
        let path = self.path(path);
        match error.kind() {
            // What a missing file means, the table of checks knows.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Why::Missing { path, meaning: "" },
            _ => Why::Unreadable { path, message: error.to_string() },
        }
    }

    /// Reads and parses a file.
    pub(super) fn value<T, E: Display>(
        &self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Why> {
        parse(&self.text(path)?).map_err(|wrong| self.malformed(path, wrong))
    }

    pub(super) fn malformed(&self, path: &str, wrong: impl Display) -> Why {
        Why::Malformed { path: self.path(path), message: wrong.to_string() }
    }

    /// Reads and parses `cpuN/NAME` of each chosen CPU.
    pub(super) fn each_cpu<T: Ord>(&self, name: &str, parse: fn(&str) -> Result<T, String>) -> EachCpu<T> {
        self.each(|cpu| self.value(&format!("{CPU_DIR}/cpu{cpu}/{name}"), parse))
    }

    /// Asks the same of each chosen CPU.
    pub(super) fn each<T: Ord>(&self, ask: impl Fn(u32) -> Result<T, Why>) -> EachCpu<T> {
        let mut each = EachCpu { told: BTreeMap::new(), untold: None };
        for cpu in self.chosen {
            match ask(cpu) {
                Ok(value) => _ = each.told.entry(value).or_insert_with(CpuSet::new).insert(cpu),
                Err(why) => _ = each.untold.get_or_insert(why),
            }
        }
        if self.chosen.is_empty() {
            each.untold = Some(Why::Undecided { message: "no CPU was chosen".to_owned() });
        }
        each
    }

    /// Lists the numbers N of the entries `prefixN` of a directory, ascending.
    pub(super) fn numbered(&self, dir: &str, prefix: &str) -> Result<Vec<u32>, Why> {
        let names = self.source.list(dir).map_err(|error| self.why(dir, &error))?;
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

impl<T: Display> EachCpu<T> {
    /// `powersave on CPUs 0-3, performance on CPU 4`.
    pub(super) fn text(&self) -> String {
        let parts = self.told.iter().map(|(value, set)| format!("{value} on {}", cpus(set)));
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl<T: Ord> EachCpu<T> {
    /// The CPUs whose value is not one of the quiet ones.
    pub(super) fn except(&self, is_quiet: impl Fn(&T) -> bool) -> CpuSet {
        let noisy = self.told.iter().filter(|&(value, _)| !is_quiet(value));
        noisy.fold(CpuSet::new(), |all, (_, set)| all.union(set))
    }
}
