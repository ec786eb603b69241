//! The watcher that restores interrupts when this process cannot: a shell that outlives it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The word that says that nothing is left to be restored.
const DONE: &str = "done";

/// Collects lines `IRQ LIST` until `done`, or until the pipe ends because the other process did,
/// however it did; then writes the lists back, the last one first. A line without its end is none.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
while read -r line; do
    case "$line" in done) exit 0 ;; esac
    set -- "$line" "$@"
done
for line; do
    file="${line%% *}/smp_affinity_list"
    [ -e "$file" ] && printf '%s\n' "${line#* }" > "$file"
done
"#;

/// A running watcher. Dropped without [`dismiss`](Self::dismiss), it restores what it holds.
#[derive(Debug)]
pub(super) struct Rescue {
    shell: Child,
    /// Taken when the pipe is closed.
    lines: Option<ChildStdin>,
}

impl Rescue {
    /// Starts a watcher over the interrupts in a directory such as `/proc/irq`.
    pub(super) fn start(dir: &Path) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "tailcore-irq-restore"])
            .current_dir(dir)
            // Of its own group, so that Ctrl-C in a terminal ends us and not the watcher.
            .process_group(0)
            .stdin(Stdio::piped())
            // Whoever reads our output to its end must not wait for the watcher's.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let lines = shell.stdin.take();
        Ok(Self { shell, lines })
    }

    /// Hands over what is to be written to an interrupt. From then on it will be, whatever happens.
    pub(super) fn hold(&mut self, irq: u32, list: &str) -> io::Result<()> {
        self.tell(&format!("{irq} {list}"))
    }

    /// Lets the watcher go without restoring anything.
    pub(super) fn dismiss(mut self) -> io::Result<()> {
        self.tell(DONE)
    }

    /// Writes a line in one call: the pipe takes it whole or not at all.
    fn tell(&mut self, line: &str) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.lines.as_mut().ok_or_else(gone)?.write_all(format!("{line}\n").as_bytes())
    }
}

impl Drop for Rescue {
    fn drop(&mut self) {
        drop(self.lines.take()); // It waits for this end of the pipe, and we for it.
        self.shell.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory with an interrupt whose list is `now`.
    fn interrupt() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("24")).unwrap();
        fs::write(dir.path().join("24/smp_affinity_list"), "now\n").unwrap();
        dir
    }

    fn list(dir: &tempfile::TempDir) -> String {
        fs::read_to_string(dir.path().join("24/smp_affinity_list")).unwrap()
    }

    #[test]
    fn what_is_held_is_written_back_the_last_line_first() {
        let dir = interrupt();
        let mut rescue = Rescue::start(dir.path()).unwrap();
        for (irq, former) in [(24, "first"), (99, "gone"), (24, "second")] {
            rescue.hold(irq, former).unwrap();
        }
        assert_eq!(list(&dir), "now\n");
        drop(rescue);
        assert_eq!(list(&dir), "first\n");
        assert!(!dir.path().join("99").exists());
    }

    #[test]
    fn a_dismissed_watcher_writes_nothing() {
        let dir = interrupt();
        let mut rescue = Rescue::start(dir.path()).unwrap();
        rescue.hold(24, "former").unwrap();
        rescue.dismiss().unwrap();
        assert_eq!(list(&dir), "now\n");
    }

    #[test]
    fn a_line_that_was_cut_short_is_no_line() {
        let dir = interrupt();
        let mut rescue = Rescue::start(dir.path()).unwrap();
        rescue.lines.as_mut().unwrap().write_all(b"24 0-1").unwrap();
        drop(rescue);
        assert_eq!(list(&dir), "now\n");
    }

    #[test]
    fn more_lines_than_a_pipe_holds_are_kept() {
        let dir = interrupt();
        let mut rescue = Rescue::start(dir.path()).unwrap();
        rescue.hold(24, "former").unwrap();
        (1000..1200).for_each(|irq| rescue.hold(irq, &"0,".repeat(500)).unwrap());
        drop(rescue);
        assert_eq!(list(&dir), "former\n");
    }
}
