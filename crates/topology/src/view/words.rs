//! The wording that the tree and the picture share.

use std::fmt::{self, Display, Formatter};

use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind, CpuKind, KindEvidence, NumaNode};
use crate::topology::Topology;

use crate::view::hierarchy::Part;

/// The fewest CPUs at equal distances of which not all are listed.
const ELIDED_MIN: usize = 9;

/// The machine in one line: how many of what.
pub(super) fn summary(machine: &Topology) -> String {
    let (online, allowed) = (machine.online(), machine.allowed());
    let allowed = match allowed.len() {
        all if all == online.len() => "all allowed".to_owned(),
        0 => "none allowed".to_owned(),
        some => format!("{some} allowed ({})", list(allowed)),
    };
    let mut parts = vec![count(machine.packages().len(), "package")];
    if !machine.dies().is_empty() {
        parts.push(count(machine.dies().len(), "die"));
    }
    parts.push(count(machine.cores().len(), "core"));
    let (parts, smt) = (parts.join(", "), plain(machine.smt_control().unwrap_or("unknown")));
    let online = format!("{} online ({})", count(online.len(), "logical CPU"), list(online));
    format!("{online}, {allowed}; {parts}; SMT {smt}")
}

/// What holds for the machine beside its parts, a line each: kinds, CPUs set aside, limits.
pub(super) fn remarks(machine: &Topology) -> Vec<String> {
    let mut lines: Vec<String> = (0..machine.kinds().len()).map(|index| kind(machine, index)).collect();
    for (what, set) in [("isolated", machine.isolated()), ("nohz_full", machine.nohz_full())] {
        if !set.is_empty() {
            lines.push(format!("{what}: {}", cpus(set)));
        }
    }
    if let Some(quota) = machine.cpu_quota().limit() {
        let (used, period, group) = (quota.quota_us, quota.period_us, plain(&quota.cgroup));
        // Two decimals at most, without trailing zeros.
        let worth = (quota.cpus() * 100.0).round() / 100.0;
        let plural = if worth == 1.0 { "" } else { "s" };
        lines.push(format!("quota: {worth} CPU{plural} ({used} of {period} us, group {group})"));
    }
    let nodes = machine.numa_nodes();
    if let Some(allowed) = machine.allowed_nodes()
        && nodes.iter().any(|node| !allowed.contains(&node.os_index))
    {
        lines.push(format!("memory: from NUMA nodes {} only", numbers(allowed)));
    }
    lines.extend(unknown(machine));
    lines
}

/// A kind as `kind 1, cpu_core: CPUs 0-11; capacity 1024, up to 4.9 GHz; told by …`.
fn kind(machine: &Topology, index: usize) -> String {
    let kind = &machine.kinds()[index];
    let capacity = kind.capacity.map(|capacity| format!("capacity {capacity}"));
    let fastest = kind.max_khz.map(|khz| format!("up to {}", Hertz(khz)));
    let figures: Vec<String> = capacity.into_iter().chain(fastest).collect();
    let figures = if figures.is_empty() { String::new() } else { format!("; {}", figures.join(", ")) };
    if machine.kinds().len() == 1 {
        let name = kind.name.as_deref().map(|name| format!(", {}", plain(name)));
        return format!("kind: all alike{}{figures}", name.unwrap_or_default());
    }
    let name = kind.name.as_deref().map(|name| format!(", {}", plain(name))).unwrap_or_default();
    let evidence = match kind.told_by {
        KindEvidence::CountingUnits => "counting units",
        KindEvidence::ModelRegister => "model register",
        KindEvidence::Capacity => "capacity",
        KindEvidence::CacheSizes => "sizes of the L1 caches",
        KindEvidence::MaxFrequency => "highest frequency alone",
    };
    format!("kind {index}{name}: {}{figures}; told by {evidence}", cpus(&kind.cpus))
}

/// The name of a kind, for the label of a core.
pub(super) fn kind_name(index: usize, kind: &CpuKind) -> String {
    kind.name.as_deref().map_or_else(|| format!("kind {index}"), plain)
}

/// One line for all that is not told, as in many virtual machines.
fn unknown(machine: &Topology) -> Option<String> {
    let mut what = Vec::new();
    let without = |sets: &mut dyn Iterator<Item = &CpuSet>| {
        sets.fold(machine.online().clone(), |rest, set| rest.difference(set))
    };
    for (name, rest) in [
        ("package", without(&mut machine.packages().iter().map(|package| &package.cpus))),
        ("core", without(&mut machine.cores().iter().map(|core| &core.cpus))),
    ] {
        if rest == *machine.online() {
            what.push(format!("{name}s"));
        } else if !rest.is_empty() {
            what.push(format!("{name} of {}", cpus(&rest)));
        }
    }
    let caches = machine.caches();
    let unsized_caches = caches.iter().filter(|cache| cache.size_bytes.is_none()).count();
    match unsized_caches {
        _ if caches.is_empty() => what.push("caches".to_owned()),
        0 => {}
        all if all == caches.len() => what.push("cache sizes".to_owned()),
        some => what.push(format!("sizes of {}", count(some, "cache"))),
    }
    if machine.numa_nodes().is_empty() {
        what.push("NUMA nodes".to_owned());
    }
    if machine.kinds().is_empty() {
        what.push("whether all cores are alike".to_owned());
    }
    (!what.is_empty()).then(|| format!("unknown: {}", what.join(", ")))
}

/// A part as a label, without its CPUs.
pub(super) fn part(part: Part<'_>) -> String {
    let ways = match part {
        Part::Cache(cache) => cache.ways.map(|ways| format!(" {ways}-way")),
        _ => None,
    };
    short(part) + ways.as_deref().unwrap_or_default()
}

/// The same without what a picture has no room for.
pub(super) fn short(part: Part<'_>) -> String {
    match part {
        // A negative number is how the kernel says that it knows none.
        Part::Package(package) => match package.os_index.filter(|&index| index >= 0) {
            Some(index) => format!("package {index}"),
            None => "package".to_owned(),
        },
        Part::NumaNode(node) => numa_node(node),
        Part::Die(_) => "die".to_owned(),
        Part::Cluster(_) => "cluster".to_owned(),
        Part::Cache(known) => cache(known),
        Part::Core(_) => "core".to_owned(),
    }
}

fn numa_node(node: &NumaNode) -> String {
    match node.memory_bytes {
        Some(bytes) => format!("NUMA node {} ({})", node.os_index, Bytes(bytes)),
        None => format!("NUMA node {} (memory unknown)", node.os_index),
    }
}

/// A cache as `L1d 48 KiB`; an unknown size is left out.
fn cache(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    let size = cache.size_bytes.map(|bytes| format!(" {}", Bytes(bytes))).unwrap_or_default();
    format!("L{}{kind}{size}", cache.level)
}

/// `CPU 3`, `CPUs 0-3`.
pub(crate) fn cpus(set: &CpuSet) -> String {
    match set.len() {
        0 => "no CPUs".to_owned(),
        1 => format!("CPU {set}"),
        _ => format!("CPUs {}", list(set)),
    }
}

/// A set as the kernel lists it, except that many CPUs at equal distances are `0,2,…,78`.
pub(super) fn list(set: &CpuSet) -> String {
    let cpus: Vec<u32> = set.iter().collect();
    let steps = || cpus.windows(2).map(|pair| pair[1] - pair[0]);
    match (&cpus[..], steps().next()) {
        ([first, second, .., last], Some(step))
            if cpus.len() >= ELIDED_MIN && step > 1 && steps().all(|other| other == step) =>
        {
            format!("{first},{second},…,{last}")
        }
        _ => set.to_string(),
    }
}

pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Numbers of any parts in the form of a CPU list, `0-3,8`.
pub(super) fn numbers(numbers: &[u32]) -> String {
    numbers.iter().copied().collect::<CpuSet>().to_string()
}

/// A text from a file, without characters that would move a terminal's cursor or break XML.
pub(super) fn plain(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// A number of bytes in the largest binary unit that it fills, with two decimals at most.
struct Bytes(u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let Some((unit, shift)) = units.into_iter().find(|&(_, shift)| self.0 >> shift > 0) else {
            return write!(f, "{} B", self.0);
        };
        // Whole hundredths, rounded down; u128 because of the product.
        hundredths(f, (u128::from(self.0) * 100) >> shift, unit)
    }
}

/// A frequency in kHz as `4.9 GHz`, or in MHz below one GHz.
struct Hertz(u64);

impl Display for Hertz {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            giga @ 1_000_000.. => hundredths(f, u128::from(giga) / 10_000, "GHz"),
            khz => hundredths(f, u128::from(khz) / 10, "MHz"),
        }
    }
}

fn hundredths(f: &mut Formatter<'_>, number: u128, unit: &str) -> fmt::Result {
    let (whole, part) = (number / 100, number % 100);
    match part {
        0 => write!(f, "{whole} {unit}"),
        _ if part % 10 == 0 => write!(f, "{whole}.{} {unit}", part / 10),
        _ => write!(f, "{whole}.{part:02} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (48 << 10, "48 KiB"),
            (1_310_720, "1.25 MiB"),
            (5 << 19, "2.5 MiB"),
            (33_269_227_520, "30.98 GiB"),
            (u64::MAX, "16777215.99 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn many_cpus_at_equal_distances_are_elided() {
        for (set, text) in [
            ("0,2,4,6,8,10,12,14,16", "0,2,…,16"),
            ("0,2,4,6,8,10,12,14", "0,2,4,6,8,10,12,14"),
            ("0,2,4,6,8,10,12,14,17", "0,2,4,6,8,10,12,14,17"),
            ("0-63", "0-63"),
        ] {
            assert_eq!(list(&set.parse().unwrap()), text);
        }
    }

    #[test]
    fn frequencies_read_well() {
        for (khz, text) in [(4_900_000, "4.9 GHz"), (3_990_000, "3.99 GHz"), (800_000, "800 MHz")] {
            assert_eq!(Hertz(khz).to_string(), text);
        }
    }

    #[test]
    fn a_text_with_control_characters_is_harmless() {
        assert_eq!(plain("/a\n\u{1b}[2J<b>"), "/a\u{fffd}\u{fffd}[2J<b>");
    }
}
