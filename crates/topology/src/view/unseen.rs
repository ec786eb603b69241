//! What the tree of a machine cannot show, in words.

use crate::read::{Hypervisor, Interrupts};

/// Says what cannot be known of a machine beside its files, a line each, to be printed with its
/// [`tree`](crate::Topology::tree): whether a hypervisor made the machine up, and interrupts that a
/// container hides. Nothing where everything can be seen.
///
/// ```
/// use tailcore_topology::{Directory, Hypervisor, Interrupts, unseen};
///
/// let source = Directory::new("/");
/// for line in unseen(&Hypervisor::read(&source), &Interrupts::read(&source)) {
///     println!("unknown: {line}");
/// }
/// ```
#[must_use]
pub fn unseen(hypervisor: &Hypervisor, interrupts: &Interrupts) -> Vec<&'static str> {
    let mut lines = Vec::new();
    match hypervisor {
        Hypervisor::Present { .. } => {
            lines.push("this is a virtual machine; packages, caches and SMT are what the hypervisor tells");
        }
        Hypervisor::Unknown => lines.push("whether this is a virtual machine; nothing here tells"),
        Hypervisor::Absent => {}
    }
    if interrupts.interrupts.is_empty() {
        lines.push("interrupts; /proc/irq shows none with a handler, as in a container that hides them");
    } else if interrupts.of_network().next().is_none() {
        lines.push(
            "interrupts of the network; no interface in /sys/class/net shows the device behind it, as in a \
             container",
        );
    }
    lines
}
