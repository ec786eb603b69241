//! Reading of files below a root: the layer that knows paths, and that turns whatever is wrong
//! with a file into a [`Problem`] instead of an end.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::cpulist::{CPU_MAX, ParseCpuListError, parse_list, parse_mask};
use crate::cpuset::CpuSet;
use crate::model::Problem;

/// The directory of the logical CPUs, below the root.
pub(crate) const CPU_DIR: &str = "sys/devices/system/cpu";

/// The most bytes that a file may have. The longest real one, a list of every other CPU of a
/// kernel built for 8 192, is 20 KB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file that holds a set of CPUs: its name, and the parser of its form.
pub(crate) type Source = (&'static str, fn(&str) -> Result<CpuSet, ParseCpuListError>);

/// A source in list form.
pub(crate) const fn list(name: &'static str) -> Source {
    (name, parse_list)
}

/// A source in hexadecimal mask form, all that kernels before 2.6.26 have.
pub(crate) const fn mask(name: &'static str) -> Source {
    (name, parse_mask)
}

/// The files of one machine, and what was wrong with those read so far. Paths are relative to
/// the root.
pub(crate) struct Files<'a> {
    root: &'a Path,
    problems: Vec<Problem>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(root: &'a Path) -> Self {
        let problems = Vec::new();
        Self { root, problems }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn problem(&mut self, path: &str, message: impl Display) {
        let (path, message) = (self.path(path), message.to_string());
        self.problems.push(Problem { path, message });
    }

    /// Reads and parses a file that may well be missing; one that is there and cannot be used is
    /// a problem.
    pub(crate) fn optional<T, E: Display>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = match read_text(&self.path(path)) {
            Ok(text) => text?,
            Err(error) => {
                self.problem(path, format_args!("failed to read: {error}"));
                return None;
            }
        };
        parse(&text).inspect_err(|wrong| self.problem(path, wrong)).ok()
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

    /// Reads the first of the sources that exists and can be used, and says which it was.
    pub(crate) fn cpus(&mut self, dir: &str, sources: &[Source]) -> Option<(String, CpuSet)> {
        sources.iter().find_map(|&(name, parse)| {
            let path = format!("{dir}/{name}");
            let cpus = self.optional(&path, parse)?;
            Some((path, cpus))
        })
    }

    /// Lists, ascending, the numbers N of the entries `prefixN`; `None` when there is no such
    /// directory.
    pub(crate) fn numbered(&mut self, dir: &str, prefix: &str) -> Option<CpuSet> {
        match read_numbers(&self.path(dir), prefix) {
            Ok(numbers) => numbers,
            Err(error) => {
                self.problem(dir, format_args!("failed to list: {error}"));
                None
            }
        }
    }
}

/// Separates "there is none" from "there is one and it cannot be read".
fn unless_missing<T>(error: io::Error) -> io::Result<Option<T>> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        _ => Err(error),
    }
}

fn read_text(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return unless_missing(error),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("longer than {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(Some(text))
}

fn read_numbers(dir: &Path, prefix: &str) -> io::Result<Option<CpuSet>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => return unless_missing(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        numbers.extend(number.filter(|&number: &u32| number <= CPU_MAX));
    }
    Ok(Some(numbers.into_iter().collect()))
}
