//! The noise audit: verdicts, commands, JSON, CPUs that do not exist.

use std::fs;
use std::path::Path;

use crate::command::tailcore;

/// The files of a small machine.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-1,4"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave"),
        ("sys/devices/system/cpu/cpu4/cpufreq/scaling_governor", "powersave"),
        ("proc/sys/kernel/nmi_watchdog", "0"),
        ("proc/loadavg", "nonsense"),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    root
}

fn text(root: &Path) -> &str {
    root.to_str().unwrap()
}

#[test]
fn this_machine_is_audited_whatever_it_is() {
    let finished = tailcore(["doctor"]).expect(&[0]);
    assert!(finished.stdout.starts_with("sources of noise for CPU"), "{}", finished.stdout);
    assert_eq!(finished.stderr, "");
    let audit = tailcore(["doctor", "--json"]).expect(&[0]).json();
    let findings = audit["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let state = finding["state"].as_str().unwrap();
        assert!(["quiet", "noisy", "unknown"].contains(&state), "{finding:#}");
        assert_eq!(state == "unknown", finding.get("why").is_some(), "{finding:#}");
        for key in ["check", "seen", "effect"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key} in {finding:#}");
        }
    }
}

#[test]
fn each_verdict_has_what_a_reader_needs() {
    let root = machine();
    let finished = tailcore(["doctor", "--root", text(root.path())]).expect(&[0]);
    let noisy = "noisy    governor: performance on CPU 0, powersave on CPUs 1,4\n";
    let command = "\n         $ for cpu in 1 4; do echo performance | sudo tee \
                   /sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor; done\n";
    for part in [noisy, command, "\nunknown  load: ", "nonsense", "\nquiet    nmi-watchdog: off\n"] {
        assert!(finished.stdout.contains(part), "`{part}` in {}", finished.stdout);
    }
    // The list is in order only for the CPU that is.
    let finished = tailcore(["doctor", "--cpus", "0", "--root", text(root.path())]).expect(&[0]);
    assert!(finished.stdout.starts_with("sources of noise for CPU 0: "), "{}", finished.stdout);
    assert!(finished.stdout.contains("\nquiet    governor: performance on CPU 0\n"), "{}", finished.stdout);
}

#[test]
fn cpus_that_do_not_exist_are_refused_with_those_that_do() {
    let root = machine();
    let table: [(&str, &[&str]); 3] = [
        ("0,2-3", &["2-3 not online", "0-1,4"]),
        ("", &["no CPU", "0-1,4"]),
        ("all", &["--cpus", "`all`", "0-3,8"]),
    ];
    for (cpus, parts) in table {
        let finished = tailcore(["doctor", "--cpus", cpus, "--root", text(root.path())]).expect(&[2]);
        assert_eq!(finished.stdout, "");
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        for part in parts {
            assert!(finished.stderr.contains(part), "`{part}` in {}", finished.stderr);
        }
    }
}
