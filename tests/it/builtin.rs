//! The built-in key-value service: behind a socket it does what it does in process.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tailcore_harness::Ending;
use tailcore_loadgen::limits::ensure_open_files;
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::stall::StallScript;
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::{RunOutcome, RunPlan, Session, Workload, run};
use tailcore_topology::Topology;

use crate::support::{OWN_ADDRESS, assert_accounted, drive, drive_session, plan, store_keys};

fn serve(address: SocketAddr, stalls: Option<StallScript>) -> TcpServer {
    TcpServer::start(address, KvService::new(), ServerOptions { cpu: None, stalls })
        .expect("the server starts")
}

fn drive_in_process(plan: &RunPlan) -> RunOutcome {
    let topology = Topology::read().expect("this machine has a topology");
    let mut session = Session::new("the built-in service in process", plan, &topology);
    let connect = |_| Ok(InProcess::new(MemcachedText::new(plan.workload.value_len), KvService::new()));
    let outcome = run(&mut session, connect).expect("nothing can fail before the run");
    assert_accounted(&outcome.result);
    outcome
}

#[test]
fn a_service_answers_the_same_over_tcp_as_in_process() {
    // One connection keeps the order, so that the same reads come before the first write of their key.
    let workload = Workload { keys: 200, get_ratio: 0.5, ..Workload::default() };
    let plan = RunPlan { workload, connections: 1, ..plan(2_000.0, Duration::from_millis(500)) };
    let server = serve(OWN_ADDRESS, None);
    let over_tcp = drive(server.address(), &plan);
    let in_process = drive_in_process(&plan);

    assert_eq!(over_tcp.ending, Ending::Completed);
    assert_eq!(over_tcp.result.schedule_hash, in_process.result.schedule_hash);
    assert_eq!(over_tcp.result.tally, in_process.result.tally);
    let tally = &over_tcp.result.tally;
    assert_eq!(tally.ok, tally.scheduled, "{tally:?}");
    assert!(tally.hits > 0 && tally.misses > 0, "{tally:?}");
}

#[test]
fn replies_larger_than_the_buffers_arrive_whole() {
    // Ours hold 64 KiB, the kernel's a few hundred; the larger value is the largest there is.
    for (value_len, rate_rps) in [(100_000, 100.0), (1_000_000, 40.0)] {
        let workload = Workload { keys: 10, value_len, get_ratio: 0.8, ..Workload::default() };
        let plan = RunPlan { workload, connections: 2, ..plan(rate_rps, Duration::from_millis(500)) };
        let server = serve(OWN_ADDRESS, None);
        store_keys(server.address(), &plan);
        let outcome = drive(server.address(), &plan);

        let tally = &outcome.result.tally;
        assert_eq!(outcome.ending, Ending::Completed);
        assert_eq!((tally.ok, tally.misses), (tally.scheduled, 0), "{value_len}: {tally:?}");
        assert!(tally.hits > 0, "{value_len}: {tally:?}");
    }
}

#[test]
fn many_connections_are_served_alike() {
    // Both ends of each are in this process.
    ensure_open_files(3 * 256, 0).expect("a process may have a thousand open files");
    let plan = RunPlan { connections: 256, ..plan(2_000.0, Duration::from_millis(500)) };
    let server = serve(OWN_ADDRESS, None);
    store_keys(server.address(), &plan);
    let outcome = drive(server.address(), &plan);

    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((tally.ok, tally.misses), (tally.scheduled, 0), "{tally:?}");
    assert_eq!(outcome.result.plan.connections, 256);
}

#[test]
fn a_dropped_server_is_gone_with_its_thread_its_port_and_its_connections() {
    // An address that nothing else listens on: nobody can take the port over.
    let server = serve(SocketAddr::from((Ipv4Addr::new(127, 0, 0, 3), 0)), None);
    let address = server.address();
    let task = PathBuf::from(format!("/proc/self/task/{}", server.thread_id().tid));
    assert!(task.exists(), "{}", task.display());
    let mut client = TcpStream::connect(address).expect("the server listens");
    // Served once, so that the server has accepted it.
    store_keys(address, &plan(1.0, Duration::from_secs(1)));

    let (dropped, is_dropped) = mpsc::channel();
    thread::spawn(move || {
        drop(server);
        dropped.send(()).ok();
    });
    is_dropped.recv_timeout(Duration::from_secs(60)).expect("the server's thread ends and is joined");

    // The kernel tells the one who joins slightly before it forgets the thread.
    let is_forgotten = (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        !task.exists()
    });
    assert!(is_forgotten, "{}", task.display());
    let refused = TcpStream::connect(address).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a stream can be set up");
    let end = client.read(&mut [0; 1]);
    assert!(
        matches!(&end, Ok(0)) || end.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionReset),
        "{end:?}"
    );
}

#[test]
fn a_scripted_stall_shows_in_the_longest_sojourn() {
    let script = StallScript::new(Duration::from_millis(500), Duration::from_millis(100));
    let server = serve(OWN_ADDRESS, script);
    let plan = plan(1_000.0, Duration::from_secs(2));
    let outcome = drive(server.address(), &plan);

    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(result.tally.ok, result.tally.scheduled, "{:?}", result.tally);
    // Three stalls at least; who arrives in the first half of one waits for the second.
    assert!(result.latency_ns.sojourn.max.is_some_and(|max| max >= 50_000_000), "{:?}", result.latency_ns);
}

#[test]
fn the_server_thread_is_counted_beside_the_clients() {
    let server = serve(OWN_ADDRESS, None);
    let plan = plan(1_000.0, Duration::from_millis(300));
    let topology = Topology::read().expect("this machine has a topology");
    let mut session = Session::new("the built-in service", &plan, &topology);
    session.observed = vec![server.thread_id().clone()];
    let result = drive_session(server.address(), &mut session).result;

    let roles: Vec<&str> = result.threads.iter().map(|thread| thread.role.as_str()).collect();
    assert_eq!(roles, ["server", "client"]);
    assert!(result.threads.iter().all(|thread| thread.counters.len() == plan.events.len()));
    for interval in &result.timeline {
        assert!(interval.counters.is_empty() || interval.counters.len() == 2, "{interval:?}");
    }
}

/// Replies of 50 MB to requests of a few kilobytes, asked for in one write: more than any buffer holds,
/// so the server has to stop, let the client read, and go on by itself, also when the client has
/// closed its side meanwhile.
#[test]
fn replies_far_beyond_every_buffer_all_arrive() {
    const GETS: usize = 500;
    const VALUE_LEN: usize = 100_000;
    for is_half_closed in [false, true] {
        let server = TcpServer::start(OWN_ADDRESS, KvService::new(), ServerOptions::default()).unwrap();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let set = format!("set b 0 0 {VALUE_LEN}\r\n{}\r\n", "x".repeat(VALUE_LEN));
        stream.write_all(set.as_bytes()).unwrap();
        stream.write_all("get b\r\n".repeat(GETS).as_bytes()).unwrap();
        if is_half_closed {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        let hit_len = format!("VALUE b 0 {VALUE_LEN}\r\n").len() + VALUE_LEN + "\r\nEND\r\n".len();
        let mut replies = vec![0; "STORED\r\n".len() + GETS * hit_len];
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.read_exact(&mut replies).expect("every reply arrives");
        assert!(replies.ends_with(b"x\r\nEND\r\n"));
    }
}
