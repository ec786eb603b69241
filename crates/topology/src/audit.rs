//! What on this machine disturbs a latency measurement, and how to stop it.
//!
//! An [`Audit`] reads settings and counts from sysfs and procfs, without any privilege; it starts
//! no measurement and changes nothing. What it does not see: what the host of a virtual machine
//! does, quotas of control groups outside a container's view, and firmware (system management
//! interrupts, power limits).

mod frequency;
mod idle;
mod interrupts;
mod kernel;
mod look;
mod parse;
mod remedy;
mod sharing;
mod steal;
mod table;

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::cpuset::CpuSet;
use crate::read::Hypervisor;
use crate::read::source::{Directory, Source};
use crate::topology::Topology;
use look::{Look, Machine};

/// A noise audit: for each source of noise what was seen, what it does to a latency tail, and
/// what would change it. Nothing is changed.
///
/// The findings come in the order in which the sources usually matter. A source of which a file
/// could not be read is unknown, never quiet.
///
/// ```
/// use tailcore_topology::{Topology, audit::Audit};
///
/// let topology = Topology::read()?;
/// for finding in Audit::read(&topology, topology.allowed()).noisy() {
///     println!("{}: {}", finding.check, finding.seen);
/// }
/// # Ok::<(), tailcore_topology::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    cpus: CpuSet,
    hypervisor: Hypervisor,
    findings: Vec<Finding>,
}

impl Audit {
    /// Audits this machine for a measurement on the chosen logical CPUs.
    ///
    /// If unsure which to choose, take [`Topology::allowed`]. Of a chosen CPU that is not online,
    /// what its files would tell is unknown.
    #[must_use]
    pub fn read(topology: &Topology, chosen: &CpuSet) -> Self {
        Self::read_from(Path::new("/"), topology, chosen)
    }

    /// Audits the machine whose files lie below `root`, of which `topology` was read.
    #[must_use]
    pub fn read_from(root: &Path, topology: &Topology, chosen: &CpuSet) -> Self {
        Self::read_source(&Directory::new(root), topology, chosen)
    }

    /// Audits the machine whose files a [`Source`] gives, of which `topology` was read.
    #[must_use]
    pub fn read_source(source: &dyn Source, topology: &Topology, chosen: &CpuSet) -> Self {
        let machine = Machine::new(source, topology, chosen);
        let findings = table::RULES.iter().map(|rule| rule.finding((rule.look)(&machine))).collect();
        Self { cpus: chosen.clone(), hypervisor: machine.hypervisor, findings }
    }

    /// Judges stolen time anew with two texts of `/proc/stat`, read a moment apart.
    ///
    /// What happened since boot may be long over; the sample says what happens now. 200 ms is
    /// enough to see a machine whose time is being stolen; the kernel counts in steps of 10 ms.
    pub fn sample_steal(&mut self, before: &str, after: &str) {
        let look = steal::judge(after, Some(before), &self.cpus, &self.hypervisor);
        let look =
            look.unwrap_or_else(|message| Why::Malformed { path: "/proc/stat".into(), message }.into());
        let rule = table::RULES.iter().find(|rule| rule.check == Check::Steal);
        let old = self.findings.iter_mut().find(|finding| finding.check == Check::Steal);
        if let (Some(rule), Some(old)) = (rule, old) {
            *old = rule.finding(look);
        }
    }

    /// The logical CPUs that the audit was for.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Whether a hypervisor runs the machine, and so has a part in the noise.
    #[must_use]
    pub fn hypervisor(&self) -> &Hypervisor {
        &self.hypervisor
    }

    /// All findings, one for each [`Check`].
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Visits the findings that are noisy.
    pub fn noisy(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.state == State::Noisy)
    }
}

/// What was found about one source of noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The source.
    pub check: Check,
    /// The judgement.
    #[serde(flatten)]
    pub state: State,
    /// What was seen, on one line.
    pub seen: String,
    /// What the source does to a latency tail where it is noisy.
    pub effect: &'static str,
    /// What would make it quiet; `None` where it is quiet, or nothing on this machine would.
    pub remedy: Option<Remedy>,
}

/// Whether a source is quiet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// It does not disturb.
    Quiet,
    /// It may lengthen the tail, or hide what does.
    Noisy,
    /// The machine does not tell.
    Unknown {
        /// The reason.
        why: Why,
    },
}

/// Why a source is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// There is no such file.
    Missing {
        /// The file, with the root that was read.
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
        /// Where machines have no such file.
        meaning: &'static str,
    },
    /// The file is there and cannot be read.
    Unreadable {
        /// The file, with the root that was read.
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
        /// The kernel's answer.
        message: String,
    },
    /// The file was read and is not understood.
    Malformed {
        /// The file, with the root that was read.
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Everything was read, and it does not decide the question.
    Undecided {
        /// What is missing for a decision.
        message: String,
    },
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { meaning, .. } => f.write_str(meaning),
            Self::Unreadable { message, .. }
            | Self::Malformed { message, .. }
            | Self::Undecided { message } => f.write_str(message),
        }
    }
}

/// What would make a source quiet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Remedy {
    /// Commands for sh(1), one on each line. What they change lasts until the next boot; a mask set by
    /// taskset(1), until that shell ends.
    Run(String),
    /// Options for the kernel's command line; they need a boot.
    Boot(String),
    /// Something that is no command.
    Do(String),
}

/// A source of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Check {
    /// Whether this process may use the chosen CPUs, and more than one.
    Affinity,
    /// A control group's limit on processor time.
    CpuQuota,
    /// Time in which the hypervisor ran somebody else.
    Steal,
    /// Other programs that run.
    Load,
    /// The depth to which idle CPUs sleep.
    CStates,
    /// The rule by which the clock frequency follows the load.
    Governor,
    /// The processor's own preference between speed and power.
    EnergyPreference,
    /// SMT siblings of the chosen CPUs that are online, and so may be in use.
    SmtSiblings,
    /// Devices that interrupt the chosen CPUs.
    Interrupts,
    /// Memory that may be on a disk.
    Swap,
    /// Huge pages for programs that did not ask.
    HugePages,
    /// Work done in a page fault to find a huge page.
    HugePageDefrag,
    /// Pages unmapped to learn who uses them.
    NumaBalancing,
    /// Frequencies above the nominal one.
    Turbo,
    /// The clock that programs read.
    Clocksource,
    /// Whether the scheduler leaves the chosen CPUs alone.
    Isolated,
    /// Whether the scheduler tick stops on the chosen CPUs.
    NohzFull,
    /// The watchdog against hard lock-ups.
    NmiWatchdog,
    /// The right to count events.
    PerfEventParanoid,
}

impl Check {
    /// The name, as in the JSON form: `cpu-quota`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::CpuQuota => "cpu-quota",
            Self::Steal => "steal",
            Self::Load => "load",
            Self::CStates => "c-states",
            Self::Governor => "governor",
            Self::EnergyPreference => "energy-preference",
            Self::SmtSiblings => "smt-siblings",
            Self::Interrupts => "interrupts",
            Self::Swap => "swap",
            Self::HugePages => "huge-pages",
            Self::HugePageDefrag => "huge-page-defrag",
            Self::NumaBalancing => "numa-balancing",
            Self::Turbo => "turbo",
            Self::Clocksource => "clocksource",
            Self::Isolated => "isolated",
            Self::NohzFull => "nohz-full",
            Self::NmiWatchdog => "nmi-watchdog",
            Self::PerfEventParanoid => "perf-event-paranoid",
        }
    }
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One row of the table of checks.
struct Rule {
    check: Check,
    /// What it does to a tail where it is noisy.
    effect: &'static str,
    /// Where machines do not have the files.
    absent: &'static str,
    look: fn(&Machine<'_>) -> Look,
}

impl Rule {
    fn finding(&self, look: Look) -> Finding {
        let Look { mut state, seen, remedy } = look;
        if let State::Unknown { why: Why::Missing { meaning, .. } } = &mut state {
            *meaning = self.absent;
        }
        Finding { check: self.check, state, seen, effect: self.effect, remedy }
    }
}

/// A path as text even where it is not UTF-8: a folder's odd name must not cost the report.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
