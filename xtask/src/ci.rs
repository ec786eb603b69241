//! `cargo xtask ci`: every check of the project, in order, cheapest first.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{tidy, tools};

/// One check of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Fmt,
    Clippy,
    Doc,
    Tidy,
    Test,
}

impl Step {
    const ALL: [Step; 5] = [Step::Fmt, Step::Clippy, Step::Doc, Step::Tidy, Step::Test];

    fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::Clippy => "clippy",
            Step::Doc => "doc",
            Step::Tidy => "tidy",
            Step::Test => "test",
        }
    }

    /// The step called `name`; the error lists those that exist.
    pub(crate) fn from_name(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|step| step.name() == name) {
            Some(step) => Ok(step),
            None => bail!("there is no step `{name}`; the steps are {}", step_names()),
        }
    }

    /// What cargo is asked for; `None` for the step that this program does itself.
    fn cargo_arguments(self) -> Option<&'static [&'static str]> {
        match self {
            Step::Fmt => Some(&["fmt", "--all", "--check"]),
            Step::Clippy => Some(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
            Step::Doc => Some(&["doc", "--workspace", "--no-deps"]),
            Step::Tidy => None,
            Step::Test => Some(&["test", "--workspace"]),
        }
    }

    /// The variable that the step sets for cargo, if any.
    fn variable(self) -> Option<(&'static str, &'static str)> {
        match self {
            Step::Doc => Some(("RUSTDOCFLAGS", "-D warnings")),
            Step::Fmt | Step::Clippy | Step::Tidy | Step::Test => None,
        }
    }

    /// The command as one would type it.
    fn command_line(self) -> String {
        let Some(arguments) = self.cargo_arguments() else {
            return format!("cargo xtask {}", self.name());
        };
        let command = format!("cargo {}", arguments.join(" "));
        match self.variable() {
            Some((name, value)) => format!("{name}=\"{value}\" {command}"),
            None => command,
        }
    }

    /// Runs the step in `root`: whether it passed.
    fn passes(self, root: &Path) -> Result<bool> {
        let Some(arguments) = self.cargo_arguments() else {
            return tidy::run(root);
        };
        let status = tools::cargo()
            .args(arguments)
            .envs(self.variable())
            .current_dir(root)
            .status()
            .with_context(|| format!("failed to start `{}`", self.command_line()))?;
        Ok(status.success())
    }
}

/// The names of all steps, in their order.
pub(crate) fn step_names() -> String {
    Step::ALL.map(Step::name).join(", ")
}

/// Runs every step but the skipped ones and stops at the first that fails.
pub(crate) fn run(root: &Path, skip: &[Step]) -> Result<ExitCode> {
    let begin = Instant::now();
    for step in Step::ALL {
        if skip.contains(&step) {
            println!("==> {}: skipped", step.name());
            continue;
        }
        println!("==> {}: {}", step.name(), step.command_line());
        let step_begin = Instant::now();
        let passed = step.passes(root)?;
        let seconds = step_begin.elapsed().as_secs_f64();
        if !passed {
            println!("ci: FAILED at `{}` after {seconds:.1} s", step.name());
            return Ok(ExitCode::FAILURE);
        }
        println!("==> {}: passed in {seconds:.1} s", step.name());
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("ci: passed in {seconds:.1} s{}", skipped_note(skip));
    Ok(ExitCode::SUCCESS)
}

/// Names what a passing run did not check, so that its last line promises no more than it holds.
fn skipped_note(skip: &[Step]) -> String {
    let names: Vec<_> = Step::ALL.into_iter().filter(|step| skip.contains(step)).map(Step::name).collect();
    if names.is_empty() { String::new() } else { format!(" (not checked: {})", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_found_by_its_name() {
        for step in Step::ALL {
            assert_eq!(Step::from_name(step.name()).unwrap(), step);
        }
    }

    #[test]
    fn the_printed_command_is_the_one_that_runs() {
        assert_eq!(Step::Doc.command_line(), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps");
        assert_eq!(Step::Tidy.command_line(), "cargo xtask tidy");
        assert_eq!(Step::Test.command_line(), "cargo test --workspace");
    }

    #[test]
    fn a_pass_names_what_it_left_out() {
        assert_eq!(skipped_note(&[]), "");
        assert_eq!(skipped_note(&[Step::Test, Step::Fmt, Step::Test]), " (not checked: fmt, test)");
    }
}
