//! Caches: one for each (level, kind, set of sharing CPUs).

use std::collections::{BTreeMap, HashSet};

use crate::cpuset::CpuSet;
use crate::model::{Cache, CacheKind, Core};
use crate::read::files::{CPU_DIR, Files, Form, Forms, list, mask};
use crate::read::parse;
use crate::view::words::cpus as named;

const SHARING: &[Form] = &[mask("shared_cpu_map"), list("shared_cpu_list")];

/// The highest index that is looked at. No processor has ten caches to a CPU.
const INDEX_MAX: u32 = 31;

/// Reads the caches of the described CPUs, by level, kind and lowest CPU. A cache's `id` file is
/// not read: CPUs that share a cache may give it different ids.
pub(crate) fn read(files: &mut Files<'_>, cpus: &CpuSet, cores: &[Core]) -> Vec<Cache> {
    let mut reader = Reader {
        files,
        cpus,
        sharing: Forms::of(SHARING),
        caches: BTreeMap::new(),
        known: HashSet::new(),
        indices: 0,
    };
    let mut untold = CpuSet::new();
    let mut told = CpuSet::new();
    for cpu in cpus {
        if told.contains(cpu) {
            continue;
        }
        match reader.read_cpu(cpu) {
            Some(sharing) => {
                let core = cores.iter().find(|core| core.cpus.contains(cpu));
                // The SMT siblings' directories repeat this one, if all that is in it is shared
                // with them. Reading half as many files, or a quarter, is worth the question.
                told = told.union(&core.map_or_else(CpuSet::new, |core| core.cpus.intersection(&sharing)));
            }
            None => untold.extend([cpu]),
        }
    }
    let mut caches: Vec<Cache> = reader.caches.into_values().collect();
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    for alike in caches.chunk_by(|a, b| (a.level, a.kind) == (b.level, b.kind)) {
        let members: usize = alike.iter().map(|cache| cache.cpus.len()).sum();
        let union = alike.iter().fold(CpuSet::new(), |union, cache| union.union(&cache.cpus));
        if members > union.len() {
            let (level, kind) = (alike[0].level, alike[0].kind);
            let message = format!("the caches of level {level} ({kind:?}) overlap without being the same");
            files.problem(CPU_DIR, message);
        }
    }
    // Where no CPU has one, the architecture has none to tell of.
    if let Some(cpu) = untold.first().filter(|_| untold != *cpus) {
        let message = format!("no directory tells the caches of {}", named(&untold));
        files.problem(&format!("{CPU_DIR}/cpu{cpu}/cache"), message);
    }
    caches
}

/// What an index directory of one CPU says.
enum Index {
    /// A cache, with the CPUs that share it.
    Shared(CpuSet),
    /// Something that cannot be used; the problem is listed.
    Unusable,
    /// There is no such directory.
    Missing,
}

struct Reader<'a, 'b> {
    files: &'a mut Files<'b>,
    /// The online CPUs that have a directory.
    cpus: &'a CpuSet,
    sharing: Forms,
    caches: BTreeMap<(u8, CacheKind, Vec<u32>), Cache>,
    /// The index directories of which all is known, each with the CPUs that share the cache.
    known: HashSet<(u32, CpuSet)>,
    /// One more than the highest index that any CPU had.
    indices: u32,
}

impl Reader<'_, '_> {
    /// Reads the caches of one CPU that are not known from another; gives the CPUs that share all
    /// of them, or `None` without a directory.
    fn read_cpu(&mut self, cpu: u32) -> Option<CpuSet> {
        let dir = format!("{CPU_DIR}/cpu{cpu}/cache");
        if self.indices == 0 {
            // Only the first time: to ask for one index too many is cheaper than to list them.
            let indices = self.files.numbered(&dir, "index")?;
            self.indices = indices.iter().last().map_or(0, |last| last.min(INDEX_MAX) + 1);
        }
        let mut in_all: Option<CpuSet> = None;
        for index in 0..=INDEX_MAX {
            match self.read_index(cpu, index, &format!("{dir}/index{index}")) {
                Index::Shared(sharing) => {
                    in_all = Some(in_all.as_ref().unwrap_or(self.cpus).intersection(&sharing));
                }
                Index::Unusable => in_all = Some(CpuSet::new()),
                Index::Missing if index >= self.indices => break,
                Index::Missing => {}
            }
            self.indices = self.indices.max(index + 1);
        }
        in_all
    }

    /// Reads one index directory, unless a CPU that shares the cache had the same under the same
    /// index.
    fn read_index(&mut self, cpu: u32, index: u32, dir: &str) -> Index {
        let Some(listed) = self.files.cpus(dir, &mut self.sharing) else {
            if index >= self.indices || self.files.names(dir).is_none() {
                return Index::Missing;
            }
            self.files.problem(dir, "no usable file tells which CPUs share the cache");
            return Index::Unusable;
        };
        // Lists may still name CPUs that have gone offline since.
        let sharing = listed.intersection(self.cpus);
        if !sharing.contains(cpu) {
            let message = format!("says that the cache is shared by `{listed}`, without CPU {cpu} itself");
            self.files.problem(&self.sharing.path(dir), message);
            return Index::Unusable;
        }
        let key = (index, sharing);
        if !self.known.contains(&key) {
            if self.read_cache(dir, &key.1).is_none() {
                return Index::Unusable;
            }
            self.known.insert(key.clone());
        }
        Index::Shared(key.1)
    }

    /// Reads a cache, unless it is known from an index directory with another number.
    fn read_cache(&mut self, dir: &str, sharing: &CpuSet) -> Option<()> {
        let level = self.files.required(&format!("{dir}/level"), parse::number)?;
        let kind = self.files.required(&format!("{dir}/type"), parse::cache_kind)?;
        let key = (level, kind, sharing.iter().collect());
        if !self.caches.contains_key(&key) {
            let cache = self.read_rest(dir, (level, kind, sharing.clone()));
            self.caches.insert(key, cache);
        }
        Some(())
    }

    /// Reads the rest. The kernel leaves a file out, or says 0, where the firmware is silent.
    fn read_rest(&mut self, dir: &str, (level, kind, cpus): (u8, CacheKind, CpuSet)) -> Cache {
        let size = self.files.optional(&format!("{dir}/size"), parse::size);
        let line = self.files.optional(&format!("{dir}/coherency_line_size"), parse::number);
        let ways = self.files.optional(&format!("{dir}/ways_of_associativity"), parse::number);
        Cache {
            level,
            kind,
            size_bytes: size.filter(|&bytes| bytes > 0),
            line_bytes: line.filter(|&bytes| bytes > 0),
            ways: ways.filter(|&ways| ways > 0),
            cpus,
        }
    }
}
