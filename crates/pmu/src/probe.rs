//! Whether events fit the PMU as one group: they are opened on the calling thread and must run.
//!
//! That a group opens proves nothing. The kernel checks it against the PMU as it was built, not as it is
//! free: the NMI watchdog holds a counter for good, and some drivers check one event too few. Such a group is
//! never scheduled.

use crate::kernel::{Kernel, Target};
use crate::open::{Ask, Opening, Slot};
use crate::opened::Opened;
use crate::options::Options;
use crate::reading::Outcome;
use crate::snapshot::Snapshot;

/// How long a group that has not run yet may wait for its turn, ns of the thread's own time: some of the
/// kernel's rotations, each of 1 to 10 ms.
const PATIENCE_NS: u64 = 20_000_000;

/// The end of patience with a kernel whose time stands still.
const MOST_TURNS: u32 = 1000;

/// Counters of the calling thread, and work to count.
#[derive(Debug)]
pub(crate) struct Trial<'k> {
    kernel: &'k dyn Kernel,
    opened: Opened,
    start: Snapshot,
    end: Snapshot,
}

impl<'k> Trial<'k> {
    /// Opens and starts counters of events that are to be one group.
    pub(crate) fn start(kernel: &'k dyn Kernel, asks: &[Ask]) -> Trial<'k> {
        let mut opening = Opening::new(kernel, &Target::CurrentThread, &Options::default());
        for ask in asks {
            opening.add(ask, 0);
        }
        let mut opened = Opened::from(opening);
        opened.enable(kernel);
        let (mut start, end) = (opened.snapshot(), opened.snapshot());
        opened.read_by(kernel, &mut start, |_, _| false);
        Trial { kernel, opened, start, end }
    }

    /// Lets the thread work for a moment; gives the number of instructions, if it is known.
    pub(crate) fn work(&mut self) -> Option<u64> {
        let instructions = self.kernel.work();
        self.opened.read_by(self.kernel, &mut self.end, |_, _| false);
        instructions
    }

    /// What the event at `index` counted until the last work.
    pub(crate) fn outcome(&self, index: usize) -> Outcome {
        self.opened.outcome(index, (&self.start, &self.end), true)
    }

    /// Whether there is a place where no event is in all groups of what is scarce.
    ///
    /// An event may have to be in several: one per core type, or per unit beside the cores.
    fn is_spread(&self) -> bool {
        let Opened { slots, groups, .. } = &self.opened;
        let scarce = || groups.iter().filter(|group| group.is_scarce());
        scarce().any(|one| {
            let has_all = |slot: &Slot| scarce().filter(|g| g.place == one.place).all(|g| g.has(slot));
            !slots.iter().any(has_all)
        })
    }

    /// Whether each scarce event that is open has run.
    fn has_run(&self) -> bool {
        let slots = self.opened.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| slot.scarce && slot.absence.is_none())
            .all(|(index, _)| matches!(self.outcome(index), Outcome::Counted { .. } | Outcome::Scaled { .. }))
    }

    /// Whether the thread has worked long enough for any group to get its turn.
    fn is_long(&self) -> bool {
        let enabled =
            |snapshot: &Snapshot, index| snapshot.totals(index).map_or(0, |totals| totals.enabled_ns);
        (0..self.opened.slots.len())
            .any(|index| enabled(&self.end, index).saturating_sub(enabled(&self.start, index)) >= PATIENCE_NS)
    }
}

/// Whether `asks` run as one group; those that cannot be opened at all do not count.
///
/// Of a hybrid, this tries the core type on which the calling thread runs.
pub(crate) fn fits(kernel: &dyn Kernel, asks: &[Ask]) -> bool {
    let mut trial = Trial::start(kernel, asks);
    if trial.is_spread() || trial.opened.slots.iter().any(|slot| slot.crowded) {
        return false;
    }
    for _ in 0..MOST_TURNS {
        trial.work();
        if trial.has_run() {
            return true;
        }
        if trial.is_long() {
            break;
        }
    }
    false
}
