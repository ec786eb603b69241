//! Residence: the CPUs on which threads really ran, and how often they moved.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::process::{gone, threads_of};
use super::procfs::{self, Stat, Status};
use crate::cpuset::CpuSet;

/// A watch over threads of one process, this or another.
///
/// Making it takes the first sample; call [`sample`](Self::sample) from time to time, such as once
/// per interval of a run, and [`report`](Self::report) at the end. A sample reads three small files
/// per thread from the proc file system and does not disturb the thread. See proc(5).
///
/// ```
/// use tailcore_topology::ResidenceWatch;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut watch = ResidenceWatch::of_process(std::process::id())?;
/// // … the work that is watched …
/// watch.sample()?;
/// for thread in watch.report() {
///     println!("{} ran on {} and moved {:?} times", thread.name, thread.cpus_seen, thread.migrations);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ResidenceWatch {
    task: PathBuf,
    threads: Vec<Watched>,
}

/// Where a thread was, and what happened to it, between the first and the last sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Residence {
    /// The thread.
    pub tid: u32,
    /// Its name at the last sample, as it calls itself; up to 15 bytes of anything.
    pub name: String,
    /// The CPUs on which samples found it, or found that it had run last. A lower bound: between
    /// two samples it may have been elsewhere and have come back. A thread that slept since before
    /// it was pinned shows the CPU it slept on.
    pub cpus_seen: CpuSet,
    /// How many samples found the thread.
    pub samples: u64,
    /// How often it moved to another CPU; an exact count, unlike `cpus_seen`.
    pub migrations: Migrations,
    /// How often it gave up its CPU to wait for something.
    pub voluntary_switches: u64,
    /// How often the kernel took its CPU away for another thread.
    pub involuntary_switches: u64,
    /// Its affinity mask at the last sample.
    pub affinity: CpuSet,
    /// Whether it had ended at the last sample; what it did since the one before is not told.
    pub ended: bool,
}

/// How often a thread moved to another CPU, if the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Migrations {
    /// The kernel counted them: `se.nr_migrations` in `/proc/PID/task/TID/sched`.
    Counted(u64),
    /// There is no file `sched`: the kernel was built without `CONFIG_SCHED_DEBUG`.
    NoFile,
    /// The file is there and may not be read, as in some sandboxes.
    Unreadable,
    /// The file tells no `se.nr_migrations`.
    NotTold,
}

impl Migrations {
    /// Gives the count where there is one.
    #[must_use]
    pub fn counted(self) -> Option<u64> {
        match self {
            Self::Counted(count) => Some(count),
            _ => None,
        }
    }

    /// What was counted since `first`.
    fn since(self, first: Self) -> Self {
        match (first, self) {
            (Self::Counted(first), Self::Counted(last)) => Self::Counted(last.saturating_sub(first)),
            (Self::Counted(_), reason) | (reason, _) => reason,
        }
    }
}

/// A thread that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// There is no such thread.
    #[error("there is no thread {tid} in {}; watch it while it runs", task.display())]
    Gone {
        /// The thread asked for.
        tid: u32,
        /// The directory of the threads of its process.
        task: PathBuf,
    },
    /// A file or directory of the proc file system could not be read.
    #[error("failed to read {}: {source}; mount proc there, and allow this user to read it", path.display())]
    Unreadable {
        /// What was to be read.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file lacks a field that every kernel since 2.6.23 writes.
    #[error("{} is not in the form of proc(5); check that proc is mounted there", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Clone, Debug)]
struct Watched {
    tid: u32,
    cpus_seen: CpuSet,
    samples: u64,
    first: Sample,
    last: Sample,
    ended: bool,
}

/// What one look at a thread tells.
#[derive(Clone, Debug)]
struct Sample {
    stat: Stat,
    status: Status,
    migrations: Migrations,
}

impl ResidenceWatch {
    /// Watches some threads of a process.
    ///
    /// # Errors
    ///
    /// [`WatchError`] names the thread that is not there or the file that cannot be used.
    pub fn new(pid: u32, tids: &[u32]) -> Result<Self, WatchError> {
        Self::new_from(Path::new("/"), pid, tids)
    }

    /// Watches all threads that a process has now; those that it starts later are not watched.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); a thread that ends meanwhile is left out.
    pub fn of_process(pid: u32) -> Result<Self, WatchError> {
        Self::of_process_from(Path::new("/"), pid)
    }

    /// Does what [`new`](Self::new) does, with the proc file system at `root/proc`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn new_from(root: &Path, pid: u32, tids: &[u32]) -> Result<Self, WatchError> {
        let task = root.join(format!("proc/{pid}/task"));
        let threads = tids.iter().map(|&tid| {
            let first = Sample::read(&task, tid)?;
            first.map(|first| Watched::new(tid, first)).ok_or_else(|| gone_from(&task, tid))
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { task, threads })
    }

    /// Does what [`of_process`](Self::of_process) does, with the proc file system at `root/proc`.
    ///
    /// # Errors
    ///
    /// As [`of_process`](Self::of_process).
    pub fn of_process_from(root: &Path, pid: u32) -> Result<Self, WatchError> {
        let task = root.join(format!("proc/{pid}/task"));
        let tids = threads_of(root, pid).map_err(|source| match gone(&source) {
            true => gone_from(&task, pid),
            false => WatchError::Unreadable { path: task.clone(), source },
        })?;
        let mut threads = Vec::with_capacity(tids.len());
        for tid in tids {
            threads.extend(Sample::read(&task, tid)?.map(|first| Watched::new(tid, first)));
        }
        if threads.is_empty() { Err(gone_from(&task, pid)) } else { Ok(Self { task, threads }) }
    }

    /// Gives the threads watched, in the order in which they were named.
    pub fn tids(&self) -> impl Iterator<Item = u32> {
        self.threads.iter().map(|thread| thread.tid)
    }

    /// Looks where the threads are now. A thread that has ended is no error.
    ///
    /// # Errors
    ///
    /// [`WatchError`] names the file that cannot be used; the other threads are sampled all the
    /// same.
    pub fn sample(&mut self) -> Result<(), WatchError> {
        let mut outcome = Ok(());
        for thread in self.threads.iter_mut().filter(|thread| !thread.ended) {
            match Sample::read(&self.task, thread.tid) {
                Ok(sample) => thread.take(sample),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// Tells of each thread what happened from the first sample to the last, in the order in which
    /// they were named. Take a last sample before.
    #[must_use]
    pub fn report(&self) -> Vec<Residence> {
        self.threads.iter().map(Watched::residence).collect()
    }
}

fn gone_from(task: &Path, tid: u32) -> WatchError {
    WatchError::Gone { tid, task: task.to_owned() }
}

impl Watched {
    fn new(tid: u32, first: Sample) -> Self {
        let cpus_seen = CpuSet::from_iter([first.stat.cpu]);
        Self { tid, cpus_seen, samples: 1, last: first.clone(), first, ended: false }
    }

    fn take(&mut self, sample: Option<Sample>) {
        // A thread that was started at another time has only the id in common with ours.
        match sample.filter(|sample| sample.stat.started == self.first.stat.started) {
            Some(sample) => {
                self.cpus_seen.insert(sample.stat.cpu);
                self.samples += 1;
                self.last = sample;
            }
            None => self.ended = true,
        }
    }

    fn residence(&self) -> Residence {
        let (first, last) = (&self.first, &self.last);
        let switches = |of: fn(&Status) -> u64| of(&last.status).saturating_sub(of(&first.status));
        Residence {
            tid: self.tid,
            cpus_seen: self.cpus_seen.clone(),
            samples: self.samples,
            migrations: last.migrations.since(first.migrations),
            voluntary_switches: switches(|status| status.voluntary_switches),
            involuntary_switches: switches(|status| status.involuntary_switches),
            name: last.stat.name.clone(),
            affinity: last.status.affinity.clone(),
            ended: self.ended,
        }
    }
}

impl Sample {
    /// Looks at a thread; `None` when it has ended.
    fn read(task: &Path, tid: u32) -> Result<Option<Self>, WatchError> {
        let dir = task.join(tid.to_string());
        let Some(stat) = read(dir.join("stat"), procfs::parse_stat)? else { return Ok(None) };
        let Some(status) = read(dir.join("status"), procfs::parse_status)? else { return Ok(None) };
        if stat.ended {
            return Ok(None);
        }
        let migrations = match fs::read(dir.join("sched")) {
            Ok(sched) => procfs::parse_migrations(&sched).map_or(Migrations::NotTold, Migrations::Counted),
            Err(error) if gone(&error) && dir.join("stat").exists() => Migrations::NoFile,
            Err(error) if gone(&error) => return Ok(None),
            Err(_) => Migrations::Unreadable,
        };
        Ok(Some(Self { stat, status, migrations }))
    }
}

/// Reads and parses a file of a thread; `None` when the thread has gone.
fn read<T>(path: PathBuf, parse: fn(&[u8]) -> Option<T>) -> Result<Option<T>, WatchError> {
    match fs::read(&path) {
        Ok(content) => parse(&content).map(Some).ok_or(WatchError::Malformed { path }),
        Err(error) if gone(&error) => Ok(None),
        Err(source) => Err(WatchError::Unreadable { path, source }),
    }
}
