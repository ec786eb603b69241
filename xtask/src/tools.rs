//! The toolchain that this program was started with, and where it puts what it builds.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The cargo that started this program, so that a toolchain chosen with `+name` holds for what it starts.
pub(crate) fn cargo() -> Command {
    tool("CARGO", "cargo")
}

/// The compiler that this cargo uses.
pub(crate) fn rustc() -> Command {
    tool("RUSTC", "rustc")
}

/// The folder for everything that is built or downloaded, which git ignores.
pub(crate) fn target_folder(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

fn tool(variable: &str, name: &str) -> Command {
    Command::new(std::env::var_os(variable).unwrap_or_else(|| name.into()))
}
