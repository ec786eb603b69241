//! What control groups leave to this process: a set of CPUs, and a share of their time.
//!
//! A group's limit also holds for the groups below it, and a file shows only where its controller
//! is enabled, so every question is asked from the process's own group upwards. See cgroups(7),
//! cpuset(7), and the kernel's pages on both versions.

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::CpuQuota;
use crate::read::files::Files;
use crate::read::parse;

/// The groups of the process in one hierarchy: where it is mounted, and the path of its own group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    /// Relative to the root that is read, without a slash at either end.
    mount: String,
    /// The path below the mount; empty for the group that is mounted, else with a slash before it.
    group: String,
    /// As `/proc/self/cgroup` names the mounted group, to complete `group` with.
    above: String,
}

/// The hierarchies that matter here. A machine may have both versions at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    unified: Option<Hierarchy>,
    cpuset: Option<Hierarchy>,
    cpu: Option<Hierarchy>,
}

impl Groups {
    /// Reads which groups the process is in. Without control groups, none.
    ///
    /// `process` is its directory, `proc/self` or the like.
    pub(crate) fn read(files: &mut Files<'_>, process: &str) -> Self {
        let members =
            files.optional(&format!("{process}/cgroup"), |text| parsed(members(text))).unwrap_or_default();
        let mounts = files.optional(&format!("{process}/mountinfo"), |text| parsed(mounts(text)));
        let mounts = match mounts {
            Some(mounts) => mounts,
            None => files.optional("proc/mounts", |text| parsed(old_mounts(text))).unwrap_or_default(),
        };
        let path_of = |controller: &str| {
            let member = members.iter().find(|member| member.controllers.iter().any(|c| c == controller));
            member.map(|member| member.path.clone())
        };
        let find = |controller: &str, path: Option<String>| {
            let path = path?;
            let mounts = mounts.iter().filter(|mount| mount.controllers.iter().any(|c| c == controller));
            // The mount that shows the process's own group; of several the last, which hides the others.
            let best = mounts.max_by_key(|mount| below(&mount.top, &path).is_some())?;
            Some(Hierarchy::new(best, &path))
        };
        // The path in the cpuset hierarchy alone is all that kernels before 2.6.24 tell.
        let in_cpuset =
            path_of("cpuset").or_else(|| files.optional(&format!("{process}/cpuset"), parse::line));
        Self {
            unified: find("", path_of("").or_else(|| in_cpuset.clone())),
            cpuset: find("cpuset", in_cpuset),
            cpu: find("cpu", path_of("cpu")),
        }
    }

    /// Reads the CPUs that the nearest group with a cpuset allows, and names that group.
    pub(crate) fn cpuset(&self, files: &mut Files<'_>) -> Option<(CpuSet, String)> {
        // Files of the first version have a prefix unless the mount option `noprefix` is set.
        const FIRST: [&str; 4] = ["cpuset.effective_cpus", "effective_cpus", "cpuset.cpus", "cpus"];
        let names = [(&self.cpuset, FIRST.as_slice()), (&self.unified, &["cpuset.cpus.effective"])];
        for (hierarchy, names) in names {
            let Some(hierarchy) = hierarchy else { continue };
            for (dir, group) in hierarchy.upwards() {
                let mut cpus = |name| files.optional(&format!("{dir}/{name}"), parse_list);
                // An empty file is a group that was never given CPUs; the one above counts.
                let set = names.iter().find_map(|name| cpus(name).filter(|set| !set.is_empty()));
                if let Some(set) = set {
                    return Some((set, group));
                }
            }
        }
        None
    }

    /// Reads the tightest quota of the process's group and all those above.
    pub(crate) fn quota(&self, files: &mut Files<'_>) -> Option<CpuQuota> {
        type Reader = fn(&mut Files<'_>, &str) -> Option<(u64, u64)>;
        let ways: [(&Option<Hierarchy>, Reader); 2] =
            [(&self.unified, unified_quota), (&self.cpu, old_quota)];
        let mut quotas = Vec::new();
        for (hierarchy, read) in ways {
            for (dir, cgroup) in hierarchy.iter().flat_map(Hierarchy::upwards) {
                let quota = read(files, &dir);
                quotas.extend(quota.map(|(quota_us, period_us)| CpuQuota { quota_us, period_us, cgroup }));
            }
        }
        quotas.into_iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
    }
}

fn unified_quota(files: &mut Files<'_>, dir: &str) -> Option<(u64, u64)> {
    files.optional(&format!("{dir}/cpu.max"), cpu_max).flatten()
}

fn old_quota(files: &mut Files<'_>, dir: &str) -> Option<(u64, u64)> {
    let quota: i64 = files.optional(&format!("{dir}/cpu.cfs_quota_us"), parse::number)?;
    let quota = u64::try_from(quota).ok()?; // −1 is "no limit".
    let period = files.optional(&format!("{dir}/cpu.cfs_period_us"), parse::number)?;
    Some((quota, period)).filter(|_| period > 0)
}

/// Parses `cpu.max`: `max 100000` or `250000 100000`. `None` is "no limit".
fn cpu_max(text: &str) -> Result<Option<(u64, u64)>, String> {
    let (quota, period) = text.trim().split_once(' ').ok_or("is not a quota and a period")?;
    let period: u64 = parse::number(period)?;
    if period == 0 {
        return Err("has a period of 0 us".to_owned());
    }
    if quota == "max" { Ok(None) } else { Ok(Some((parse::number(quota)?, period))) }
}

impl Hierarchy {
    fn new(mount: &Mount, path: &str) -> Self {
        // In a container the mount may show a part of the hierarchy only. A path that is not below
        // that part belongs to another namespace; the mounted group is then all there is to ask.
        Self {
            mount: mount.point.trim_matches('/').to_owned(),
            group: below(&mount.top, path).unwrap_or_default().to_owned(),
            above: mount.top.trim_end_matches('/').to_owned(),
        }
    }

    /// The directory and the name of the process's group, then of each above it.
    fn upwards(&self) -> Vec<(String, String)> {
        let groups =
            std::iter::successors(Some(self.group.as_str()), |group| Some(&group[..group.rfind('/')?]));
        let named = |group: &str| {
            let dir = format!("{}{group}", self.mount);
            let name = format!("{}{group}", self.above);
            (dir.trim_start_matches('/').to_owned(), if name.is_empty() { "/".to_owned() } else { name })
        };
        groups.map(named).collect()
    }
}

/// The rest of a path below a group: empty for the group itself, `None` outside of it.
fn below<'a>(top: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.trim_end_matches('/').strip_prefix(top.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The controllers; the second version has one without a name.
    controllers: Vec<String>,
    /// The group that is mounted.
    top: String,
    point: String,
}

/// The process's membership in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    controllers: Vec<String>,
    path: String,
}

/// For parsers that skip the lines they do not understand.
fn parsed<T>(value: T) -> Result<T, String> {
    Ok(value)
}

fn controllers(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

/// Parses `/proc/PID/cgroup`: lines `ID:CONTROLLERS:PATH`.
fn members(text: &str) -> Vec<Member> {
    let member = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some(Member { controllers: controllers(fields.next()?), path: fields.next()?.to_owned() })
    };
    text.lines().filter_map(member).collect()
}

/// Parses `/proc/PID/mountinfo`: `ID PARENT DEV ROOT POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS`;
/// see proc_pid_mountinfo(5).
fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (top, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        new_mount(kind, (top, point), options)
    };
    text.lines().filter_map(mount).collect()
}

/// Parses `/proc/mounts`: `SOURCE POINT TYPE OPTIONS …`; see fstab(5).
fn old_mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        new_mount(kind, ("/", point), options)
    };
    text.lines().filter_map(mount).collect()
}

fn new_mount(kind: &str, (top, point): (&str, &str), options: &str) -> Option<Mount> {
    let controllers = match kind {
        "cgroup2" => vec![String::new()],
        "cgroup" => controllers(options),
        // The file system that cpusets had before there were control groups.
        "cpuset" => vec!["cpuset".to_owned()],
        _ => return None,
    };
    Some(Mount { controllers, top: unescaped(top), point: unescaped(point) })
}

/// Undoes the kernel's escapes of blanks in paths (`\040`).
fn unescaped(path: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(path.to_owned(), |path, (escape, plain)| path.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quota_or_none() {
        assert_eq!(cpu_max("max 100000\n"), Ok(None));
        assert_eq!(cpu_max("250000 100000\n"), Ok(Some((250_000, 100_000))));
        for wrong in ["", "max", "max 0", "5 x", "-1 100000"] {
            assert!(cpu_max(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn groups_from_the_process_upwards() {
        let mount = &mounts("42 32 0:39 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")[0];
        let named = Hierarchy::new(mount, "/a.slice/b").upwards();
        let expected = [
            ("sys/fs/cgroup/a.slice/b", "/a.slice/b"),
            ("sys/fs/cgroup/a.slice", "/a.slice"),
            ("sys/fs/cgroup", "/"),
        ];
        assert_eq!(named, expected.map(|(dir, group)| (dir.to_owned(), group.to_owned())));
    }

    #[test]
    fn a_container_sees_a_part_of_the_hierarchy() {
        let mount =
            &mounts("1 2 0:9 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n")[0];
        let inside = Hierarchy::new(mount, "/docker/x/y").upwards();
        let dirs: Vec<&str> = inside.iter().map(|(dir, _)| dir.as_str()).collect();
        assert_eq!(dirs, ["sys/fs/cgroup/cpu,cpuacct/y", "sys/fs/cgroup/cpu,cpuacct"]);
        assert_eq!(inside[1].1, "/docker/x");
        // Seen from another namespace.
        let outside = Hierarchy::new(mount, "/docker/xx").upwards();
        assert_eq!(outside, [("sys/fs/cgroup/cpu,cpuacct".to_owned(), "/docker/x".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z:,/ .\\-\\\\\n]{0,200}|\\PC{0,80}") {
            for mount in mounts(&text).iter().chain(&old_mounts(&text)) {
                for member in members(&text) {
                    let _ = Hierarchy::new(mount, &member.path).upwards();
                }
            }
            let _ = cpu_max(&text);
        }
    }
}
