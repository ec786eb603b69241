//! Time in which a CPU had something to run and the hypervisor ran somebody else.

use std::collections::BTreeMap;

use super::Remedy;
use super::look::{Look, Machine};
use super::parse::{self, Ticks};
use crate::cpuset::CpuSet;
use crate::read::Hypervisor;
use crate::read::parse::Wrong;
use crate::view::words::cpus;

const STAT: &str = "proc/stat";

/// The length of a tick in milliseconds: `USER_HZ` is 100 wherever Linux runs.
const TICK_MS: u64 = 10;

/// The share of the time since boot, of what the CPUs had to run, up to which nobody counts as
/// stealing: one part in 10 000 does not reach the p99.9.
const QUIET_PARTS: u64 = 10_000;

pub(super) fn steal(machine: &Machine<'_>) -> Look {
    Look::of(machine.value(STAT, |text| judge(text, None, machine.chosen, &machine.hypervisor)))
}

/// Judges `/proc/stat` and, where there is one, an earlier text of it.
pub(super) fn judge(
    now: &str,
    before: Option<&str>,
    chosen: &CpuSet,
    hypervisor: &Hypervisor,
) -> Result<Look, Wrong> {
    let totals = |text: &str| parse::stat(text).and_then(|cpus| sum(&cpus, chosen));
    let (now, before) = (totals(now)?, before.map(totals).transpose()?);
    let wanted = now.busy.saturating_add(now.stolen);
    let percent = now.stolen as f64 * 100.0 / wanted.max(1) as f64;
    let mut seen = format!("since boot, {percent:.3} % of the time in which {} had work", cpus(chosen));
    // A CPU that went offline and came back starts again, so a count may be lower than before.
    let sample = before.map(|before| now.stolen.saturating_sub(before.stolen));
    if let Some(stolen) = sample {
        seen.push_str(&format!("; {} ms in the sample just taken", stolen.saturating_mul(TICK_MS)));
    }
    let is_rare = now.stolen.saturating_mul(QUIET_PARTS) <= wanted;
    Ok(match () {
        () if !is_rare || sample.is_some_and(|stolen| stolen > 0) => {
            let remedy =
                "only the host can: a machine type with dedicated CPUs, or virtual CPUs pinned there";
            Look::noisy(seen, Remedy::Do(remedy.to_owned()))
        }
        () if now.stolen > 0 => Look::quiet(seen),
        () => match hypervisor {
            Hypervisor::Absent => Look::quiet(seen),
            Hypervisor::Present { .. } => Look::undecided(
                seen,
                "this is a virtual machine, and not every hypervisor reports what it takes",
            ),
            Hypervisor::Unknown => Look::undecided(
                seen,
                "nothing tells whether this is a virtual machine, and not every hypervisor reports what it takes",
            ),
        },
    })
}

fn sum(cpus: &BTreeMap<u32, Ticks>, chosen: &CpuSet) -> Result<Ticks, String> {
    let mut total = Ticks::default();
    for cpu in chosen {
        let ticks = cpus.get(&cpu).ok_or_else(|| format!("has no line of CPU {cpu}"))?;
        total.busy = total.busy.saturating_add(ticks.busy);
        total.stolen = total.stolen.saturating_add(ticks.stolen);
    }
    if chosen.is_empty() { Err("no CPU was chosen".to_owned()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::State;

    const PRESENT: Hypervisor = Hypervisor::Present { told_by: "/proc/cpuinfo" };

    fn stat(busy: u64, stolen: u64) -> String {
        format!("cpu  0 0 0 0 0 0 0 0\ncpu0 {busy} 0 0 5 0 0 0 {stolen} 0 0\ncpu1 1 0 0 0 0 0 0 999 0 0\n")
    }

    fn state(now: &str, before: Option<&str>, hypervisor: Hypervisor) -> State {
        judge(now, before, &"0".parse().unwrap(), &hypervisor).unwrap().state
    }

    #[test]
    fn a_share_of_the_busy_time_or_any_tick_of_the_sample_is_noise() {
        assert_eq!(state(&stat(9_999, 1), None, PRESENT), State::Quiet);
        assert_eq!(state(&stat(9_998, 2), None, PRESENT), State::Noisy);
        assert_eq!(state(&stat(99_999, 1), Some(&stat(99_990, 1)), PRESENT), State::Quiet);
        assert_eq!(state(&stat(99_999, 1), Some(&stat(99_990, 0)), PRESENT), State::Noisy);
        assert_eq!(state(&stat(10, 0), Some(&stat(20, 5)), Hypervisor::Absent), State::Quiet);
    }

    #[test]
    fn silence_of_a_hypervisor_is_no_proof() {
        for hypervisor in [PRESENT, Hypervisor::Unknown] {
            assert!(matches!(state(&stat(10, 0), None, hypervisor), State::Unknown { .. }));
        }
        assert_eq!(state(&stat(10, 0), None, Hypervisor::Absent), State::Quiet);
    }

    #[test]
    fn a_cpu_without_a_line_is_unknown() {
        let wrong = judge(&stat(1, 0), None, &"0,7".parse().unwrap(), &PRESENT).err();
        assert_eq!(wrong.as_deref(), Some("has no line of CPU 7"));
    }
}
