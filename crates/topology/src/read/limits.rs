//! What this process may use of the machine, and why not the rest.

use crate::cpuset::CpuSet;
use crate::model::{Excluded, ExclusionReason, Quota};
use crate::read::cgroup::Groups;
use crate::read::files::{CPU_DIR, Files};
use crate::read::parse;
use crate::read::presence::Presence;

/// The limits, all of them cut down to online CPUs.
pub(crate) struct Limits {
    pub(crate) allowed: CpuSet,
    pub(crate) excluded: Vec<Excluded>,
    pub(crate) isolated: CpuSet,
    pub(crate) nohz_full: CpuSet,
    pub(crate) quota: Quota,
    pub(crate) nodes: Option<CpuSet>,
}

impl Limits {
    /// Reads the limits. `affinity` is the kernel's answer on a live machine; elsewhere the files
    /// may hold the mask of the process that recorded them, and if not, all CPUs are in it.
    pub(crate) fn read(files: &mut Files<'_>, presence: &Presence, affinity: Option<CpuSet>) -> Self {
        let online = &presence.online;
        // A live process may have moved its threads into groups of their own.
        let process = if affinity.is_some() { "proc/thread-self" } else { "proc/self" };
        let mut in_status = |name| {
            files.optional(&format!("{process}/status"), |text| parse::status_list(text, name)).flatten()
        };
        let (recorded, nodes) = (in_status("Cpus_allowed_list:"), in_status("Mems_allowed_list:"));
        let groups = Groups::read(files, process);
        let cpuset = groups.cpuset(files);
        let mask = affinity.or(recorded).unwrap_or_else(|| online.clone());
        let in_cpuset = cpuset.as_ref().map_or(online, |(cpus, _)| cpus);
        let mut boot_set = |name| files.optional(&format!("{CPU_DIR}/{name}"), parse::list_or_null);
        let mut limits = Self {
            allowed: mask.intersection(online).intersection(in_cpuset),
            excluded: Vec::new(),
            isolated: boot_set("isolated").unwrap_or_default().intersection(online),
            nohz_full: boot_set("nohz_full").unwrap_or_default().intersection(online),
            quota: groups.quota(files),
            nodes,
        };
        limits.explain(presence, cpuset);
        limits
    }

    /// Gives each CPU that may not be used the reason that is hardest to change.
    fn explain(&mut self, presence: &Presence, cpuset: Option<(CpuSet, String)>) {
        let mut rest = presence.online.difference(&self.allowed);
        let mut exclude = |cpus: CpuSet, reason| {
            if !cpus.is_empty() {
                self.excluded.push(Excluded { cpus, reason });
            }
        };
        exclude(presence.present.difference(&presence.online), ExclusionReason::Offline);
        if let Some((cpus, cgroup)) = cpuset {
            let outside = rest.difference(&cpus);
            rest = rest.difference(&outside);
            exclude(outside, ExclusionReason::NotInCpuset { cgroup });
        }
        let isolated = rest.intersection(&self.isolated);
        rest = rest.difference(&isolated);
        exclude(isolated, ExclusionReason::Isolated);
        exclude(rest, ExclusionReason::NotInAffinityMask);
    }
}
