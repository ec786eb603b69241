//! Interrupts: which logical CPUs each may land on.

use serde::Serialize;

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::Problem;
use crate::read::files::Files;
use crate::read::source::Source;

const IRQ_DIR: &str = "proc/irq";
const NET_DIR: &str = "sys/class/net";

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

    /// Gives the interrupts that may be handled on a logical CPU.
    pub fn on(&self, cpu: u32) -> impl Iterator<Item = &Interrupt> {
        let lands = move |irq: &&Interrupt| irq.effective_cpus.as_ref().unwrap_or(&irq.cpus).contains(cpu);
        self.interrupts.iter().filter(lands)
    }

    /// Gives the interrupts of network queues.
    pub fn of_network(&self) -> impl Iterator<Item = &Interrupt> {
        self.interrupts.iter().filter(|irq| irq.interface.is_some())
    }
}

/// An interface, and how to know its interrupts.
struct Interface {
    name: String,
    /// Message-signalled interrupts of its device.
    numbers: Vec<u32>,
}

/// The interfaces that have a device. Virtual ones (loopback, bridges) have none, nor interrupts.
fn interfaces(files: &mut Files<'_>) -> Vec<Interface> {
    let mut names = files.names(NET_DIR).unwrap_or_default();
    names.sort_unstable();
    let mut interface = |name: String| {
        // A virtio device is a child of the one that has the interrupts.
        let dirs = ["device/msi_irqs", "device/../msi_irqs"];
        let numbers = dirs.iter().find_map(|dir| files.names(&format!("{NET_DIR}/{name}/{dir}")))?;
        let numbers = numbers.iter().filter_map(|number| number.parse().ok()).collect();
        Some(Interface { name, numbers })
    };
    names.into_iter().filter_map(&mut interface).collect()
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
    let by_number = interfaces.iter().find(|interface| interface.numbers.contains(&number));
    Some(Interrupt {
        number,
        interface: by_number.map(|interface| interface.name.clone()),
        names,
        cpus: files.required(&format!("{dir}/smp_affinity_list"), parse_list)?,
        effective_cpus: files
            .optional(&format!("{dir}/effective_affinity_list"), parse_list)
            .filter(|cpus| !cpus.is_empty()),
    })
}
