//! Waiting for the end of the command, and for signals that are meant for it.

use std::fs;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Moment {
    /// The command has ended, and nobody has taken leave of it yet: its process id is still its own.
    Exited(Instant),
    /// A signal came.
    Signal(i32),
}

/// From now on, signals that would end this process are handed out instead, with the end of the child `pid`.
///
/// To be called after the child was started, so that it inherits which signals are ignored.
pub(crate) fn start(pid: u32) -> anyhow::Result<Receiver<Moment>> {
    let (send, moments) = mpsc::channel();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).context("cannot watch for signals")?;
    let send_signals = send.clone();
    thread::spawn(move || {
        for signal in signals.forever() {
            if send_signals.send(Moment::Signal(signal)).is_err() {
                return;
            }
        }
    });
    let child = pid_of(pid).context("a process id that is none")?;
    thread::spawn(move || {
        while let Err(Errno::EINTR) = waitid(Id::Pid(child), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {}
        // Nobody listens any more if the command could not be started.
        send.send(Moment::Exited(Instant::now())).ok();
    });
    Ok(moments)
}

/// Sends the command a signal that came to this process, unless the command has got it too.
pub(crate) fn hand_on(pid: u32, signal: i32) {
    let by_key = matches!(signal, SIGINT | SIGQUIT);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if by_key && has_terminal(&stat) {
        return;
    }
    if let (Some(pid), Ok(signal)) = (pid_of(pid), Signal::try_from(signal)) {
        // It may have ended in the meantime.
        kill(pid, signal).ok();
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 0).map(Pid::from_raw)
}

/// Whether the keys of a terminal send signals to the group of a process, and so to the command as well;
/// `stat` is its `/proc/PID/stat`.
fn has_terminal(stat: &str) -> bool {
    // The name of the process comes before, and may hold anything. See proc_pid_stat(5).
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let (group, foreground) = (fields.get(2), fields.get(5));
    group.is_some() && group == foreground
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foreground_group_of_a_terminal_gets_its_keys() {
        assert!(has_terminal("12 (a) b) S 1 12 12 34816 12 4194304 0"));
        // In the background, and without a terminal.
        assert!(!has_terminal("12 (a) S 1 12 12 34816 99 4194304 0"));
        assert!(!has_terminal("12 (a) S 1 12 12 0 -1 4194304 0"));
        assert!(!has_terminal(""));
        assert!(!has_terminal("12 (a) S 1"));
    }
}
