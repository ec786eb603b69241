//! Which logical CPUs there are.

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::error::Error;
use crate::read::files::{CPU_DIR, Files};
use crate::read::parse;
use crate::view::words::cpus as named;

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
        let mut set = |name| files.optional(&format!("{CPU_DIR}/{name}"), parse_list);
        let (online, present, possible) = (set("online"), set("present"), set("possible"));
        let online = online.unwrap_or_else(|| switched_on(files, &dirs));
        if online.is_empty() {
            return Err(Error::NoCpus { path: files.source().name(CPU_DIR) });
        }
        let undescribed = online.difference(&dirs);
        if !undescribed.is_empty() {
            let message = format!("has no directory for {}, which online names", named(&undescribed));
            files.problem(CPU_DIR, message);
        }
        let present =
            whole(files, "present", present.unwrap_or_else(|| dirs.union(&online)), ("online", &online));
        let possible =
            whole(files, "possible", possible.unwrap_or_else(|| present.clone()), ("present", &present));
        Ok(Self { possible, present, described: online.intersection(&dirs), online })
    }
}

/// Gives the set that a file tells with what it has to hold; that it did not is a problem.
fn whole(files: &mut Files<'_>, name: &str, told: CpuSet, (what, needed): (&str, &CpuSet)) -> CpuSet {
    let lacking = needed.difference(&told);
    if lacking.is_empty() {
        return told;
    }
    files.problem(&format!("{CPU_DIR}/{name}"), format_args!("lacks {}, which {what} has", named(&lacking)));
    told.union(&lacking)
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
