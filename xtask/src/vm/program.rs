//! The program that runs in the guest: a test binary that needs nothing but a kernel.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::machine::Machine;
use super::{Missing, output_of};
use crate::tools;

/// Checks that the toolchain can build for the guest.
pub(super) fn find_target(machine: &Machine) -> Result<()> {
    let target = machine.target;
    // Not by rustup: the toolchain may come from elsewhere. The folder is named also if it is not there.
    let libraries = output_of(tools::rustc().args(["--print=target-libdir", "--target", target]))?;
    if Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    let reason = format!("the toolchain has no target {target}; run `rustup target add {target}`");
    Err(Missing(reason).into())
}

/// Builds the machine's test binary and gives its path.
pub(super) fn build(root: &Path, machine: &Machine) -> Result<PathBuf> {
    let Machine { package, target, .. } = machine;
    let mut command = tools::cargo();
    command
        .args(["test", "--package", package, "--test=vm", "--target", target, "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit());
    // The linker of the toolchain, so that no compiler for the guest's processor has to be installed.
    let linker = linker_variable(target);
    if std::env::var_os(&linker).is_none() {
        command.env(linker, "rust-lld");
    }
    let output = command.output().context("failed to start cargo")?;
    if !output.status.success() {
        bail!("the tests of {package} do not build for {target}");
    }
    let messages = String::from_utf8(output.stdout).context("cargo printed what is not UTF-8")?;
    executable(&messages).context("cargo named no executable; run it with `--no-run` by hand")
}

fn linker_variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.replace('-', "_").to_uppercase())
}

/// The only executable among cargo's messages. No JSON parser: this package stays light, and cargo
/// writes its messages without spaces.
fn executable(messages: &str) -> Option<PathBuf> {
    let (_, rest) = messages.split_once(r#""executable":""#)?;
    let (path, _) = rest.split_once('"')?;
    // What is escaped would have to be unescaped; no sensible path needs it.
    (!path.contains('\\')).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_libraries() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
             {\"reason\":\"compiler-artifact\",\"executable\":\"/target/deps/vm-1\",\"fresh\":true}\n\
             {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/target/deps/vm-1".into()));
        assert_eq!(executable("{\"executable\":null}"), None);
        assert_eq!(executable(r#"{"executable":"/a\"b"}"#), None);
    }

    #[test]
    fn the_linker_is_named_as_cargo_wants() {
        let variable = linker_variable("x86_64-unknown-linux-musl");
        assert_eq!(variable, "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER");
    }
}
