//! What the system says of its PMUs: which there are, which events they name, how codes are laid out.
//!
//! ```
//! use tailcore_pmu::sysfs::{Pmus, Slashed};
//!
//! let pmus = Pmus::read("/".as_ref());
//! let typed: Slashed = "uncore_imc/cas_count_read/".parse()?;
//! match pmus.encode(&typed.pmu, &typed.terms) {
//!     Ok(encodings) => {
//!         for (pmu, config) in encodings {
//!             println!("{}: type {}, {config:x?}, on CPUs {:?}", pmu.name(), pmu.type_(), pmu.cpumask());
//!         }
//!     }
//!     Err(reason) => println!("{reason}"),
//! }
//! # Ok::<(), tailcore_pmu::sysfs::TermsError>(())
//! ```
//!
//! [`Pmus`] are the PMUs of a system, [`Pmu`] is one of them; [`Terms`] are what is typed between slashes, and
//! [`Pmu::encode`] turns them into a [`Config`] by the [`Field`]s of the PMU. [`Tracepoint`]s are numbered
//! elsewhere, but like these by files.
//!
//! Everything is read below a root directory, so a copy of another machine's files does as well. Nothing here
//! panics on what is typed or on what the files hold.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

mod encode;
mod format;
mod pattern;
mod pmu;
mod terms;
mod tracepoint;

pub use encode::{EncodeError, TermError};
pub use format::{Config, Field, FieldError, Word};
pub use pmu::{NamedEvent, NamedEventError, Pmu, PmuError, PmuKind};
pub use terms::{Slashed, Term, TermValue, Terms, TermsError};
pub use tracepoint::{Tracepoint, TracepointError, tracepoints};

use pmu::{Content, Files};

/// The PMUs of a system.
///
/// The list is read at once; what a PMU says of itself is read when it is first asked for, and once, because a
/// large server has hundreds of PMUs with dozens of files each.
#[derive(Debug, Clone)]
pub struct Pmus {
    folder: PathBuf,
    list: Result<BTreeMap<String, Entry>, PmuError>,
}

/// What is known of one PMU so far.
type Entry = OnceLock<Result<Pmu, PmuError>>;

impl Pmus {
    /// Lists the PMUs of the system whose files are below `root`: `/` for the running one.
    ///
    /// A list that cannot be read is no error yet: each question about a PMU is answered with the reason.
    pub fn read(root: &Path) -> Pmus {
        let folder = root.join("sys/bus/event_source/devices");
        let list = match names(&folder) {
            Ok(names) => Ok(names.into_iter().map(|name| (name, Entry::new())).collect()),
            Err(kind) => Err(PmuError::NoList { path: folder.display().to_string(), kind }),
        };
        Pmus { folder, list }
    }

    /// Makes a system of these PMUs, to see how events resolve on a machine that is not at hand.
    pub fn of(pmus: impl IntoIterator<Item = Pmu>) -> Pmus {
        let list = pmus.into_iter().map(|pmu| (pmu.name().to_owned(), Entry::from(Ok(pmu)))).collect();
        Pmus { folder: PathBuf::new(), list: Ok(list) }
    }

    /// Visits all PMUs by name, with the reason for those whose description is unusable.
    ///
    /// # Errors
    ///
    /// [`PmuError::NoList`] if it is not known which there are.
    pub fn iter(&self) -> Result<impl Iterator<Item = (&str, Result<&Pmu, &PmuError>)>, PmuError> {
        let list = self.list.as_ref().map_err(Clone::clone)?;
        Ok(list.iter().map(|(name, entry)| (name.as_str(), self.load(name, entry))))
    }

    /// Finds the PMU of exactly this name.
    ///
    /// # Errors
    ///
    /// [`PmuError`] tells a PMU that does not exist from one whose description is unusable.
    pub fn get(&self, name: &str) -> Result<&Pmu, PmuError> {
        let list = self.list.as_ref().map_err(Clone::clone)?;
        let entry = list.get(name).ok_or_else(|| self.no_such(name))?;
        self.load(name, entry).map_err(Clone::clone)
    }

    /// Finds the PMUs that a typed name stands for; at least one, ordered by name.
    ///
    /// The rules are perf's. A PMU of exactly this name is meant alone. Otherwise `uncore_imc`, and `imc` as
    /// well, means `uncore_imc_0`, `uncore_imc_1` and so on, all of which have to be opened and added up, and
    /// `*` and `?` are wildcards. Names that a driver gives as an alias are tried last.
    ///
    /// # Errors
    ///
    /// [`PmuError`], also if the description of one of them is unusable: the sum of the rest would be too low.
    pub fn matching(&self, typed: &str) -> Result<Vec<&Pmu>, PmuError> {
        let list = self.list.as_ref().map_err(Clone::clone)?;
        if list.contains_key(typed) {
            return Ok(vec![self.get(typed)?]);
        }
        let named = list.keys().filter(|name| pattern::stands_for(typed, name));
        let mut found = named.map(|name| self.get(name)).collect::<Result<Vec<_>, _>>()?;
        if found.is_empty() {
            let has_alias = |pmu: &&Pmu| pmu.alias().is_some_and(|alias| pattern::stands_for(typed, alias));
            found = self.usable().filter(has_alias).collect();
        }
        if found.is_empty() { Err(self.no_such(typed)) } else { Ok(found) }
    }

    /// Encodes terms on each PMU that a typed name stands for, as in `uncore_imc/cas_count_read/`.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] names the first PMU at fault and why; [`TermError::OfAnotherPmu`] names the right PMU for
    /// an uncore event that was asked of a core PMU, or the other way round.
    pub fn encode(&self, typed: &str, terms: &Terms) -> Result<Vec<(&Pmu, Config)>, EncodeError> {
        let encode = |pmu| match Pmu::encode(pmu, terms) {
            Ok(config) => Ok((pmu, config)),
            Err(error) => Err(EncodeError::Term(self.with_owners(error))),
        };
        self.matching(typed)?.into_iter().map(encode).collect()
    }

    /// Finds the PMUs that name an event so, for an event that is typed without its PMU.
    pub fn with_event(&self, name: &str) -> Vec<&Pmu> {
        self.usable().filter(|pmu| pmu.event(name).is_some()).collect()
    }

    /// Tells which PMUs do know a name that one does not.
    fn with_owners(&self, error: TermError) -> TermError {
        let TermError::Unknown { pmu, term, .. } = &error else {
            return error;
        };
        let knows = |pmu: &&Pmu| pmu.fields().contains_key(term) || pmu.event(term).is_some();
        let mut owners: Vec<String> = self.usable().filter(knows).map(common_name).collect();
        owners.dedup();
        if owners.is_empty() {
            return error;
        }
        TermError::OfAnotherPmu { pmu: pmu.clone(), term: term.clone(), owners }
    }

    fn no_such(&self, typed: &str) -> PmuError {
        let names = self.list.iter().flat_map(|list| list.keys());
        let names: Vec<&str> = names.map(|name| name.as_ref()).collect();
        // A digit at the end is a number only where there are several.
        let common = |name: &&str| {
            let family = pattern::family(name);
            let several = names.iter().filter(|other| pattern::family(other) == family).count() > 1;
            if several { family.to_owned() } else { (*name).to_owned() }
        };
        let mut known: Vec<String> = names.iter().map(common).collect();
        known.dedup();
        PmuError::NoSuch { pmu: typed.to_owned(), known }
    }

    fn usable(&self) -> impl Iterator<Item = &Pmu> {
        let entries = self.list.iter().flatten();
        entries.filter_map(|(name, entry)| self.load(name, entry).ok())
    }

    fn load<'a>(&self, name: &str, entry: &'a Entry) -> Result<&'a Pmu, &'a PmuError> {
        entry.get_or_init(|| Pmu::from_contents(name, &contents(&self.folder.join(name)))).as_ref()
    }
}

/// The name to type for a PMU: the common one if it is one of several alike.
fn common_name(pmu: &Pmu) -> String {
    // The number of a core PMU is part of its name: armv8_cortex_a72.
    if pmu.is_uncore() { pattern::family(pmu.name()).to_owned() } else { pmu.name().to_owned() }
}

/// What is in the files that describe a PMU. A folder is there only if it cannot be listed.
fn contents(folder: &Path) -> Files {
    let mut paths = ["type", "alias", "cpus", "cpumask"].map(str::to_owned).to_vec();
    let mut files = Files::new();
    for part in ["format", "events", "caps"] {
        match names(&folder.join(part)) {
            Ok(names) => paths.extend(names.iter().map(|name| format!("{part}/{name}"))),
            Err(ErrorKind::NotFound) => {}
            Err(kind) => {
                files.insert(part.to_owned(), Err(kind));
            }
        }
    }
    for path in paths {
        match content(&folder.join(&path)) {
            Err(ErrorKind::NotFound) => {}
            content => {
                files.insert(path, content);
            }
        }
    }
    files
}

/// The names in a directory; those that are not UTF-8 could not be typed, and are left out.
fn names(folder: &Path) -> Result<Vec<String>, ErrorKind> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| error.kind())? {
        let entry = entry.map_err(|error| error.kind())?;
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

/// The text of a file; sysfs gives at most one page, so the rest of a larger one is not worth the memory.
fn content(path: &Path) -> Content {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64 << 10).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| error.kind())
}
