//! Fuzzing with the stable compiler: `cargo xtask fuzz TARGET [--seconds N]`.
//!
//! The targets are in `fuzz/`, a workspace of its own in the layout of cargo-fuzz, which may start
//! them as well. It needs the nightly compiler for its sanitizers; the coverage that guides the
//! fuzzer is had with flags of the stable one, and safe code gains little from sanitizers.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::tools;

/// What cargo-fuzz passes, less the sanitizer.
const RUSTFLAGS: &str = "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// How long a target runs when nothing is said: a look, not a campaign.
pub(crate) const SECONDS: u32 = 20;

/// Builds a target and runs it for a bounded time, from its seeds and what earlier runs found.
///
/// # Errors
///
/// If there is no such target, it does not build, or a crash was found; the fuzzer prints the input
/// and the file that it wrote it to.
pub(crate) fn run(root: &Path, target: &str, seconds: u32) -> Result<ExitCode> {
    let folder = root.join("fuzz");
    if !folder.join(target).with_extension("rs").is_file() {
        bail!("no fuzz target `{target}` in {}; targets: {}", folder.display(), names(&folder)?);
    }
    let program = build(root, &folder, target)?;
    let found = output(root).join("corpus").join(target);
    let crashes = output(root).join("crashes");
    for folder in [&found, &crashes] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let status = Command::new(&program)
        .args([&found, &folder.join("seeds").join(target)])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        .args(["-timeout=10", "-print_final_stats=1", "-verbosity=0"])
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("fuzzing {target} ended with {status}; the input is in {}", crashes.display());
    }
    println!("fuzz {target}: no crash in {seconds} s");
    Ok(ExitCode::SUCCESS)
}

/// Where everything that fuzzing makes goes.
fn output(root: &Path) -> PathBuf {
    tools::target_folder(root).join("fuzz")
}

/// Builds for a named target triple, or the flags would reach build scripts too.
fn build(root: &Path, folder: &Path, target: &str) -> Result<PathBuf> {
    let triple = host()?;
    let status = tools::cargo()
        .args(["build", "--release", "--bin", target, "--target", &triple, "--target-dir"])
        .arg(output(root))
        .current_dir(folder)
        .env("RUSTFLAGS", RUSTFLAGS)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the fuzz target {target} does not build; it needs a C++ compiler beside the usual");
    }
    Ok(output(root).join(triple).join("release").join(target))
}

/// The triple of this machine, as the compiler names it.
fn host() -> Result<String> {
    let output = tools::rustc().arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("`rustc -vV` names no host")
}

fn names(folder: &Path) -> Result<String> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            Some(name.strip_suffix(".rs")?.to_owned())
        })
        .collect();
    names.sort_unstable();
    Ok(names.join(", "))
}
