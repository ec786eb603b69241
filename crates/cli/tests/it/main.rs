//! The command as its users start it: processes, exit statuses, messages and files.
//!
//! No test depends on how fast the machine is: they assert on accounts, structure and messages, and
//! leave it to the verdict whether a latency may be trusted.

/// What every result must satisfy, whatever happened during the run; no tests.
mod account;
/// Starts the command and waits for it; no tests.
mod command;
/// Threads, their placement and their counters: counted, or with the reason why not.
mod counters;
/// The demonstration: all of its tables and files.
mod demo;
/// The noise audit: verdicts, commands, JSON, CPUs that do not exist.
mod doctor;
/// Servers that die, close, babble or say nothing, and runs that are stopped.
mod faults;
/// What the machine is and what it can count: `topo` and `events`.
mod machine;
/// Runs against the built-in server: the table, the JSON, the schedule.
mod measured;
/// Where results go: files, standard output, and devices that refuse them.
mod outputs;
/// Peers that are no proper servers, in threads of the test; no tests.
mod peers;
/// The built-in server as a process of its own; no tests.
mod server;
/// The command among others in a shell: help, no arguments, closed pipes.
mod shell;
/// Known stalls of the server, seen by a run that is not allowed an open loop.
mod stalls;
/// Counts of commands, their streams, signals and exit statuses: `stat`.
mod stat;
/// What was typed wrongly: one line that names the culprit and the remedy, before any load.
mod usage;
