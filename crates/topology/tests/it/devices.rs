//! Frequencies and interrupts.

use tailcore_topology::{Directory, Frequencies, Interrupts};

use crate::fixture::{CPU, Machine};

#[test]
fn cpus_governed_together_are_one_policy() {
    let machine = Machine::of_cores(&["0", "1", "2"]);
    for cpu in 0..2 {
        let dir = format!("{CPU}/cpu{cpu}/cpufreq");
        machine.file(&format!("{dir}/affected_cpus"), "0 1 7\n");
        machine.file(&format!("{dir}/scaling_governor"), "performance\n");
        machine.file(&format!("{dir}/scaling_driver"), "acpi-cpufreq\n");
        machine.file(&format!("{dir}/scaling_max_freq"), "2700000\n");
        machine.file(&format!("{dir}/cpuinfo_max_freq"), "3500000\n");
        machine.file(&format!("{dir}/cpuinfo_min_freq"), "slow\n");
    }
    let frequencies = Frequencies::read(&Directory::new(machine.root()), &machine.read());
    let [policy] = &frequencies.policies[..] else { panic!("{frequencies:?}") };
    assert_eq!(policy.cpus.to_string(), "0-1");
    assert_eq!(policy.driver.as_deref(), Some("acpi-cpufreq"));
    assert_eq!((policy.max_khz, policy.hardware_max_khz), (Some(2_700_000), Some(3_500_000)));
    assert_eq!((policy.min_khz, policy.hardware_min_khz), (None, None));
    assert_eq!(frequencies.of(1).and_then(|policy| policy.governor.as_deref()), Some("performance"));
    assert_eq!(frequencies.of(2), None);
    let path = machine.path(&format!("{CPU}/cpu0/cpufreq/cpuinfo_min_freq"));
    assert!(frequencies.problems.iter().map(|problem| &problem.path).eq([&path]));
}

#[test]
fn interrupts_of_network_queues_name_their_interface() {
    let machine = Machine::of_cores(&["0", "1"]);
    let irq = |number: u32, cpus: &str, handler: Option<&str>| {
        let dir = format!("proc/irq/{number}");
        machine.file(&format!("{dir}/smp_affinity_list"), format!("{cpus}\n"));
        machine.file(&format!("{dir}/spurious"), "count 0\n");
        if let Some(handler) = handler {
            machine.file(&format!("{dir}/{handler}/x"), "");
        }
    };
    irq(9, "0-1", Some("acpi"));
    irq(31, "0-1", Some("eth0-TxRx-0"));
    irq(30, "1", Some("eth0-TxRx-1"));
    irq(40, "0-1", None);
    irq(41, "one", Some("disk"));
    machine.file("proc/irq/31/effective_affinity_list", "0\n");
    machine.file("sys/class/net/eth0/device/msi_irqs/30", "msix\n");
    machine.file("sys/class/net/eth0/device/msi_irqs/31", "msix\n");
    machine.file("sys/class/net/lo/mtu", "65536\n");

    let read = Interrupts::read(&Directory::new(machine.root()));
    let numbers = |irqs: &mut dyn Iterator<Item = u32>| irqs.collect::<Vec<u32>>();
    assert_eq!(numbers(&mut read.interrupts.iter().map(|irq| irq.number)), [9, 30, 31]);
    assert_eq!(numbers(&mut read.of_network().map(|irq| irq.number)), [30, 31]);
    let on_1 = read.interrupts.iter().filter(|irq| irq.lands_on().contains(1));
    assert_eq!(numbers(&mut on_1.map(|irq| irq.number)), [9, 30]);
    assert_eq!(read.interrupts[2].names, ["eth0-TxRx-0"]);
    assert_eq!(read.interrupts[2].interface.as_deref(), Some("eth0"));
    assert_eq!(read.problems.len(), 1);
    assert!(read.problems[0].path.ends_with("proc/irq/41/smp_affinity_list"));
}

#[test]
fn virtio_queues_are_known_by_the_names_of_their_handlers() {
    let machine = Machine::of_cores(&["0"]);
    for (number, handler) in [(37, "virtio2-input.0"), (38, "virtio1-req.0"), (39, "virtio20-input.0")] {
        machine.file(&format!("proc/irq/{number}/smp_affinity_list"), "0\n");
        machine.file(&format!("proc/irq/{number}/{handler}/x"), "");
    }
    machine.file("sys/bus/virtio/devices/virtio2/net/eth0/mtu", "1500\n");
    let read = Interrupts::read(&Directory::new(machine.root()));
    assert_eq!(read.of_network().map(|irq| irq.number).collect::<Vec<_>>(), [37]);
}

/// A machine with an interrupt for each of these handlers, the first of number 11.
fn with_handlers(handlers: &[&str]) -> Machine {
    let machine = Machine::of_cores(&["0"]);
    for (number, handler) in (11..).zip(handlers) {
        machine.file(&format!("proc/irq/{number}/smp_affinity_list"), "0\n");
        machine.file(&format!("proc/irq/{number}/{handler}/x"), "");
    }
    machine
}

fn of_network(machine: &Machine) -> Vec<(u32, String)> {
    let read = Interrupts::read(&Directory::new(machine.root()));
    assert_eq!(read.problems, []);
    read.of_network().map(|irq| (irq.number, irq.interface.clone().unwrap_or_default())).collect()
}

#[test]
fn handlers_with_the_name_of_an_interface_are_its_own() {
    let machine = with_handlers(&["eth0", "eth0-rx-0", "eth1-tx-0", "eth01-rx-0", "eth", "acpi"]);
    machine.file("sys/class/net/eth0/mtu", "1500\n");
    machine.file("sys/class/net/eth1/mtu", "1500\n");
    // Two ports of one device, which lists the interrupts of both for each.
    machine.file("sys/class/net/eth0/device/msi_irqs/13", "msix\n");
    machine.file("sys/class/net/eth1/device/msi_irqs/13", "msix\n");
    let expected = [(11, "eth0"), (12, "eth0"), (13, "eth1")];
    assert_eq!(of_network(&machine), expected.map(|(number, name)| (number, name.to_owned())));
}

#[test]
fn a_device_without_message_signalled_interrupts_has_a_line() {
    let machine = with_handlers(&["e1000", "usb1", "timer"]);
    machine.file("sys/class/net/eth0/device/irq", "11\n");
    machine.file("sys/class/net/eth1/device/irq", "0\n");
    // Its line is not in use, and may be another device's.
    machine.file("sys/class/net/eth2/device/irq", "12\n");
    machine.file("sys/class/net/eth2/device/msi_irqs/40", "msix\n");
    assert_eq!(of_network(&machine), [(11, "eth0".to_owned())]);
}

#[test]
fn virtio_devices_without_queues_of_their_own_have_one_handler() {
    let machine = with_handlers(&["virtio0", "virtio1"]);
    machine.file("sys/bus/virtio/devices/virtio1/net/eth0/mtu", "1500\n");
    assert_eq!(of_network(&machine), [(12, "eth0".to_owned())]);
}

#[test]
fn a_machine_without_either_has_neither() {
    let machine = Machine::of_cores(&["0"]);
    let source = Directory::new(machine.root());
    assert_eq!(Interrupts::read(&source), Interrupts::default());
    assert_eq!(Frequencies::read(&source, &machine.read()), Frequencies::default());
}
