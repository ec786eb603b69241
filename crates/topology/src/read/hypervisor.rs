//! Whether the machine is a virtual one.

use serde::Serialize;

use crate::read::source::Source;

/// Whether a hypervisor runs the machine, as far as its files tell.
///
/// It matters for how far the rest can be believed: packages, caches and SMT of a virtual machine
/// are what the hypervisor chose to tell, and the host may run anything beside it.
///
/// If unsure, treat [`Unknown`](Self::Unknown) as `Present`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hypervisor {
    /// A file says that there is one.
    Present {
        /// The file, as on the machine itself.
        told_by: &'static str,
    },
    /// The files that would say so do not. A hypervisor that hides itself looks the same.
    Absent,
    /// There is no such file: a container hides them, or the architecture has none.
    Unknown,
}

impl Hypervisor {
    /// Looks for the traces of a hypervisor: the flag in `/proc/cpuinfo` of x86 processors,
    /// `/sys/hypervisor`, the device tree, and the name that firmware gives the machine.
    ///
    /// Never fails: a file that cannot be read tells nothing. `/proc/cpuinfo` takes the kernel a
    /// millisecond or more on large machines, so this is no part of reading a topology.
    #[must_use]
    pub fn read(source: &dyn Source) -> Self {
        /// `None` where the text tells nothing.
        type Tells = fn(&str) -> Option<bool>;
        let traces: [(&str, Tells); 6] = [
            ("/proc/cpuinfo", cpuinfo_tells),
            ("/sys/hypervisor/type", |_| Some(true)),
            ("/proc/device-tree/hypervisor/compatible", |_| Some(true)),
            ("/proc/device-tree/compatible", |text| Some(text.contains("dummy-virt"))),
            ("/sys/class/dmi/id/product_name", product_tells),
            ("/sys/class/dmi/id/sys_vendor", vendor_tells),
        ];
        let mut known = Self::Unknown;
        for (told_by, tells) in traces {
            let mut text = String::new();
            match source.read(&told_by[1..], &mut text).ok().and_then(|()| tells(&text)) {
                Some(true) => return Self::Present { told_by },
                Some(false) => known = Self::Absent,
                None => {}
            }
        }
        known
    }

    /// Says whether a file tells that there is one.
    #[must_use]
    pub fn is_present(&self) -> bool {
        matches!(self, Self::Present { .. })
    }
}

/// Only x86 processors list flags, and a hypervisor that is honest adds one.
fn cpuinfo_tells(text: &str) -> Option<bool> {
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Hypervisors that put themselves into the name. A real board's name decides nothing by itself:
/// the vendor does, which is read next.
fn product_tells(name: &str) -> Option<bool> {
    const VIRTUAL: [&str; 6] = ["KVM", "Virtual", "VMware", "OpenStack", "Google Compute Engine", "HVM domU"];
    VIRTUAL.iter().any(|part| name.contains(part)).then_some(true)
}

/// Amazon's and Google's name is on machines of both kinds, so it tells nothing.
fn vendor_tells(name: &str) -> Option<bool> {
    const VIRTUAL: [&str; 5] = ["QEMU", "VMware", "innotek", "Xen", "Parallels"];
    const BOTH: [&str; 4] = ["Amazon EC2", "Google", "Alibaba", "Microsoft"];
    match () {
        () if VIRTUAL.iter().any(|part| name.contains(part)) => Some(true),
        () if name.trim().is_empty() || BOTH.iter().any(|part| name.contains(part)) => None,
        () => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_a_whole_word_of_the_line_of_flags() {
        for (text, expected) in [
            ("processor: 0\nflags\t\t: fpu sse hypervisor lahf_lm\n", Some(true)),
            ("flags: fpu hypervisorless\n", Some(false)),
            ("model name: hypervisor\nflags: fpu\n", Some(false)),
            ("processor: 0\nFeatures: fp asimd hypervisor\n", None),
            ("", None),
        ] {
            assert_eq!(cpuinfo_tells(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_name_that_real_and_virtual_machines_share_decides_nothing() {
        for (vendor, expected) in
            [("QEMU\n", Some(true)), ("Ampere(R)\n", Some(false)), ("Amazon EC2\n", None), ("\n", None)]
        {
            assert_eq!(vendor_tells(vendor), expected, "{vendor:?}");
        }
        assert_eq!(product_tells("KVM Virtual Machine\n"), Some(true));
        assert_eq!(product_tells("m7g.metal\n"), None);
    }
}
