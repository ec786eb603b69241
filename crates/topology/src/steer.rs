//! Steering of interrupts away from, or onto, logical CPUs, and back again in every case.

mod rescue;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::cpulist::ParseCpuListError;
use crate::cpuset::CpuSet;
use rescue::Rescue;

/// The lists of the interrupts that are steered now.
static STEERED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Where the interrupts are, below the root.
const IRQ_DIR: &str = "proc/irq";

/// Interrupts that are served by other logical CPUs as long as this value lives.
///
/// This changes the whole machine and needs root; nothing in tailcore does it unasked. The former
/// lists come back when the value is dropped, by [`restore`](Self::restore) for those who want to
/// know, and also if this process is killed: a shell in a process group of its own holds the former
/// lists, waits for our end, and writes them back. Only what kills that shell as well, such as the
/// end of a whole container or a power failure, leaves the interrupts where they are. A child that
/// this process forks without execve(2) is a part of it to the shell, which waits for its end too.
///
/// An interrupt can be steered once at a time: a second guard over it is refused.
///
/// irqbalance(1) may move interrupts again: stop it first. See `Documentation/core-api/irq` of the
/// kernel and proc(5).
///
/// ```no_run
/// use std::path::Path;
/// use tailcore_topology::SteeredInterrupts;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let steered = SteeredInterrupts::steer(Path::new("/"), &[24, 25], &"0".parse()?)?;
/// for (irq, outcome) in steered.outcomes() {
///     println!("{irq}: {outcome:?}");
/// }
/// // … the run …
/// steered.restore()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the interrupts move back when the value is dropped"]
pub struct SteeredInterrupts {
    dir: PathBuf,
    /// In the order in which they were moved.
    moved: Vec<(u32, CpuSet)>,
    outcomes: BTreeMap<u32, SteerOutcome>,
    /// The lists that nobody else of this process may write meanwhile.
    claimed: Vec<PathBuf>,
    /// None when there is nothing to be restored.
    rescue: Option<Rescue>,
}

/// What became of one interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SteerOutcome {
    /// It has the CPUs asked for, and had others. Where a list has several CPUs, the controller
    /// chooses; `effective_affinity_list` tells which.
    Moved {
        /// The CPUs it had.
        former: CpuSet,
    },
    /// It had the CPUs asked for already.
    AlreadyThere,
    /// The kernel took the list, but reads back another one.
    Differs {
        /// The CPUs it had.
        former: CpuSet,
        /// The CPUs it has.
        actual: CpuSet,
    },
    /// Nobody may move it: its driver manages it, one queue per CPU as NVMe and many network cards
    /// do, or it belongs to one CPU. It has the CPUs it had.
    Managed,
    /// There is no such interrupt, or not any more.
    Gone,
}

/// Interrupts that are not steered, or not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SteerError {
    /// The set of CPUs asked for is empty.
    #[error("no interrupt can be steered to an empty set of CPUs; name at least one")]
    Empty,
    /// There is no such interrupt.
    #[error("there is no interrupt {irq}: {} is missing", path.display())]
    Gone {
        /// The interrupt.
        irq: u32,
        /// Its file.
        path: PathBuf,
    },
    /// The list of an interrupt could not be read.
    #[error("failed to read {}: {source}; mount proc there", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The list of an interrupt is none.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ParseCpuListError,
    },
    /// The kernel refused a list, and no interrupt is moved: those before it were put back.
    #[error("failed to write `{cpus}` to {}: {source}; {}", path.display(), remedy(source))]
    Refused {
        /// The file.
        path: PathBuf,
        /// The CPUs asked for.
        cpus: CpuSet,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An interrupt is steered by another guard of this process. Nothing was moved.
    #[error("interrupt {irq} is steered already; restore it before it is steered elsewhere")]
    Steered {
        /// The interrupt.
        irq: u32,
    },
    /// The watcher that restores after our death could not be started, so nothing was moved.
    #[error("failed to start /bin/sh to restore interrupts after a crash: {source}; nothing was moved")]
    Watcher {
        /// The cause.
        source: io::Error,
    },
    /// Interrupts could not be moved back.
    #[error("failed to restore {}; write the lists there by hand", listed(left))]
    NotRestored {
        /// What is left to be done.
        left: Vec<Unrestored>,
    },
    /// Steering failed, and so did putting back what was moved before.
    #[error("{cause}; moreover, {undo}")]
    HalfWay {
        /// Why steering failed.
        cause: Box<SteerError>,
        /// Why what was moved could not be put back.
        undo: Box<SteerError>,
    },
}

/// An interrupt that could not be moved back.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unrestored {
    /// Its file.
    pub path: PathBuf,
    /// What should stand in it.
    pub former: CpuSet,
    /// Why it does not.
    pub source: io::Error,
}

fn listed(left: &[Unrestored]) -> String {
    let each = left.iter().map(|one| format!("`{}` to {} ({})", one.former, one.path.display(), one.source));
    each.collect::<Vec<_>>().join(", ")
}

fn remedy(refusal: &io::Error) -> &'static str {
    match refusal.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::EROFS) => {
            "run as root, outside a container that mounts proc read-only"
        }
        Some(libc::ENOSPC) => "the CPU has no interrupt vector left; name more CPUs",
        _ => "name CPUs that are online",
    }
}

/// Reads the logical CPUs that may serve an interrupt, from `root/proc/irq/N/smp_affinity_list`.
///
/// # Errors
///
/// [`SteerError::Gone`], [`SteerError::Unreadable`], or [`SteerError::Malformed`].
pub fn interrupt_affinity(root: &Path, irq: u32) -> Result<CpuSet, SteerError> {
    read(&root.join(IRQ_DIR), irq)
}

impl SteeredInterrupts {
    /// Lets interrupts be served by these CPUs only; `root` is `/`, or stands for it in tests.
    ///
    /// An interrupt that is managed by its driver or has gone is an outcome, no error: see
    /// [`outcomes`](Self::outcomes).
    ///
    /// # Errors
    ///
    /// [`SteerError`], whenever one of the interrupts can neither be moved nor counts as
    /// unmovable. None is moved then: those before it are put back.
    pub fn steer(root: &Path, irqs: &[u32], cpus: &CpuSet) -> Result<Self, SteerError> {
        if cpus.is_empty() {
            return Err(SteerError::Empty);
        }
        let (moved, outcomes) = (Vec::new(), BTreeMap::new());
        let mut steered =
            Self { dir: root.join(IRQ_DIR), moved, outcomes, claimed: Vec::new(), rescue: None };
        let formers = steered.formers(irqs, cpus)?;
        steered.claim(&formers)?;
        if formers.is_empty() {
            return Ok(steered);
        }
        // Everything is handed over before anything is moved: there is no moment to be killed at.
        let rescue = start_rescue(&steered.dir, &formers);
        steered.rescue = Some(rescue.map_err(|source| SteerError::Watcher { source })?);
        for (irq, former) in formers {
            if let Err(cause) = steered.move_one(irq, former, cpus) {
                return Err(match steered.put_back() {
                    Ok(()) => cause,
                    Err(undo) => SteerError::HalfWay { cause: cause.into(), undo: undo.into() },
                });
            }
        }
        Ok(steered)
    }

    /// Gives what became of each interrupt, by its number.
    #[must_use]
    pub fn outcomes(&self) -> &BTreeMap<u32, SteerOutcome> {
        &self.outcomes
    }

    /// Moves the interrupts back, the last one first, reads the lists back, and says whether that
    /// worked; a drop cannot. An interrupt that has gone meanwhile is no error.
    ///
    /// # Errors
    ///
    /// [`SteerError::NotRestored`] lists what is left to be done; everything was tried.
    pub fn restore(mut self) -> Result<(), SteerError> {
        self.put_back()
    }

    /// Reads where the interrupts are that are somewhere else than asked for.
    fn formers(&mut self, irqs: &[u32], cpus: &CpuSet) -> Result<Vec<(u32, CpuSet)>, SteerError> {
        let mut formers = Vec::new();
        for &irq in &BTreeSet::from_iter(irqs) {
            match read(&self.dir, *irq) {
                Ok(former) if former == *cpus => {
                    self.outcomes.insert(*irq, SteerOutcome::AlreadyThere);
                }
                Ok(former) => formers.push((*irq, former)),
                Err(SteerError::Gone { .. }) => {
                    self.outcomes.insert(*irq, SteerOutcome::Gone);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(formers)
    }

    /// Notes that the interrupts are steered. A second guard over one of them would have a watcher of
    /// its own, and after a kill nobody knows which of the two writes last.
    fn claim(&mut self, formers: &[(u32, CpuSet)]) -> Result<(), SteerError> {
        let mut steered = STEERED.lock().unwrap_or_else(PoisonError::into_inner);
        let path = |irq: u32| list_of(&self.dir, irq);
        if let Some(&(irq, _)) = formers.iter().find(|(irq, _)| steered.contains(&path(*irq))) {
            return Err(SteerError::Steered { irq });
        }
        self.claimed = formers.iter().map(|(irq, _)| path(*irq)).collect();
        steered.extend(self.claimed.iter().cloned());
        Ok(())
    }

    fn move_one(&mut self, irq: u32, former: CpuSet, cpus: &CpuSet) -> Result<(), SteerError> {
        let outcome = self.try_one(irq, former, cpus)?;
        self.outcomes.insert(irq, outcome);
        Ok(())
    }

    fn try_one(&mut self, irq: u32, former: CpuSet, cpus: &CpuSet) -> Result<SteerOutcome, SteerError> {
        let path = list_of(&self.dir, irq);
        let refused = |source| SteerError::Refused { path: path.clone(), cpus: cpus.clone(), source };
        let mut file = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SteerOutcome::Gone),
            opened => opened.map_err(refused)?,
        };
        match write(&mut file, cpus) {
            Err(error) if is_managed(&error) => return Ok(SteerOutcome::Managed),
            written => written.map_err(refused)?,
        }
        // Before the list is read back: moved is moved, also if that fails.
        self.moved.push((irq, former.clone()));
        match read(&self.dir, irq) {
            Ok(actual) if actual == *cpus => Ok(SteerOutcome::Moved { former }),
            Ok(actual) => Ok(SteerOutcome::Differs { former, actual }),
            Err(SteerError::Gone { .. }) => Ok(SteerOutcome::Gone),
            Err(error) => Err(error),
        }
    }

    fn put_back(&mut self) -> Result<(), SteerError> {
        let mut left = Vec::new();
        while let Some((irq, former)) = self.moved.pop() {
            if let Err(source) = restore_one(&self.dir, irq, &former) {
                left.push(Unrestored { path: list_of(&self.dir, irq), former, source });
            }
        }
        let rescue = self.rescue.take();
        if left.is_empty() {
            rescue.map(Rescue::dismiss); // If it has been killed, there is nothing left for it to do.
            return Ok(());
        }
        drop(rescue); // Not dismissed: it tries once more.
        Err(SteerError::NotRestored { left })
    }
}

impl Drop for SteeredInterrupts {
    fn drop(&mut self) {
        self.put_back().ok(); // Nobody is left to be told; `restore` is for those who ask.
        let mut steered = STEERED.lock().unwrap_or_else(PoisonError::into_inner);
        steered.retain(|path| !self.claimed.contains(path));
    }
}

fn start_rescue(dir: &Path, formers: &[(u32, CpuSet)]) -> io::Result<Rescue> {
    let mut rescue = Rescue::start(dir)?;
    for (irq, former) in formers {
        rescue.hold(*irq, &former.to_string())?;
    }
    Ok(rescue)
}

/// Says whether a list that could be opened, but not written, is one that nobody may write: `EIO`,
/// and `EPERM` in kernels since eb29369fa543 of 2024. A lack of privilege shows at the opening.
fn is_managed(refusal: &io::Error) -> bool {
    matches!(refusal.raw_os_error(), Some(libc::EIO | libc::EPERM))
}

fn restore_one(dir: &Path, irq: u32, former: &CpuSet) -> io::Result<()> {
    match open(&list_of(dir, irq)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => write(&mut opened?, former)?,
    }
    match read(dir, irq) {
        Ok(actual) if actual == *former => Ok(()),
        Ok(actual) => Err(io::Error::other(format!("it reads back as `{actual}`"))),
        Err(SteerError::Gone { .. }) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn list_of(dir: &Path, irq: u32) -> PathBuf {
    dir.join(format!("{irq}/smp_affinity_list"))
}

fn read(dir: &Path, irq: u32) -> Result<CpuSet, SteerError> {
    let path = list_of(dir, irq);
    match fs::read_to_string(&path) {
        Ok(list) => list.parse().map_err(|source| SteerError::Malformed { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SteerError::Gone { irq, path }),
        Err(source) => Err(SteerError::Unreadable { path, source }),
    }
}

/// Opens a list that must exist: what is missing is not made.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// Writes a list in one call, as the kernel wants it.
fn write(file: &mut File, cpus: &CpuSet) -> io::Result<()> {
    file.write_all(format!("{cpus}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_that_nobody_may_move_is_told_from_other_refusals() {
        let managed = |errno| is_managed(&io::Error::from_raw_os_error(errno));
        assert!(managed(libc::EIO) && managed(libc::EPERM));
        for errno in [libc::EACCES, libc::EINVAL, libc::ENOSPC, libc::EROFS] {
            assert!(!managed(errno), "{errno}");
        }
    }

    #[test]
    fn a_refusal_says_what_helps() {
        for (errno, part) in [
            (libc::EACCES, "run as root"),
            (libc::ENOSPC, "no interrupt vector"),
            (libc::EINVAL, "CPUs that are online"),
        ] {
            assert!(remedy(&io::Error::from_raw_os_error(errno)).contains(part));
        }
    }
}
