//! The project's own automation, started as `cargo xtask`.
//!
//! `cargo xtask ci` runs every check in order; `cargo xtask tidy` runs the project's own lint alone;
//! `cargo xtask vm` runs tests on an emulated machine; `cargo xtask fuzz` runs a fuzz target.
//! Arguments are parsed by hand: this package is built before every check, so it stays light.

mod ci;
mod fuzz;
mod tidy;
mod tools;
mod vm;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::ci::Step;
use crate::vm::Machine;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  ci [--skip STEP]...  run every check in order, stop at the first failure
  tidy                 check sizes, file headers, crate edges, unsafe code and the changelog
  vm MACHINE           run the tests made for an emulated machine in it
  fuzz TARGET [--seconds N]
                       run a fuzz target of fuzz/, 20 seconds if nothing is said";

/// What was typed, understood.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Ci { skip: Vec<Step> },
    Tidy,
    Vm { machine: &'static Machine },
    Fuzz { target: String, seconds: u32 },
    Help,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(OsString::into_string)
        .collect::<Result<_, _>>()
        .map_err(|argument| anyhow::anyhow!("argument is not UTF-8: {}", argument.display()))?;
    let command = parse(&arguments)?;
    let root = workspace_root()?;
    match command {
        Command::Ci { skip } => ci::run(&root, &skip),
        Command::Tidy => {
            tidy::run(&root).map(|clean| if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Vm { machine } => vm::run(&root, machine),
        Command::Fuzz { target, seconds } => fuzz::run(&root, &target, seconds),
        Command::Help => {
            println!("{USAGE}\n\nsteps of ci: {}", ci::step_names());
            println!("machines of vm: {}", vm::machine_names());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Turns the arguments after the program's name into a command.
fn parse(arguments: &[String]) -> Result<Command> {
    let Some((name, rest)) = arguments.split_first() else {
        bail!("no command given\n\n{USAGE}");
    };
    match name.as_str() {
        "ci" => Ok(Command::Ci { skip: parse_skips(rest)? }),
        "tidy" => match rest.first() {
            None => Ok(Command::Tidy),
            Some(extra) => bail!("`tidy` takes no argument, got `{extra}`"),
        },
        "vm" => match rest {
            [name] => Ok(Command::Vm { machine: Machine::from_name(name)? }),
            _ => bail!("`vm` takes the name of a machine: {}", vm::machine_names()),
        },
        "fuzz" => match rest {
            [target] => Ok(Command::Fuzz { target: target.clone(), seconds: fuzz::SECONDS }),
            [target, option, seconds] if option == "--seconds" => {
                let seconds =
                    seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
                Ok(Command::Fuzz { target: target.clone(), seconds })
            }
            _ => bail!("`fuzz` takes a target, and `--seconds N` if you like\n\n{USAGE}"),
        },
        "help" | "--help" | "-h" => Ok(Command::Help),
        other => bail!("unknown command `{other}`\n\n{USAGE}"),
    }
}

/// Reads `--skip STEP` and `--skip=STEP`, any number of times.
fn parse_skips(arguments: &[String]) -> Result<Vec<Step>> {
    let mut skip = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let name = if argument == "--skip" {
            rest.next().context("`--skip` needs a step after it")?
        } else if let Some(name) = argument.strip_prefix("--skip=") {
            name
        } else {
            bail!("`ci` does not know `{argument}`\n\n{USAGE}");
        };
        skip.push(Step::from_name(name)?);
    }
    Ok(skip)
}

/// The folder of the workspace.
///
/// Cargo says at run time where this package lies; the place known at build time would be wrong
/// for a second checkout that shares the target folder.
fn workspace_root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .parent()
        .map(Path::to_path_buf)
        .with_context(|| format!("{} has no parent folder", package.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Command> {
        let owned: Vec<String> = words.iter().map(ToString::to_string).collect();
        parse(&owned)
    }

    #[test]
    fn both_spellings_of_skip_are_read() {
        let command = parse_words(&["ci", "--skip", "test", "--skip=doc"]).unwrap();
        let skip = vec![Step::Test, Step::Doc];
        assert_eq!(command, Command::Ci { skip });
    }

    #[test]
    fn a_machine_is_found_by_its_name() {
        let machine = Machine::from_name("topology").unwrap();
        assert_eq!(parse_words(&["vm", "topology"]).unwrap(), Command::Vm { machine });
    }

    #[test]
    fn a_fuzz_target_may_have_a_time() {
        let command = |target: &str, seconds| Command::Fuzz { target: target.to_owned(), seconds };
        assert_eq!(parse_words(&["fuzz", "x"]).unwrap(), command("x", fuzz::SECONDS));
        assert_eq!(parse_words(&["fuzz", "x", "--seconds", "5"]).unwrap(), command("x", 5));
        assert!(parse_words(&["fuzz", "x", "--seconds", "soon"]).is_err());
        assert!(parse_words(&["fuzz"]).is_err());
    }

    #[test]
    fn an_unknown_step_lists_the_steps() {
        let message = parse_words(&["ci", "--skip", "tests"]).unwrap_err().to_string();
        assert!(message.contains("`tests`"), "{message}");
        assert!(message.contains("fmt, clippy, doc, tidy, test"), "{message}");
    }

    #[test]
    fn a_skip_without_a_step_is_refused() {
        assert!(parse_words(&["ci", "--skip"]).is_err());
    }

    #[test]
    fn extra_and_unknown_words_are_refused() {
        assert!(parse_words(&["tidy", "now"]).is_err());
        assert!(parse_words(&["ci", "--fast"]).is_err());
        assert!(parse_words(&["vm"]).is_err());
        assert!(parse_words(&["vm", "topology", "again"]).is_err());
        assert!(parse_words(&["deploy"]).is_err());
        assert!(parse_words(&[]).is_err());
    }
}
