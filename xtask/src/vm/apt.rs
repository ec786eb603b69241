//! Debian's packages for any architecture, without rights and without a trace in the system.
//!
//! apt gets a state of its own in a folder: it asks the servers that the system asks, and trusts the keys
//! that the system trusts, but its lists, its cache and its idea of the architecture are apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::output_of;

/// The packages of one architecture.
pub(super) struct Apt<'a> {
    folder: &'a Path,
    settings: PathBuf,
}

impl<'a> Apt<'a> {
    /// Gets the lists of `architecture` into `folder`, which must be absolute and exist.
    pub(super) fn new(folder: &'a Path, architecture: &str) -> Result<Self> {
        let apt = Self { folder, settings: folder.join("apt.conf") };
        let failed = || format!("failed to write to `{}`", folder.display());
        // apt makes neither where the system does not have them.
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part)).with_context(failed)?;
        }
        fs::write(&apt.settings, settings(folder, architecture)).with_context(failed)?;
        output_of(apt.command("apt-get").arg("update"))?;
        Ok(apt)
    }

    /// What `package` depends on, as `apt-cache depends` prints it; it fails if there is no such package.
    pub(super) fn depends(&self, package: &str) -> Result<String> {
        output_of(self.command("apt-cache").args(["depends", package]))
    }

    /// Downloads packages into the folder.
    pub(super) fn download(&self, packages: &[&str]) -> Result<()> {
        output_of(self.command("apt-get").arg("download").args(packages)).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("--config-file").arg(&self.settings).current_dir(self.folder).env("LC_ALL", "C");
        command
    }
}

/// What differs from the system's settings.
fn settings(folder: &Path, architecture: &str) -> String {
    let folder = folder.display();
    format!(
        r#"APT::Architecture "{architecture}";
#clear APT::Architectures;
APT::Architectures "{architecture}";
Dir::State "{folder}/state";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
Acquire::Languages "none";
Acquire::Retries "3";
// The user of apt's sandbox may not write to a folder of ours.
APT::Sandbox::User "root";
// These tell the system about lists that are not the system's.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"#
    )
}
