//! What a guest has beside the program: a stock kernel and busybox, from Debian's own packages.
//!
//! They are downloaded once and unpacked without installing.

use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::apt::Apt;
use super::machine::Machine;
use super::{Missing, output_of};

/// A kernel and busybox for one architecture, in a folder of the cache.
pub(super) struct Stock {
    pub(super) folder: PathBuf,
}

impl Stock {
    pub(super) fn kernel(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    pub(super) fn busybox(&self) -> PathBuf {
        self.folder.join("busybox")
    }

    /// Takes the files from the cache, and downloads them if they are not there.
    pub(super) fn get(machine: &Machine, cache: &Path) -> Result<Self> {
        let stock = Self { folder: cache.join(machine.architecture) };
        if stock.is_complete() {
            return Ok(stock);
        }
        // Apart, and moved when it is whole: an interrupted download must not pass for a cache.
        let partial = cache.join(format!("{}-partial-{}", machine.architecture, std::process::id()));
        let partial = path::absolute(&partial).with_context(|| format!("no folder `{}`", cache.display()))?;
        let filled = stock.fill(machine, &partial);
        fs::remove_dir_all(&partial).ok();
        filled.map(|()| stock)
    }

    fn is_complete(&self) -> bool {
        self.kernel().is_file() && self.busybox().is_file()
    }

    fn fill(&self, machine: &Machine, partial: &Path) -> Result<()> {
        println!(
            "downloading a kernel and busybox for {} into `{}`",
            machine.architecture,
            self.folder.display()
        );
        let unpacked = partial.join("unpacked");
        let failed = |path: &Path| format!("failed to write `{}`", path.display());
        fs::create_dir_all(&unpacked).with_context(|| failed(&unpacked))?;
        download(machine, partial)
            .map_err(|error| Missing(format!("no kernel could be downloaded: {error:#}")))?;
        for entry in fs::read_dir(partial).with_context(|| failed(partial))? {
            let path = entry.with_context(|| failed(partial))?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                output_of(Command::new("dpkg").arg("--extract").arg(path).arg(&unpacked))?;
            }
        }
        fs::create_dir_all(&self.folder).with_context(|| failed(&self.folder))?;
        // busybox before the kernel and by renaming: a cache that has the kernel is complete.
        for (places, file) in [(&["bin", "usr/bin"][..], self.busybox()), (&["boot"], self.kernel())] {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let found = find(&unpacked, places, &name).with_context(|| format!("no package has `{name}`"))?;
            fs::rename(found, &file).with_context(|| failed(&file))?;
        }
        Ok(())
    }
}

/// Downloads the kernel that the machine's kernel package depends on, and busybox.
fn download(machine: &Machine, folder: &Path) -> Result<()> {
    let Machine { architecture, kernel_package, .. } = machine;
    let apt = Apt::new(folder, architecture)?;
    let depends = apt.depends(kernel_package).with_context(|| {
        format!("apt knows no {kernel_package} for {architecture}; are Debian's servers within reach?")
    })?;
    let kernel = kernel_among(&depends).with_context(|| format!("{kernel_package} depends on no kernel"))?;
    apt.download(&[kernel, "busybox-static"])
}

/// The kernel among what `apt-cache depends` printed; a package like `linux-image-cloud-amd64` depends on
/// one, the newest.
fn kernel_among(depends: &str) -> Option<&str> {
    let packages = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    packages.map(str::trim).find(|package| package.starts_with("linux-image-"))
}

/// The file whose name begins with `name`, in the first of the `places` that has one.
fn find(unpacked: &Path, places: &[&str], name: &str) -> Option<PathBuf> {
    let entries = places.iter().filter_map(|place| fs::read_dir(unpacked.join(place)).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.into_iter().find(|path| {
        path.file_name().is_some_and(|found| found.as_encoded_bytes().starts_with(name.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_found_among_what_is_depended_on() {
        let depends = "linux-image-cloud-arm64\n  PreDepends: dpkg\n  Depends: linux-base\n  \
             Depends: linux-image-6.1.0-56-cloud-arm64\n";
        assert_eq!(kernel_among(depends), Some("linux-image-6.1.0-56-cloud-arm64"));
        assert_eq!(kernel_among("linux-image-cloud-arm64\n"), None);
    }
}
