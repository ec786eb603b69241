//! The clock frequency: who chooses it, and how far it may move.

use super::Remedy;
use super::look::{Look, Machine};
use super::remedy::{write, write_each};
use super::{State, Why, parse};
use crate::cpuset::CpuSet;
use crate::read::files::CPU_DIR;
use crate::read::parse as read;

pub(super) fn governor(machine: &Machine<'_>) -> Look {
    let governors = machine.each_cpu("cpufreq/scaling_governor", parse::word);
    let free: CpuSet = governors.except(|governor| governor == "performance").iter().collect();
    let free: CpuSet = free.iter().filter(|&cpu| !is_fixed(machine, cpu)).collect();
    let mut seen = governors.text();
    let drivers = machine.each_cpu("cpufreq/scaling_driver", parse::word);
    if !drivers.told.is_empty() {
        seen.push_str(&format!(" (driver {})", drivers.told.keys().cloned().collect::<Vec<_>>().join(", ")));
    }
    let command = || Remedy::Run(write_each("performance", &free, "cpufreq/scaling_governor"));
    Look::judged(seen, (!free.is_empty()).then(command), governors.untold)
}

/// Whether the limits leave the governor nothing to choose.
fn is_fixed(machine: &Machine<'_>, cpu: u32) -> bool {
    let khz = |name| machine.value(&format!("{CPU_DIR}/cpu{cpu}/cpufreq/{name}"), read::number::<u64>);
    matches!((khz("scaling_min_freq"), khz("scaling_max_freq")), (Ok(min), Ok(max)) if min == max)
}

pub(super) fn energy_preference(machine: &Machine<'_>) -> Look {
    const NAME: &str = "cpufreq/energy_performance_preference";
    let preferences = machine.each_cpu(NAME, parse::word);
    // 0 is the raw value of `performance`.
    let other = preferences.except(|word| word == "performance" || word == "0");
    if preferences.told.is_empty() && matches!(preferences.untold, Some(Why::Missing { .. })) {
        // Most drivers have no such file; it is missing only where there is no driver at all.
        let drivers = machine.each_cpu("cpufreq/scaling_driver", parse::word);
        if drivers.untold.is_none() {
            let names: Vec<_> = drivers.told.keys().cloned().collect();
            return Look::quiet(format!("the driver {} has none", names.join(", ")));
        }
    }
    let command = || Remedy::Run(write_each("performance", &other, NAME));
    Look::judged(preferences.text(), (!other.is_empty()).then(command), preferences.untold)
}

pub(super) fn turbo(machine: &Machine<'_>) -> Look {
    // The file, and its word for "off".
    let switches = [("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")];
    let mut untold = None;
    for (name, off) in switches {
        let path = format!("{CPU_DIR}/{name}");
        let look = machine.value(&path, read::switch).map(|is_one| {
            let word = if is_one { "1" } else { "0" };
            if word == off {
                return Look::quiet(format!("off ({name} is {word})"));
            }
            Look::noisy(format!("on ({name} is {word})"), write(off, &path))
        });
        match look {
            Ok(look) => return look,
            Err(why) => _ = untold.get_or_insert(why),
        }
    }
    let mut look = untold.map_or_else(|| Look::quiet("no switch"), Look::from);
    if let State::Unknown { why: Why::Missing { .. } } = look.state {
        look.seen =
            format!("neither intel_pstate/no_turbo nor cpufreq/boost in {}", machine.path(CPU_DIR).display());
    }
    look
}
