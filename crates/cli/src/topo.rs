//! `tailcore topo`: the machine.

use std::path::Path;

use tailcore_topology::Topology;

use crate::args::TopoArgs;
use crate::exit::Exit;
use crate::output;

pub(crate) fn topo(args: &TopoArgs) -> anyhow::Result<Exit> {
    let topology = Topology::read_from(args.root.as_deref().unwrap_or(Path::new("/")))?;
    let text = if args.json { output::pretty_json(&topology)? } else { topology.tree().to_string() };
    output::print(&text)?;
    Ok(Exit::Valid)
}
