//! Frequency limits and governors. Apart from the topology, because a machine has up to seven such
//! files for each CPU, and only people and audits ask.

use serde::Serialize;

use crate::cpuset::CpuSet;
use crate::model::Problem;
use crate::read::files::{CPU_DIR, Files};
use crate::read::parse;
use crate::read::source::Source;
use crate::topology::Topology;

/// A set of logical CPUs whose frequency is governed together, and how.
///
/// What the kernel does not tell is `None`. See the kernel's [CPU performance scaling] page.
///
/// [CPU performance scaling]: https://docs.kernel.org/admin-guide/pm/cpufreq.html
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FrequencyPolicy {
    /// The online logical CPUs; never empty, and in no other policy.
    pub cpus: CpuSet,
    /// The driver, such as `intel_pstate`.
    pub driver: Option<String>,
    /// The governor, such as `performance` or `powersave`.
    pub governor: Option<String>,
    /// The lowest frequency that the governor may choose, in kHz.
    pub min_khz: Option<u64>,
    /// The highest frequency that the governor may choose, in kHz.
    pub max_khz: Option<u64>,
    /// The lowest frequency of the hardware, in kHz.
    pub hardware_min_khz: Option<u64>,
    /// The highest frequency of the hardware, in kHz, turbo included.
    pub hardware_max_khz: Option<u64>,
}

/// The frequency policies of a machine, ascending by lowest logical CPU, and the files that could
/// not be used. No policy at all is what most virtual machines have: the host governs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Frequencies {
    /// The policies. CPUs in none of them have no frequency that this kernel governs.
    pub policies: Vec<FrequencyPolicy>,
    /// Files that were there and malformed or unreadable.
    pub problems: Vec<Problem>,
}

impl Frequencies {
    /// Reads the frequency policies of a machine's online CPUs.
    #[must_use]
    pub fn read(source: &dyn Source, topology: &Topology) -> Self {
        let mut files = Files::new(source);
        let mut covered = CpuSet::new();
        let mut policies = Vec::new();
        for cpu in topology.online() {
            if covered.contains(cpu) {
                continue;
            }
            if let Some(policy) = read_policy(&mut files, cpu, &topology.online().difference(&covered)) {
                covered = covered.union(&policy.cpus);
                policies.push(policy);
            }
        }
        Self { policies, problems: files.into_problems() }
    }

    /// Gives the policy of a logical CPU.
    #[must_use]
    pub fn of(&self, cpu: u32) -> Option<&FrequencyPolicy> {
        self.policies.iter().find(|policy| policy.cpus.contains(cpu))
    }
}

fn read_policy(files: &mut Files<'_>, cpu: u32, free: &CpuSet) -> Option<FrequencyPolicy> {
    let dir = format!("{CPU_DIR}/cpu{cpu}/cpufreq");
    let hardware_max_khz = files.optional(&format!("{dir}/cpuinfo_max_freq"), parse::number);
    let governor = files.optional(&format!("{dir}/scaling_governor"), parse::word).flatten();
    if governor.is_none() && hardware_max_khz.is_none() {
        return None; // No CPU without a governor has the other files.
    }
    // The kernel writes blanks between the numbers here, not commas.
    let together = files.optional(&format!("{dir}/affected_cpus"), parse::numbers);
    let driver = files.optional(&format!("{dir}/scaling_driver"), parse::word).flatten();
    let mut khz = |name| files.optional(&format!("{dir}/{name}"), parse::number);
    Some(FrequencyPolicy {
        cpus: together.unwrap_or_default().into_iter().chain([cpu]).collect::<CpuSet>().intersection(free),
        driver,
        governor,
        min_khz: khz("scaling_min_freq"),
        max_khz: khz("scaling_max_freq"),
        hardware_min_khz: khz("cpuinfo_min_freq"),
        hardware_max_khz,
    })
}
