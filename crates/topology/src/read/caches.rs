//! Caches: one for each (level, kind, set of sharing CPUs).

use std::collections::HashSet;

use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind};

use crate::read::files::{CPU_DIR, Files, Source, list, mask};
use crate::read::parse;

const SHARING: &[Source] = &[list("shared_cpu_list"), mask("shared_cpu_map")];

type Key = (u8, CacheKind, CpuSet);

/// Reads the caches of the described CPUs, by level, kind and lowest CPU. A cache's `id` file is
/// not read: CPUs that share a cache may give it different ids.
pub(crate) fn read(files: &mut Files<'_>, cpus: &CpuSet) -> Vec<Cache> {
    let mut seen = HashSet::new();
    let mut caches = Vec::new();
    let mut untold = CpuSet::new();
    for cpu in cpus {
        let dir = format!("{CPU_DIR}/cpu{cpu}/cache");
        let Some(indices) = files.numbered(&dir, "index") else {
            untold.insert(cpu);
            continue;
        };
        for index in &indices {
            let dir = format!("{dir}/index{index}");
            let Some(key) = read_key(files, cpus, (cpu, &dir)) else {
                continue;
            };
            if seen.insert(key.clone()) {
                caches.push(read_rest(files, &dir, key));
            }
        }
    }
    if let Some(cpu) = untold.first() {
        let message = format!("no directory tells the caches of CPUs {untold}");
        files.problem(&format!("{CPU_DIR}/cpu{cpu}/cache"), message);
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    caches
}

/// Reads what identifies a cache in the directory that CPU `cpu` has for it.
fn read_key(files: &mut Files<'_>, cpus: &CpuSet, (cpu, dir): (u32, &str)) -> Option<Key> {
    let level = files.required(&format!("{dir}/level"), parse::number)?;
    let kind = files.required(&format!("{dir}/type"), parse::cache_kind)?;
    let Some((path, listed)) = files.cpus(dir, SHARING) else {
        files.problem(dir, "no usable file tells which CPUs share the cache");
        return None;
    };
    // Lists may still name CPUs that have gone offline since.
    let sharing = listed.intersection(cpus);
    if !sharing.contains(cpu) {
        files.problem(
            &path,
            format_args!("says that CPUs `{listed}` share the cache, without CPU {cpu} itself"),
        );
        return None;
    }
    Some((level, kind, sharing))
}

/// Reads the rest. The kernel leaves a size out, or says 0, where the firmware is silent.
fn read_rest(files: &mut Files<'_>, dir: &str, (level, kind, cpus): Key) -> Cache {
    let size = files.optional(&format!("{dir}/size"), parse::size);
    let line = files.optional(&format!("{dir}/coherency_line_size"), parse::number);
    Cache {
        level,
        kind,
        size_bytes: size.filter(|&bytes| bytes > 0),
        line_bytes: line.filter(|&bytes| bytes > 0),
        ways: None,
        cpus,
    }
}
