//! Whether the PMU counts at all: a loop of known length, counted.
//!
//! A virtual PMU can be starved by its host: the counters run all the time, by what the guest can see, and
//! have counted next to nothing. Only a number that is known beforehand shows that.

use crate::event::Event;
use crate::kernel::Kernel;
use crate::open::Ask;
use crate::probe::Trial;
use crate::reading::Outcome;
use crate::sys::Linux;

/// The share of the known number of instructions that a sound PMU may give: interrupts add some.
pub const SOUND: std::ops::RangeInclusive<f64> = 0.9..=1.3;

/// How often a loop is counted before the PMU is called suspect.
const TRIES: usize = 3;

/// What a loop of known length says of the PMU.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Calibration {
    /// The count is right.
    Sound {
        /// Instructions counted ÷ instructions run, within [`SOUND`].
        ratio: f64,
    },
    /// The count is wrong, and so may be any other of this PMU.
    Suspect {
        /// Instructions counted.
        counted: u64,
        /// Instructions run.
        run: u64,
    },
    /// There is nothing to compare: instructions cannot be counted here, or no loop of known length is
    /// written for the architecture.
    Unknown {
        /// Cause and remedy, in one line.
        reason: String,
    },
}

impl Calibration {
    /// What to say with each count of a PMU that is suspect.
    pub(crate) fn suspicion(&self) -> Option<String> {
        let Calibration::Suspect { counted, run } = self else {
            return None;
        };
        Some(format!(
            "the PMU counted {counted} instructions of a loop of {run}, as a virtual PMU does whose host \
             takes its counters: free the PMU on the host, or run on bare metal"
        ))
    }
}

/// Counts a loop of known length on the calling thread; takes about a millisecond.
pub fn calibrate() -> Calibration {
    calibrate_with(&Linux)
}

/// The same, with another kernel than that of this machine.
pub fn calibrate_with(kernel: &dyn Kernel) -> Calibration {
    let mut last = count_a_loop(kernel);
    for _ in 1..TRIES {
        if !matches!(last, Calibration::Suspect { .. }) {
            break;
        }
        last = count_a_loop(kernel);
    }
    last
}

fn count_a_loop(kernel: &dyn Kernel) -> Calibration {
    let unknown = |reason: &str| Calibration::Unknown { reason: reason.to_owned() };
    let Ok(event) = "instructions:u".parse::<Event>() else {
        return unknown("instructions are no event: report it");
    };
    let mut trial = Trial::start(kernel, &[Ask::new(&event, kernel.machine())]);
    let run = trial.work();
    let outcome = trial.outcome(0);
    let Some(run) = run else {
        return unknown("no loop of known length is written for this architecture: use x86-64 or AArch64");
    };
    match outcome {
        Outcome::Counted { count } | Outcome::Scaled { count, .. } => {
            let ratio = count as f64 / run as f64;
            if SOUND.contains(&ratio) {
                Calibration::Sound { ratio }
            } else {
                Calibration::Suspect { counted: count, run }
            }
        }
        Outcome::NotScheduled { reason }
        | Outcome::Dead { reason }
        | Outcome::Suspect { reason, .. }
        | Outcome::Unsupported { reason }
        | Outcome::Forbidden { reason } => Calibration::Unknown { reason },
    }
}
