//! Noise audits of built trees: laptops, tuned servers, virtual machines, containers, rubbish.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::json;
use tailcore_topology::audit::{Audit, Check, Finding, Remedy, State, Why};
use tailcore_topology::{CpuSet, Hypervisor};

use crate::fixture::{CPU, Machine};

const HUGE: &str = "sys/kernel/mm/transparent_hugepage";

/// Files of a machine, by path.
type Files = BTreeMap<String, String>;

fn set(files: &mut Files, path: &str, text: &str) {
    files.insert(path.to_owned(), format!("{text}\n"));
}

/// A server of two cores with two siblings each, tuned for CPU 3: its sibling, 2, is isolated.
fn tuned() -> Files {
    let mut files = Files::new();
    for cpu in 0..4 {
        let dir = format!("{CPU}/cpu{cpu}/cpufreq");
        set(&mut files, &format!("{dir}/scaling_governor"), "performance");
        set(&mut files, &format!("{dir}/scaling_driver"), "intel_pstate");
        set(&mut files, &format!("{dir}/energy_performance_preference"), "performance");
        for (state, name, latency) in [(0, "POLL", 0), (1, "C1", 2), (2, "C6", 170)] {
            let dir = format!("{CPU}/cpu{cpu}/cpuidle/state{state}");
            set(&mut files, &format!("{dir}/name"), name);
            set(&mut files, &format!("{dir}/latency"), &latency.to_string());
            set(&mut files, &format!("{dir}/disable"), if state == 2 { "1" } else { "0" });
        }
        if cpu > 0 {
            set(&mut files, &format!("{CPU}/cpu{cpu}/online"), "1");
        }
    }
    let stat: String = (0..4).map(|cpu| format!("cpu{cpu} 500 0 100 9000 0 0 10 0 0 0\n")).collect();
    for (path, text) in [
        ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
        ("sys/devices/system/cpu/isolated", "1-3"),
        ("sys/devices/system/cpu/nohz_full", "1-3"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [defer+madvise] madvise never"),
        ("proc/sys/kernel/numa_balancing", "0"),
        ("proc/sys/kernel/nmi_watchdog", "0"),
        ("proc/sys/kernel/perf_event_paranoid", "1"),
        ("proc/cpuinfo", "processor : 0\nflags : fpu tsc"),
        ("proc/cmdline", "quiet"),
        ("proc/loadavg", "0.05 0.10 0.10 1/200 999"),
        ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority"),
        ("proc/stat", &format!("cpu  1 0 0 0 0 0 0 0 0 0\n{stat}intr 0")),
        (
            "proc/interrupts",
            "  CPU0 CPU1 CPU2 CPU3\n 9: 70 0 0 0 IO-APIC 9-fasteoi  acpi\nLOC: 5 5 5 5 Local",
        ),
        ("proc/irq/9/smp_affinity_list", "0-3"),
        ("proc/irq/9/effective_affinity_list", "0"),
        ("proc/irq/9/acpi/x", ""),
        ("proc/self/cgroup", "0::/user"),
        ("sys/fs/cgroup/user/cpu.max", "max 100000"),
        ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
    ] {
        set(&mut files, path, text);
    }
    files
}

/// The same as it comes out of the shop, with all that an audit can object to.
fn laptop() -> Files {
    let mut files = tuned();
    for cpu in 0..4 {
        let dir = format!("{CPU}/cpu{cpu}");
        set(&mut files, &format!("{dir}/cpufreq/scaling_governor"), "powersave");
        set(&mut files, &format!("{dir}/cpufreq/energy_performance_preference"), "balance_power");
        set(&mut files, &format!("{dir}/cpuidle/state2/disable"), "0");
    }
    for (path, text) in [
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
        ("sys/devices/system/cpu/isolated", ""),
        ("sys/devices/system/cpu/nohz_full", "(null)"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
        ("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("proc/sys/kernel/nmi_watchdog", "1"),
        ("proc/sys/kernel/perf_event_paranoid", "4"),
        ("proc/loadavg", "3.50 2.00 1.00 3/900 999"),
        ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2\tpartition\t8\t0\t-2"),
        (
            "proc/interrupts",
            "  CPU0 CPU1 CPU2 CPU3\n 9: 1 70 0 0 IO-APIC 9-fasteoi  acpi\nLOC: 5 5 5 5 Local",
        ),
        ("proc/irq/9/effective_affinity_list", "1"),
    ] {
        set(&mut files, path, text);
    }
    files
}

/// Builds the machine: CPUs 0 and 1 share a core, 2 and 3 the other one, each a NUMA node.
fn built(files: &Files) -> Machine {
    let machine = Machine::of_cores(&["0,1", "2,3"]);
    machine.node(0, "0-1", 1);
    machine.node(1, "2-3", 1);
    for (path, text) in files {
        machine.file(path, text);
    }
    machine
}

fn audit(machine: &Machine, chosen: &str) -> Audit {
    Audit::read_from(machine.root(), &machine.read(), &chosen.parse().unwrap())
}

fn finding(audit: &Audit, check: Check) -> &Finding {
    audit.findings().iter().find(|finding| finding.check == check).expect("every check has a finding")
}

fn names<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<&'a str> {
    findings.into_iter().map(|finding| finding.check.name()).collect()
}

fn not_quiet(audit: &Audit) -> Vec<&str> {
    names(audit.findings().iter().filter(|finding| finding.state != State::Quiet))
}

#[test]
fn a_tuned_server_is_quiet_throughout() {
    let audit = audit(&built(&tuned()), "3");
    assert_eq!(not_quiet(&audit), [""; 0], "{:#?}", audit.findings());
    assert!(audit.findings().iter().all(|finding| finding.remedy.is_none() && !finding.seen.is_empty()));
}

#[test]
fn a_laptop_is_noisy_with_its_commands() {
    let audit = audit(&built(&laptop()), "1,3");
    let cpu = "/sys/devices/system/cpu";
    let run = |command: String| Some(Remedy::Run(command));
    let expected = [
        (
            Check::CStates,
            run(format!("for cpu in 1 3; do echo 1 | sudo tee {cpu}/cpu$cpu/cpuidle/state2/disable; done")),
        ),
        (
            Check::Governor,
            run(format!(
                "for cpu in 1 3; do echo performance | sudo tee {cpu}/cpu$cpu/cpufreq/scaling_governor; done"
            )),
        ),
        (Check::Turbo, run(format!("echo 1 | sudo tee {cpu}/intel_pstate/no_turbo"))),
        (Check::Interrupts, run("echo 0,2 | sudo tee /proc/irq/9/smp_affinity_list".to_owned())),
        (Check::NmiWatchdog, run("echo 0 | sudo tee /proc/sys/kernel/nmi_watchdog".to_owned())),
        (Check::Swap, run("sudo swapoff -a".to_owned())),
        (Check::Isolated, Some(Remedy::Boot("isolcpus=managed_irq,domain,1,3".to_owned()))),
        (Check::NohzFull, Some(Remedy::Boot("nohz_full=1,3".to_owned()))),
    ];
    for (check, remedy) in expected {
        let found = finding(&audit, check);
        assert_eq!((&found.state, &found.remedy), (&State::Noisy, &remedy), "{check}");
    }
    let quiet = ["affinity", "cpu-quota", "steal"];
    let others = audit.findings().iter().filter(|finding| finding.state != State::Noisy);
    assert_eq!(names(others), quiet);
    assert!(finding(&audit, Check::CStates).seen.contains("C6 (170 us) on CPUs 1,3"));
    assert!(finding(&audit, Check::Interrupts).seen.contains("acpi (IRQ 9, 70 since boot)"));
}

/// Carries out the commands of an audit on the files of the machine, as a shell would.
fn carry_out(machine: &Machine, audit: &Audit) {
    let root = machine.root().to_str().unwrap();
    for finding in audit.noisy() {
        let Some(Remedy::Run(commands)) = &finding.remedy else { continue };
        if finding.check == Check::Swap {
            continue; // A system call, not a file.
        }
        let script = commands.replace("sudo tee /", &format!("tee {root}/"));
        assert!(!script.contains("sudo"), "{script}");
        let ended = Command::new("sh").args(["-e", "-c", &script]).output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{script}: {ended:?}");
    }
}

#[test]
fn the_commands_make_the_noise_stop() {
    for chosen in ["1,3", "1-3", "2"] {
        let machine = built(&laptop());
        carry_out(&machine, &audit(&machine, chosen));
        // What the kernel does about what was written.
        for name in ["enabled", "defrag"] {
            let word = std::fs::read_to_string(machine.path(&format!("{HUGE}/{name}"))).unwrap();
            machine.file(&format!("{HUGE}/{name}"), format!("[{}]\n", word.trim()));
        }
        machine.remove("proc/irq/9/effective_affinity_list");
        let on = |cpu| std::fs::read_to_string(machine.path(&format!("{CPU}/cpu{cpu}/online"))).unwrap();
        let online: CpuSet = [0].into_iter().chain((1..4).filter(|&cpu| on(cpu) == "1\n")).collect();
        machine.file(&format!("{CPU}/online"), format!("{online}\n"));
        let topology = machine.read();
        let rest = chosen.parse::<CpuSet>().unwrap().intersection(topology.online());
        let again = Audit::read_from(machine.root(), &topology, &rest);
        let unhelped = names(again.noisy());
        let expected = ["load", "smt-siblings", "swap", "isolated", "nohz-full"];
        assert!(unhelped.iter().all(|name| expected.contains(name)), "{chosen}: {unhelped:?}");
        // CPU 0 has no switch.
        assert_eq!(unhelped.contains(&"smt-siblings"), chosen != "2", "{chosen}: {unhelped:?}");
    }
}

#[test]
fn a_virtual_machine_leaves_the_host_s_part_unknown() {
    let mut files = tuned();
    files
        .retain(|path, _| !path.contains("cpufreq") && !path.contains("cpuidle") && !path.contains("pstate"));
    set(&mut files, "proc/cpuinfo", "flags\t\t: fpu hypervisor tsc");
    let machine = built(&files);
    let audit = audit(&machine, "3");
    let expected = ["steal", "c-states", "governor", "energy-preference", "smt-siblings", "turbo"];
    assert_eq!(not_quiet(&audit), expected);
    assert_eq!(audit.noisy().count(), 0);
    let State::Unknown { why } = &finding(&audit, Check::CStates).state else { panic!("{audit:#?}") };
    assert!(why.to_string().contains("idle=poll"), "{why}");

    machine.file("proc/cmdline", "quiet idle=poll\n");
    assert_eq!(finding(&self::audit(&machine, "3"), Check::CStates).state, State::Quiet);
}

#[test]
fn a_short_idle_state_of_a_guest_says_nothing_of_the_host() {
    let mut files = tuned();
    set(&mut files, "sys/devices/system/cpu/cpuidle/current_driver", "haltpoll");
    let audit = audit(&built(&files), "1,3");
    assert!(matches!(finding(&audit, Check::CStates).state, State::Unknown { why: Why::Undecided { .. } }));
}

#[test]
fn a_container_that_hides_files_is_not_called_quiet() {
    let machine = Machine::bare(4);
    let audit = audit(&machine, "1,3");
    for finding in audit.findings() {
        match finding.check {
            Check::Affinity => assert_eq!(finding.state, State::Quiet),
            check => assert!(matches!(finding.state, State::Unknown { .. }), "{check}: {finding:#?}"),
        }
    }
}

#[test]
fn whatever_single_file_is_missing_or_malformed_nothing_turns_quiet() {
    let laptop = laptop();
    let machine = built(&laptop);
    let noisy = audit(&machine, "1,3").noisy().count();
    // Without a handler, an interrupt does not happen.
    for (path, text) in laptop.iter().filter(|(path, _)| !path.ends_with("/acpi/x")) {
        for rubbish in [None, Some("\u{7f}rubbish\n"), Some("\n")] {
            match rubbish {
                None => machine.remove(path),
                Some(text) => machine.file(path, text),
            }
            let audit = audit(&machine, "1,3");
            let quiet = names(audit.findings().iter().filter(|finding| finding.state == State::Quiet));
            let expected = ["affinity", "cpu-quota", "steal"];
            assert!(quiet.iter().all(|name| expected.contains(name)), "{path}: {quiet:?}");
            assert!(audit.noisy().count() <= noisy, "{path}");
        }
        machine.file(path, text);
    }
}

#[test]
fn who_may_count_everything_is_not_held_up() {
    let mut files = tuned();
    set(&mut files, "proc/sys/kernel/perf_event_paranoid", "3");
    let machine = built(&files);
    let state = || finding(&audit(&machine, "3"), Check::PerfEventParanoid).state.clone();
    assert_eq!(state(), State::Noisy);
    machine.file("proc/self/status", "Name:\tcat\nCapEff:\t0000004000000000\n");
    assert_eq!(state(), State::Noisy);
    machine.file("proc/self/status", "Name:\tcat\nCapEff:\t000001ffffffffff\n");
    assert_eq!(state(), State::Quiet);
}

#[test]
fn a_malformed_file_is_named_with_what_is_wrong() {
    let mut files = tuned();
    set(&mut files, "proc/sys/kernel/nmi_watchdog", "maybe");
    let machine = built(&files);
    let audit = audit(&machine, "1,3");
    let path = machine.path("proc/sys/kernel/nmi_watchdog");
    let why = Why::Malformed { path, message: "`maybe` is neither 0 nor 1".to_owned() };
    assert_eq!(finding(&audit, Check::NmiWatchdog).state, State::Unknown { why });
}

#[test]
fn one_noisy_cpu_is_enough() {
    let mut files = tuned();
    set(&mut files, &format!("{CPU}/cpu3/cpufreq/scaling_governor"), "schedutil");
    files.remove(&format!("{CPU}/cpu1/cpufreq/scaling_governor"));
    let machine = built(&files);
    let found = audit(&machine, "1,3");
    let governor = finding(&found, Check::Governor);
    assert_eq!(governor.state, State::Noisy);
    assert_eq!(governor.seen, "schedutil on CPU 3 (driver intel_pstate)");
    // Limits that leave no choice make any governor quiet.
    for name in ["scaling_min_freq", "scaling_max_freq"] {
        machine.file(&format!("{CPU}/cpu3/cpufreq/{name}"), "2400000\n");
    }
    assert_ne!(finding(&audit(&machine, "3"), Check::Governor).state, State::Noisy);
}

#[test]
fn limits_of_the_process_are_noise() {
    let machine = built(&tuned());
    machine.allowed("0,2");
    let affinity = finding(&audit(&machine, "1,2"), Check::Affinity).clone();
    assert_eq!(affinity.state, State::Noisy);
    assert!(affinity.seen.contains("CPU 1 chosen and not among them"), "{}", affinity.seen);
    machine.allowed("2");
    assert_eq!(finding(&audit(&machine, "2"), Check::Affinity).state, State::Noisy);

    machine.file("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
    let quota = finding(&audit(&machine, "2"), Check::CpuQuota).clone();
    assert_eq!(quota.state, State::Noisy);
    assert!(quota.seen.contains("150000 us of every 100000 us: 1.50 CPUs"), "{}", quota.seen);
    let command = "echo max | sudo tee /sys/fs/cgroup/user/cpu.max";
    assert_eq!(
        quota.remedy,
        Some(Remedy::Run(command.to_owned())),
        "the path on the machine, not the recording"
    );
    machine.file("proc/self/mountinfo", "1 1 0:1 / /proc rw - proc proc rw\n");
    assert!(matches!(finding(&audit(&machine, "2"), Check::CpuQuota).state, State::Unknown { .. }));
}

#[test]
fn siblings_may_be_switched_off_or_have_to_be_chosen_around() {
    let mut files = tuned();
    set(&mut files, &format!("{CPU}/isolated"), "");
    let machine = built(&files);
    let audited = audit(&machine, "0-3");
    let seen = &finding(&audited, Check::SmtSiblings).seen;
    assert_eq!(seen, "2 of the chosen cores have a second CPU online: CPU 0 shares its core with CPU 1, …");
    let siblings = |chosen| finding(&audit(&machine, chosen), Check::SmtSiblings).clone();
    let off = "for cpu in 1 3; do echo 0 | sudo tee /sys/devices/system/cpu/cpu$cpu/online; done";
    assert_eq!(siblings("0,2").remedy, Some(Remedy::Run(off.to_owned())));
    assert_eq!(siblings("0-3").remedy, Some(Remedy::Run(off.to_owned())));
    let Some(Remedy::Do(advice)) = siblings("1").remedy else { panic!("CPU 0 has no switch") };
    assert!(advice.contains("choose 0"), "{advice}");
}

#[test]
fn interrupts_have_nowhere_to_go_when_every_cpu_is_chosen() {
    let mut files = laptop();
    set(&mut files, "proc/77/comm", "irqbalance");
    let machine = built(&files);
    let interrupts = |chosen| finding(&audit(&machine, chosen), Check::Interrupts).clone();
    let advice = "leave 0-1 to the interrupts and choose 2-3 only; the audit for these has the command";
    assert_eq!(interrupts("0-3").remedy, Some(Remedy::Do(advice.to_owned())));
    let some = interrupts("1");
    let commands = "sudo systemctl stop irqbalance\necho 0,2-3 | sudo tee /proc/irq/9/smp_affinity_list";
    assert_eq!(some.remedy, Some(Remedy::Run(commands.to_owned())));
    assert!(some.seen.contains("irqbalance runs"), "{}", some.seen);
}

#[test]
fn a_quota_of_the_first_version_and_of_an_odd_group_has_its_command() {
    let machine = built(&tuned());
    machine.file("proc/self/cgroup", "3:cpu,cpuacct:/a b\n");
    machine.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    machine.file("sys/fs/cgroup/cpu/a b/cpu.cfs_quota_us", "50000\n");
    machine.file("sys/fs/cgroup/cpu/a b/cpu.cfs_period_us", "100000\n");
    let command = "echo -1 | sudo tee '/sys/fs/cgroup/cpu/a b/cpu.cfs_quota_us'";
    assert_eq!(finding(&audit(&machine, "3"), Check::CpuQuota).remedy, Some(Remedy::Run(command.to_owned())));
}

#[test]
fn a_narrow_mask_is_widened_by_a_command_and_a_cpuset_by_its_manager() {
    let mut files = tuned();
    set(&mut files, &format!("{CPU}/isolated"), "");
    let machine = built(&files);
    let remedy = |chosen| finding(&audit(&machine, chosen), Check::Affinity).remedy.clone();
    assert_eq!(remedy("0-3"), None);
    for (allowed, chosen, command) in [
        ("0,2", "1-2", "taskset -pc 0-2 $$"),
        ("2", "2", "taskset -pc 0-3 $$"),
        ("2", "3", "taskset -pc 2-3 $$"),
    ] {
        machine.allowed(allowed);
        assert_eq!(remedy(chosen), Some(Remedy::Run(command.to_owned())), "{chosen} of {allowed}");
    }
    machine.file("sys/fs/cgroup/user/cpuset.cpus.effective", "2\n");
    let Some(Remedy::Do(advice)) = remedy("3") else { panic!("no mask helps against a cpuset") };
    assert!(advice.contains("control group /user a wider cpuset"), "{advice}");
}

#[test]
fn cpu_0_and_the_last_core_are_left_to_the_rest_of_the_machine() {
    let machine = built(&laptop());
    let isolated = |chosen| finding(&audit(&machine, chosen), Check::Isolated).clone();
    assert_eq!(isolated("1").seen, "no CPU is isolated");
    for chosen in ["0-3", "0,2-3"] {
        let advice = "leave 0-1 to the rest of the machine, measure on 2-3, and boot with \
                      isolcpus=managed_irq,domain,2-3";
        assert_eq!(isolated(chosen).remedy, Some(Remedy::Do(advice.to_owned())), "{chosen}");
    }
    let Some(Remedy::Do(advice)) = isolated("0-1").remedy else { panic!("CPU 0 keeps the time") };
    assert!(advice.starts_with("choose other CPUs than 0-1"), "{advice}");
    machine.file(&format!("{CPU}/isolated"), "3\n");
    assert_eq!(isolated("2-3").seen, "CPU 2 not isolated (isolated: 3)");
    assert_eq!(isolated("3").seen, "CPU 3 isolated (isolated: 3)");
}

#[test]
fn interrupts_that_a_container_hides_are_not_called_quiet() {
    let machine = built(&laptop());
    let interrupts = || finding(&audit(&machine, "0-1"), Check::Interrupts).clone();
    assert_eq!(interrupts().state, State::Noisy);
    machine.remove("proc/irq/9");
    let found = interrupts();
    let State::Unknown { why } = &found.state else { panic!("{found:?}") };
    assert_eq!(found.seen, "71 interrupts of devices on CPUs 0-1 since boot");
    assert!(why.to_string().contains("does not show where they may land"), "{why}");
    // Others that are shown say nothing about this one.
    machine.file("proc/irq/8/smp_affinity_list", "3\n");
    machine.file("proc/irq/8/rtc/x", "");
    assert!(matches!(interrupts().state, State::Unknown { .. }));
    // Nothing at all is shown.
    machine.remove("proc/irq/8");
    machine.file("proc/interrupts", "  CPU0 CPU1 CPU2 CPU3\nLOC: 5 5 5 5 Local\n");
    assert!(matches!(interrupts().state, State::Unknown { .. }));
}

#[test]
fn levels_of_paranoia_that_only_some_kernels_know_are_told_as_such() {
    let mut files = tuned();
    let mut seen = |level: &str| {
        set(&mut files, "proc/sys/kernel/perf_event_paranoid", level);
        finding(&audit(&built(&files), "3"), Check::PerfEventParanoid).seen.clone()
    };
    assert_eq!(seen("2"), "2: one's own threads may be counted in user mode only");
    for level in ["3", "4"] {
        assert!(seen(level).contains("Debian, Ubuntu and Android"), "{}", seen(level));
        assert!(seen(level).ends_with("in user mode, as at 2"), "{}", seen(level));
    }
}

#[test]
fn where_nothing_tells_of_a_hypervisor_what_it_would_decide_is_unknown() {
    let mut files = tuned();
    files.remove("proc/cpuinfo");
    let machine = built(&files);
    let found = audit(&machine, "3");
    assert_eq!(found.hypervisor(), &Hypervisor::Unknown);
    assert_eq!(not_quiet(&found), ["steal", "c-states", "smt-siblings"]);
    // The board of a real machine.
    machine.file("proc/device-tree/compatible", "raspberrypi,4-model-b\0brcm,bcm2711\0");
    assert_eq!(not_quiet(&audit(&machine, "3")), [""; 0]);
    machine.file("sys/class/dmi/id/sys_vendor", "QEMU\n");
    let told_by = "/sys/class/dmi/id/sys_vendor";
    assert_eq!(audit(&machine, "3").hypervisor(), &Hypervisor::Present { told_by });
}

#[test]
fn a_sample_of_stolen_time_replaces_the_finding() {
    let machine = built(&tuned());
    let mut audit = audit(&machine, "1");
    let stat = |stolen| format!("cpu1 1000000 0 0 0 0 0 0 {stolen}\n");
    audit.sample_steal(&stat(3), &stat(5));
    let steal = finding(&audit, Check::Steal);
    assert_eq!(steal.state, State::Noisy);
    assert!(steal.seen.ends_with("; 20 ms in the sample just taken"), "{}", steal.seen);
    audit.sample_steal(&stat(5), &stat(5));
    assert_eq!(finding(&audit, Check::Steal).state, State::Quiet);
    audit.sample_steal("rubbish", &stat(5));
    let why = Why::Malformed { path: "/proc/stat".into(), message: "has no line of a CPU".to_owned() };
    assert_eq!(finding(&audit, Check::Steal).state, State::Unknown { why });
    assert_eq!(audit.findings().len(), 19);
}

#[test]
fn json_has_exactly_these_keys_and_shapes() {
    let mut files = tuned();
    set(&mut files, "proc/sys/kernel/nmi_watchdog", "1");
    files.remove("proc/sys/kernel/numa_balancing");
    let machine = built(&files);
    let audit = audit(&machine, "1,3");
    let json = serde_json::to_value(&audit).unwrap();
    assert_eq!(json["cpus"], "1,3");
    assert_eq!(json["hypervisor"], json!({"state": "absent"}));
    let of = |check| {
        let all = json["findings"].as_array().unwrap();
        all.iter().find(|finding| finding["check"] == check).unwrap()
    };
    let effect = |check| finding(&audit, check).effect;
    assert_eq!(
        of("nmi-watchdog"),
        &json!({
            "check": "nmi-watchdog",
            "state": "noisy",
            "seen": "on",
            "effect": effect(Check::NmiWatchdog),
            "remedy": {"run": "echo 0 | sudo tee /proc/sys/kernel/nmi_watchdog"},
        })
    );
    let path = machine.path("proc/sys/kernel/numa_balancing");
    let missing = of("numa-balancing");
    assert_eq!(missing["state"], "unknown");
    assert_eq!(missing["why"]["reason"], "missing");
    assert_eq!(missing["why"]["path"], json!(path));
    assert!(missing["why"]["meaning"].as_str().is_some_and(|meaning| !meaning.is_empty()));
    for finding in audit.findings() {
        assert_eq!(of(finding.check.name())["check"], json!(finding.check));
    }
}
