//! Commands that change a setting. Plain sh(1) and tee(1): no package to install first, and no
//! brace expansion, which only some shells have.

use std::path::Path;

use super::Remedy;
use crate::cpuset::CpuSet;
use crate::read::files::CPU_DIR;

/// The shortest range that is written as `$(seq …)`.
const SEQ_LEN_MIN: u32 = 4;

/// Writes a value to one file, named relative to the root.
pub(super) fn write(value: &str, path: &str) -> Remedy {
    Remedy::Run(line(value, path))
}

/// Writes a value to `cpuN/NAME` of each CPU.
pub(super) fn write_each(value: &str, cpus: &CpuSet, name: &str) -> String {
    let numbered = |number: &str| line(value, &format!("{CPU_DIR}/cpu{number}/{name}"));
    for_each("cpu", cpus, numbered)
}

/// A command for each number of a set; it is made with the number, or with the variable for it.
pub(super) fn for_each(variable: &str, numbers: &CpuSet, command: impl Fn(&str) -> String) -> String {
    match numbers.first() {
        Some(number) if numbers.len() == 1 => command(&number.to_string()),
        _ => {
            let body = command(&format!("${variable}"));
            format!("for {variable} in {}; do {body}; done", words(numbers))
        }
    }
}

/// A path as a word of a shell: names of control groups may hold `\\`, spaces and worse.
pub(super) fn word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@,".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn line(value: &str, path: &str) -> String {
    format!("echo {value} | sudo tee /{path}")
}

/// The numbers as words of a shell: `0 1 $(seq 4 9)`.
fn words(numbers: &CpuSet) -> String {
    let list = numbers.to_string();
    let word = |range: &str| match range.split_once('-') {
        None => range.to_owned(),
        Some((first, last)) => {
            let bounds = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
            match bounds {
                Some((a, b)) if b - a + 1 < SEQ_LEN_MIN => {
                    (a..=b).map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
                }
                _ => format!("$(seq {first} {last})"),
            }
        }
    };
    list.split(',').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_its_name() {
        for (path, expected) in [
            (
                "/sys/fs/cgroup/user.slice/run-u9:1@x.scope/cpu.max",
                "/sys/fs/cgroup/user.slice/run-u9:1@x.scope/cpu.max",
            ),
            (r"/a/serial\x2dgetty", r"'/a/serial\x2dgetty'"),
            ("/a/x; y", "'/a/x; y'"),
            ("/it's", r"'/it'\''s'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }

    #[test]
    fn sets_of_cpus_become_words_of_any_shell() {
        for (list, expected) in [
            ("3", "echo x | sudo tee /sys/devices/system/cpu/cpu3/f"),
            ("2-3", "for cpu in 2 3; do echo x | sudo tee /sys/devices/system/cpu/cpu$cpu/f; done"),
            (
                "0,2-4,8-63",
                "for cpu in 0 2 3 4 $(seq 8 63); do echo x | sudo tee /sys/devices/system/cpu/cpu$cpu/f; done",
            ),
        ] {
            assert_eq!(write_each("x", &list.parse().unwrap(), "f"), expected);
        }
    }
}
