//! How counters are opened, beside what and whose.

use crate::calibrate::Calibration;

/// How counters are opened; [`Options::default`] is right for threads that are at hand.
///
/// ```
/// use tailcore_pmu::Options;
///
/// let options = Options::default().inherit().pinned();
/// # assert_ne!(options, Options::default());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    pub(crate) inherit: bool,
    pub(crate) pinned: bool,
    pub(crate) on_exec: bool,
    pub(crate) calibration: Option<Calibration>,
}

impl Options {
    /// Counts the threads and child processes too which a thread creates from now on; on by itself for
    /// [`Target::Process`](crate::Target::Process), without meaning for CPUs and control groups.
    ///
    /// Such counters cannot be read without a system call.
    #[must_use]
    pub fn inherit(mut self) -> Options {
        self.inherit = true;
        self
    }

    /// Has each group on the PMU always, or not at all: no share of time, no scaling.
    ///
    /// A group that finds no place is [`Outcome::Dead`](crate::Outcome::Dead). Others have to give way, also
    /// those of other users; if unsure, do without.
    #[must_use]
    pub fn pinned(mut self) -> Options {
        self.pinned = true;
        self
    }

    /// Starts counting when the target calls execve(2), so that nothing which it did before is counted.
    ///
    /// For a child process that waits before its exec. Nobody has to call
    /// [`Counters::enable`](crate::Counters::enable) then.
    #[must_use]
    pub fn on_exec(mut self) -> Options {
        self.on_exec = true;
        self
    }

    /// Believes the core's counters as far as `calibration` does: if it is
    /// [suspect](Calibration::Suspect), their counts are [`Outcome::Suspect`](crate::Outcome::Suspect).
    #[must_use]
    pub fn calibrated(mut self, calibration: Calibration) -> Options {
        self.calibration = Some(calibration);
        self
    }
}
