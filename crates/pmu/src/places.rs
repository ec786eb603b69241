//! A target → the places at which its counters are opened.

use std::fs;
use std::path::Path;

use crate::kernel::{Errno, Kernel, Place, Target};

/// The places of `target`: one thread or CPU each.
pub(crate) fn of(kernel: &dyn Kernel, target: &Target) -> Result<Vec<Place>, Errno> {
    let threads = |tids: Vec<u32>| tids.into_iter().map(Place::Thread).collect();
    let cpus = |cpu: Option<u32>| match cpu {
        Some(cpu) => online(kernel, cpu).map(|cpu| vec![cpu]),
        None => kernel.cpus(),
    };
    Ok(match target {
        Target::CurrentThread => vec![Place::CurrentThread],
        Target::Thread(tid) => vec![Place::Thread(*tid)],
        Target::Process(pid) => threads(kernel.threads(*pid)?),
        Target::Cpu(cpu) => on([online(kernel, *cpu)?]),
        Target::AllCpus => on(kernel.cpus()?),
        Target::Cgroup { directory, cpu } => {
            cpus(*cpu)?.into_iter().map(|cpu| Place::Cgroup { directory: directory.clone(), cpu }).collect()
        }
    })
}

/// The place to name where a target has none.
pub(crate) fn any(target: &Target) -> Place {
    match target {
        Target::CurrentThread => Place::CurrentThread,
        Target::Thread(id) | Target::Process(id) => Place::Thread(*id),
        Target::Cpu(cpu) => Place::Cpu(*cpu),
        Target::AllCpus => Place::Cpu(0),
        Target::Cgroup { directory, cpu } => {
            Place::Cgroup { directory: directory.clone(), cpu: cpu.unwrap_or(0) }
        }
    }
}

/// `cpu`, if it is online; the kernel has several numbers for that it is not.
fn online(kernel: &dyn Kernel, cpu: u32) -> Result<u32, Errno> {
    match kernel.cpus() {
        Ok(cpus) if !cpus.contains(&cpu) => Err(Errno(libc::ENODEV)),
        _ => Ok(cpu),
    }
}

/// These CPUs, whoever runs there.
pub(crate) fn on(cpus: impl IntoIterator<Item = u32>) -> Vec<Place> {
    cpus.into_iter().map(Place::Cpu).collect()
}

/// The thread ids of a process, from `proc/PID/task` below `root`.
pub(crate) fn threads(root: &Path, pid: u32) -> Result<Vec<u32>, Errno> {
    let tasks = fs::read_dir(root.join(format!("proc/{pid}/task"))).map_err(|_| Errno(libc::ESRCH))?;
    let mut tids: Vec<u32> =
        tasks.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    if tids.is_empty() { Err(Errno(libc::ESRCH)) } else { Ok(tids) }
}

/// The CPUs of `sys/devices/system/cpu/online` below `root`; `ENODEV` where it says nothing of use.
pub(crate) fn online_cpus(root: &Path) -> Result<Vec<u32>, Errno> {
    let text = fs::read_to_string(root.join("sys/devices/system/cpu/online"));
    let cpus = text.ok().and_then(|text| cpu_list(text.trim()));
    cpus.ok_or(Errno(libc::ENODEV))
}

/// The most CPUs that Linux can be built for; a list that names others is damaged.
const MOST_CPUS: u32 = 8192;

/// `0-3,8` → 0, 1, 2, 3, 8.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_by_table() {
        let cases = [
            ("0", Some(vec![0])),
            ("0-1", Some(vec![0, 1])),
            ("0-2,8,10-11", Some(vec![0, 1, 2, 8, 10, 11])),
            ("", None),
            ("3-1", None),
            ("0-4294967295", None),
            ("a", None),
        ];
        for (text, cpus) in cases {
            assert_eq!(cpu_list(text), cpus, "{text:?}");
        }
    }

    #[test]
    fn this_process_has_threads_and_no_process_has_none() {
        let pid = std::process::id();
        assert!(threads(Path::new("/"), pid).unwrap().contains(&pid));
        assert_eq!(threads(Path::new("/"), u32::MAX), Err(Errno(libc::ESRCH)));
        assert_eq!(online_cpus(Path::new("/nonexistent")), Err(Errno(libc::ENODEV)));
    }
}
