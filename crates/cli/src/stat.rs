//! `tailcore stat`: counts what a command does, and says why wherever a count is missing.
//!
//! The command is [held] before its exec, [counters](tally) are opened on it, and it is let go; when it ends
//! ([watch]), they are read.

mod held;
mod report;
mod tally;
mod threads;
mod wanted;
mod watch;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;
use tailcore_pmu::Target;

use crate::args::StatArgs;
use crate::exit::{Exit, UsageError};
use held::{Held, Used};
use report::{Printer, Run, Span};
use tally::Tally;
use threads::Threads;
use wanted::Wanted;
use watch::Moment;

pub(crate) use held::exec;

/// The status of a command that cannot be started, as a shell gives it.
const CANNOT_START: u8 = 127;
/// A shell gives this and the signal's number for a command that a signal ended.
const SIGNALLED: i32 = 128;
/// Shorter intervals would count tailcore more than the command.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

pub(crate) fn stat(args: &StatArgs) -> anyhow::Result<Exit> {
    if let Some(interval) = args.interval.filter(|interval| *interval < SHORTEST_INTERVAL) {
        return Err(UsageError(format!("--interval {interval:?} is too short: give at least 1ms")).into());
    }
    let wanted = Rc::new(Wanted::of(args)?);
    let printer = Printer::prepare(args.output.as_deref(), args.json)?;
    let held = Held::start(&args.command)?;
    let (pid, before) = (held.pid(), held.used());
    let moments = watch::start(pid)?;
    let mut counting = Counting::open(&wanted, pid, args, printer);
    let started = Instant::now();
    let child = match held.go()? {
        Ok(child) => child,
        Err(reason) => {
            let name = args.command.first().map(|name| name.to_string_lossy().into_owned());
            eprintln!(
                "tailcore: cannot run `{}`: {reason}; give a program in PATH, or a path with a slash",
                name.unwrap_or_default()
            );
            return Ok(Exit::Command(CANNOT_START));
        }
    };
    let ended = counting.until_exit(pid, started, &moments)?;
    let run = Run::of(args, &reap(child, before)?, ended.saturating_duration_since(started));
    counting.finish(&wanted, run)
}

/// How the command ended, and the time that it spent in user mode and in the kernel.
pub(crate) struct Ended {
    status: ExitStatus,
    user: Duration,
    system: Duration,
}

impl Ended {
    fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// The exit status that a shell would give.
    fn code(&self) -> i32 {
        self.status.code().or_else(|| self.signal().map(|signal| SIGNALLED + signal)).unwrap_or(1)
    }

    fn exit(&self) -> Exit {
        Exit::Command(u8::try_from(self.code()).unwrap_or(u8::MAX))
    }
}

/// Takes leave of a command that has ended; `before` is what the process had used before its exec.
fn reap(mut child: Child, before: Used) -> anyhow::Result<Ended> {
    // A shell may have had children before it became this process, and those count as ours.
    let others = Used::of(UsageWho::RUSAGE_CHILDREN)?;
    let status = child.wait()?;
    let all = Used::of(UsageWho::RUSAGE_CHILDREN)?;
    let user = all.user.saturating_sub(others.user).saturating_sub(before.user);
    let system = all.system.saturating_sub(others.system).saturating_sub(before.system);
    Ok(Ended { status, user, system })
}

/// What is counted while the command runs.
struct Counting {
    printer: Printer,
    look_every: Option<Duration>,
    what: What,
}

enum What {
    Whole { tally: Tally, last: tailcore_pmu::Snapshot, since: Duration },
    Threads(Threads),
}

impl Counting {
    fn open(wanted: &Rc<Wanted>, pid: u32, args: &StatArgs, printer: Printer) -> Counting {
        if args.per_thread {
            let threads = Threads::open(wanted, pid);
            return Counting { printer, look_every: Some(threads::LOOK_EVERY), what: What::Threads(threads) };
        }
        let tally = Tally::on_exec(wanted, Target::Process(pid));
        let last = tally.start().clone();
        let what = What::Whole { tally, last, since: Duration::ZERO };
        Counting { printer, look_every: args.interval, what }
    }

    /// Looks at the command in its intervals and at its end, which it waits for and gives, and hands on the
    /// signals that come.
    fn until_exit(
        &mut self,
        pid: u32,
        started: Instant,
        moments: &Receiver<Moment>,
    ) -> anyhow::Result<Instant> {
        let mut looks = 1;
        loop {
            let moment = match self.look_every {
                None => moments.recv().map_err(RecvTimeoutError::from),
                Some(every) => {
                    let due = started + every.saturating_mul(looks);
                    moments.recv_timeout(due.saturating_duration_since(Instant::now()))
                }
            };
            match moment {
                Ok(Moment::Exited(at)) => {
                    if self.look_every.is_some() {
                        self.look(at.saturating_duration_since(started));
                    }
                    return Ok(at);
                }
                Ok(Moment::Signal(signal)) => watch::hand_on(pid, signal),
                Err(RecvTimeoutError::Timeout) => {
                    let now = started.elapsed();
                    self.look(now);
                    // A look that comes late does not make the next one early.
                    let every = self.look_every.unwrap_or(now).as_nanos().max(1);
                    looks = u32::try_from(now.as_nanos() / every + 1).unwrap_or(u32::MAX);
                }
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("nobody waits for the command any more"),
            }
        }
    }

    fn look(&mut self, now: Duration) {
        match &mut self.what {
            What::Threads(threads) => threads.look(now),
            What::Whole { tally, last, since } => {
                let end = tally.read();
                let span = Span::new(*since, now);
                self.printer.interval(
                    span,
                    tally.readings(last, &end),
                    tally.metrics(last, &end, span.length()),
                );
                (*last, *since) = (end, now);
            }
        }
    }

    /// Reads what was counted in all, and prints it.
    fn finish(self, wanted: &Wanted, mut run: Run) -> anyhow::Result<Exit> {
        let elapsed = run.elapsed();
        run.notes = wanted.notes();
        run.set = wanted.set_name();
        match self.what {
            What::Whole { mut tally, last, .. } => {
                // The last interval and the total end at one reading, so that the intervals add up.
                let end = if self.look_every.is_some() { last } else { tally.read() };
                run.events = tally.readings(tally.start(), &end);
                run.metrics = tally.metrics(tally.start(), &end, elapsed);
            }
            What::Threads(threads) => threads.finish(&mut run),
        }
        let exit = run.exit();
        self.printer.total(&run)?;
        Ok(exit)
    }
}
