//! The machine as a whole.

use std::path::Path;

use crate::cpuset::CpuSet;
use crate::error::Error;
use crate::model::{Cache, Cluster, Core, CpuKind, Die, Excluded, NumaNode, Package, Problem, Quota};
use crate::pin::current_affinity;
use crate::read::files::{CPU_DIR, Files};
use crate::read::limits::Limits;
use crate::read::presence::Presence;
use crate::read::source::{Directory, Source};
use crate::read::{caches, consistency, groups, kinds, numa, parse};
use crate::view::Tree;

/// A machine: its logical CPUs, which of them this process may use, and what they share.
///
/// All sets of parts ([`cores`](Self::cores), [`packages`](Self::packages), …) hold online
/// logical CPUs only. What files do not tell is absent, and [`problems`](Self::problems) says
/// which files those were. It is a snapshot: later changes of the machine do not show.
///
/// Serialises to a JSON object of the same contents, CPU sets as lists (`"0-3,8"`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    online: CpuSet,
    possible: CpuSet,
    present: CpuSet,
    offline: CpuSet,
    allowed: CpuSet,
    excluded: Vec<Excluded>,
    cores: Vec<Core>,
    packages: Vec<Package>,
    dies: Vec<Die>,
    clusters: Vec<Cluster>,
    kinds: Vec<CpuKind>,
    caches: Vec<Cache>,
    numa_nodes: Vec<NumaNode>,
    smt_control: Option<String>,
    isolated: CpuSet,
    nohz_full: CpuSet,
    cpu_quota: Quota,
    allowed_nodes: Option<Vec<u32>>,
    problems: Vec<Problem>,
}

impl Topology {
    /// Reads this machine.
    ///
    /// What is allowed is what the *calling thread* may use: read once at the start, before any
    /// thread is pinned.
    ///
    /// # Errors
    ///
    /// As [`read_from`](Self::read_from), and [`Error::Affinity`] when the kernel does not tell
    /// the affinity mask.
    pub fn read() -> Result<Self, Error> {
        Self::read_files(&Directory::new("/"), Some(current_affinity()?))
    }

    /// Reads the machine whose files lie below `root`, where `root/sys/devices/system/cpu` is.
    ///
    /// For a root other than `/`, nothing is asked of the running kernel: what is allowed comes
    /// from `root/proc/self/status` and the files of control groups, and is every online CPU where
    /// those are absent.
    ///
    /// # Errors
    ///
    /// [`Error::NoCpus`] when no online CPU is named. Anything less is one of the
    /// [`problems`](Self::problems).
    pub fn read_from(root: &Path) -> Result<Self, Error> {
        if root == Path::new("/") { Self::read() } else { Self::read_source(&Directory::new(root)) }
    }

    /// Reads the machine whose files a [`Source`] gives. Nothing is asked of the running kernel.
    ///
    /// # Errors
    ///
    /// As [`read_from`](Self::read_from).
    pub fn read_source(source: &dyn Source) -> Result<Self, Error> {
        Self::read_files(source, None)
    }

    fn read_files(source: &dyn Source, affinity: Option<CpuSet>) -> Result<Self, Error> {
        let mut files = Files::new(source);
        let presence = Presence::read(&mut files)?;
        let limits = Limits::read(&mut files, &presence, affinity);
        let cpus = &presence.described;
        let cores = groups::cores(&mut files, cpus);
        let packages = groups::packages(&mut files, cpus);
        let caches = caches::read(&mut files, cpus, &cores);
        let dies = groups::dies(&mut files, cpus, &packages);
        let clusters = groups::clusters(&mut files, cpus, &cores);
        let families = [
            ("core", cores.iter().map(|core| &core.cpus).collect()),
            ("cluster", clusters.iter().map(|cluster| &cluster.cpus).collect()),
            ("die", dies.iter().map(|die| &die.cpus).collect()),
            ("package", packages.iter().map(|package| &package.cpus).collect()),
        ];
        consistency::check(&mut files, &families);
        Ok(Self {
            clusters: groups::boundaries(clusters, &dies, &packages),
            kinds: kinds::read(&mut files, cpus, &caches),
            numa_nodes: numa::read(&mut files, &presence.online),
            smt_control: files.optional(&format!("{CPU_DIR}/smt/control"), parse::word).flatten(),
            problems: files.into_problems(),
            caches,
            cores,
            packages,
            dies,
            allowed: limits.allowed,
            excluded: limits.excluded,
            isolated: limits.isolated,
            nohz_full: limits.nohz_full,
            cpu_quota: limits.quota,
            allowed_nodes: limits.nodes.map(|nodes| nodes.iter().collect()),
            offline: presence.present.difference(&presence.online),
            online: presence.online,
            possible: presence.possible,
            present: presence.present,
        })
    }

    /// The logical CPUs that the scheduler may use.
    #[must_use]
    pub fn online(&self) -> &CpuSet {
        &self.online
    }

    /// The logical CPUs that could ever be there: [`present`](Self::present), and empty slots.
    #[must_use]
    pub fn possible(&self) -> &CpuSet {
        &self.possible
    }

    /// The logical CPUs that are there, online or not.
    #[must_use]
    pub fn present(&self) -> &CpuSet {
        &self.present
    }

    /// The logical CPUs that are there and switched off. The kernel's file of this name counts
    /// empty slots as well; this set does not.
    #[must_use]
    pub fn offline(&self) -> &CpuSet {
        &self.offline
    }

    /// The online logical CPUs that this process may use.
    #[must_use]
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// The logical CPUs that are there and that this process may not use, by reason.
    #[must_use]
    pub fn excluded(&self) -> &[Excluded] {
        &self.excluded
    }

    /// The cores, ascending by lowest logical CPU. No two overlap.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The packages, ascending by lowest logical CPU. No two overlap.
    #[must_use]
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The dies, ascending by lowest logical CPU, that are less than their package. No two
    /// overlap.
    #[must_use]
    pub fn dies(&self) -> &[Die] {
        &self.dies
    }

    /// The clusters, ascending by lowest logical CPU, that are more than a core and less than
    /// their die and package. No two overlap.
    #[must_use]
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The kinds of CPU, the least capable first: two or more on a hybrid machine, one where all
    /// are known to be alike, none where no file tells. No two overlap.
    #[must_use]
    pub fn kinds(&self) -> &[CpuKind] {
        &self.kinds
    }

    /// The caches, ascending by level, kind and lowest logical CPU.
    #[must_use]
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The NUMA nodes, ascending by number; none where the kernel is built without NUMA.
    #[must_use]
    pub fn numa_nodes(&self) -> &[NumaNode] {
        &self.numa_nodes
    }

    /// Gives the other online logical CPUs of `cpu`'s core: empty where it has the core to
    /// itself, is offline, or no file tells.
    #[must_use]
    pub fn smt_siblings(&self, cpu: u32) -> CpuSet {
        let core = self.cores.iter().find(|core| core.cpus.contains(cpu));
        let mut siblings = core.map(|core| core.cpus.clone()).unwrap_or_default();
        siblings.remove(cpu);
        siblings
    }

    /// The kernel's word on SMT, where it has one: `on`, `off`, `forceoff`, `notsupported` or
    /// `notimplemented`; a number of threads per core on some machines.
    #[must_use]
    pub fn smt_control(&self) -> Option<&str> {
        self.smt_control.as_deref()
    }

    /// The online logical CPUs that the scheduler leaves alone (`isolcpus=`): only threads that
    /// are pinned to one run there.
    #[must_use]
    pub fn isolated(&self) -> &CpuSet {
        &self.isolated
    }

    /// The online logical CPUs whose scheduler tick stops while one thread runs (`nohz_full=`).
    #[must_use]
    pub fn nohz_full(&self) -> &CpuSet {
        &self.nohz_full
    }

    /// The tightest CPU quota that control groups set on the process, if that can be told.
    #[must_use]
    pub fn cpu_quota(&self) -> &Quota {
        &self.cpu_quota
    }

    /// The numbers of the NUMA nodes from which this process may take memory, ascending; `None`
    /// where the kernel does not tell.
    #[must_use]
    pub fn allowed_nodes(&self) -> Option<&[u32]> {
        self.allowed_nodes.as_deref()
    }

    /// The files that were missing or malformed, in the order of reading. Everything that they do
    /// not touch is known.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Gives the machine as text for people, one line for each group of equal parts.
    #[must_use]
    pub fn tree(&self) -> Tree<'_> {
        Tree::new(self)
    }
}
