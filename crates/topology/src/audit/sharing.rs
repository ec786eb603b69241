//! Who else uses the chosen CPUs, and how much of them is left to this process.

use std::path::Path;

use super::look::{Look, Machine};
use super::remedy::{self, write_each};
use super::{Remedy, parse};
use crate::cpuset::CpuSet;
use crate::model::{ExclusionReason, Quota};
use crate::read::Hypervisor;
use crate::read::files::CPU_DIR;
use crate::read::parse as read;
use crate::view::words::cpus;

/// The load average per online CPU, in hundredths, up to which a machine counts as idle.
const LOAD_QUIET_PER_CPU: u64 = 5;

pub(super) fn affinity(machine: &Machine<'_>) -> Look {
    let (online, allowed) = (machine.topology.online(), machine.topology.allowed());
    let forbidden = machine.chosen.difference(allowed);
    let seen = if allowed == online {
        format!("this process may use every online CPU ({online})")
    } else {
        format!("this process may use {} of {online} online", cpus(allowed))
    };
    if !forbidden.is_empty() {
        let seen = format!("{seen}; {} chosen and not among them", cpus(&forbidden));
        return Look::noisy(seen, widened(machine, &forbidden));
    }
    if allowed.len() == 1 {
        let others = online.difference(allowed).difference(machine.topology.isolated());
        return Look::noisy(seen, widened(machine, &others));
    }
    Look::quiet(seen)
}

/// Lets this process use CPUs that it may not use: by its own mask, as far as its cpuset allows.
fn widened(machine: &Machine<'_>, wanted: &CpuSet) -> Remedy {
    let (topology, mut outside) = (machine.topology, wanted.clone());
    for excluded in topology.excluded() {
        match &excluded.reason {
            ExclusionReason::NotInAffinityMask | ExclusionReason::Isolated => {
                outside = outside.difference(&excluded.cpus);
            }
            ExclusionReason::NotInCpuset { cgroup } if !excluded.cpus.intersection(wanted).is_empty() => {
                return Remedy::Do(format!(
                    "choose among {}, or give control group {cgroup} a wider cpuset (docker: --cpuset-cpus, \
                     systemd: AllowedCPUs=)",
                    topology.allowed()
                ));
            }
            _ => {}
        }
    }
    if wanted.is_empty() || !outside.is_empty() {
        return Remedy::Do("run on a machine with two CPUs or more online".to_owned());
    }
    // The shell's mask is the one that the next program starts with.
    Remedy::Run(format!("taskset -pc {} $$", topology.allowed().union(wanted)))
}

pub(super) fn cpu_quota(machine: &Machine<'_>) -> Look {
    match machine.topology.cpu_quota() {
        Quota::Unlimited => Look::quiet("no control group that this process can see sets a CPU quota"),
        Quota::Limited(quota) => {
            let (used, period) = (quota.quota_us, quota.period_us);
            let seen = format!(
                "control group {} may use {used} us of every {period} us: {:.2} CPUs' worth",
                quota.cgroup,
                quota.cpus()
            );
            // The two versions of control groups have different words for "no limit".
            let none = if quota.file.ends_with("cpu.max") { "max" } else { "-1" };
            // Commands are for the machine itself, also where a recording of it was read.
            let root = machine.path("");
            let file = Path::new("/").join(quota.file.strip_prefix(root).unwrap_or(&quota.file));
            Look::noisy(seen, Remedy::Run(format!("echo {none} | sudo tee {}", remedy::word(&file))))
        }
        Quota::Unknown { why } => Look::undecided(
            why,
            "a quota, if there is one, does not show here; whoever runs the container knows",
        ),
    }
}

pub(super) fn load(machine: &Machine<'_>) -> Look {
    Look::of(machine.value("proc/loadavg", parse::load_hundredths).map(|load| {
        let online = machine.topology.online().len();
        let (whole, part) = (load / 100, load % 100);
        let plural = if online == 1 { "" } else { "s" };
        let seen = format!("load average {whole}.{part:02} over the last minute on {online} CPU{plural}");
        if load <= LOAD_QUIET_PER_CPU * online as u64 {
            return Look::quiet(seen);
        }
        let remedy = "stop what is not part of the measurement; this shows it, with the CPU it ran on: \
                      ps -eo psr,pcpu,pid,comm --sort=-pcpu | head";
        Look::noisy(seen, Remedy::Do(remedy.to_owned()))
    }))
}

pub(super) fn smt_siblings(machine: &Machine<'_>) -> Look {
    let topology = machine.topology;
    let has_core = |cpu: u32| topology.cores().iter().any(|core| core.cpus.contains(cpu));
    let coreless: CpuSet = machine.chosen.iter().filter(|&cpu| !has_core(cpu)).collect();
    // A core needs one CPU; what shares it may be in use. An isolated sibling that was not chosen is
    // idle: nothing runs there unless it is pinned there.
    let cores = topology.cores().iter().filter_map(|core| {
        let first = core.cpus.intersection(machine.chosen).first()?;
        let mut others = core.cpus.difference(&topology.isolated().difference(machine.chosen));
        others.remove(first);
        Some((first, others))
    });
    let shared: Vec<(u32, CpuSet)> = cores.filter(|(_, others)| !others.is_empty()).collect();
    let Some((first, others)) = shared.first() else {
        if coreless.is_empty() && !machine.chosen.is_empty() {
            return alone(machine);
        }
        let seen = format!("no file tells the core of {}", cpus(&coreless));
        return Look::undecided(seen, "topology/core_cpus_list is missing or malformed for them");
    };
    let siblings = shared.iter().fold(CpuSet::new(), |all, (_, others)| all.union(others));
    let example = format!("CPU {first} shares its core with {}", cpus(others));
    let seen = match shared.len() {
        1 => example,
        more => format!("{more} of the chosen cores have a second CPU online: {example}, …"),
    };
    Look::noisy(seen, without(machine, &siblings))
}

/// The chosen CPUs have their cores to themselves, as far as a guest can say that.
fn alone(machine: &Machine<'_>) -> Look {
    let seen = format!("{}: no other CPU of their cores is online and open to all", cpus(machine.chosen));
    let message = match machine.hypervisor {
        Hypervisor::Absent => return Look::quiet(seen),
        Hypervisor::Present { .. } => {
            "this is a virtual machine, and the host may run two virtual CPUs on one core all the same"
        }
        Hypervisor::Unknown => {
            "nothing tells whether this is a virtual machine, of which the host may run two virtual CPUs on one \
             core all the same"
        }
    };
    Look::undecided(seen, message)
}

/// Switches siblings off, unless the kernel has no switch for one of them (CPU 0 on most machines).
fn without(machine: &Machine<'_>, siblings: &CpuSet) -> Remedy {
    let has_switch = |&cpu: &u32| machine.text(&format!("{CPU_DIR}/cpu{cpu}/online")).is_ok();
    let fixed = siblings.difference(&siblings.iter().filter(has_switch).collect());
    if fixed.is_empty() {
        return Remedy::Run(write_each("0", siblings, "online"));
    }
    Remedy::Do(format!(
        "choose {fixed}, which cannot be switched off, instead of the sibling; or leave it idle"
    ))
}

pub(super) fn isolated(machine: &Machine<'_>) -> Look {
    set_at_boot(machine, ("isolated", "isolated"), |list| format!("isolcpus=managed_irq,domain,{list}"))
}

pub(super) fn nohz_full(machine: &Machine<'_>) -> Look {
    set_at_boot(machine, ("nohz_full", "free of the tick"), |list| format!("nohz_full={list}"))
}

/// Looks at a set that is chosen at boot: its file, and the word for a CPU that is in it.
fn set_at_boot(machine: &Machine<'_>, (name, word): (&str, &str), option: fn(&CpuSet) -> String) -> Look {
    let set = match machine.value(&format!("{CPU_DIR}/{name}"), read::list_or_null) {
        Ok(set) => set,
        Err(why) => return why.into(),
    };
    let (topology, chosen) = (machine.topology, machine.chosen);
    let missing = chosen.difference(&set);
    if missing.is_empty() && !chosen.is_empty() {
        return Look::quiet(format!("{} {word} ({name}: {set})", cpus(chosen)));
    }
    let seen = match set.is_empty() {
        true => format!("no CPU is {word}"),
        false => format!("{} not {word} ({name}: {set})", cpus(&missing)),
    };
    let rest = topology.online().difference(chosen);
    if !rest.is_empty() && !chosen.contains(0) {
        return Look::noisy(seen, Remedy::Boot(option(&set.union(chosen))));
    }
    // Somebody has to run the rest of the machine, and the boot CPU keeps the time for the others.
    let (kept, spare) = machine.without_first_core();
    Look::noisy(
        seen,
        Remedy::Do(match spare.is_empty() {
            true => {
                format!("choose other CPUs than {kept}: the rest of the machine needs one core to run on")
            }
            false => format!(
                "leave {kept} to the rest of the machine, measure on {spare}, and boot with {}",
                option(&set.union(&spare).difference(&kept))
            ),
        }),
    )
}
