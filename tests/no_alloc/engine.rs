//! A run allocates nothing on the worker's thread, however many requests it offers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tailcore_harness::{Clock, Ending, Idle, MonotonicClock, Phases};
use tailcore_loadgen::engine::{Engine, EngineLimits};
use tailcore_loadgen::memcached::MemcachedText;
use tailcore_loadgen::preload::preload;
use tailcore_loadgen::protocol::Protocol;
use tailcore_loadgen::schedule::{Schedule, ScheduleLaw};
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_loadgen::service::Service;
use tailcore_loadgen::transport::Transport;
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::transport::tcp::Tcp;
use tailcore_loadgen::workload::{Operation, Request};
use tailcore_loadgen::{ArrivalLaw, KeyLaw, Workload};

use crate::sys;

/// Open requests that all fit into the memory that one connection makes beforehand. Without a limit, a
/// server that is not given a CPU for long enough would let the backlog outgrow that memory, and
/// then growing is right; this test is not about that.
const MAX_IN_FLIGHT: usize = 60;

const READS: Workload = Workload { keys: 1_000, key_law: KeyLaw::Zipf(0.99), value_len: 100, get_ratio: 1.0 };

/// Offers `requests` reads at `rate_rps` and returns what the run itself allocated.
fn allocations_of(requests: u32, rate_rps: f64, transport: impl Transport) -> u64 {
    // Gives way where the server has to share the CPU.
    let clock = MonotonicClock::start(Idle::Yield);
    let law = ScheduleLaw { arrivals: ArrivalLaw::Constant, rate_rps, workload: READS, workers: 1, seed: 3 };
    let length = Duration::from_secs_f64(f64::from(requests) / rate_rps);
    let phases = Phases::new(clock.now_ns(), Duration::ZERO, length);
    let schedule = Schedule::new(&law, 0, phases.start_ns, phases.end_ns);
    let limits = EngineLimits {
        phases,
        timeout_ns: u64::MAX,
        // The run ends with its last answer, however slow the machine.
        drain_ns: u64::MAX,
        max_in_flight: MAX_IN_FLIGHT,
    };
    let never = AtomicBool::new(false);
    let unmade = sys::allocations();
    let engine = Engine::new(&clock, schedule, transport, (limits, &never));
    let before = sys::allocations();
    let report = engine.run();
    let after = sys::allocations();

    assert!(before > unmade, "the allocator does count: an engine takes memory");
    assert_eq!(report.ending, Ending::Completed);
    let tally = report.recorder.tally();
    assert_eq!((tally.scheduled, tally.hits), (u64::from(requests), u64::from(requests)), "{tally:?}");
    after - before
}

#[test]
fn a_run_in_process_allocates_nothing_however_long() {
    let stored = || {
        let (mut service, mut codec) = (KvService::new(), MemcachedText::new(READS.value_len));
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        for key in 0..READS.keys {
            let set = Request { operation: Operation::Set, key, value_len: READS.value_len };
            request.clear();
            codec.encode(&set, &mut request);
            assert_eq!(service.handle(&request, &mut reply), request.len());
        }
        InProcess::new(codec, service)
    };
    assert_eq!(allocations_of(1_000, 1e6, stored()), 0);
    assert_eq!(allocations_of(100_000, 1e6, stored()), 0);
}

#[test]
fn a_run_over_tcp_allocates_nothing_however_long() {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = TcpServer::start(any_port, KvService::new(), ServerOptions::default()).unwrap();
    let mut codec = MemcachedText::new(READS.value_len);
    preload(server.address(), &READS, &mut codec, &mut |_| true).unwrap();
    for requests in [2_000, 20_000] {
        let transport = Tcp::connect(server.address(), 4, codec.clone()).unwrap();
        assert_eq!(allocations_of(requests, 50_000.0, transport), 0, "{requests} requests");
    }
}
