//! Parsers of the texts that an audit reads. They see text only.

use std::collections::BTreeMap;

use crate::cpulist::quoted;
use crate::cpuset::CpuSet;
use crate::read::parse::{self, Wrong};

/// Parses a word that has to be there.
pub(super) fn word(text: &str) -> Result<String, Wrong> {
    parse::word(text)?.ok_or_else(|| "is empty".to_owned())
}

/// Finds the choice in force among `always [madvise] never`.
pub(super) fn choice(text: &str) -> Result<String, Wrong> {
    let mut chosen = text.split_whitespace().filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match (chosen.next(), chosen.next()) {
        (Some(word), None) if !word.is_empty() => Ok(word.to_owned()),
        _ => Err(format!("`{}` does not mark one choice like `always [madvise] never`", quoted(text.trim()))),
    }
}

/// Finds the load average of the last minute in `/proc/loadavg`, in hundredths.
pub(super) fn load_hundredths(text: &str) -> Result<u64, Wrong> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let parsed = first.split_once('.').and_then(|(whole, part)| {
        let is_two_digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let part: u64 = part.parse().ok().filter(|_| is_two_digits)?;
        whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part)
    });
    parsed.ok_or_else(|| format!("`{}` is not a load average like `0.15`", quoted(first)))
}

/// Finds the areas in `/proc/swaps`: their names.
pub(super) fn swaps(text: &str) -> Result<Vec<String>, Wrong> {
    let mut lines = text.lines();
    match lines.next() {
        Some(header) if header.starts_with("Filename") => {}
        header => return Err(format!("`{}` is not its header", quoted(header.unwrap_or_default()))),
    }
    Ok(lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// Where a logical CPU's time went since boot, in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    /// The CPU ran something.
    pub(super) busy: u64,
    /// It had something to run, and the hypervisor ran somebody else.
    pub(super) stolen: u64,
}

/// Finds the lines of the logical CPUs in `/proc/stat`.
pub(super) fn stat(text: &str) -> Result<BTreeMap<u32, Ticks>, Wrong> {
    let mut cpus = BTreeMap::new();
    for line in text.lines() {
        let Some((number, fields)) = line.strip_prefix("cpu").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let Ok(number) = number.parse() else { continue }; // The sum over all, `cpu  …`.
        let fields = fields.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>();
        // user nice system idle iowait irq softirq steal; guest time is part of user. proc(5).
        let ticks = fields.ok().and_then(|fields| match *fields {
            [user, nice, system, _, _, irq, softirq, stolen, ..] => {
                let parts = [user, nice, system, irq, softirq];
                let busy = parts.into_iter().try_fold(0_u64, u64::checked_add)?;
                Some(Ticks { busy, stolen })
            }
            _ => None,
        });
        let ticks = ticks.ok_or_else(|| format!("`{}` is not a line of eight counts", quoted(line)))?;
        cpus.insert(number, ticks);
    }
    if cpus.is_empty() { Err("has no line of a CPU".to_owned()) } else { Ok(cpus) }
}

/// Finds the lines of devices in `/proc/interrupts`: by number, their count on some CPUs. Left out
/// is what nobody can move: lines with a name for a number (`LOC`, `RES`), and timers and the like
/// that each CPU has of its own.
pub(super) fn interrupts(text: &str, cpus: &CpuSet) -> Result<BTreeMap<u32, u64>, Wrong> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let column = |name: &str| name.strip_prefix("CPU")?.parse::<u32>().ok();
    let columns: Option<Vec<u32>> = header.split_whitespace().map(column).collect();
    let columns = columns.filter(|columns| !columns.is_empty());
    let columns = columns.ok_or_else(|| format!("`{}` is not a header of CPUs", quoted(header.trim())))?;
    let mut counts = BTreeMap::new();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let Ok(number) = label.trim().parse() else { continue };
        let wrong = || format!("line `{number}:` has no count for each of {} CPUs", columns.len());
        let mut fields = rest.split_whitespace();
        let mut count = 0_u64;
        for &cpu in &columns {
            let field: u64 = fields.next().and_then(|field| field.parse().ok()).ok_or_else(wrong)?;
            if cpus.contains(cpu) {
                count = count.saturating_add(field);
            }
        }
        if !is_of_each_cpu(&fields.collect::<Vec<_>>()) {
            counts.insert(number, count);
        }
    }
    Ok(counts)
}

/// Says whether what stands behind the counts is an interrupt that each CPU has of its own: one of
/// the numbers below 32 of Arm's controller, or any of RISC-V's inner controller.
fn is_of_each_cpu(description: &[&str]) -> bool {
    match description {
        [chip, number, ..] if chip.starts_with("GIC") => number.parse().is_ok_and(|number: u32| number < 32),
        ["RISC-V", "INTC", ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_choice_in_force_is_the_marked_one() {
        assert_eq!(choice("always [madvise] never\n").unwrap(), "madvise");
        assert_eq!(choice("always defer [defer+madvise] madvise never").unwrap(), "defer+madvise");
        for wrong in ["", "always never", "[a] [b]", "[]"] {
            assert!(choice(wrong).unwrap_err().contains("does not mark one choice"), "{wrong}");
        }
    }

    #[test]
    fn loads_are_read_to_the_hundredth() {
        assert_eq!(load_hundredths("0.15 0.40 1.00 2/95 14643\n"), Ok(15));
        assert_eq!(load_hundredths("12.07 0 0"), Ok(1207));
        for wrong in ["", "x", "1", "1.5", "-0.10", "1.+5", "99999999999999999999.00"] {
            assert!(load_hundredths(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_is_busy_or_stolen_or_neither() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 800 1600 8 16 32 1 0\ncpu12 0 0 0 5 0 0 0 0\nintr 5 0\n";
        let expected = [(0, Ticks { busy: 31, stolen: 32 }), (12, Ticks::default())];
        assert_eq!(stat(text).unwrap(), BTreeMap::from(expected));
        for wrong in ["", "intr 5\n", "cpu0 1 2 3 4\n", "cpu0 1 2 3 4 5 6 7 x\n", "cpu  1 2 3 4 5 6 7 8\n"] {
            assert!(stat(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn interrupts_are_counted_on_the_chosen_cpus_only() {
        let text = "           CPU0       CPU2\n\
            \x20 9:          1         20   IO-APIC   9-fasteoi   acpi\n\
            \x2036:          3        400   PCI-MSIX-0000:00:02.0   1-edge      nvme0q1\n\
            \x2011:      90000      90000     GICv3  27 Level     arch_timer\n\
            LOC:      15839      14648   Local timer interrupts\n\
            ERR:          0\n";
        let on = |cpus: &str| interrupts(text, &cpus.parse().unwrap()).unwrap();
        assert_eq!(on("2"), BTreeMap::from([(9, 20), (36, 400)]));
        assert_eq!(on("0-2"), BTreeMap::from([(9, 21), (36, 403)]));
        let all = &"0-9".parse().unwrap();
        for wrong in ["", "x\n", "CPU0 CPU1\n 9: 1 x  acpi\n", "CPU0 CPU1\n 9: 1\n"] {
            assert!(interrupts(wrong, all).is_err(), "{wrong}");
        }
    }

    #[test]
    fn swap_areas_are_listed_by_name() {
        let text = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n";
        assert_eq!(swaps(text).unwrap(), ["/dev/sda2"]);
        assert!(swaps("Filename\t\tType\n").unwrap().is_empty());
        assert!(swaps("").is_err() && swaps("x\n").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(cpu|CPU|[0-9]{1,20}|[: .\n\\[\\]x(-])*") {
            let all = "0-99".parse().unwrap();
            drop((choice(&text), load_hundredths(&text), swaps(&text)));
            drop((stat(&text), interrupts(&text, &all), word(&text)));
        }
    }
}
