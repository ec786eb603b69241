//! One PMU, as the files of its sysfs directory describe it.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use super::format::{Field, FieldError};
use super::terms::{Terms, TermsError};

/// A performance monitoring unit: something that counts, with events and fields of its own.
///
/// Fields and events that the files describe wrongly are kept as errors, so that the others stay usable.
///
/// Made by [`Pmus`](super::Pmus) from a system, or from the files of a machine that is not at hand:
///
/// ```
/// use tailcore_pmu::sysfs::{Pmu, PmuKind};
///
/// let files = [("type", "14\n"), ("cpumask", "0,24\n"), ("format/event", "config:0-7\n")];
/// let pmu = Pmu::from_files("uncore_imc_0", files)?;
/// assert_eq!((pmu.type_(), pmu.kind()), (14, PmuKind::Uncore));
/// assert_eq!(pmu.cpumask(), Some(&[0, 24][..]));
/// # Ok::<(), tailcore_pmu::sysfs::PmuError>(())
/// ```
///
/// Source: `Documentation/ABI/testing/sysfs-bus-event_source-devices*` of the kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Pmu {
    name: String,
    type_: u32,
    alias: Option<String>,
    cpus: Option<Vec<u32>>,
    cpumask: Option<Vec<u32>>,
    fields: BTreeMap<String, Result<Field, FieldError>>,
    events: BTreeMap<String, Result<NamedEvent, NamedEventError>>,
    caps: BTreeMap<String, String>,
}

/// What a PMU counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PmuKind {
    /// Logical CPUs: it counts for whatever thread runs on them.
    Core,
    /// Something that CPUs share, such as a memory controller. It cannot tell threads apart, and is opened
    /// once on each CPU of its [`cpumask`](Pmu::cpumask).
    Uncore,
    /// Neither: the kernel itself, or a device whose description does not say.
    Other,
}

/// An event that a PMU names, in a file of `events/`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NamedEvent {
    /// What it stands for.
    pub terms: Terms,
    /// What a count has to be multiplied by to be in `unit`; `None`: it is a plain count.
    pub scale: Option<f64>,
    /// The unit of a scaled count, such as `MiB` or `Joules`.
    pub unit: Option<String>,
    /// Whether the count is that of the package, so that it must be taken on one CPU only.
    pub per_package: bool,
    /// Whether the value is a state (bytes occupied now) and not a count that grows.
    pub snapshot: bool,
}

/// Why an event that a PMU names cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedEventError {
    /// Its file holds no list of terms.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Its scale is no number, so that a count would have an unknown unit.
    #[error("its scale {content:?} is no finite number")]
    Scale {
        /// The content of the `.scale` file.
        content: String,
    },
    /// A file of it cannot be read.
    #[error("its file cannot be read: {kind}")]
    Unreadable {
        /// What the system said.
        kind: ErrorKind,
    },
}

/// Why there is no such PMU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PmuError {
    /// The list of PMUs cannot be had.
    #[error(
        "no PMU is known: {path} cannot be listed: {kind}; is sysfs mounted, and the kernel built with perf?"
    )]
    NoList {
        /// The directory that lists the PMUs.
        path: String,
        /// What the system said.
        kind: ErrorKind,
    },
    /// No PMU of this system is named so.
    #[error("PMU {pmu:?}: this system has none of that name; it has {}", listed(known))]
    NoSuch {
        /// What was typed.
        pmu: String,
        /// The PMUs of the system, numbered ones under their common name.
        known: Vec<String>,
    },
    /// A file of its description cannot be read.
    #[error("PMU {pmu:?}: its file {file} cannot be read: {kind}")]
    Unreadable {
        /// The name of the PMU.
        pmu: String,
        /// The file, below the directory of the PMU.
        file: String,
        /// What the system said.
        kind: ErrorKind,
    },
    /// A file of its description makes no sense.
    #[error("PMU {pmu:?}: its file {file} holds {content:?}, which is no {expected}")]
    Malformed {
        /// The name of the PMU.
        pmu: String,
        /// The file, below the directory of the PMU.
        file: &'static str,
        /// What the file holds.
        content: String,
        /// What it should hold.
        expected: &'static str,
    },
}

/// The names in a message.
pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What is in a file, or why that cannot be known.
pub(super) type Content = Result<String, ErrorKind>;

/// The contents of files by their path below the directory of the PMU.
pub(super) type Files = BTreeMap<String, Content>;

impl Pmu {
    /// Makes a PMU from the contents of its files, named as below its directory: `type`, `format/event`,
    /// `events/cpu-cycles`, `events/energy-pkg.scale`, `cpus`, `cpumask`, `alias`, `caps/max_precise`. Others are
    /// ignored.
    ///
    /// # Errors
    ///
    /// [`PmuError`] if `type` is missing or no number, or a list of CPUs is none.
    pub fn from_files<P: Into<String>, C: Into<String>>(
        name: &str,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Result<Pmu, PmuError> {
        let files = files.into_iter().map(|(path, content)| (path.into(), Ok(content.into())));
        Pmu::from_contents(name, &files.collect())
    }

    pub(super) fn from_contents(name: &str, files: &Files) -> Result<Pmu, PmuError> {
        let description = Description { name, files };
        for folder in ["format", "events", "caps"] {
            // Only there if it could not be listed.
            description.text(folder)?;
        }
        let missing = || PmuError::Unreadable {
            pmu: name.to_owned(),
            file: "type".to_owned(),
            kind: ErrorKind::NotFound,
        };
        let type_ = description.parsed("type", "number of a PMU", |text| text.parse().ok())?;
        Ok(Pmu {
            name: name.to_owned(),
            type_: type_.ok_or_else(missing)?,
            alias: description.text("alias")?.map(|text| text.trim().to_owned()),
            cpus: description.parsed("cpus", "list of CPUs", cpu_list)?,
            cpumask: description.parsed("cpumask", "list of CPUs", cpu_list)?,
            fields: description.folder("format").map(|(name, content)| (name, field(content))).collect(),
            events: description.events(),
            caps: description
                .folder("caps")
                .filter_map(|(name, content)| Some((name, content.as_ref().ok()?.trim().to_owned())))
                .collect(),
        })
    }

    /// Gives the name, as in `cpu/…/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the number that `perf_event_attr.type` wants.
    pub fn type_(&self) -> u32 {
        self.type_
    }

    /// Gives the other name that some drivers have for the same PMU.
    pub fn alias(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Says what the PMU counts for.
    ///
    /// Sysfs does not say it outright. This is perf's reading: a PMU with a file `cpus` (one core type of
    /// several, and every one of Arm), and those named `cpu` or `cpum_cf`, count for logical CPUs; of the
    /// others, one with a `cpumask` is uncore.
    pub fn kind(&self) -> PmuKind {
        if self.cpus.is_some() || ["cpu", "cpum_cf"].contains(&self.name.as_str()) {
            PmuKind::Core
        } else if self.cpumask.is_some() {
            PmuKind::Uncore
        } else {
            PmuKind::Other
        }
    }

    /// Says whether an event has to be opened on each CPU of [`cpumask`](Self::cpumask) instead of a thread.
    pub fn is_uncore(&self) -> bool {
        self.kind() == PmuKind::Uncore
    }

    /// Gives the logical CPUs that a core PMU counts for, ascending; `None` if it does not say, which means
    /// all.
    pub fn cpus(&self) -> Option<&[u32]> {
        self.cpus.as_deref()
    }

    /// Gives the logical CPUs to open an event on, one for each thing that is counted for, ascending; empty
    /// when all those CPUs are offline. `None` if the PMU has no such list.
    pub fn cpumask(&self) -> Option<&[u32]> {
        self.cpumask.as_deref()
    }

    /// Gives the fields of an event code, by name.
    pub fn fields(&self) -> &BTreeMap<String, Result<Field, FieldError>> {
        &self.fields
    }

    /// Gives the events that the PMU names.
    pub fn events(&self) -> &BTreeMap<String, Result<NamedEvent, NamedEventError>> {
        &self.events
    }

    /// Finds an event by name; letter case counts only if two events differ in nothing else.
    pub fn event(&self, name: &str) -> Option<(&str, &Result<NamedEvent, NamedEventError>)> {
        let exact = self.events.get_key_value(name);
        let found = exact.or_else(|| self.events.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)));
        found.map(|(name, event)| (name.as_str(), event))
    }

    /// Gives the capabilities, such as `max_precise`, as text by name; those that cannot be read are left out.
    pub fn caps(&self) -> &BTreeMap<String, String> {
        &self.caps
    }
}

/// The files of a PMU that is being read.
struct Description<'a> {
    name: &'a str,
    files: &'a Files,
}

impl<'a> Description<'a> {
    /// The content of a file; `None` if there is no such file.
    fn text(&self, file: &str) -> Result<Option<&'a str>, PmuError> {
        match self.files.get(file) {
            None => Ok(None),
            Some(Ok(content)) => Ok(Some(content)),
            Some(Err(kind)) => {
                Err(PmuError::Unreadable { pmu: self.name.to_owned(), file: file.to_owned(), kind: *kind })
            }
        }
    }

    fn parsed<T>(
        &self,
        file: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, PmuError> {
        let Some(content) = self.text(file)? else {
            return Ok(None);
        };
        let malformed = || {
            let (pmu, content) = (self.name.to_owned(), content.to_owned());
            PmuError::Malformed { pmu, file, content, expected }
        };
        parse(content.trim()).ok_or_else(malformed).map(Some)
    }

    /// The files in a folder by name.
    fn folder(&self, folder: &str) -> impl Iterator<Item = (String, &'a Content)> {
        let start = format!("{folder}/");
        self.files
            .iter()
            .filter_map(move |(path, content)| Some((path.strip_prefix(&start)?.to_owned(), content)))
    }

    fn events(&self) -> BTreeMap<String, Result<NamedEvent, NamedEventError>> {
        let about = [".scale", ".unit", ".per-pkg", ".snapshot"];
        self.folder("events")
            .filter(|(name, _)| !about.iter().any(|suffix| name.ends_with(suffix)))
            .map(|(name, content)| {
                let event = self.event(&name, content);
                (name, event)
            })
            .collect()
    }

    fn event(&self, name: &str, content: &Content) -> Result<NamedEvent, NamedEventError> {
        let about = |suffix: &str| match self.files.get(&format!("events/{name}.{suffix}")) {
            None => Ok(None),
            Some(Ok(content)) => Ok(Some(content.trim().to_owned())),
            Some(Err(kind)) => Err(NamedEventError::Unreadable { kind: *kind }),
        };
        let content = content.as_ref().map_err(|kind| NamedEventError::Unreadable { kind: *kind })?;
        Ok(NamedEvent {
            terms: content.parse()?,
            scale: about("scale")?.map(scale).transpose()?,
            unit: about("unit")?,
            per_package: about("per-pkg")?.is_some_and(|text| text == "1"),
            // perf asks no more than whether the file exists.
            snapshot: about("snapshot")?.is_some(),
        })
    }
}

fn scale(content: String) -> Result<f64, NamedEventError> {
    let number = content.parse().ok().filter(|scale: &f64| scale.is_finite());
    number.ok_or(NamedEventError::Scale { content })
}

fn field(content: &Content) -> Result<Field, FieldError> {
    content.as_ref().map_err(|kind| FieldError::Unreadable { kind: *kind })?.parse()
}

/// More CPUs than any kernel is built for, so that a broken file cannot make a list of billions.
const MAX_CPUS: u32 = 1 << 20;

/// The CPUs of a list such as `0-3,8`, ascending; empty for an empty text.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| text.parse().ok().filter(|&cpu: &u32| cpu < MAX_CPUS && !text.starts_with('+'));
    let mut cpus = Vec::new();
    for range in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        // Ranges that overlap would grow the list without end.
        if first > last || cpus.len() > MAX_CPUS as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0,24"), Some(vec![0, 24]));
        assert_eq!(cpu_list("8,0-3,2"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list(""), Some(vec![]));
        for text in ["a", "1-", "-1", "3-1", "1,,2", ",", "+1", "0-4294967295", "99999999999", "1 2"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
        assert_eq!(cpu_list(&["0-1048575"; 1000].join(",")), None);
    }

    #[test]
    fn kinds_by_name_and_files() {
        let cases = [
            ("cpu", ("caps/x", ""), PmuKind::Core),
            ("cpu_atom", ("cpus", "16-31\n"), PmuKind::Core),
            ("armv8_cortex_a72", ("cpus", "0-1\n"), PmuKind::Core),
            ("uncore_imc_0", ("cpumask", "0,24\n"), PmuKind::Uncore),
            ("power", ("cpumask", "\n"), PmuKind::Uncore),
            ("msr", ("caps/x", ""), PmuKind::Other),
        ];
        for (name, file, kind) in cases {
            let files = [("type", "7"), file];
            assert_eq!(Pmu::from_files(name, files).unwrap().kind(), kind, "{name}");
        }
    }

    #[test]
    fn a_description_that_makes_no_sense_names_its_file() {
        let message =
            |files: &[(&str, &str)]| Pmu::from_files("cpu", files.iter().copied()).unwrap_err().to_string();
        assert_eq!(message(&[]), r#"PMU "cpu": its file type cannot be read: entity not found"#);
        let no_number = r#"PMU "cpu": its file type holds "x\n", which is no number of a PMU"#;
        assert_eq!(message(&[("type", "x\n")]), no_number);
        assert!(message(&[("type", "-1")]).contains("type"));
        assert!(message(&[("type", "4"), ("cpus", "0-")]).contains("cpus"));
        assert!(message(&[("type", "4"), ("cpumask", "00000003,x")]).contains("cpumask"));
    }

    #[test]
    fn events_come_with_what_their_companion_files_say() {
        let files = [
            ("type", "22"),
            ("events/energy-pkg", "event=0x02"),
            ("events/energy-pkg.scale", "2.3283064365386962890625e-10\n"),
            ("events/energy-pkg.unit", "Joules\n"),
            ("events/llc_occupancy", "event=0x01"),
            ("events/llc_occupancy.per-pkg", "1"),
            ("events/llc_occupancy.snapshot", "1"),
            ("events/no.unit", "of an event that is not there"),
        ];
        let pmu = Pmu::from_files("power", files).unwrap();
        assert_eq!(pmu.events().len(), 2);
        let energy = pmu.events()["energy-pkg"].as_ref().unwrap();
        assert_eq!((energy.scale, energy.unit.as_deref()), (Some(2_f64.powi(-32)), Some("Joules")));
        assert!(!energy.per_package && !energy.snapshot);
        let occupancy = pmu.event("LLC_Occupancy").unwrap().1.as_ref().unwrap();
        assert_eq!((occupancy.scale, occupancy.per_package, occupancy.snapshot), (None, true, true));
    }

    #[test]
    fn a_broken_event_or_field_leaves_the_others() {
        let files = [
            ("type", "4"),
            ("format/event", "config:0-7"),
            ("format/broken", "config:9-1"),
            ("events/good", "event=1"),
            ("events/broken", "event="),
            ("events/empty", "\n"),
            ("events/power", "event=2"),
            ("events/power.scale", "inf"),
        ];
        let pmu = Pmu::from_files("cpu", files).unwrap();
        let broken: Vec<&String> =
            pmu.events().iter().filter(|(_, event)| event.is_err()).map(|e| e.0).collect();
        assert_eq!(broken, ["broken", "empty", "power"]);
        assert!(pmu.fields()["event"].is_ok() && pmu.fields()["broken"].is_err());
    }
}
