//! Many runs that answer one question.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//! use tailcore_loadgen::null::{NullProtocol, NullService};
//! use tailcore_loadgen::transport::in_process::InProcess;
//! use tailcore_loadgen::{RunPlan, Session, run};
//! use tailcore_topology::{PinPolicy, Topology};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let topology = Topology::read()?;
//! let never = AtomicBool::new(false);
//! let outcomes = tailcore_study::sweep(&[1_000.0, 2_000.0], &never, |rate_rps| {
//!     let duration = Duration::from_millis(50);
//!     let plan = RunPlan { rate_rps, duration, warmup: Duration::ZERO, pin: PinPolicy::None, ..RunPlan::default() };
//!     run(&mut Session::new("null", &plan, &topology), |_| Ok(InProcess::new(NullProtocol, NullService)))
//! })?;
//! assert_eq!(outcomes.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! What it does not do yet: it searches no capacity, compares no results and writes no report. It
//! only knows the sweep that `tailcore demo` needs.

mod sweep;

pub use sweep::sweep;
