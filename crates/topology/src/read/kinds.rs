//! Kinds of CPU on machines whose cores are not all alike.

use std::collections::BTreeMap;

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind, CpuKind, KindEvidence};
use crate::read::files::{CPU_DIR, Files};
use crate::read::parse;
use crate::view::words::cpus as named;

const UNIT_DIR: &str = "sys/bus/event_source/devices";

/// A kind's name, if it has one, and its CPUs.
type Named = (Option<String>, CpuSet);

/// Reads the kinds of the described CPUs, the least capable first as far as anything ranks them.
/// What names the kinds goes before what only measures them, and what finds several before what
/// finds one; but frequencies alone do not split what the processor says is one model.
pub(crate) fn read(files: &mut Files<'_>, cpus: &CpuSet, caches: &[Cache]) -> Vec<CpuKind> {
    let capacity = per_cpu(files, cpus, "cpu_capacity", parse::number::<u64>);
    let frequency = per_cpu(files, cpus, "cpufreq/cpuinfo_max_freq", parse::number::<u64>);
    let (mut told_by, mut groups) = groups(files, cpus, (&capacity, &frequency));
    let by_caches = split_by_l1(cpus, caches);
    if groups.len() < 2 && by_caches.len() > 1 {
        (told_by, groups) = (KindEvidence::CacheSizes, by_caches);
    }
    let highest = |values: &BTreeMap<u32, u64>, cpus: &CpuSet| {
        cpus.iter().filter_map(|c| values.get(&c)).max().copied()
    };
    let kind = |(name, cpus): Named| CpuKind {
        told_by,
        name,
        capacity: highest(&capacity, &cpus).and_then(|capacity| u32::try_from(capacity).ok()),
        max_khz: highest(&frequency, &cpus),
        cpus,
    };
    let mut kinds: Vec<CpuKind> = groups.into_iter().map(kind).collect();
    kinds.sort_by_key(|kind| (kind.capacity, kind.max_khz, rank(kind.name.as_deref()), kind.cpus.first()));
    kinds
}

fn groups(
    files: &mut Files<'_>,
    cpus: &CpuSet,
    (capacity, frequency): (&BTreeMap<u32, u64>, &BTreeMap<u32, u64>),
) -> (KindEvidence, Vec<Named>) {
    let whole = |groups: &[Named]| groups.iter().map(|(_, group)| group.len()).sum::<usize>() == cpus.len();
    let units = counting_units(files, cpus);
    if units.len() > 1 && whole(&units) {
        return (KindEvidence::CountingUnits, units);
    }
    let models = models(files, cpus);
    if models.len() > 1 && whole(&models) {
        return (KindEvidence::ModelRegister, models);
    }
    let by_capacity = split_at_gaps(capacity);
    if by_capacity.len() > 1 && whole(&by_capacity) {
        return (KindEvidence::Capacity, by_capacity);
    }
    if whole(&models) {
        return (KindEvidence::ModelRegister, models);
    }
    let by_frequency = split_at_gaps(frequency);
    let known = whole(&by_frequency);
    (KindEvidence::MaxFrequency, if known { by_frequency } else { Vec::new() })
}

/// The counting units of cores: those with a `cpus` file. Units of uncore have a `cpumask`.
fn counting_units(files: &mut Files<'_>, cpus: &CpuSet) -> Vec<Named> {
    let units = files.names(UNIT_DIR).unwrap_or_default();
    // Only kinds of core are asked for: a server has a hundred units of uncore.
    let of_cores = |name: &String| name.starts_with("cpu_") || name.starts_with("arm");
    let mut paths: Vec<(String, String)> =
        units.into_iter().filter(of_cores).map(|unit| (format!("{UNIT_DIR}/{unit}/cpus"), unit)).collect();
    if paths.is_empty() {
        // Recordings often lack the links in `bus`, and have the devices.
        let device = |unit: &str| (format!("sys/devices/{unit}/cpus"), unit.to_owned());
        paths = ["cpu_core", "cpu_atom", "cpu_lowpower"].map(device).into();
    }
    paths.sort_unstable();
    let mut groups: Vec<Named> = Vec::new();
    let mut counted = CpuSet::new();
    for (path, unit) in &paths {
        let members = files.optional(path, parse_list).unwrap_or_default().intersection(cpus);
        if !members.intersection(&counted).is_empty() {
            files.problem(path, format_args!("claims {}, some of which another unit has", named(&members)));
        } else if !members.is_empty() {
            groups.push((Some(unit.clone()), members.clone()));
        }
        counted = counted.union(&members);
    }
    let left_out = cpus.difference(&counted);
    // On ARM firmware may well describe the units of some cores only.
    let of_intel = groups.iter().all(|(name, _)| name.as_ref().is_some_and(|name| name.starts_with("cpu_")));
    if let Some((path, _)) = paths.first().filter(|_| of_intel && !groups.is_empty() && !left_out.is_empty())
    {
        let message = format!("leaves out {}, and so does every other counting unit", named(&left_out));
        files.problem(path, message);
    }
    groups
}

/// The rank of a counting unit's name, for machines whose files tell neither capacity nor frequency.
fn rank(name: Option<&str>) -> Option<usize> {
    name.and_then(|name| ["cpu_lowpower", "cpu_atom", "cpu_core"].iter().position(|known| *known == name))
}

/// Groups by the model register of ARM processors. The revision, its lowest four bits, is not a
/// kind of its own.
fn models(files: &mut Files<'_>, cpus: &CpuSet) -> Vec<Named> {
    let registers = per_cpu(files, cpus, "regs/identification/midr_el1", parse::hexadecimal);
    let mut groups = BTreeMap::<u64, Vec<u32>>::new();
    for (cpu, register) in registers {
        groups.entry(register & !0xf).or_default().push(cpu);
    }
    let named =
        |(model, cpus): (u64, Vec<u32>)| (Some(format!("midr {model:#x}")), cpus.into_iter().collect());
    groups.into_iter().map(named).collect()
}

/// Groups by value; a step of more than a tenth begins another group. Favoured cores and rounding
/// differ by less.
fn split_at_gaps(values: &BTreeMap<u32, u64>) -> Vec<Named> {
    let mut ascending: Vec<(u64, u32)> = values.iter().map(|(&cpu, &value)| (value, cpu)).collect();
    ascending.sort_unstable();
    let groups =
        ascending.chunk_by(|&(low, _), &(high, _)| high.saturating_mul(10) <= low.saturating_mul(11));
    groups.map(|group| (None, group.iter().map(|&(_, cpu)| cpu).collect())).collect()
}

/// Groups by the sizes of the L1 caches; none unless those of every CPU are known.
fn split_by_l1(cpus: &CpuSet, caches: &[Cache]) -> Vec<Named> {
    let mut groups = BTreeMap::<Vec<(CacheKind, u64)>, Vec<u32>>::new();
    for cpu in cpus {
        let own = caches.iter().filter(|cache| cache.level == 1 && cache.cpus.contains(cpu));
        let sizes: Option<Vec<_>> = own.map(|cache| Some((cache.kind, cache.size_bytes?))).collect();
        match sizes {
            Some(sizes) if !sizes.is_empty() => groups.entry(sizes).or_default().push(cpu),
            _ => return Vec::new(),
        }
    }
    groups.into_values().map(|cpus| (None, cpus.into_iter().collect())).collect()
}

/// Reads one file of each CPU; none of them, where neither the first CPU nor the last has one: a
/// kernel has it for all or for none. That only some have it is a problem, but for frequencies: a
/// CPU need not be governed.
fn per_cpu(
    files: &mut Files<'_>,
    cpus: &CpuSet,
    name: &str,
    parse: fn(&str) -> Result<u64, parse::Wrong>,
) -> BTreeMap<u32, u64> {
    let path = |cpu| format!("{CPU_DIR}/cpu{cpu}/{name}");
    let last = cpus.iter().last();
    let rest = cpus.iter().filter(|&cpu| Some(cpu) != last);
    let (mut values, mut missing) = (BTreeMap::new(), CpuSet::new());
    for cpu in last.into_iter().chain(rest) {
        let problems_before = files.problems();
        if let Some(value) = files.optional(&path(cpu), parse) {
            values.insert(cpu, value);
        } else if files.problems() == problems_before {
            missing.insert(cpu);
        }
        if values.is_empty() && missing.len() == 2 {
            return values;
        }
    }
    if let Some(cpu) = missing.first().filter(|_| !values.is_empty() && !name.starts_with("cpufreq/")) {
        let message = format!("is missing for {}, although other CPUs have it", named(&missing));
        files.problem(&path(cpu), message);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(values: &[u64]) -> Vec<String> {
        let values = (0..).zip(values.iter().copied()).collect();
        split_at_gaps(&values).iter().map(|(_, cpus)| cpus.to_string()).collect()
    }

    #[test]
    fn favoured_cores_are_no_kind_of_their_own() {
        assert_eq!(split(&[4_900_000, 4_700_000, 5_000_000]), ["0-2"]);
        assert_eq!(split(&[5_000_000, 3_900_000, 3_900_000]), ["1-2", "0"]);
        assert_eq!(split(&[718, 718, 997, 731, 1024]), ["0-1,3", "2,4"]);
        assert!(split(&[]).is_empty());
    }
}
