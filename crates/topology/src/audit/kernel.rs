//! Settings of the whole kernel: memory, clock, watchdog, counting.

use super::look::{Look, Machine};
use super::remedy::write;
use super::{Remedy, Why, parse};
use crate::read::parse as read;

pub(super) fn swap(machine: &Machine<'_>) -> Look {
    Look::of(machine.value("proc/swaps", parse::swaps).map(|areas| match areas.as_slice() {
        [] => Look::quiet("no swap area"),
        areas => {
            Look::noisy(format!("swap to {}", areas.join(", ")), Remedy::Run("sudo swapoff -a".to_owned()))
        }
    }))
}

const HUGE: &str = "sys/kernel/mm/transparent_hugepage";

pub(super) fn huge_pages(machine: &Machine<'_>) -> Look {
    let path = format!("{HUGE}/enabled");
    Look::of(machine.value(&path, parse::choice).map(|choice| match choice.as_str() {
        "never" => Look::quiet("never"),
        "madvise" => Look::quiet("madvise: only for programs that ask"),
        _ => Look::noisy(choice, write("madvise", &path)),
    }))
}

pub(super) fn huge_page_defrag(machine: &Machine<'_>) -> Look {
    Look::of(look_at_defrag(machine))
}

fn look_at_defrag(machine: &Machine<'_>) -> Result<Look, Why> {
    let path = format!("{HUGE}/defrag");
    let enabled = machine.value(&format!("{HUGE}/enabled"), parse::choice)?;
    let choice = machine.value(&path, parse::choice)?;
    Ok(match choice.as_str() {
        _ if enabled == "never" => Look::quiet(format!("{choice}, with huge pages off")),
        "never" | "defer" => Look::quiet(choice),
        "madvise" | "defer+madvise" => Look::quiet(format!("{choice}: only for programs that ask")),
        // With `enabled` at madvise, `always` reaches the same few programs.
        _ if enabled == "madvise" => Look::quiet(format!("{choice}, for programs that ask for huge pages")),
        _ => Look::noisy(choice, write("defer+madvise", &path)),
    })
}

pub(super) fn numa_balancing(machine: &Machine<'_>) -> Look {
    let path = "proc/sys/kernel/numa_balancing";
    Look::of(machine.value(path, read::number::<u32>).map(|mode| match machine.topology.numa_nodes() {
        _ if mode == 0 => Look::quiet("off"),
        [_] => Look::quiet(format!("{mode}, on a machine of one NUMA node")),
        [] => Look::noisy(format!("{mode}; how many NUMA nodes there are is not told"), write("0", path)),
        nodes => Look::noisy(format!("{mode}, with {} NUMA nodes", nodes.len()), write("0", path)),
    }))
}

pub(super) fn clocksource(machine: &Machine<'_>) -> Look {
    Look::of(look_at_clock(machine))
}

fn look_at_clock(machine: &Machine<'_>) -> Result<Look, Why> {
    // What a program can read without a system call, on the architectures that have it.
    const FAST: [&str; 7] = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "riscv_clocksource",
        "timebase",
        "stp",
    ];
    const SLOW: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "hyperv_clocksource_msr"];
    let dir = "sys/devices/system/clocksource/clocksource0";
    let path = format!("{dir}/current_clocksource");
    let clock = machine.value(&path, parse::word)?;
    if FAST.contains(&clock.as_str()) {
        return Ok(Look::quiet(clock));
    }
    if !SLOW.contains(&clock.as_str()) {
        return Ok(Look::undecided(clock, "a clock that this audit does not know to be fast or slow"));
    }
    let available = machine.text(&format!("{dir}/available_clocksource")).unwrap_or_default();
    let remedy = if available.split_whitespace().any(|name| name == "tsc") {
        write("tsc", &path)
    } else {
        let why = "find out why the kernel gave up the time-stamp counter: sudo dmesg | grep -i -e tsc -e clocksource";
        Remedy::Do(why.to_owned())
    };
    Ok(Look::noisy(clock, remedy))
}

pub(super) fn nmi_watchdog(machine: &Machine<'_>) -> Look {
    let path = "proc/sys/kernel/nmi_watchdog";
    Look::of(machine.value(path, read::switch).map(|is_on| match is_on {
        false => Look::quiet("off"),
        true => Look::noisy("on", write("0", path)),
    }))
}

pub(super) fn perf_event_paranoid(machine: &Machine<'_>) -> Look {
    let path = "proc/sys/kernel/perf_event_paranoid";
    Look::of(machine.value(path, read::number::<i32>).map(|level| {
        let right = match level {
            ..=-1 => "everything may be counted",
            0 => "threads and whole CPUs may be counted, the kernel's part included",
            1 => "one's own threads may be counted, the kernel's part included",
            2 => "one's own threads may be counted in user mode only",
            _ => {
                "the kernels of Debian, Ubuntu and Android let nobody without privilege count anything; others \
                 let one's own threads be counted in user mode, as at 2"
            }
        };
        let seen = format!("{level}: {right}");
        match () {
            () if level <= 1 => Look::quiet(seen),
            () if is_exempt(machine) => Look::quiet(format!("{level}, of which this process is exempt")),
            () => Look::noisy(seen, write("1", path)),
        }
    }))
}

/// Whether the process has `CAP_SYS_ADMIN`, which every kernel exempts; some do not know
/// `CAP_PERFMON`.
fn is_exempt(machine: &Machine<'_>) -> bool {
    const SYS_ADMIN: u32 = 21;
    let status = machine.text("proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> SYS_ADMIN & 1 == 1)
}
