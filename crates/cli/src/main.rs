//! The `tailcore` command: offers a load honestly and explains the latency tail.
//!
//! What was typed ([`args`]) → what it means (a plan) → the call into the crates below → print.

mod args;
mod demo;
mod doctor;
mod events;
mod exit;
mod output;
mod plan;
mod progress;
mod run;
mod serve;
mod stat;
mod tables;
mod topo;
mod units;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Args, Command};
use crate::exit::Exit;

fn main() -> std::process::ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Help and version are asked for, and go to standard output.
        Err(error)
            if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            error.exit()
        }
        Err(error) => {
            eprintln!("tailcore: {}", args::complaint(&error));
            return Exit::Usage.into();
        }
    };
    let outcome = match &args.command {
        Command::Demo(demo) => demo::demo(demo),
        Command::Run(run) => run::run(run),
        Command::Serve(serve) => serve::serve(serve),
        Command::Topo(topo) => topo::topo(topo),
        Command::Events(events) => events::events(events),
        Command::Doctor(doctor) => doctor::doctor(doctor),
        Command::Stat(stat) => stat::stat(stat),
        Command::HeldExec(held) => stat::exec(held),
    };
    let exit = outcome.unwrap_or_else(|error| {
        eprintln!("tailcore: {}", exit::describe(&error));
        exit::of_error(&error)
    });
    exit.into()
}
