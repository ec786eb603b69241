//! What a process may use, and why not the rest: masks, control groups of both versions, quotas.

use tailcore_topology::{CpuQuota, ExclusionReason, Quota, Topology};

use crate::fixture::{CPU, Machine};

/// Eight cores whose kernel has the second version mounted where it usually is, and the process
/// in group `/a/b`.
fn unified() -> Machine {
    let machine = Machine::of_cores(&["0", "1", "2", "3", "4", "5", "6", "7"]);
    machine.file("proc/self/cgroup", "0::/a/b\n");
    machine.file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    machine
}

/// The same with the first version, whose controllers are mounted apart.
fn first_version() -> Machine {
    let machine = Machine::of_cores(&["0", "1", "2", "3"]);
    machine.file("proc/self/cgroup", "6:cpuset:/box\n2:cpuacct,cpu:/box/part\n1:name=systemd:/\n");
    machine.file(
        "proc/self/mountinfo",
        "1 0 0:9 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpuacct,cpu\n\
         2 0 0:8 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
    );
    machine
}

fn limit(machine: &Machine) -> CpuQuota {
    machine.read().cpu_quota().limit().expect("there is a quota").clone()
}

fn reasons(topology: &Topology) -> Vec<(String, String)> {
    let excluded = topology.excluded().iter();
    excluded.map(|excluded| (excluded.cpus.to_string(), excluded.reason.to_string())).collect()
}

#[test]
fn the_nearest_cpuset_of_the_second_version_counts() {
    let machine = unified();
    // Group b does not have the controller; the root has it always.
    machine.file("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
    machine.file("sys/fs/cgroup/a/cpuset.cpus.effective", "1-3\n");
    machine.allowed("0-2,7");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "1-2");
    let expected =
        [("0,4-7", "not in the cpuset of control group /a"), ("3", "not in this process's affinity mask")];
    assert_eq!(reasons(&topology), expected.map(|(cpus, why)| (cpus.to_owned(), why.to_owned())));
}

#[test]
fn the_cpuset_of_the_first_version_counts() {
    let machine = first_version();
    machine.file("sys/fs/cgroup/cpuset/box/cpuset.cpus", "0-9\n");
    machine.file("sys/fs/cgroup/cpuset/box/cpuset.effective_cpus", "2-3\n");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "2-3");
    let cgroup = "/box".to_owned();
    assert_eq!(topology.excluded()[0].reason, ExclusionReason::NotInCpuset { cgroup });
}

#[test]
fn cpusets_are_older_than_control_groups() {
    let machine = Machine::of_cores(&["0", "1"]);
    machine.file("proc/self/cpuset", "/dummy\n");
    machine.file("proc/mounts", "none /dev/cpuset cpuset rw 0 0\n");
    machine.file("dev/cpuset/dummy/cpus", "1\n");
    assert_eq!(machine.read().allowed().to_string(), "1");
}

#[test]
fn a_cpuset_without_cpus_asks_the_one_above() {
    let machine = first_version();
    machine.file("sys/fs/cgroup/cpuset/box/cpuset.cpus", "\n");
    machine.file("sys/fs/cgroup/cpuset/cpuset.cpus", "0-2\n");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "0-2");
    assert_eq!(reasons(&topology)[0].1, "not in the cpuset of control group /");
}

#[test]
fn each_cpu_has_the_reason_that_is_hardest_to_change() {
    let machine = unified();
    machine.file(&format!("{CPU}/online"), "0-6\n");
    machine.file(&format!("{CPU}/isolated"), "4-5\n");
    machine.file("sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-4\n");
    machine.allowed("0-2");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "0-2");
    assert_eq!(topology.isolated().to_string(), "4-5");
    let reasons: Vec<(String, &ExclusionReason)> =
        topology.excluded().iter().map(|excluded| (excluded.cpus.to_string(), &excluded.reason)).collect();
    let cgroup = "/a/b".to_owned();
    let expected = [
        ("7".to_owned(), &ExclusionReason::Offline),
        ("5-6".to_owned(), &ExclusionReason::NotInCpuset { cgroup }),
        ("4".to_owned(), &ExclusionReason::Isolated),
        ("3".to_owned(), &ExclusionReason::NotInAffinityMask),
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn the_tightest_quota_above_counts() {
    let machine = unified();
    machine.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    machine.file("sys/fs/cgroup/a/cpu.max", "50000 20000\n");
    let topology = machine.read();
    let quota = topology.cpu_quota().limit().expect("group a has one");
    assert_eq!((quota.quota_us, quota.period_us, quota.cgroup.as_str()), (50_000, 20_000, "/a"));
    assert_eq!(quota.cpus().to_bits(), 2.5_f64.to_bits());

    machine.file("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    assert_eq!(limit(&machine).cgroup, "/a/b");
}

#[test]
fn the_first_version_has_quotas_as_well() {
    let machine = first_version();
    let dir = "sys/fs/cgroup/cpu,cpuacct/box";
    machine.file(&format!("{dir}/part/cpu.cfs_quota_us"), "-1\n");
    machine.file(&format!("{dir}/part/cpu.cfs_period_us"), "100000\n");
    assert_eq!(machine.read().cpu_quota(), &Quota::Unlimited);
    machine.file(&format!("{dir}/cpu.cfs_quota_us"), "75000\n");
    machine.file(&format!("{dir}/cpu.cfs_period_us"), "100000\n");
    assert_eq!(limit(&machine).cgroup, "/box");
}

#[test]
fn the_mount_that_shows_the_own_group_is_asked() {
    let machine = unified();
    machine.file(
        "proc/self/mountinfo",
        "1 0 0:9 /other /srv/box rw - cgroup2 cgroup2 rw\n\
         2 0 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
         3 0 0:9 /other /srv/late rw - cgroup2 cgroup2 rw\n",
    );
    machine.file("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    machine.file("srv/late/cpu.max", "10000 100000\n");
    assert_eq!(limit(&machine).cgroup, "/a");
}

#[test]
fn a_group_that_no_mount_shows_leaves_the_quota_unknown() {
    for (path, top) in [("/a/b", "/other"), ("/../x", "/"), ("/", "/../..")] {
        let machine = unified();
        machine.file("proc/self/cgroup", format!("0::{path}\n"));
        machine.file("proc/self/mountinfo", format!("1 0 0:9 {top} /sys/fs/cgroup rw - cgroup2 x rw\n"));
        machine.file("sys/fs/cgroup/cpu.max", "1000 100000\n");
        machine.file("sys/fs/x/cpu.max", "1000 100000\n");
        machine.file("sys/fs/cgroup/cpuset.cpus.effective", "7\n");
        let topology = machine.read();
        assert!(matches!(topology.cpu_quota(), Quota::Unknown { .. }), "{:?}", topology.cpu_quota());
        assert_eq!(topology.allowed(), topology.online());
        assert!(topology.problems()[0].message.contains(path), "{:?}", topology.problems());
    }
}

#[test]
fn nothing_mounted_or_malformed_leaves_the_quota_unknown() {
    let bare = Machine::of_cores(&["0"]).read();
    assert!(matches!(bare.cpu_quota(), Quota::Unknown { .. }));
    assert_eq!(bare.problems(), []);

    let dir = "sys/fs/cgroup/cpu,cpuacct/box";
    for (quota, period) in [("50000", Some("0")), ("50000", None), ("-7", Some("100000"))] {
        let machine = first_version();
        machine.file(&format!("{dir}/cpu.cfs_quota_us"), quota);
        if let Some(period) = period {
            machine.file(&format!("{dir}/cpu.cfs_period_us"), period);
        }
        let topology = machine.read();
        assert!(matches!(topology.cpu_quota(), Quota::Unknown { .. }), "{quota} {period:?}");
        assert_eq!(topology.problems().len(), 1, "{:?}", topology.problems());
    }
}

#[test]
fn no_mount_leads_out_of_a_recording() {
    let machine = unified();
    for point in ["/", "/../../../../../../../../sys/fs/cgroup"] {
        machine.file("proc/self/mountinfo", format!("1 0 0:9 / {point} rw - cgroup2 cgroup2 rw\n"));
        machine.file("a/b/cpu.max", "70000 100000\n");
        let topology = machine.read();
        let quota = topology.cpu_quota().limit().map(|quota| quota.quota_us);
        assert_eq!(quota, (point == "/").then_some(70_000), "{point}");
    }
}

#[test]
fn a_recording_may_have_only_the_path_of_old_cpusets() {
    let machine = unified();
    machine.remove("proc/self/cgroup");
    let group = format!("/docker/{}", "f".repeat(64));
    machine.file("proc/self/cpuset", format!("{group}\n"));
    machine.file(&format!("sys/fs/cgroup{group}/cpuset.cpus.effective"), "0-5\n");
    let topology = machine.read();
    assert_eq!(topology.allowed().to_string(), "0-5");
    assert_eq!(topology.problems(), []);
}

#[test]
fn malformed_limits_are_problems_and_limit_nothing() {
    let machine = unified();
    machine.file("sys/fs/cgroup/a/b/cpuset.cpus.effective", "all\n");
    machine.file("sys/fs/cgroup/a/b/cpu.max", "lots 100000\n");
    machine.file("proc/self/cgroup", "0::/a/b\n\0nonsense\n");
    let topology = machine.read();
    assert_eq!(topology.allowed(), topology.online());
    assert!(matches!(topology.cpu_quota(), Quota::Unknown { .. }), "{:?}", topology.cpu_quota());
    let paths = topology.problems().iter().map(|problem| problem.path.clone());
    let expected = ["sys/fs/cgroup/a/b/cpuset.cpus.effective", "sys/fs/cgroup/a/b/cpu.max"];
    assert!(paths.eq(expected.map(|path| machine.path(path))), "{:?}", topology.problems());
}

#[test]
fn sets_of_the_kernels_command_line_may_be_null() {
    let machine = unified();
    machine.file(&format!("{CPU}/nohz_full"), "  (null)\n");
    machine.file(&format!("{CPU}/isolated"), "\0");
    let topology = machine.read();
    assert!(topology.nohz_full().is_empty() && topology.isolated().is_empty());
    assert_eq!(topology.problems(), []);
    machine.file(&format!("{CPU}/nohz_full"), "2-99\n");
    assert_eq!(machine.read().nohz_full().to_string(), "2-7");
}

#[test]
fn the_nodes_that_memory_may_come_from() {
    let machine = unified();
    assert_eq!(machine.read().allowed_nodes(), None);
    machine.file("proc/self/status", "Mems_allowed_list:\t0,2-3\n");
    assert_eq!(machine.read().allowed_nodes(), Some([0, 2, 3].as_slice()));
}
