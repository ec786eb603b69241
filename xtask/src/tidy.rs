//! `cargo xtask tidy`: the rules of the house that no other tool checks.
//!
//! [`run`] reads the files that git knows or would add; [`check`] is a pure function over their
//! texts, and so is every rule below it.

mod changelog;
mod edges;
mod lexer;
mod manifest;
mod source;

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use self::manifest::Manifest;

/// A file of the repository: its path from the root, with `/`, and its text.
#[derive(Debug)]
struct SourceFile {
    path: String,
    text: String,
}

/// One broken rule, at one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    problem: String,
    remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, problem, remedy } = self;
        write!(f, "{path}:{line}: {problem}; {remedy}")
    }
}

/// Checks the repository at `root` and prints each finding: whether there was none.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let files = read_files(root)?;
    let findings = check(&files);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} findings in {} files", findings.len(), files.len());
    Ok(findings.is_empty())
}

/// Applies every rule to `files`; the findings come in the order of path and line.
fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut manifests = Vec::new();
    for file in files {
        if has_extension(&file.path, "rs") {
            source::check_rust(file, &mut findings);
        } else if has_extension(&file.path, "md") {
            source::check_markdown(file, &mut findings);
        } else if file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml") {
            match Manifest::parse(&file.path, &file.text) {
                Ok(manifest) => manifests.push(manifest),
                Err(finding) => findings.push(finding),
            }
        }
    }
    findings.extend(edges::check(&manifests));
    let changelog = files.iter().find(|file| file.path == changelog::PATH);
    findings.extend(changelog::check(changelog.map(|file| file.text.as_str()), &manifests));
    findings.sort();
    findings
}

fn has_extension(path: &str, wanted: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == wanted)
}

/// Reads the files that the rules look at: tracked, or untracked and not ignored.
fn read_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in list_paths(root)? {
        let looked_at = ["rs", "md", "toml"].iter().any(|extension| has_extension(&path, extension));
        if !looked_at {
            continue;
        }
        match fs::read(root.join(&path)) {
            Ok(bytes) => files.push(SourceFile { path, text: String::from_utf8_lossy(&bytes).into_owned() }),
            // Deleted, but the deletion is not staged: git still lists it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("failed to read `{path}`")),
        }
    }
    Ok(files)
}

fn list_paths(root: &Path) -> Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .context("failed to start `git ls-files`")?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr);
        bail!("`git ls-files` failed in `{}`: {}", root.display(), cause.trim());
    }
    let listing = String::from_utf8(output.stdout).context("git listed a path that is not UTF-8")?;
    let mut paths: Vec<String> = listing.split_terminator('\0').map(str::to_string).collect();
    // A file in a merge conflict is listed once per side.
    paths.sort();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_string(), text: text.to_string() }
    }

    fn root_manifest() -> SourceFile {
        file("Cargo.toml", "[workspace.package]\nversion = \"0.1.0\"\n")
    }

    #[test]
    fn a_tidy_repository_has_no_findings() {
        let files = [
            root_manifest(),
            file("CHANGELOG.md", "## [0.1.0] - 2026-11-20\n"),
            file("crates/pmu/src/lib.rs", "//! Counters.\n"),
            file("crates/pmu/Cargo.toml", "[package]\nname = \"tailcore-pmu\"\n"),
        ];
        assert_eq!(check(&files), []);
    }

    #[test]
    fn findings_of_all_rules_come_in_order_and_say_what_to_do() {
        let files = [
            root_manifest(),
            file("crates/pmu/src/lib.rs", "fn f() {}\n"),
            file("crates/pmu/Cargo.toml", "[package\n"),
        ];
        let findings = check(&files);
        let places: Vec<_> = findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
        assert_eq!(
            places,
            [("CHANGELOG.md", 1), ("crates/pmu/Cargo.toml", 1), ("crates/pmu/src/lib.rs", 1),]
        );
        let printed = findings[2].to_string();
        assert!(printed.starts_with("crates/pmu/src/lib.rs:1: no `//!` header; "), "{printed}");
    }
}
