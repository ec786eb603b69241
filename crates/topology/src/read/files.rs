//! Reading of the files of one machine: the layer that knows paths, and that turns whatever is
//! wrong with a file into a [`Problem`] instead of an end.

use std::fmt::Display;
use std::io::{self, ErrorKind};

use crate::cpulist::{CPU_MAX, ParseCpuListError, parse_list, parse_mask};
use crate::cpuset::CpuSet;
use crate::model::Problem;
use crate::read::source::Source;

/// The directory of the logical CPUs, below the root.
pub(crate) const CPU_DIR: &str = "sys/devices/system/cpu";

/// A file that holds a set of CPUs: its name, and the parser of its form.
pub(crate) type Form = (&'static str, fn(&str) -> Result<CpuSet, ParseCpuListError>);

/// A file in list form.
pub(crate) const fn list(name: &'static str) -> Form {
    (name, parse_list)
}

/// A file in hexadecimal mask form; all that kernels before 2.6.26 have.
pub(crate) const fn mask(name: &'static str) -> Form {
    (name, parse_mask)
}

/// The files that may hold one and the same set, best first, and which of them a machine has.
///
/// The kernel writes the mask and the list from the same bits. Recordings are less consistent:
/// most other programs read the masks, so these are recorded always, and repaired when somebody
/// repairs a recording. Hence masks go first.
pub(crate) struct Forms {
    forms: &'static [Form],
    /// The one that was there last time: a kernel has it for all CPUs or for none, and each open
    /// of a file that is not there costs as much as one that is.
    usual: usize,
}

impl Forms {
    pub(crate) const fn of(forms: &'static [Form]) -> Self {
        Self { forms, usual: 0 }
    }

    /// The path of the file that was there last time.
    pub(crate) fn path(&self, dir: &str) -> String {
        format!("{dir}/{}", self.forms[self.usual].0)
    }
}

/// The files of one machine, and what was wrong with those read so far. Paths are relative to
/// the root.
pub(crate) struct Files<'a> {
    source: &'a dyn Source,
    problems: Vec<Problem>,
    /// Kept from file to file for its memory.
    text: String,
}

impl<'a> Files<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self { source, problems: Vec::new(), text: String::new() }
    }

    pub(crate) fn source(&self) -> &'a dyn Source {
        self.source
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Counts the problems until now.
    pub(crate) fn problems(&self) -> usize {
        self.problems.len()
    }

    pub(crate) fn problem(&mut self, path: &str, message: impl Display) {
        let (path, message) = (self.source.name(path), message.to_string());
        self.problems.push(Problem { path, message });
    }

    /// Reads and parses a file that may well be missing; one that is there and cannot be used is
    /// a problem.
    pub(crate) fn optional<T, E: Display>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.text.clear();
        match self.source.read(path, &mut self.text) {
            Ok(()) => {}
            Err(error) if is_missing(&error) => return None,
            Err(error) => {
                self.problem(path, format_args!("failed to read: {error}"));
                return None;
            }
        }
        // Some versions of the kernel write a zero byte at the end, before or behind the line break.
        match parse(self.text.trim_end_matches(['\0', '\n'])) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.problem(path, wrong);
                None
            }
        }
    }

    /// Reads and parses a file whose absence is a problem as well.
    pub(crate) fn required<T, E: Display>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let problems_before = self.problems.len();
        let value = self.optional(path, parse);
        if value.is_none() && self.problems.len() == problems_before {
            self.problem(path, "is missing");
        }
        value
    }

    /// Reads the first of the forms that exists and can be used; [`Forms::path`] then says which.
    pub(crate) fn cpus(&mut self, dir: &str, forms: &mut Forms) -> Option<CpuSet> {
        let usual = forms.usual;
        let rest = (0..forms.forms.len()).filter(|&form| form != usual);
        for form in std::iter::once(usual).chain(rest) {
            let (name, parse) = forms.forms[form];
            let path = format!("{dir}/{name}");
            if let Some(cpus) = self.optional(&path, parse) {
                forms.usual = form;
                return Some(cpus);
            }
        }
        None
    }

    /// Reads what can be used of the forms that were not the one last time.
    pub(crate) fn other_forms(&mut self, dir: &str, forms: &Forms) -> Vec<CpuSet> {
        let others = forms.forms.iter().enumerate().filter(|&(form, _)| form != forms.usual);
        others.filter_map(|(_, &(name, parse))| self.optional(&format!("{dir}/{name}"), parse)).collect()
    }

    /// Lists the names in a directory; `None` when there is no such directory.
    pub(crate) fn names(&mut self, dir: &str) -> Option<Vec<String>> {
        match self.source.list(dir) {
            Ok(names) => Some(names),
            Err(error) if is_missing(&error) => None,
            Err(error) => {
                self.problem(dir, format_args!("failed to list: {error}"));
                None
            }
        }
    }

    /// Gives the numbers N of the entries `prefixN` of a directory; `None` when there is no such
    /// directory.
    pub(crate) fn numbered(&mut self, dir: &str, prefix: &str) -> Option<CpuSet> {
        let names = self.names(dir)?;
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok().filter(|&n: &u32| n <= CPU_MAX);
        Some(names.iter().filter_map(number).collect())
    }
}

/// Separates "there is none" from "there is one and it cannot be read".
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
