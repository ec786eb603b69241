//! What control groups leave to this process: a set of CPUs, and a share of their time.
//!
//! A group's limit also holds for the groups below it, and a file shows only where its controller
//! is enabled, so every question is asked from the process's own group upwards. See cgroups(7),
//! cpuset(7), and the kernel's pages on both versions.

use crate::cpulist::parse_list;
use crate::cpuset::CpuSet;
use crate::model::{CpuQuota, Quota};
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

/// What is known of the process's place in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    At(Hierarchy),
    /// It is mounted, and its mounts do not show the process's group.
    Elsewhere {
        path: String,
    },
    NotMounted,
}

impl Place {
    fn hierarchy(&self) -> Option<&Hierarchy> {
        match self {
            Self::At(hierarchy) => Some(hierarchy),
            Self::Elsewhere { .. } | Self::NotMounted => None,
        }
    }
}

/// The hierarchies that matter here. A machine may have both versions at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    unified: Place,
    cpuset: Place,
    cpu: Place,
}

impl Groups {
    /// Reads which groups the process is in.
    ///
    /// `process` is its directory, `proc/self` or the like.
    pub(crate) fn read(files: &mut Files<'_>, process: &str) -> Self {
        let members = files.optional(&format!("{process}/cgroup"), members).unwrap_or_default();
        let mounts = match files.optional(&format!("{process}/mountinfo"), mounts) {
            Some(mounts) => mounts,
            None => files.optional("proc/mounts", old_mounts).unwrap_or_default(),
        };
        let path_of = |controller: &str| {
            let member = members.iter().find(|member| member.controllers.iter().any(|c| c == controller));
            member.map(|member| member.path.clone())
        };
        let find = |controller: &str, path: Option<String>| {
            let mounts = mounts.iter().filter(|mount| mount.controllers.iter().any(|c| c == controller));
            path.map_or(Place::NotMounted, |path| place(mounts, path))
        };
        // The path in the cpuset hierarchy alone is all that kernels before 2.6.24 tell.
        let in_cpuset =
            path_of("cpuset").or_else(|| files.optional(&format!("{process}/cpuset"), parse::line));
        let groups = Self {
            unified: find("", path_of("").or_else(|| in_cpuset.clone())),
            cpuset: find("cpuset", in_cpuset),
            cpu: find("cpu", path_of("cpu")),
        };
        for place in [&groups.unified, &groups.cpuset, &groups.cpu] {
            if let Place::Elsewhere { path } = place {
                let message =
                    format!("is in group `{path}`, which no mounted control-group file system shows");
                files.problem(&format!("{process}/cgroup"), message);
            }
        }
        groups
    }

    /// Reads the CPUs that the nearest group with a cpuset allows, and names that group.
    pub(crate) fn cpuset(&self, files: &mut Files<'_>) -> Option<(CpuSet, String)> {
        // Files of the first version have a prefix unless the mount option `noprefix` is set.
        const FIRST: [&str; 4] = ["cpuset.effective_cpus", "effective_cpus", "cpuset.cpus", "cpus"];
        let names = [(&self.cpuset, FIRST.as_slice()), (&self.unified, &["cpuset.cpus.effective"])];
        for (hierarchy, names) in names {
            let Some(hierarchy) = hierarchy.hierarchy() else { continue };
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
    pub(crate) fn quota(&self, files: &mut Files<'_>) -> Quota {
        type Reader = fn(&mut Files<'_>, &str) -> Option<(u64, u64)>;
        let ways: [(&Place, &str, Reader); 2] =
            [(&self.unified, "cpu.max", unified_quota), (&self.cpu, "cpu.cfs_quota_us", old_quota)];
        let problems_before = files.problems();
        let mut quotas = Vec::new();
        for (place, name, read) in ways {
            for (dir, cgroup) in place.hierarchy().into_iter().flat_map(Hierarchy::upwards) {
                let Some((quota_us, period_us)) = read(files, &dir) else { continue };
                let file = files.source().name(&format!("{dir}/{name}"));
                quotas.push(CpuQuota { quota_us, period_us, cgroup, file });
            }
        }
        let malformed = files.problems() > problems_before;
        match quotas.into_iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus())) {
            Some(tightest) => Quota::Limited(tightest),
            None if malformed => Quota::Unknown { why: "a file of the quota is malformed".to_owned() },
            None => self.without_quota(files),
        }
    }

    /// Tells whether a quota would have been seen.
    fn without_quota(&self, files: &mut Files<'_>) -> Quota {
        let unknown = |why: String| Quota::Unknown { why };
        let places = [&self.unified, &self.cpu];
        for place in places {
            if let Place::Elsewhere { path } = place {
                return unknown(format!(
                    "no mounted control-group file system shows this process's group `{path}`"
                ));
            }
        }
        let mut own = places.iter().filter_map(|place| place.hierarchy()).map(Hierarchy::upwards);
        match own.next().and_then(|groups| groups.into_iter().next()) {
            None => unknown("no control-group file system with a CPU controller is mounted".to_owned()),
            Some((dir, _)) if files.names(&dir).is_none() => unknown(format!("there is no directory /{dir}")),
            Some(_) => Quota::Unlimited,
        }
    }
}

/// The mount that shows the process's own group; of several the last, which hides the others.
fn place<'a>(mounts: impl Iterator<Item = &'a Mount>, path: String) -> Place {
    let mut mounts = mounts.peekable();
    if mounts.peek().is_none() {
        return Place::NotMounted;
    }
    let shows = |mount: &&Mount| below(&mount.top, &path).is_some();
    let outside = path.split('/').any(|part| part == "..");
    match mounts.filter(shows).last().filter(|_| !outside) {
        Some(mount) => Place::At(Hierarchy::new(mount, &path)),
        None => Place::Elsewhere { path },
    }
}

fn unified_quota(files: &mut Files<'_>, dir: &str) -> Option<(u64, u64)> {
    files.optional(&format!("{dir}/cpu.max"), cpu_max).flatten()
}

fn old_quota(files: &mut Files<'_>, dir: &str) -> Option<(u64, u64)> {
    let quota = files.optional(&format!("{dir}/cpu.cfs_quota_us"), cfs_quota).flatten()?;
    Some((quota, files.required(&format!("{dir}/cpu.cfs_period_us"), cfs_period)?))
}

/// Parses `cpu.cfs_quota_us`; −1 is "no limit".
fn cfs_quota(text: &str) -> Result<Option<u64>, String> {
    if text.trim() == "-1" { Ok(None) } else { parse::number(text).map(Some) }
}

fn cfs_period(text: &str) -> Result<u64, String> {
    match parse::number(text)? {
        0 => Err("has a period of 0 us".to_owned()),
        period => Ok(period),
    }
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
        // In a container the mount may show a part of the hierarchy only.
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

/// The entries of lines; lines that are none are skipped, unless there is nothing else.
fn entries<T>(text: &str, entry: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let entries: Vec<T> = text.lines().filter_map(entry).collect();
    let none = entries.is_empty() && !text.trim().is_empty();
    if none { Err("has no line in the form of proc(5)".to_owned()) } else { Ok(entries) }
}

fn controllers(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

/// Parses `/proc/PID/cgroup`: lines `ID:CONTROLLERS:PATH`.
fn members(text: &str) -> Result<Vec<Member>, String> {
    let member = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some(Member { controllers: controllers(fields.next()?), path: fields.next()?.to_owned() })
    };
    entries(text, member)
}

/// Parses `/proc/PID/mountinfo`: `ID PARENT DEV ROOT POINT OPTIONS … - TYPE SOURCE SUPER-OPTIONS`;
/// see proc_pid_mountinfo(5).
fn mounts(text: &str) -> Result<Vec<Mount>, String> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (top, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        Some(new_mount(kind, (top, point), options))
    };
    Ok(entries(text, mount)?.into_iter().flatten().collect())
}

/// Parses `/proc/mounts`: `SOURCE POINT TYPE OPTIONS …`; see fstab(5).
fn old_mounts(text: &str) -> Result<Vec<Mount>, String> {
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        Some(new_mount(kind, ("/", point), options))
    };
    Ok(entries(text, mount)?.into_iter().flatten().collect())
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

    fn one(line: &str) -> Mount {
        mounts(line).unwrap().remove(0)
    }

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
        let mount = &one("42 32 0:39 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
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
        let mount = &one("1 2 0:9 /docker/x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
        let inside = Hierarchy::new(mount, "/docker/x/y").upwards();
        let dirs: Vec<&str> = inside.iter().map(|(dir, _)| dir.as_str()).collect();
        assert_eq!(dirs, ["sys/fs/cgroup/cpu,cpuacct/y", "sys/fs/cgroup/cpu,cpuacct"]);
        assert_eq!(inside[1].1, "/docker/x");
        // Seen from another namespace, and from outside of the own one.
        for path in ["/docker/xx", "/../y"] {
            assert_eq!(
                place([mount].into_iter(), path.to_owned()),
                Place::Elsewhere { path: path.to_owned() }
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z:,/ .\\-\\\\\n]{0,200}|\\PC{0,80}") {
            let mounts = [mounts(&text), old_mounts(&text)].into_iter().flatten().flatten();
            let mounts: Vec<Mount> = mounts.collect();
            for member in members(&text).unwrap_or_default() {
                if let Place::At(hierarchy) = place(mounts.iter(), member.path) {
                    prop_assert!(!hierarchy.upwards().is_empty());
                }
            }
            let _ = cpu_max(&text);
        }
    }
}
