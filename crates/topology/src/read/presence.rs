//! Which logical CPUs there are, and which of them the process may use.

use std::path::Path;

use crate::cpuset::CpuSet;
use crate::error::Error;
use crate::model::{Excluded, ExclusionReason};
use crate::pin::current_affinity;

use crate::read::files::{CPU_DIR, Files, list};
use crate::read::parse;

/// The kernel's sets of logical CPUs.
pub(crate) struct Presence {
    pub(crate) online: CpuSet,
    pub(crate) possible: CpuSet,
    pub(crate) present: CpuSet,
    /// The online CPUs that have a directory, so that something can be read about them.
    pub(crate) described: CpuSet,
}

impl Presence {
    /// Reads the sets; where a kernel is too old to have a file, the directories tell.
    pub(crate) fn read(files: &mut Files<'_>) -> Result<Self, Error> {
        let dirs = files.numbered(CPU_DIR, "cpu").unwrap_or_default();
        let mut set = |name| files.cpus(CPU_DIR, &[list(name)]).map(|(_, cpus)| cpus);
        let (online, present, possible) = (set("online"), set("present"), set("possible"));
        let online = online.unwrap_or_else(|| switched_on(files, &dirs));
        if online.is_empty() {
            let path = files.path(CPU_DIR);
            return Err(Error::NoCpus { path });
        }
        let undescribed = online.difference(&dirs);
        if !undescribed.is_empty() {
            let message = format!("has no directory for the online CPUs {undescribed}");
            files.problem(CPU_DIR, message);
        }
        let present = present.unwrap_or_else(|| dirs.clone()).union(&online);
        Ok(Self {
            possible: possible.unwrap_or_default().union(&present),
            present,
            described: online.intersection(&dirs),
            online,
        })
    }
}

/// The CPUs whose own switch is on, or that have none because they cannot be switched off.
fn switched_on(files: &mut Files<'_>, dirs: &CpuSet) -> CpuSet {
    dirs.iter()
        .filter(|cpu| {
            let path = format!("{CPU_DIR}/cpu{cpu}/online");
            files.optional(&path, parse::switch).unwrap_or(true)
        })
        .collect()
}

/// The CPUs that the process may use. Of a live machine the kernel is asked; the files of another
/// machine may hold the mask of the process that recorded them, and if not, all are allowed.
pub(crate) fn allowed(files: &mut Files<'_>, root: &Path, online: &CpuSet) -> Result<CpuSet, Error> {
    if root == Path::new("/") {
        return Ok(current_affinity()?.intersection(online));
    }
    let recorded = files.optional("proc/self/status", parse::status_allowed);
    let mask = recorded.flatten();
    Ok(mask.map_or_else(|| online.clone(), |mask| mask.intersection(online)))
}

/// The CPUs that are there and may not be used, by reason.
pub(crate) fn excluded(online: &CpuSet, offline: &CpuSet, allowed: &CpuSet) -> Vec<Excluded> {
    let reasons = [
        (offline.clone(), ExclusionReason::Offline),
        (online.difference(allowed), ExclusionReason::NotInAffinityMask),
    ];
    let excluded = reasons.into_iter().filter(|(cpus, _)| !cpus.is_empty());
    excluded.map(|(cpus, reason)| Excluded { cpus, reason }).collect()
}
