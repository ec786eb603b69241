//! NUMA nodes.

use crate::cpuset::CpuSet;
use crate::model::NumaNode;

use crate::read::files::{Files, Source, list, mask};
use crate::read::parse;

const NODE_DIR: &str = "sys/devices/system/node";
const MEMBERS: &[Source] = &[list("cpulist"), mask("cpumap")];

/// Reads the NUMA nodes, ascending. Kernels built without NUMA have no directory of nodes: that
/// is no problem, and no node is made up for them.
pub(crate) fn read(files: &mut Files<'_>, online: &CpuSet) -> Vec<NumaNode> {
    let numbers = files.numbered(NODE_DIR, "node").unwrap_or_default();
    let node = |number| read_node(files, online, number);
    numbers.iter().map(node).collect()
}

fn read_node(files: &mut Files<'_>, online: &CpuSet, os_index: u32) -> NumaNode {
    let dir = format!("{NODE_DIR}/node{os_index}");
    let members = files.cpus(&dir, MEMBERS);
    if members.is_none() {
        files.problem(&dir, "no usable file tells the node's CPUs");
    }
    NumaNode {
        os_index,
        cpus: members.map_or_else(CpuSet::new, |(_, cpus)| cpus.intersection(online)),
        memory_bytes: files.required(&format!("{dir}/meminfo"), parse::node_memory),
        distances: Default::default(),
    }
}
