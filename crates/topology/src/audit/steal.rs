//! Time in which a CPU had something to run and the hypervisor ran somebody else.

use std::collections::BTreeMap;

use super::look::{Look, Machine, cpus};
use super::parse::{self, Ticks};
use super::{Remedy, State, Why};
use crate::cpuset::CpuSet;

const STAT: &str = "proc/stat";

/// The length of a tick in milliseconds: `USER_HZ` is 100 wherever Linux runs.
const TICK_MS: u64 = 10;

/// The share of the time since boot, of what the CPUs had to run, up to which nobody counts as
/// stealing: one part in 10 000 does not reach the p99.9.
const QUIET_PARTS: u64 = 10_000;

pub(super) fn steal(machine: &Machine<'_>) -> Look {
    let text = match machine.text(STAT) {
        Ok(text) => text,
        Err(why) => return why.into(),
    };
    let mut look = judge(&text, None, machine.chosen, machine.is_virtual());
    if let State::Unknown { why: Why::Malformed { path, .. } } = &mut look.state {
        *path = machine.path(STAT);
    }
    look
}

/// Judges `/proc/stat` and, where there is one, an earlier text of it.
pub(super) fn judge(now: &str, before: Option<&str>, chosen: &CpuSet, is_virtual: bool) -> Look {
    let totals = |text: &str| parse::stat(text).and_then(|cpus| sum(&cpus, chosen));
    let totals = totals(now).and_then(|now| Ok((now, before.map(totals).transpose()?)));
    let (now, before) = match totals {
        Ok(totals) => totals,
        Err(message) => return Why::Malformed { path: format!("/{STAT}").into(), message }.into(),
    };
    let wanted = now.busy.saturating_add(now.stolen);
    let percent = now.stolen as f64 * 100.0 / wanted.max(1) as f64;
    let mut seen = format!("since boot, {percent:.3} % of the time in which {} had work", cpus(chosen));
    // A CPU that went offline and came back starts again, so a count may be lower than before.
    let sample = before.map(|before| now.stolen.saturating_sub(before.stolen));
    if let Some(stolen) = sample {
        seen.push_str(&format!("; {} ms in the sample just taken", stolen.saturating_mul(TICK_MS)));
    }
    let is_rare = now.stolen.saturating_mul(QUIET_PARTS) <= wanted;
    match () {
        () if !is_rare || sample.is_some_and(|stolen| stolen > 0) => {
            let remedy =
                "only the host can: a machine type with dedicated CPUs, or virtual CPUs pinned there";
            Look::noisy(seen, Remedy::Do(remedy.to_owned()))
        }
        () if is_virtual && now.stolen == 0 => {
            Look::undecided(seen, "this is a virtual machine, and not every hypervisor reports what it takes")
        }
        () => Look::quiet(seen),
    }
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

    fn stat(busy: u64, stolen: u64) -> String {
        format!("cpu  0 0 0 0 0 0 0 0\ncpu0 {busy} 0 0 5 0 0 0 {stolen} 0 0\ncpu1 1 0 0 0 0 0 0 999 0 0\n")
    }

    fn state(now: &str, before: Option<&str>, is_virtual: bool) -> State {
        judge(now, before, &"0".parse().unwrap(), is_virtual).state
    }

    #[test]
    fn a_share_of_the_busy_time_or_any_tick_of_the_sample_is_noise() {
        assert_eq!(state(&stat(9_999, 1), None, true), State::Quiet);
        assert_eq!(state(&stat(9_998, 2), None, true), State::Noisy);
        assert_eq!(state(&stat(99_999, 1), Some(&stat(99_990, 1)), true), State::Quiet);
        assert_eq!(state(&stat(99_999, 1), Some(&stat(99_990, 0)), true), State::Noisy);
        assert_eq!(state(&stat(10, 0), Some(&stat(20, 5)), false), State::Quiet);
    }

    #[test]
    fn silence_of_a_hypervisor_is_no_proof() {
        assert!(matches!(state(&stat(10, 0), None, true), State::Unknown { .. }));
        assert_eq!(state(&stat(10, 0), None, false), State::Quiet);
    }

    #[test]
    fn a_cpu_without_a_line_is_unknown() {
        let look = judge(&stat(1, 0), None, &"0,7".parse().unwrap(), false);
        let State::Unknown { why } = look.state else { panic!("{}", look.seen) };
        assert!(why.to_string().contains("CPU 7"), "{why}");
    }
}
