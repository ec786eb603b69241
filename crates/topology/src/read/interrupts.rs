//! Interrupts: which logical CPUs each may land on.

use serde::Serialize;

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::Problem;
use crate::read::files::Files;
use crate::read::parse;
use crate::read::source::Source;

const IRQ_DIR: &str = "proc/irq";
const NET_DIR: &str = "sys/class/net";
const VIRTIO_DIR: &str = "sys/bus/virtio/devices";

/// An interrupt that somebody has asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Interrupt {
    /// The kernel's number: `N` of `/proc/irq/N`.
    pub number: u32,
    /// What its handlers are called, such as `eth0-TxRx-3`; sorted.
    pub names: Vec<String>,
    /// The network interface whose queue raises it, where one does.
    pub interface: Option<String>,
    /// The logical CPUs on which it may be handled (`smp_affinity_list`).
    pub cpus: CpuSet,
    /// The logical CPUs on which it is handled, where the kernel tells (`effective_affinity_list`);
    /// most hardware delivers to one.
    pub effective_cpus: Option<CpuSet>,
}

impl Interrupt {
    /// Gives the logical CPUs on which it is handled, or may be where the kernel does not tell.
    #[must_use]
    pub fn lands_on(&self) -> &CpuSet {
        self.effective_cpus.as_ref().unwrap_or(&self.cpus)
    }
}

/// The interrupts of a machine in use, ascending by number, and the files that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Interrupts {
    /// The interrupts that have a handler.
    pub interrupts: Vec<Interrupt>,
    /// Files that were there and malformed or unreadable, or missing where they have to be.
    pub problems: Vec<Problem>,
}

impl Interrupts {
    /// Reads the interrupts from `/proc/irq` and the interfaces from `/sys/class/net`.
    #[must_use]
    pub fn read(source: &dyn Source) -> Self {
        let mut files = Files::new(source);
        let interfaces = interfaces(&mut files);
        let numbers = files.names(IRQ_DIR).unwrap_or_default();
        let mut numbers: Vec<u32> = numbers.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let mut read = |number| read_one(&mut files, number, &interfaces);
        let interrupts = numbers.into_iter().filter_map(&mut read).collect();
        Self { interrupts, problems: files.into_problems() }
    }

    /// Gives the interrupts of network queues.
    pub fn of_network(&self) -> impl Iterator<Item = &Interrupt> {
        self.interrupts.iter().filter(|irq| irq.interface.is_some())
    }
}

/// An interface, and how to know its interrupts.
struct Interface {
    name: String,
    /// The interrupts of its device: the message-signalled ones, or else the one that it has a line
    /// for, and may share with other devices.
    numbers: Vec<u32>,
    /// What its handlers are called, alone or with a hyphen and more behind.
    handler: String,
}

impl Interface {
    fn handles(&self, handlers: &[String]) -> bool {
        let mut rests = handlers.iter().filter_map(|handler| handler.strip_prefix(&self.handler));
        rests.any(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

/// All interfaces. Virtual ones (loopback, bridges) have no device, nor interrupts.
fn interfaces(files: &mut Files<'_>) -> Vec<Interface> {
    let mut interfaces = Vec::new();
    for name in sorted(files.names(NET_DIR)) {
        let numbers = numbers(files, &format!("{NET_DIR}/{name}/device"));
        interfaces.push(Interface { handler: name.clone(), numbers, name });
    }
    // The interrupts of a virtio device belong to the device above, and have its own name.
    for device in sorted(files.names(VIRTIO_DIR)) {
        for name in sorted(files.names(&format!("{VIRTIO_DIR}/{device}/net"))) {
            interfaces.push(Interface { name, numbers: Vec::new(), handler: device.clone() });
        }
    }
    interfaces
}

/// The numbers of a device's interrupts. Where it has message-signalled ones, its `irq` is a line that
/// is not used, and others may use it.
fn numbers(files: &mut Files<'_>, device: &str) -> Vec<u32> {
    if let Some(numbers) = files.names(&format!("{device}/msi_irqs")) {
        return numbers.iter().filter_map(|number| number.parse().ok()).collect();
    }
    let line = files.optional(&format!("{device}/irq"), parse::number);
    line.filter(|&number| number > 0).into_iter().collect() // 0: it has none.
}

fn sorted(names: Option<Vec<String>>) -> Vec<String> {
    let mut names = names.unwrap_or_default();
    names.sort_unstable();
    names
}

/// An interrupt without a handler has a directory all the same, and nothing in it that matters.
fn read_one(files: &mut Files<'_>, number: u32, interfaces: &[Interface]) -> Option<Interrupt> {
    let dir = format!("{IRQ_DIR}/{number}");
    // Each handler has a directory; all else are files of known names.
    const FILES: [&str; 7] = [
        "affinity_hint",
        "effective_affinity",
        "effective_affinity_list",
        "node",
        "smp_affinity",
        "smp_affinity_list",
        "spurious",
    ];
    let mut names = files.names(&dir)?;
    names.retain(|name| !FILES.contains(&name.as_str()));
    names.sort_unstable();
    if names.is_empty() {
        return None;
    }
    // By name first: the ports of one device share its numbers.
    let named = interfaces.iter().find(|interface| interface.handles(&names));
    let interface = named.or_else(|| interfaces.iter().find(|interface| interface.numbers.contains(&number)));
    Some(Interrupt {
        number,
        interface: interface.map(|interface| interface.name.clone()),
        names,
        cpus: files.required(&format!("{dir}/smp_affinity_list"), parse_list)?,
        effective_cpus: files
            .optional(&format!("{dir}/effective_affinity_list"), parse_list)
            .filter(|cpus| !cpus.is_empty()),
    })
}
