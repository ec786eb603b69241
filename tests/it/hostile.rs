//! Peers that do everything but serve: whatever they do, the run returns and its account is whole.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use tailcore_harness::verdict::ReasonCode;
use tailcore_harness::{Ending, FailCause};
use tailcore_loadgen::memcached::KEY_LEN;
use tailcore_loadgen::{ArrivalLaw, Progress, RunOutcome, RunPlan, Session, Workload};
use tailcore_topology::Topology;

use crate::support::{OWN_ADDRESS, answered, drive, drive_session, plan};

/// Bytes of `get <key>\r\n`.
const REQUEST_LEN: usize = 4 + KEY_LEN + 2;
const VALUE_LEN: u32 = 10;

/// A peer that does to each of its connections what it was made for.
struct Peer {
    address: SocketAddr,
    is_done: Receiver<()>,
}

impl Peer {
    /// Accepts `connections`, and gives each with its number to `serve`, in a thread of its own.
    fn start(connections: u32, serve: impl Fn(u32, TcpStream) + Sync + Send + 'static) -> Self {
        let listener = TcpListener::bind(OWN_ADDRESS).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            thread::scope(|scope| {
                for index in 0..connections {
                    let (stream, _) = listener.accept().expect("the client connects");
                    stream.set_nodelay(true).expect("a stream can be set up");
                    let serve = &serve;
                    scope.spawn(move || serve(index, stream));
                }
            });
            done.send(()).ok();
        });
        Self { address, is_done }
    }

    /// Waits until all its connections are over.
    fn finish(self) {
        self.is_done.recv_timeout(Duration::from_secs(60)).expect("the run has closed its connections");
    }
}

/// Drives a peer by `plan`; it must see all of its connections closed at the end.
fn drive_peer(plan: &RunPlan, serve: impl Fn(u32, TcpStream) + Sync + Send + 'static) -> RunOutcome {
    let peer = Peer::start(plan.connections, serve);
    let outcome = drive(peer.address, plan);
    peer.finish();
    outcome
}

/// Reads at even distances, nothing else, which the peers answer by hand.
fn reads(rate_rps: f64, duration: Duration) -> RunPlan {
    RunPlan {
        arrivals: ArrivalLaw::Constant,
        workload: Workload { keys: 50, value_len: VALUE_LEN, get_ratio: 1.0, ..Workload::default() },
        ..plan(rate_rps, duration)
    }
}

/// The same, over in half a second, with a time limit that a silent peer exceeds.
fn impatient_reads() -> RunPlan {
    RunPlan { timeout: Duration::from_millis(100), ..reads(200.0, Duration::from_millis(400)) }
}

/// The next request's bytes; `None` once the client has closed.
fn next_request(stream: &mut TcpStream) -> Option<[u8; REQUEST_LEN]> {
    let mut request = [0; REQUEST_LEN];
    stream.read_exact(&mut request).is_ok().then_some(request)
}

/// The reply that a request asks for.
fn hit(request: &[u8; REQUEST_LEN]) -> Vec<u8> {
    let key = &request[4..4 + KEY_LEN];
    let header = format!(" 0 {VALUE_LEN}\r\n");
    [b"VALUE ", key, header.as_bytes(), &[b'x'; VALUE_LEN as usize], b"\r\nEND\r\n"].concat()
}

/// Answers each request with what `reply` makes of it, until the client closes.
fn answer_with(mut stream: TcpStream, reply: impl Fn(&[u8; REQUEST_LEN]) -> Vec<u8>) {
    while let Some(request) = next_request(&mut stream) {
        // A client that has given up is no fault of the peer.
        stream.write_all(&reply(&request)).ok();
    }
}

/// Takes what comes and says nothing, until the client closes.
fn stay_silent(mut stream: TcpStream) {
    let mut taken = [0; 4_096];
    while stream.read(&mut taken).is_ok_and(|len| len > 0) {}
}

/// Leaves with a request half read, which makes the kernel reset the connection; see tcp(7).
fn reset(mut stream: TcpStream) {
    let mut taken = [0; REQUEST_LEN / 2];
    stream.read_exact(&mut taken).ok();
}

#[track_caller]
fn lost_target(outcome: &RunOutcome) -> &str {
    let Ending::TargetLost(what) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert_eq!(outcome.result.verdict.reasons[0].code, ReasonCode::TargetLost);
    what
}

#[test]
fn a_peer_that_closes_at_once_is_a_lost_target() {
    let outcome = drive_peer(&reads(200.0, Duration::from_secs(20)), |_, stream| drop(stream));
    let (what, tally) = (lost_target(&outcome), &outcome.result.tally);
    assert!(what.contains("all 4 connections"), "{what}");
    // Usually noticed before anything is sent, at the latest by what is sent.
    assert_eq!((tally.ok, tally.failed()), (0, tally.scheduled), "{tally:?}");
}

#[test]
fn a_peer_that_resets_is_a_lost_target() {
    let outcome = drive_peer(&reads(200.0, Duration::from_secs(20)), |_, stream| reset(stream));
    let tally = &outcome.result.tally;
    lost_target(&outcome);
    assert_eq!(tally.ok, 0);
    // Each connection had at least the request that it broke on.
    assert!(tally.failed_by(FailCause::ConnectionLost) >= 4, "{tally:?}");
}

#[test]
fn a_peer_that_never_answers_lets_every_request_time_out() {
    let outcome = drive_peer(&impatient_reads(), |_, stream| stay_silent(stream));
    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((tally.scheduled, tally.timed_out), (80, 80), "{tally:?}");
    assert!(!outcome.result.verdict.valid);
    assert_eq!(outcome.result.latency_ns.sojourn.max, None, "no answer has no latency");
}

#[test]
fn half_a_reply_is_none() {
    let outcome = drive_peer(&impatient_reads(), |_, mut stream| {
        if let Some(request) = next_request(&mut stream) {
            let reply = hit(&request);
            stream.write_all(&reply[..reply.len() / 2]).ok();
        }
        stay_silent(stream);
    });
    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((tally.scheduled, tally.timed_out), (80, 80), "{tally:?}");
}

#[test]
fn half_a_reply_before_the_end_is_a_lost_connection() {
    let outcome = drive_peer(&reads(200.0, Duration::from_secs(20)), |_, mut stream| {
        if let Some(request) = next_request(&mut stream) {
            let reply = hit(&request);
            stream.write_all(&reply[..reply.len() / 2]).ok();
        }
    });
    let tally = &outcome.result.tally;
    lost_target(&outcome);
    assert_eq!(tally.ok, 0);
    assert!(tally.failed_by(FailCause::ConnectionLost) >= 4, "{tally:?}");
}

#[test]
fn replies_that_come_byte_by_byte_are_good() {
    let outcome = drive_peer(&reads(100.0, Duration::from_millis(400)), |_, mut stream| {
        while let Some(request) = next_request(&mut stream) {
            for byte in hit(&request) {
                stream.write_all(&[byte]).ok();
                thread::sleep(Duration::from_micros(100));
            }
        }
    });
    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((result.tally.scheduled, result.tally.hits), (40, 40), "{:?}", result.tally);
    // More than 40 bytes, the last of them after as many pauses: that much is the peer's doing.
    assert!(result.latency_ns.sojourn.min.is_some_and(|min| min >= 4_000_000), "{:?}", result.latency_ns);
}

#[test]
fn foreign_bytes_end_their_connection_as_a_protocol_error() {
    let plan = RunPlan { connections: 1, ..reads(200.0, Duration::from_secs(20)) };
    let outcome = drive_peer(&plan, |_, mut stream| {
        next_request(&mut stream);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok();
        stay_silent(stream);
    });
    let (what, tally) = (lost_target(&outcome), &outcome.result.tally);
    assert!(what.contains("HTTP/1.1 400 Bad Request"), "{what}");
    assert_eq!((tally.ok, tally.failed_by(FailCause::ProtocolError)), (0, 1), "{tally:?}");
}

#[test]
fn replies_that_nobody_asked_for_end_their_connection() {
    let plan = RunPlan { connections: 1, ..reads(50.0, Duration::from_secs(1)) };
    let outcome = drive_peer(&plan, |_, mut stream| {
        next_request(&mut stream);
        // More misses than the run has requests: however many are open, some are nobody's.
        stream.write_all(&b"END\r\n".repeat(100)).ok();
        stay_silent(stream);
    });
    let (what, tally) = (lost_target(&outcome), &outcome.result.tally);
    assert!(what.contains("nobody had asked for"), "{what}");
    assert!(tally.misses > 0 && tally.misses == tally.ok, "{tally:?}");
}

#[test]
fn replies_to_something_else_fail_without_losing_their_place() {
    let replies: [(FailCause, &'static [u8]); 3] = [
        (FailCause::WrongReply, b"STORED\r\n"),
        (FailCause::WrongReply, b"VALUE k999999999999999 0 10\r\nxxxxxxxxxx\r\nEND\r\n"),
        (FailCause::ServerError, b"SERVER_ERROR out of memory\r\n"),
    ];
    for (cause, reply) in replies {
        let plan = reads(200.0, Duration::from_millis(200));
        let outcome = drive_peer(&plan, move |_, stream| answer_with(stream, |_| reply.to_vec()));
        let tally = &outcome.result.tally;
        assert_eq!(outcome.ending, Ending::Completed);
        assert_eq!((tally.scheduled, tally.failed_by(cause)), (40, 40), "{tally:?}");
    }
}

#[test]
fn a_reply_after_the_time_limit_is_not_taken_for_the_next_one() {
    let plan = RunPlan { timeout: Duration::from_millis(100), ..reads(100.0, Duration::from_millis(600)) };
    let outcome = drive_peer(&plan, |_, mut stream| {
        let Some(first) = next_request(&mut stream) else { return };
        thread::sleep(Duration::from_millis(300));
        stream.write_all(&hit(&first)).ok();
        answer_with(stream, hit);
    });
    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(tally.failed(), 0, "{tally:?}");
    assert!(tally.timed_out >= 4, "the first on each connection: {tally:?}");
    assert_eq!(tally.hits, answered(tally));
}

#[test]
fn a_peer_that_does_not_read_holds_up_nothing_but_its_own_requests() {
    let workload = Workload { value_len: 500_000, get_ratio: 0.0, ..Workload::default() };
    let plan = RunPlan { workload, connections: 1, ..impatient_reads() };
    let (stop, is_stopped) = mpsc::channel::<()>();
    let is_stopped = std::sync::Mutex::new(is_stopped);
    let peer = Peer::start(1, move |_, stream| {
        is_stopped.lock().expect("nobody else locks it").recv().ok();
        drop(stream);
    });
    // 40 MB, which no socket buffer takes.
    let outcome = drive(peer.address, &plan);
    drop(stop);
    peer.finish();
    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!((tally.scheduled, tally.timed_out), (80, 80), "{tally:?}");
}

#[test]
fn one_reset_connection_of_four_takes_only_its_own_requests_with_it() {
    let outcome = drive_peer(&reads(400.0, Duration::from_millis(800)), |index, mut stream| {
        if index > 0 {
            return answer_with(stream, hit);
        }
        for _ in 0..20 {
            let Some(request) = next_request(&mut stream) else { return };
            stream.write_all(&hit(&request)).ok();
        }
        reset(stream);
    });
    let tally = &outcome.result.tally;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(tally.scheduled, 320);
    assert!(tally.failed_by(FailCause::ConnectionLost) > 0, "{tally:?}");
    assert_eq!(tally.failed(), tally.failed_by(FailCause::ConnectionLost), "{tally:?}");
    // Three connections answer all that is theirs; the fourth answered 20 before it broke.
    assert!(tally.hits >= 240, "{tally:?}");
    assert_eq!(tally.hits + tally.failed(), tally.scheduled, "{tally:?}");
}

#[test]
fn a_thread_that_loses_its_connections_ends_the_run_of_all() {
    let plan = RunPlan { threads: 2, connections: 2, ..reads(400.0, Duration::from_secs(20)) };
    let outcome =
        drive_peer(&plan, |index, stream| if index == 0 { reset(stream) } else { answer_with(stream, hit) });
    let result = &outcome.result;
    lost_target(&outcome);
    assert!(result.measured_ns < 20_000_000_000, "the other thread went on alone: {}", result.measured_ns);
    assert!(!result.interrupted, "nobody asked for the end");
    assert!(result.tally.failed_by(FailCause::ConnectionLost) > 0, "{:?}", result.tally);
}

#[test]
fn a_target_lost_in_the_warm_up_leaves_nothing_measured_and_says_so() {
    let plan = RunPlan { warmup: Duration::from_secs(20), ..reads(200.0, Duration::from_secs(1)) };
    let outcome = drive_peer(&plan, |_, stream| drop(stream));
    let result = &outcome.result;
    lost_target(&outcome);
    assert_eq!((result.measured_ns, result.tally.scheduled, result.achieved_rps), (0, 0, 0.0));
    assert_eq!(result.warmup_tally.failed(), result.warmup_tally.scheduled, "{:?}", result.warmup_tally);
    assert!(result.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::NothingMeasured));
}

#[test]
fn a_cap_on_what_is_in_flight_delays_sends_visibly_and_skips_none() {
    let plan = RunPlan {
        max_in_flight: 4,
        drain: Duration::from_millis(200),
        ..reads(200.0, Duration::from_millis(400))
    };
    let outcome = drive_peer(&plan, |_, stream| stay_silent(stream));
    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    // Four were sent, and wait for ever; the others are late until the drain limit.
    assert_eq!((result.tally.scheduled, result.tally.unfinished), (80, 80), "{:?}", result.tally);
    assert!(result.time_at_cap_ns > 0);
    assert!(result.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Capped));
}

#[test]
fn connections_that_close_while_idle_are_counted() {
    let plan = RunPlan { connections: 4, ..reads(40.0, Duration::from_secs(1)) };
    let outcome = drive_peer(&plan, |index, mut stream| {
        if index == 0 {
            return answer_with(stream, hit);
        }
        // Answers once and closes, with nothing open.
        if let Some(request) = next_request(&mut stream) {
            stream.write_all(&hit(&request)).ok();
        }
    });
    let result = &outcome.result;
    assert_eq!(outcome.ending, Ending::Completed);
    assert_eq!(result.connections_lost, 3);
    assert!(result.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::ConnectionsLost));
}

/// The surplus arrives while nothing is open, a second before the next request is due.
#[test]
fn a_reply_that_nobody_asked_for_is_not_taken_for_the_next_answer() {
    let plan = RunPlan { connections: 1, ..reads(1.0, Duration::from_secs(3)) };
    let outcome = drive_peer(&plan, |_, mut stream| {
        let Some(request) = next_request(&mut stream) else { return };
        stream.write_all(&hit(&request)).ok();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(b"END\r\n").ok();
        answer_with(stream, hit);
    });
    assert!(lost_target(&outcome).contains("`END\\r\\n`"), "{:?}", outcome.ending);
    assert_eq!((outcome.result.tally.scheduled, outcome.result.tally.ok), (1, 1));
}

/// What is in flight when somebody stops a run is awaited for a moment: it is no outlier, and must
/// not make the quantiles of all the others unknown.
#[test]
fn a_stopped_run_takes_in_what_was_in_flight() {
    let stop = AtomicBool::new(false);
    let peer = Peer::start(4, |_, stream| answer_with(stream, hit));
    let plan = reads(1_000.0, Duration::from_secs(60));
    let topology = Topology::read().expect("this machine can be read");
    let mut session = Session::new("a peer", &plan, &topology);
    session.connections = plan.connections;
    session.stop = Some(&stop);
    // Stopped by what is seen to have been offered, not by the clock.
    let mut stop_at =
        |progress: Progress| stop.store(progress.elapsed > Duration::from_millis(500), Ordering::Relaxed);
    session.progress = Some(&mut stop_at);
    let outcome = drive_session(peer.address, &mut session);
    peer.finish();
    let result = &outcome.result;
    assert!(result.interrupted);
    assert!(result.measured_ns < 60_000_000_000);
    assert_eq!(result.tally.ok + result.tally.unfinished, result.tally.scheduled);
    assert!(result.tally.ok > 0, "{:?}", result.tally);
}
