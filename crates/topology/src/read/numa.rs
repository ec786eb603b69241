//! NUMA nodes.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;
use crate::model::NumaNode;
use crate::read::files::{Files, Form, Forms, list, mask};
use crate::read::parse;

const NODE_DIR: &str = "sys/devices/system/node";
const MEMBERS: &[Form] = &[mask("cpumap"), list("cpulist")];

/// Reads the NUMA nodes, ascending. Kernels built without NUMA have no directory of nodes: that
/// is no problem, and no node is made up for them.
pub(crate) fn read(files: &mut Files<'_>, online: &CpuSet) -> Vec<NumaNode> {
    let numbers = files.numbered(NODE_DIR, "node").unwrap_or_default();
    let mut forms = Forms::of(MEMBERS);
    let mut nodes: Vec<NumaNode> = Vec::new();
    for number in &numbers {
        let Some(node) = read_node(files, online, (number, &mut forms)) else {
            continue;
        };
        // A CPU is in one node. Firmware that says otherwise is believed once.
        match nodes.iter().find(|earlier| !earlier.cpus.intersection(&node.cpus).is_empty()) {
            None => nodes.push(node),
            Some(earlier) => {
                let (cpus, earlier) = (&node.cpus, earlier.os_index);
                let message = format!("claims CPUs `{cpus}`, some of which node {earlier} has; left out");
                files.problem(&format!("{NODE_DIR}/node{number}"), message);
            }
        }
    }
    read_distances(files, &numbers, &mut nodes);
    nodes
}

/// A node without a readable list of CPUs is left out: it is not known to be one of memory alone.
fn read_node(
    files: &mut Files<'_>,
    online: &CpuSet,
    (os_index, forms): (u32, &mut Forms),
) -> Option<NumaNode> {
    let dir = format!("{NODE_DIR}/node{os_index}");
    let Some(members) = files.cpus(&dir, forms) else {
        files.problem(&dir, "no usable file tells the node's CPUs");
        return None;
    };
    Some(NumaNode {
        os_index,
        cpus: members.intersection(online),
        memory_bytes: files.required(&format!("{dir}/meminfo"), parse::node_memory),
        distances: BTreeMap::new(),
    })
}

/// Reads the rows of the distance matrix. A row has a column for each node, ascending; one of
/// another length cannot be assigned to nodes.
fn read_distances(files: &mut Files<'_>, numbers: &CpuSet, nodes: &mut [NumaNode]) {
    for node in nodes {
        let path = format!("{NODE_DIR}/node{}/distance", node.os_index);
        let Some(row) = files.optional(&path, parse::numbers) else {
            continue;
        };
        if row.len() == numbers.len() {
            node.distances = numbers.iter().zip(row).collect();
        } else {
            let message = format!("has {} columns for {} nodes", row.len(), numbers.len());
            files.problem(&path, message);
        }
    }
}
