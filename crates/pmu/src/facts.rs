//! The settings of the system that explain a refusal, read from `/proc` and `/sys`.

use std::fs;
use std::path::Path;

use crate::kernel::SystemFacts;

/// Reads the facts below `root`; what cannot be read counts as not known.
pub(crate) fn read(root: &Path) -> SystemFacts {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let exists = |path: &str| root.join(path).exists();
    SystemFacts {
        paranoid: text("proc/sys/kernel/perf_event_paranoid").and_then(|t| t.trim().parse().ok()),
        // x86 guests see a processor flag; Xen and device-tree guests have a node of their own.
        hypervisor: text("proc/cpuinfo").is_some_and(|t| has_hypervisor_flag(&t))
            || exists("sys/hypervisor/type")
            || exists("proc/device-tree/hypervisor"),
    }
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "flags")
        .any(|(_, flags)| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hypervisor_flag_is_a_whole_word_of_the_flags_line() {
        let cases = [
            ("flags\t\t: fpu sse hypervisor lahf_lm\n", true),
            ("processor: 0\nflags: fpu\n\nprocessor: 1\nflags: hypervisor\n", true),
            ("flags: fpu hypervisorless\n", false),
            ("model name: hypervisor\nflags: fpu\n", false),
            ("Features: fp asimd\n", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(has_hypervisor_flag(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_to_read_is_nothing_known() {
        assert_eq!(read(Path::new("/nonexistent")), SystemFacts::default());
    }
}
