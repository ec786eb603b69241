//! Interrupts: which logical CPUs each may land on.

use serde::Serialize;

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::Problem;
use crate::read::files::Files;
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
    /// The message-signalled interrupts of its device.
    numbers: Vec<u32>,
    /// What their handlers' names begin with, where the interrupts belong to the device above.
    prefix: Option<String>,
}

impl Interface {
    fn raises(&self, number: u32, handlers: &[String]) -> bool {
        let named = |prefix: &String| handlers.iter().any(|handler| handler.starts_with(prefix));
        self.numbers.contains(&number) || self.prefix.as_ref().is_some_and(named)
    }
}

/// The interfaces that have a device. Virtual ones (loopback, bridges) have none, nor interrupts.
fn interfaces(files: &mut Files<'_>) -> Vec<Interface> {
    let mut interfaces = Vec::new();
    for name in sorted(files.names(NET_DIR)) {
        if let Some(numbers) = files.names(&format!("{NET_DIR}/{name}/device/msi_irqs")) {
            let numbers = numbers.iter().filter_map(|number| number.parse().ok()).collect();
            interfaces.push(Interface { name, numbers, prefix: None });
        }
    }
    for device in sorted(files.names(VIRTIO_DIR)) {
        for name in sorted(files.names(&format!("{VIRTIO_DIR}/{device}/net"))) {
            interfaces.push(Interface { name, numbers: Vec::new(), prefix: Some(format!("{device}-")) });
        }
    }
    interfaces
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
    let interface = interfaces.iter().find(|interface| interface.raises(number, &names));
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
