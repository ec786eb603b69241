//! The guest: what is in it, how it is started, and how its end is known.
//!
//! A guest has no exit status. Its console is a serial line, on which its first program marks
//! where the tests begin, and tells their status at the end.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::archive::Archive;
use super::machine::{Form, Machine};
use super::stock::Stock;

/// Far more than a guest takes (seconds), so that one that hangs still ends.
const LIMIT_SECONDS: u32 = 300;

/// The line before the tests' output, and the beginning of the one after it.
const BEGIN: &str = "== tests begin";
const END: &str = "== tests ended with status ";

/// The guest's first program. One test at a time: a test that switches a CPU off is felt by all.
fn init() -> String {
    format!(
        "\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tracefs tracing /sys/kernel/tracing
echo '{BEGIN}'
/program --test-threads=1 --show-output $@
echo '{END}'$?
poweroff -f
"
    )
}

/// Writes the guest's file system.
pub(super) fn write_initrd(path: &Path, stock: &Stock, program: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("failed to read `{}`", path.display()));
    let (busybox, program) = (read(&stock.busybox())?, read(program)?);
    let write = || -> io::Result<()> {
        let mut archive = Archive::new(BufWriter::new(File::create(path)?));
        for folder in ["bin", "dev", "proc", "sys", "tmp"] {
            archive.folder(folder)?;
        }
        archive.executable("bin/busybox", &busybox)?;
        archive.executable("program", &program)?;
        archive.executable("init", init().as_bytes())?;
        archive.finish().map(drop)
    };
    write().with_context(|| format!("failed to write `{}`", path.display()))
}

/// A guest that can be started.
pub(super) struct Guest<'a> {
    pub(super) machine: &'a Machine,
    pub(super) form: &'a Form,
    pub(super) kernel: &'a Path,
    pub(super) initrd: &'a Path,
}

impl Guest<'_> {
    /// Starts the guest, prints what its tests print, and gives their status.
    pub(super) fn run(&self) -> Result<u8> {
        let emulator = self.machine.emulator;
        let mut child = self.command().spawn().with_context(|| format!("failed to start `{emulator}`"))?;
        let console = child.stdout.take().context("the guest's console is not connected")?;
        let heard = listen(BufReader::new(console), &mut io::stdout());
        let ended = child.wait().with_context(|| format!("failed to wait for `{emulator}`"))?;
        let heard = heard.context("failed to pass the guest's console on")?;
        let Some(status) = heard.status else {
            // What timeout(1) tells when it had to step in.
            let how = match ended.code() {
                Some(124) => format!("was stopped after {LIMIT_SECONDS} s"),
                _ => format!("ended early ({ended})"),
            };
            bail!("the guest {how}; before the tests its console said:\n{}", heard.before);
        };
        if heard.no_tests {
            let Form { name, tests, .. } = self.form;
            bail!("{name} has run no test: `{}` leaves none of {}", tests.join(" "), self.machine.package);
        }
        Ok(status)
    }

    /// timeout(1) bounds the guest also when this program was killed. In the foreground, because in
    /// a process group of its own it would not notice Ctrl-C.
    fn command(&self) -> Command {
        let Machine { emulator, hardware, console, .. } = self.machine;
        let name = self.form.name;
        // What the kernel does not know becomes a variable of the first program, and what comes after two
        // dashes its arguments.
        let tests = self.form.tests.join(" ");
        let mut command = Command::new("timeout");
        command
            .args(["--foreground", "--kill-after=5", &LIMIT_SECONDS.to_string(), emulator])
            .args(hardware.iter().chain(self.form.hardware).flatten())
            .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"])
            .arg("-kernel")
            .arg(self.kernel)
            .arg("-initrd")
            .arg(self.initrd)
            .args(["-append", &format!("console={console} quiet panic=-1 TAILCORE_VM={name} -- {tests}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }
}

/// What was heard on a console.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    /// The lines before the tests began.
    before: String,
    /// The tests' status, if they ended.
    status: Option<u8>,
    /// The test runner had nothing to run, which it takes for a success.
    no_tests: bool,
}

/// Listens to a console to its end, and writes what the tests print to `out` as it comes.
fn listen(console: impl BufRead, out: &mut impl Write) -> io::Result<Heard> {
    let mut heard = Heard { before: String::new(), status: None, no_tests: false };
    let mut begun = false;
    for line in console.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        if let Some(status) = line.strip_prefix(END) {
            heard.status = status.parse().ok();
        } else if line == BEGIN {
            begun = true;
        } else if begun && heard.status.is_none() {
            heard.no_tests |= line == "running 0 tests";
            writeln!(out, "{line}")?;
        } else if !begun {
            heard.before.push_str(line);
            heard.before.push('\n');
        }
    }
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen_to(console: &str) -> (Heard, String) {
        let mut out = Vec::new();
        let heard = listen(console.as_bytes(), &mut out).unwrap();
        (heard, String::from_utf8(out).unwrap())
    }

    #[test]
    fn only_what_the_tests_print_is_passed_on() {
        let console = format!("boot\r\n{BEGIN}\r\ntest a ... ok\r\n\r\n{END}101\r\nPower down\r\n");
        let (heard, printed) = listen_to(&console);
        assert_eq!(heard, Heard { before: "boot\n".to_owned(), status: Some(101), no_tests: false });
        assert_eq!(printed, "test a ... ok\n\n");
    }

    #[test]
    fn nothing_to_run_is_noticed() {
        let (heard, _) = listen_to(&format!("{BEGIN}\r\nrunning 0 tests\r\n{END}0\r\n"));
        assert_eq!((heard.status, heard.no_tests), (Some(0), true));
    }

    #[test]
    fn a_guest_that_dies_has_no_status() {
        let (heard, printed) = listen_to("Kernel panic\r\n");
        assert_eq!(heard, Heard { before: "Kernel panic\n".to_owned(), status: None, no_tests: false });
        assert_eq!(printed, "");
        let (heard, printed) = listen_to(&format!("{BEGIN}\ntest a ... Kernel panic"));
        assert_eq!(heard.status, None);
        assert_eq!(printed, "test a ... Kernel panic\n");
    }
}
