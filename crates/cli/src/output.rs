//! Where results go: standard output, and files that are either whole or not there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::exit::UsageError;

/// Prints to standard output. A reader that has gone away (`| head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// JSON with line breaks and a final one.
pub(crate) fn pretty_json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(value).context("cannot write the result as JSON")?;
    text.push('\n');
    Ok(text)
}

/// A file that will be written after the run, proven writable before it.
///
/// A regular file is written under a temporary name and renamed, so that a reader never sees half
/// a result; anything else (`/dev/stdout`, a pipe) is written directly.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    /// The name written to first; `None` for what cannot be renamed.
    partial: Option<PathBuf>,
    file: File,
}

impl OutputFile {
    /// Opens the file. An existing result is only replaced by [`OutputFile::write`].
    pub(crate) fn prepare(path: &Path) -> Result<Self, UsageError> {
        let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let refused = |error: io::Error| {
            UsageError(format!(
                "cannot write {}: {error}; give a file in a folder that exists and is writable",
                path.display()
            ))
        };
        if path.is_dir() {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        if is_special {
            let file = File::options().write(true).open(path).map_err(refused)?;
            return Ok(Self { path: path.to_owned(), partial: None, file });
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial).map_err(refused)?;
        Ok(Self { path: path.to_owned(), partial: Some(partial), file })
    }

    /// Writes the content and gives the file its name.
    pub(crate) fn write(mut self, content: &[u8]) -> anyhow::Result<()> {
        self.file
            .write_all(content)
            .and_then(|()| self.file.flush())
            .and_then(|()| match self.partial.take() {
                Some(partial) => fs::rename(partial, &self.path),
                None => Ok(()),
            })
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.take() {
            fs::remove_file(partial).ok();
        }
    }
}

/// Writes `content`, or prints it to standard output if that fails: what was measured is not lost.
///
/// Returns whether the file was written.
pub(crate) fn write_or_print(file: OutputFile, content: &str) -> anyhow::Result<bool> {
    match file.write(content.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) => {
            eprintln!("tailcore: {error:#}; its content follows on standard output");
            print(content)?;
            Ok(false)
        }
    }
}
