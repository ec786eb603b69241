//! `cargo xtask vm MACHINE`: runs a test binary for real on a machine that this one is not.
//!
//! QEMU emulates the processor in software, so neither hardware help nor rights are needed; the
//! kernel is a stock one of Debian. The test binary is linked statically and is, next to busybox,
//! all there is in the guest.

mod apt;
mod archive;
mod guest;
mod machine;
mod program;
mod stock;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::guest::Guest;
pub(crate) use self::machine::{Machine, names as machine_names};
use self::stock::Stock;
use crate::tools;

/// Something that this machine lacks: a reason to skip, unless it is required.
#[derive(Debug)]
struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Runs the machine's tests in each of its forms and gives the worst exit status.
///
/// Where something is missing, says so and succeeds, unless the variable `TAILCORE_REQUIRE`
/// (a list, separated by commas) holds `vm-` and the machine's name.
pub(crate) fn run(root: &Path, machine: &Machine) -> Result<ExitCode> {
    let required = std::env::var("TAILCORE_REQUIRE").unwrap_or_default();
    run_tests(root, machine).or_else(|error| skip(machine, error, &required))
}

fn run_tests(root: &Path, machine: &Machine) -> Result<ExitCode> {
    find_emulator(machine)?;
    program::find_target(machine)?;
    let stock = Stock::get(machine, &cache_folder(root))?;
    let program = program::build(root, machine)?;
    let initrd = Scratch(stock.folder.join(format!("initrd-{}.cpio", std::process::id())));
    guest::write_initrd(&initrd.0, &stock, &program)?;
    let mut worst = 0;
    for form in machine.forms {
        let begin = Instant::now();
        let status = Guest { machine, form, kernel: &stock.kernel(), initrd: &initrd.0 }.run()?;
        let seconds = begin.elapsed().as_secs_f64();
        println!("vm {}: the tests ended with status {status}; {seconds:.1} s in the guest", form.name);
        worst = worst.max(status);
    }
    Ok(ExitCode::from(worst))
}

/// A file that goes with its owner, whether it was written or not.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                eprintln!("warning: `{}` could not be removed: {error}", self.0.display());
            }
            _ => {}
        }
    }
}

/// Turns what is missing into a skip, unless `required` holds the machine.
fn skip(machine: &Machine, error: anyhow::Error, required: &str) -> Result<ExitCode> {
    let missing = error.downcast::<Missing>()?;
    let name = format!("vm-{}", machine.name);
    if required.split(',').any(|wanted| wanted.trim() == name) {
        bail!("TAILCORE_REQUIRE names `{name}`, but {missing}");
    }
    println!("skipped vm {}: {missing}", machine.name);
    Ok(ExitCode::SUCCESS)
}

fn find_emulator(machine: &Machine) -> Result<()> {
    let mut command = Command::new(machine.emulator);
    let started = command.arg("--version").stdout(Stdio::null()).status();
    started.map(drop).map_err(|error| {
        let (emulator, package) = (machine.emulator, machine.emulator_package);
        Missing(format!("cannot start `{emulator}`: {error}; install the package {package}")).into()
    })
}

/// Where kernels stay between runs: below the target folder, unless `TAILCORE_VM_CACHE` names another.
fn cache_folder(root: &Path) -> PathBuf {
    if let Some(folder) = std::env::var_os("TAILCORE_VM_CACHE") {
        return folder.into();
    }
    tools::target_folder(root).join("vm")
}

/// Runs a command to its end and gives what it printed; a program that is not there is [`Missing`].
fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Missing(format!("there is no `{name}` here")).into(),
        _ => anyhow::Error::new(error).context(format!("failed to start `{name}`")),
    })?;
    if !output.status.success() {
        bail!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{name}` printed what is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing() -> anyhow::Error {
        Missing("there is no kernel".to_owned()).into()
    }

    #[test]
    fn what_is_missing_is_a_skip_unless_it_is_required() {
        let machine = Machine::from_name("topology").unwrap();
        assert!(skip(machine, missing(), "").is_ok());
        assert!(skip(machine, missing(), "memcached,vm-pmu").is_ok());
        let refused = skip(machine, missing(), "memcached, vm-topology").unwrap_err();
        assert!(refused.to_string().contains("but there is no kernel"), "{refused}");
    }

    #[test]
    fn any_other_error_stays_one() {
        let machine = Machine::from_name("topology").unwrap();
        assert!(skip(machine, anyhow::anyhow!("the kernel panicked"), "").is_err());
    }

    #[test]
    fn a_scratch_file_goes_with_its_owner_if_it_was_ever_written() {
        let path = std::env::temp_dir().join(format!("xtask-scratch-{}", std::process::id()));
        drop(Scratch(path.clone()));
        let scratch = Scratch(path.clone());
        fs::write(&path, "a part").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        let error = output_of(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.downcast::<Missing>().is_ok());
        let error = output_of(&mut Command::new("false")).unwrap_err();
        assert!(error.downcast::<Missing>().is_err());
    }
}
