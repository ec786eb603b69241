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
    /// Whether both would be written to the same place.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        let place =
            |file: &Self| file.path.canonicalize().or_else(|_| file.partial_path().canonicalize()).ok();
        place(self).is_some_and(|mine| Some(mine) == place(other))
    }

    fn partial_path(&self) -> &Path {
        self.partial.as_deref().unwrap_or(&self.path)
    }

    /// Opens the file. An existing result is only replaced by [`OutputFile::write`].
    pub(crate) fn prepare(path: &Path) -> Result<Self, UsageError> {
        let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let refused = |error: io::Error| {
            UsageError(format!(
                "cannot write {}: {error}; give a file in a folder that exists and is writable",
                path.display()
            ))
        };
        // A trailing slash names a folder, also one that does not exist.
        if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        if is_special {
            let file = File::options().write(true).open(path).map_err(refused)?;
            return Ok(Self { path: path.to_owned(), partial: None, file });
        }
        if path.is_symlink() && !path.exists() {
            return Err(refused(io::Error::new(
                io::ErrorKind::NotFound,
                "it is a link that points to nothing",
            )));
        }
        // A link keeps pointing at the result; what it points at is replaced.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut name = path.file_name().unwrap_or_default().to_owned();
        // The process id keeps two runs, and a user's own file of such a name, apart.
        name.push(format!(".{}.partial", std::process::id()));
        let partial = path.with_file_name(name);
        let file = File::create(&partial).map_err(refused)?;
        // Who could read the old result can read the new one, and nobody else.
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions()).map_err(refused)?;
        }
        Ok(Self { path: path.to_owned(), partial: Some(partial), file })
    }

    /// Writes the content and gives the file its name.
    pub(crate) fn write(mut self, content: &[u8]) -> anyhow::Result<()> {
        self.file
            .write_all(content)
            .and_then(|()| self.file.flush())
            .and_then(|()| match &self.partial {
                Some(partial) => fs::rename(partial, &self.path),
                None => Ok(()),
            })
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.take() {
            fs::remove_file(partial).ok();
        }
    }
}

/// Where one form of the result goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Nowhere.
    Unwanted,
    /// To standard output, instead of the table.
    Stdout,
    /// To a file.
    File(OutputFile),
}

impl Destination {
    /// What a path typed after `--json` or `--hgrm` means; proves files writable.
    pub(crate) fn prepare(path: Option<&Path>) -> Result<Self, UsageError> {
        match path {
            None => Ok(Self::Unwanted),
            Some(path) if path == Path::new("-") => Ok(Self::Stdout),
            Some(path) => OutputFile::prepare(path).map(Self::File),
        }
    }
}
