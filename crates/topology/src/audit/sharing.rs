//! Who else uses the chosen CPUs, and how much of them is left to this process.

use super::look::{Look, Machine, cpus};
use super::remedy::write_each;
use super::{Remedy, Why, parse};
use crate::cpuset::CpuSet;
use crate::read::files::CPU_DIR;
use crate::read::parse as read;

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
        let remedy = format!("choose among {allowed}, or start it with a wider mask or cpuset");
        return Look::noisy(seen, Remedy::Do(remedy));
    }
    if allowed.len() == 1 {
        let remedy = "give the process two CPUs or more (taskset, the container's cpuset)";
        return Look::noisy(seen, Remedy::Do(remedy.to_owned()));
    }
    Look::quiet(seen)
}

pub(super) fn cpu_quota(machine: &Machine<'_>) -> Look {
    if let Some(quota) = machine.topology.cpu_quota() {
        let (used, period) = (quota.quota_us, quota.period_us);
        let seen = format!(
            "control group {} may use {used} us of every {period} us: {:.2} CPUs' worth",
            quota.cgroup,
            quota.cpus()
        );
        let remedy = "start the container without a CPU limit and give it CPUs of its own (docker: \
                      --cpuset-cpus instead of --cpus; systemd: AllowedCPUs= instead of CPUQuota=)";
        return Look::noisy(seen, Remedy::Do(remedy.to_owned()));
    }
    // None was found; that counts only where one would have shown.
    let problem = machine.topology.problems().iter().find(|problem| {
        let path = problem.path.to_string_lossy();
        ["cgroup", "cpu.max", "cpu.cfs_", "mountinfo"].iter().any(|part| path.contains(part))
    });
    if let Some(problem) = problem {
        return Why::Malformed { path: problem.path.clone(), message: problem.message.clone() }.into();
    }
    let shown = machine.text("proc/self/cgroup").and_then(|_| machine.text("proc/self/mountinfo"));
    match shown {
        Ok(mounts) if shows_quotas(&mounts) => {
            Look::quiet("no control group that this process can see sets a CPU quota")
        }
        Ok(_) => Look::undecided(
            "no control-group file system with a CPU controller is mounted",
            "a quota, if there is one, does not show here; whoever runs the container knows",
        ),
        Err(why) => why.into(),
    }
}

/// Says whether `/proc/self/mountinfo` has a control-group file system that tells quotas.
fn shows_quotas(mountinfo: &str) -> bool {
    mountinfo.lines().filter_map(|line| line.split_once(" - ")).any(|(_, mount)| {
        let mut fields = mount.split(' ');
        match fields.next() {
            Some("cgroup2") => true,
            Some("cgroup") => fields.nth(1).is_some_and(|options| options.split(',').any(|o| o == "cpu")),
            _ => false,
        }
    })
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
    // A core needs one CPU; what shares it is in use, or may be. An isolated sibling that was not
    // chosen is idle: nothing runs there unless it is pinned there.
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
        more => format!("{more} of the chosen cores have a second CPU in use: {example}, …"),
    };
    Look::noisy(seen, without(machine, &siblings))
}

/// The chosen CPUs have their cores to themselves, as far as a guest can say that.
fn alone(machine: &Machine<'_>) -> Look {
    let seen = format!("{}: no core is shared with a CPU in use", cpus(machine.chosen));
    if machine.is_virtual() {
        let message =
            "this is a virtual machine, and the host may run two virtual CPUs on one core all the same";
        return Look::undecided(seen, message);
    }
    Look::quiet(seen)
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
    set_at_boot(machine, "isolated", |list| format!("isolcpus=managed_irq,domain,{list}"))
}

pub(super) fn nohz_full(machine: &Machine<'_>) -> Look {
    set_at_boot(machine, "nohz_full", |list| format!("nohz_full={list}"))
}

fn set_at_boot(machine: &Machine<'_>, name: &str, option: fn(&CpuSet) -> String) -> Look {
    let set = match machine.value(&format!("{CPU_DIR}/{name}"), read::list_or_null) {
        Ok(set) => set,
        Err(why) => return why.into(),
    };
    let missing = machine.chosen.difference(&set);
    if missing.is_empty() && !machine.chosen.is_empty() {
        return Look::quiet(format!("{} in {name} ({set})", cpus(machine.chosen)));
    }
    let seen = match set.is_empty() {
        true => format!("no CPU is in {name}"),
        false => format!("{name} is {set}, without {}", cpus(&missing)),
    };
    // The boot CPU keeps the time for the others.
    let rest = machine.topology.online().difference(machine.chosen);
    if rest.is_empty() || machine.chosen.contains(0) {
        let remedy = "choose fewer CPUs, and not CPU 0: the rest of the machine needs some to run on";
        return Look::noisy(seen, Remedy::Do(remedy.to_owned()));
    }
    Look::noisy(seen, Remedy::Boot(option(&set.union(machine.chosen))))
}
