//! From a rule and a number of threads to logical CPUs of free cores.

use super::error::Shortage;
use super::floor::{Floor, Slot, deal};
use super::order::{last_level_caches, pack, spread};
use super::per_package;
use super::rule::Rule;
use crate::cpuset::CpuSet;
use crate::model::{CacheKind, Package};

/// Gives a logical CPU for each of `threads` threads, at least one, by a rule that names no CPUs.
pub(super) fn choose(floor: &Floor<'_>, rule: &Rule, threads: usize) -> Result<Vec<u32>, Shortage> {
    match *rule {
        Rule::OneThread if threads != 1 => Err(Shortage::ThreadsMustBe { exactly: 1 }),
        Rule::OneThread | Rule::OnePerCore => first_cores(&floor.free(), threads),
        Rule::SmtPair => smt_pairs(floor, threads),
        Rule::Pack => pack(floor, threads),
        Rule::Spread => spread(floor, threads),
        Rule::OneL3 => one_cache(floor, threads),
        Rule::OneNode => one_node(floor, threads),
        Rule::PhysicalLogical { logical, .. } if threads != logical => {
            Err(Shortage::ThreadsMustBe { exactly: logical })
        }
        Rule::PhysicalLogical { physical, logical } => shaped(floor, physical, logical),
        Rule::PerPackage { cores } => per_package::first_free(floor, cores, threads),
        Rule::SamePackage => same_packages(floor, threads),
        Rule::OtherPackage => other_package(floor, threads),
        Rule::ClientOnRest => last_cores(&floor.free(), threads),
        // They name CPUs, so they are never asked for here.
        Rule::List(_) | Rule::Formula(_) => Err(Shortage::Cpus { free: floor.free_cpus() }),
    }
}

fn first_cores(free: &[&Slot], needed: usize) -> Result<Vec<u32>, Shortage> {
    let cores = free.get(..needed).ok_or(Shortage::Cores { needed, free: free.len() })?;
    Ok(cores.iter().map(|slot| slot.lowest()).collect())
}

fn last_cores(free: &[&Slot], needed: usize) -> Result<Vec<u32>, Shortage> {
    let before = free.len().saturating_sub(needed);
    first_cores(&free[before..], needed)
}

fn smt_pairs(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    if !threads.is_multiple_of(2) {
        return Err(Shortage::NotAMultiple { of: 2 });
    }
    let (free, needed) = (floor.free(), threads / 2);
    let pairs: Vec<&[u32]> = free.iter().filter_map(|slot| slot.cpus.get(..2)).collect();
    let found = Shortage::Siblings { needed, siblings: 2, free: pairs.len() };
    Ok(pairs.get(..needed).ok_or(found)?.concat())
}

/// `threads` threads on `needed` cores, as evenly as the division allows.
fn shaped(floor: &Floor<'_>, needed: usize, threads: usize) -> Result<Vec<u32>, Shortage> {
    if needed == 0 || needed > threads {
        return Err(Shortage::Shape { physical: needed, logical: threads });
    }
    let free = floor.free();
    let (fewer, more) = (threads / needed, threads.div_ceil(needed));
    let (mut with_more, mut with_fewer) = (threads % needed, needed - threads % needed);
    let mut cores: Vec<&[u32]> = Vec::new();
    for slot in &free {
        // Large cores first serve where large ones are needed; the others will do elsewhere.
        if let Some(cpus) = slot.cpus.get(..more).filter(|_| with_more > 0) {
            with_more -= 1;
            cores.push(cpus);
        } else if let Some(cpus) = slot.cpus.get(..fewer).filter(|_| with_fewer > 0) {
            with_fewer -= 1;
            cores.push(cpus);
        }
    }
    if with_more == 0 && with_fewer == 0 {
        return Ok(deal(&cores));
    }
    let having = |siblings| free.iter().filter(|slot| slot.cpus.len() >= siblings).count();
    Err(match (with_more, fewer) {
        (1.., _) => Shortage::Siblings { needed: threads % needed, siblings: more, free: having(more) },
        (0, 1) => Shortage::Cores { needed, free: free.len() },
        (0, _) => Shortage::Siblings { needed, siblings: fewer, free: having(fewer) },
    })
}

fn one_cache(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    let caches: Vec<&CpuSet> = last_level_caches(floor.topology).map(|cache| &cache.cpus).collect();
    if caches.is_empty() {
        let data = floor.topology.caches().iter().filter(|cache| cache.kind != CacheKind::Instruction);
        return Err(Shortage::NoLastLevelCache { highest: data.map(|cache| cache.level).max() });
    }
    in_one_part(floor, &caches, threads).map_err(|largest| Shortage::CacheTooSmall { largest })
}

fn one_node(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    let nodes = floor.topology.numa_nodes().iter().map(|node| &node.cpus);
    let nodes: Vec<&CpuSet> = nodes.filter(|cpus| !cpus.is_empty()).collect();
    if nodes.is_empty() {
        return Err(Shortage::NoNumaNodes);
    }
    in_one_part(floor, &nodes, threads).map_err(|largest| Shortage::NodeTooSmall { largest })
}

/// The first part with enough free cores, else the first with enough CPUs of free cores; the
/// error is the number of CPUs that the best part has.
fn in_one_part(floor: &Floor<'_>, parts: &[&CpuSet], threads: usize) -> Result<Vec<u32>, usize> {
    let parts: Vec<Floor<'_>> = parts.iter().map(|cpus| floor.only(cpus)).collect();
    let with_cores = parts.iter().find(|part| part.free().len() >= threads);
    let chosen = with_cores.or_else(|| parts.iter().find(|part| part.free_cpus() >= threads));
    let largest = || parts.iter().map(Floor::free_cpus).max().unwrap_or(0);
    let cores: Vec<&[u32]> =
        chosen.ok_or_else(largest)?.free().into_iter().map(|slot| slot.cpus.as_slice()).collect();
    Ok(deal(&cores).into_iter().take(threads).collect())
}

/// Round robin over the packages in use, none of which gets two threads more than another.
fn same_packages(floor: &Floor<'_>, threads: usize) -> Result<Vec<u32>, Shortage> {
    let (used, _) = packages(floor)?;
    if used.is_empty() {
        return Err(Shortage::NoPackageInUse);
    }
    let lowest = |part: &Floor<'_>| part.free().into_iter().map(Slot::lowest).collect();
    let rows: Vec<Vec<u32>> = used.iter().map(lowest).collect();
    let (fewer, more) = (threads / rows.len(), threads.div_ceil(rows.len()));
    let even: Vec<&[u32]> = rows.iter().map(|row| row.get(..more).unwrap_or(row)).collect();
    let dealt = deal(&even);
    if dealt.len() < threads || even.iter().any(|row| row.len() < fewer) {
        let least = rows.iter().map(Vec::len).min().unwrap_or(0);
        return Err(Shortage::SamePackages { packages: rows.len(), free: rows.concat().len(), least });
    }
    Ok(dealt.into_iter().take(threads).collect())
}

/// The packages where other requests have CPUs, and those where none has.
fn packages<'a>(floor: &Floor<'a>) -> Result<(Vec<Floor<'a>>, Vec<Floor<'a>>), Shortage> {
    let packages = floor.topology.packages();
    if packages.is_empty() {
        return Err(Shortage::NoPackages);
    }
    let is_used = |package: &&Package| floor.taken.keys().any(|&cpu| package.cpus.contains(cpu));
    let (used, untouched): (Vec<&Package>, Vec<&Package>) = packages.iter().partition(is_used);
    let parts = |packages: Vec<&Package>| packages.iter().map(|package| floor.only(&package.cpus)).collect();
    Ok((parts(used), parts(untouched)))
}

fn other_package(floor: &Floor<'_>, needed: usize) -> Result<Vec<u32>, Shortage> {
    let (_, parts) = packages(floor)?;
    let largest = parts.iter().map(|part| part.cores.len()).max().unwrap_or(0);
    let chosen = parts.iter().find(|part| part.cores.len() >= needed);
    first_cores(&chosen.ok_or(Shortage::NoOtherPackage { needed, largest })?.free(), needed)
}
