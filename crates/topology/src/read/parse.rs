//! Parsers of the small texts in sysfs and procfs. They see text only: which file it came from is
//! added by the layer that read it.

use crate::cpulist::{ParseCpuListError, parse_list, quoted};
use crate::cpuset::CpuSet;
use crate::model::CacheKind;

/// The longest text that counts as one of the kernel's words.
const WORD_LEN_MAX: usize = 64;

/// What a text is not; the message of a problem.
pub(crate) type Wrong = String;

/// Parses a decimal number of any integer type.
pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Result<T, Wrong> {
    let text = text.trim();
    text.parse().map_err(|_| format!("`{}` is not a number in range", quoted(text)))
}

/// Parses a hexadecimal number with `0x` before it.
pub(crate) fn hexadecimal(text: &str) -> Result<u64, Wrong> {
    let digits = text.trim().strip_prefix("0x");
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| format!("`{}` is not a hexadecimal number like `0x41`", quoted(text.trim())))
}

/// Parses decimal numbers with blanks between them.
pub(crate) fn numbers(text: &str) -> Result<Vec<u32>, Wrong> {
    text.split_ascii_whitespace().map(number).collect()
}

/// Parses a set of CPUs of which the kernel writes `(null)` when it was never set.
pub(crate) fn list_or_null(text: &str) -> Result<CpuSet, ParseCpuListError> {
    if text.trim() == "(null)" { Ok(CpuSet::new()) } else { parse_list(text) }
}

/// Parses a word such as the name of a governor. An empty file is `None`: nothing is set.
pub(crate) fn word(text: &str) -> Result<Option<String>, Wrong> {
    let text = text.trim();
    if text.len() > WORD_LEN_MAX || text.chars().any(char::is_control) {
        return Err(format!("`{}` is not one short line", quoted(text)));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Parses one line of any length, such as a path.
pub(crate) fn line(text: &str) -> Result<String, Wrong> {
    let line = text.trim_end_matches('\n');
    if line.contains('\n') { Err("is more than one line".to_owned()) } else { Ok(line.to_owned()) }
}

/// Parses the switch in `cpuN/online`.
pub(crate) fn switch(text: &str) -> Result<bool, Wrong> {
    match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("`{}` is neither 0 nor 1", quoted(other))),
    }
}

/// Parses a cache's `type`.
pub(crate) fn cache_kind(text: &str) -> Result<CacheKind, Wrong> {
    match text.trim() {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        other => Err(format!("`{}` is none of the cache types Data, Instruction, Unified", quoted(other))),
    }
}

/// Parses a cache's `size` such as `32K`, in bytes.
pub(crate) fn size(text: &str) -> Result<u64, Wrong> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok();
    bytes
        .and_then(|count| count.checked_mul(1 << shift))
        .ok_or_else(|| format!("`{}` is not a size like `32K`", quoted(text)))
}

/// Finds `MemTotal` in a NUMA node's `meminfo`, in bytes.
pub(crate) fn node_memory(text: &str) -> Result<u64, Wrong> {
    let line = text.lines().find_map(|line| line.split_once("MemTotal:"));
    let (_, amount) = line.ok_or("has no line `MemTotal:`")?;
    let kib: u64 = number(amount.trim().trim_end_matches("kB"))?;
    kib.checked_mul(1024).ok_or_else(|| format!("MemTotal of {kib} kB is out of range"))
}

/// Finds a set in a `/proc/PID/status`, such as the one of `Cpus_allowed_list:`; `None` when the file
/// has no such line.
pub(crate) fn status_list(text: &str, name: &str) -> Result<Option<CpuSet>, ParseCpuListError> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(parse_list).transpose()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("48K\n"), Ok(49_152));
        assert_eq!(size("2M"), Ok(2 << 20));
        assert_eq!(size("1G"), Ok(1 << 30));
        assert_eq!(size("640"), Ok(640));
        for wrong in ["", "K", "-1K", "32k", "18446744073709551615K"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn node_memory_is_in_bytes() {
        let text = "\nNode 3 MemTotal:       2047 kB\nNode 3 MemFree: 12 kB\n";
        assert_eq!(node_memory(text), Ok(2047 * 1024));
        assert_eq!(node_memory("Node 1 MemTotal: 0 kB"), Ok(0));
        assert!(node_memory("Node 1 MemFree: 0 kB").is_err());
        assert!(node_memory("Node 1 MemTotal: 18446744073709551615 kB").is_err());
    }

    #[test]
    fn words_are_one_short_line() {
        assert_eq!(word("performance\n"), Ok(Some("performance".to_owned())));
        assert_eq!(word("\n"), Ok(None));
        assert!(word("two\nlines").is_err());
        assert!(word(&"x".repeat(65)).is_err());
    }

    #[test]
    fn the_mask_in_status() {
        let text = "Name:\tcat\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n";
        let cpus = |text| status_list(text, "Cpus_allowed_list:");
        assert_eq!(cpus(text).unwrap().unwrap().to_string(), "0,2");
        assert_eq!(cpus("Name:\tcat\n"), Ok(None));
        assert!(cpus("Cpus_allowed_list: 2-0").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9KMGB :\\-]{0,30}|\\PC{0,80}") {
            let _ = number::<u32>(&text);
            let _ = word(&text);
            let _ = switch(&text);
            let _ = cache_kind(&text);
            let _ = size(&text);
            let _ = node_memory(&format!("MemTotal:{text}"));
            let _ = status_list(&text, "");
            let _ = line(&text);
        }
    }
}
