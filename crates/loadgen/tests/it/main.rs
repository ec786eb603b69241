//! The generator against what is known exactly: queueing theory, scripts, and hostile peers.

/// The engine's laws: every request accounted for, whatever happens.
mod accounting;
/// Closed-form queues under a virtual clock: the production engine and recorder, no wall time.
mod queueing;
/// Scripted stalls: what is true, and what a naive tool would have said.
mod stalls;
/// The start of a run: errors and panics of single workers.
mod startup;
/// Virtual runs, shared by the others.
mod virtual_run;
