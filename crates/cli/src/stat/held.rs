//! A command that waits before its exec(2) until counters are open on it.
//!
//! The standard library cannot stop a child between fork and exec without unsafe code. So the child first
//! becomes a second `tailcore`, which says that it is there, waits for a word, and then becomes the command:
//! same process, one thread. The two talk through pipes that the command does not inherit.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Context;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::args::HeldExecArgs;
use crate::exit::Exit;

/// The name of the subcommand that waits.
pub(crate) const SUBCOMMAND: &str = "held-exec";

/// Time on CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl Used {
    /// The time of this process, or of the children that it has taken leave of.
    pub(crate) fn of(who: UsageWho) -> anyhow::Result<Used> {
        let usage = getrusage(who)?;
        let time = |time: TimeVal| u64::try_from(time.num_microseconds()).map(Duration::from_micros);
        Ok(Used { user: time(usage.user_time())?, system: time(usage.system_time())? })
    }
}

/// A process that will become the command. If it is dropped, or its parent dies, it ends instead.
#[derive(Debug)]
pub(crate) struct Held {
    child: Child,
    go: PipeWriter,
    news: BufReader<PipeReader>,
    /// Before its exec.
    used: Used,
}

impl Held {
    /// Starts the process and waits until it waits. The streams of this process are those of the command.
    pub(crate) fn start(command: &[OsString]) -> anyhow::Result<Held> {
        let (await_go, go) = io::pipe().context("cannot make a pipe")?;
        let (news, tell) = io::pipe().context("cannot make a pipe")?;
        keep_over_exec(&await_go)?;
        keep_over_exec(&tell)?;
        // Also right if the file was replaced since this process started.
        let child = Command::new("/proc/self/exe")
            .arg0("tailcore")
            .args([SUBCOMMAND, &await_go.as_raw_fd().to_string(), &tell.as_raw_fd().to_string(), "--"])
            .args(command)
            .spawn()
            .context("cannot start a process for the command")?;
        let mut news = BufReader::new(news);
        // With the ends of the child closed here, the child's death ends the pipe.
        drop((await_go, tell));
        let mut line = String::new();
        news.read_line(&mut line)?;
        let used = parse_used(&line).context("the process for the command ended before it was ready")?;
        Ok(Held { child, go, news, used })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn used(&self) -> Used {
        self.used
    }

    /// Lets it become the command; the inner error is why it could not.
    pub(crate) fn go(self) -> anyhow::Result<Result<Child, String>> {
        let Held { mut child, mut go, mut news, .. } = self;
        // If a signal has ended it, waiting for it will tell.
        go.write_all(b"g").ok();
        let mut refusal = String::new();
        // The exec closes the pipe.
        news.read_to_string(&mut refusal)?;
        if refusal.is_empty() {
            return Ok(Ok(child));
        }
        child.wait()?;
        Ok(Err(refusal))
    }
}

fn keep_over_exec(pipe: impl AsFd) -> anyhow::Result<()> {
    fcntl(pipe, FcntlArg::F_SETFD(FdFlag::empty())).context("cannot hand a pipe to a child process")?;
    Ok(())
}

fn parse_used(line: &str) -> Option<Used> {
    let (user, system) = line.trim_end().split_once(' ')?;
    let time = |text: &str| text.parse().ok().map(Duration::from_micros);
    Some(Used { user: time(user)?, system: time(system)? })
}

/// The subcommand that waits, and then becomes the command; returns only if it cannot.
pub(crate) fn exec(args: &HeldExecArgs) -> anyhow::Result<Exit> {
    let mut await_go = own(args.await_go, File::options().read(true))?;
    let mut tell = own(args.tell, File::options().write(true))?;
    let used = Used::of(UsageWho::RUSAGE_SELF)?;
    writeln!(tell, "{} {}", used.user.as_micros(), used.system.as_micros())?;
    let Some((name, rest)) = args.command.split_first() else {
        return Ok(Exit::Usage);
    };
    if await_go.read(&mut [0])? == 0 {
        return Ok(Exit::Failed);
    }
    let error = Command::new(name).args(rest).exec();
    write!(tell, "{error}")?;
    Ok(Exit::Failed)
}

/// Turns an inherited descriptor into one that the exec closes.
fn own(fd: RawFd, options: &OpenOptions) -> anyhow::Result<File> {
    let path = format!("/proc/self/fd/{fd}");
    let file = options.open(&path).with_context(|| format!("{SUBCOMMAND} is for `tailcore stat`: {path}"))?;
    nix::unistd::close(fd)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_as_two_numbers() {
        let used = parse_used("1500 20\n").unwrap();
        assert_eq!((used.user, used.system), (Duration::from_micros(1_500), Duration::from_micros(20)));
        for bad in ["", "\n", "1500\n", "1500 x\n", "-1 0\n"] {
            assert!(parse_used(bad).is_none(), "{bad:?}");
        }
    }
}
