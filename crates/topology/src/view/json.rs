//! The JSON form of a topology. Its keys are a contract with the readers of stored results.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::cpuset::CpuSet;
use crate::model::{Cache, Core, Die, Excluded, NumaNode, Package, Problem};
use crate::topology::Topology;

#[derive(Serialize)]
struct View<'a> {
    cpus: &'a CpuSet,
    allowed: &'a CpuSet,
    offline: &'a CpuSet,
    excluded: &'a [Excluded],
    packages: &'a [Package],
    dies: &'a [Die],
    cores: &'a [Core],
    /// By node number, which may be sparse.
    numa: BTreeMap<u32, &'a NumaNode>,
    caches: &'a [Cache],
    /// `null` where the kernel does not tell.
    smt: Option<&'a str>,
    isolated: &'a CpuSet,
    problems: &'a [Problem],
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.numa_nodes().iter();
        let view = View {
            cpus: self.online(),
            allowed: self.allowed(),
            offline: self.offline(),
            excluded: self.excluded(),
            packages: self.packages(),
            dies: self.dies(),
            cores: self.cores(),
            numa: nodes.map(|node| (node.os_index, node)).collect(),
            caches: self.caches(),
            smt: self.smt_control(),
            isolated: self.isolated(),
            problems: self.problems(),
        };
        view.serialize(serializer)
    }
}
