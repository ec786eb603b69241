//! The JSON form of a topology. Its keys are a contract with the readers of stored results.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::cpuset::CpuSet;
use crate::model::{Cache, Cluster, Core, CpuKind, Die, Excluded, NumaNode, Package, Problem, Quota};
use crate::topology::Topology;

#[derive(Serialize)]
struct View<'a> {
    cpus: &'a CpuSet,
    allowed: &'a CpuSet,
    offline: &'a CpuSet,
    present: &'a CpuSet,
    possible: &'a CpuSet,
    excluded: &'a [Excluded],
    cpu_quota: &'a Quota,
    packages: &'a [Package],
    dies: &'a [Die],
    clusters: &'a [Cluster],
    cores: &'a [Core],
    cpukinds: &'a [CpuKind],
    /// By node number, which may be sparse.
    numa: BTreeMap<u32, &'a NumaNode>,
    /// `null` where the kernel does not tell.
    allowed_nodes: Option<&'a [u32]>,
    caches: &'a [Cache],
    /// `null` where the kernel does not tell.
    smt: Option<&'a str>,
    isolated: &'a CpuSet,
    nohz_full: &'a CpuSet,
    problems: &'a [Problem],
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.numa_nodes().iter();
        let view = View {
            cpus: self.online(),
            allowed: self.allowed(),
            offline: self.offline(),
            present: self.present(),
            possible: self.possible(),
            excluded: self.excluded(),
            cpu_quota: self.cpu_quota(),
            packages: self.packages(),
            dies: self.dies(),
            clusters: self.clusters(),
            cores: self.cores(),
            cpukinds: self.kinds(),
            numa: nodes.map(|node| (node.os_index, node)).collect(),
            allowed_nodes: self.allowed_nodes(),
            caches: self.caches(),
            smt: self.smt_control(),
            isolated: self.isolated(),
            nohz_full: self.nohz_full(),
            problems: self.problems(),
        };
        view.serialize(serializer)
    }
}
