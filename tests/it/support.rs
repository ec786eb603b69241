//! Shared by the tests: what to do without an external program, how to drive, what must always hold.

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::panic::Location;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tailcore_harness::{RunResult, Tally};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::{Progress, RunOutcome, RunPlan, Session, Workload, run};
use tailcore_topology::{PinPolicy, Topology};

/// Where the tests' own servers listen: apart from `memcached`, whose port is chosen before it is
/// bound, so that neither is ever taken for the other.
pub(crate) const OWN_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), 0);

/// Ports tried before giving up; one is lost only if somebody takes it between choice and bind.
const PORTS_TRIED: usize = 10;
/// Connections tried before a server counts as not starting, and the pause between two.
const PROBES: usize = 1_000;
const PROBE_EVERY: Duration = Duration::from_millis(10);

/// Whether `program` can be started; if not, the calling test must return.
///
/// # Panics
///
/// If it is missing and the variable `TAILCORE_REQUIRE` (a list, separated by commas) names it.
#[track_caller]
pub(crate) fn require(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let problem = command.status().err();
    require_or_skip(program, problem.map(|error| format!("cannot start `{program}`: {error}")))
}

/// Whether `what` is there, which it is without a `problem`; if not, the calling test must return.
#[track_caller]
pub(crate) fn require_or_skip(what: &str, problem: Option<String>) -> bool {
    let Some(problem) = problem else { return true };
    let required = env::var("TAILCORE_REQUIRE").unwrap_or_default();
    assert!(
        required.split(',').all(|name| name.trim() != what),
        "TAILCORE_REQUIRE names `{what}`, but {problem}"
    );
    let (thread, place) = (thread::current(), Location::caller());
    // Written past the test runner, which keeps what a passing test prints to itself.
    writeln!(io::stderr(), "skipped {} ({place}): {problem}", thread.name().unwrap_or("a test")).ok();
    false
}

/// A plan without warm-up and pinning, whose limits no healthy server meets however slow the machine.
pub(crate) fn plan(rate_rps: f64, duration: Duration) -> RunPlan {
    RunPlan {
        rate_rps,
        warmup: Duration::ZERO,
        duration,
        connections: 4,
        workload: Workload { keys: 500, ..Workload::default() },
        timeout: Duration::from_secs(60),
        drain: Duration::from_secs(30),
        pin: PinPolicy::None,
        ..RunPlan::default()
    }
}

/// Stores all keys of the plan.
pub(crate) fn store_keys(address: SocketAddr, plan: &RunPlan) {
    let mut protocol = MemcachedText::new(plan.workload.value_len);
    preload(address, &plan.workload, &mut protocol, &mut |_| true).expect("every key is stored");
}

/// Offers the plan to a server and checks the account.
pub(crate) fn drive(address: SocketAddr, plan: &RunPlan) -> RunOutcome {
    drive_watched(address, plan, &mut |_| {})
}

/// The same, telling `progress` how far the run is.
pub(crate) fn drive_watched(
    address: SocketAddr,
    plan: &RunPlan,
    progress: &mut dyn FnMut(Progress),
) -> RunOutcome {
    let topology = Topology::read().expect("this machine has a topology");
    let mut session = Session::new(&format!("memcached://{address}"), plan, &topology);
    session.connections = plan.connections;
    session.progress = Some(progress);
    drive_session(address, &mut session)
}

/// The same for a session of one's own.
pub(crate) fn drive_session(address: SocketAddr, session: &mut Session<'_>) -> RunOutcome {
    let plan = session.plan;
    let outcome = run(session, |worker| {
        Tcp::connect(address, plan.connections_of(worker), MemcachedText::new(plan.workload.value_len))
    })
    .expect("faults during a run end in its result");
    assert_accounted(&outcome.result);
    outcome
}

/// What holds for every run, however it ended.
#[track_caller]
pub(crate) fn assert_accounted(result: &RunResult) {
    let tally = &result.tally;
    for tally in [tally, &result.warmup_tally] {
        assert!(tally.is_balanced(), "{tally:?}");
        assert!(tally.hits + tally.misses <= tally.ok, "{tally:?}");
    }
    let latency = &result.latency_ns;
    let accounted = latency.lateness.count + latency.lateness.censored;
    assert_eq!(accounted, tally.scheduled, "every request was sent, or late to its end");
    assert_eq!(latency.sojourn.count, tally.ok);
    assert_eq!(latency.since_send.count, tally.ok);
    let without_answer = tally.timed_out + tally.unfinished;
    assert!(
        (without_answer..=without_answer + tally.failed()).contains(&latency.sojourn.censored),
        "{tally:?}"
    );
    assert_eq!(result.measured_ns == 0, result.timeline.is_empty());
    assert_eq!(result.verdict.valid, result.verdict.label() == "valid");
}

/// Requests that ended in time with an answer, good or bad.
pub(crate) fn answered(tally: &Tally) -> u64 {
    tally.scheduled - tally.timed_out - tally.unfinished
}

/// A `memcached` of the test's own; dropping it kills it, and nothing else.
#[derive(Debug)]
pub(crate) struct Memcached {
    child: Child,
    address: SocketAddr,
}

impl Memcached {
    /// Starts one on a free port and waits until it answers.
    pub(crate) fn start() -> Self {
        (0..PORTS_TRIED).find_map(|_| Self::try_start()).expect("memcached starts on one of the ports tried")
    }

    /// `None` if it ended by itself: somebody else was faster to take the port.
    fn try_start() -> Option<Self> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = free.local_addr().expect("a listener has an address");
        drop(free);
        let mut command = Command::new("memcached");
        command.args([
            "-l",
            "127.0.0.1",
            "-p",
            &address.port().to_string(),
            "-t",
            "1",
            "-m",
            "64",
            "-U",
            "0",
        ]);
        if fs::metadata("/proc/self").expect("procfs is mounted").uid() == 0 {
            command.args(["-u", "nobody"]);
        }
        let child = command.stdin(Stdio::null()).spawn().expect("memcached can be started");
        let mut server = Self { child, address };
        for _ in 0..PROBES {
            if server.answers() {
                return Some(server);
            }
            if server.child.try_wait().expect("a child can be waited for").is_some() {
                return None;
            }
            thread::sleep(PROBE_EVERY);
        }
        panic!("memcached runs, but does not answer at {address}");
    }

    /// Whether it is our child that answers at the address, not somebody who took the port before it.
    fn answers(&self) -> bool {
        let ask = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"stats\r\nquit\r\n")?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply)?;
            Ok(reply)
        };
        ask().is_ok_and(|reply| reply.contains(&format!("STAT pid {}\r\n", self.child.id())))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends it a signal by its name: `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        // The child is not waited for before it is dropped, so its id cannot belong to anybody else.
        let kill = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(kill.expect("`kill` can be started").success(), "SIG{name} to {}", self.child.id());
    }

    /// Kills it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child that was not waited for can be killed");
        self.child.wait().expect("a killed child ends");
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        // Errors: it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
