//! The start of a run: whatever goes wrong in one worker, there is an answer and no hanging.

use std::time::Duration;

use tailcore_loadgen::null::{NullProtocol, NullService};
use tailcore_loadgen::transport::in_process::InProcess;
use tailcore_loadgen::{LoadError, Placement, RunPlan, Session, run};
use tailcore_topology::{PinPolicy, Topology};

fn two_workers() -> RunPlan {
    RunPlan {
        threads: 2,
        warmup: Duration::ZERO,
        duration: Duration::from_millis(10),
        pin: PinPolicy::None,
        events: Vec::new(),
        ..RunPlan::default()
    }
}

#[test]
fn a_worker_that_cannot_connect_ends_the_start_of_all() {
    let (plan, topology) = (two_workers(), Topology::read().expect("this machine can be read"));
    let refused = run(&mut Session::new("null", &plan, &topology), |worker| match worker {
        0 => Err(LoadError::Target { target: "null".to_owned(), problem: "is not there".to_owned() }),
        _ => Ok(InProcess::new(NullProtocol, NullService)),
    });
    assert_eq!(refused.unwrap_err().to_string(), "target `null`: is not there");
}

#[test]
fn a_worker_that_panics_while_connecting_is_an_error_and_no_deadlock() {
    let (plan, topology) = (two_workers(), Topology::read().expect("this machine can be read"));
    let died = run(&mut Session::new("null", &plan, &topology), |worker| match worker {
        0 => panic!("on purpose"),
        _ => Ok(InProcess::new(NullProtocol, NullService)),
    });
    assert!(matches!(died, Err(LoadError::Panicked { .. })), "{died:?}");
}

#[test]
fn a_placement_of_another_size_is_refused() {
    let (plan, topology) = (two_workers(), Topology::read().expect("this machine can be read"));
    let mut session = Session::new("null", &plan, &topology);
    session.placement = Some(Placement { cpus: vec![None], problem: None });
    let refused = run(&mut session, |_| Ok(InProcess::new(NullProtocol, NullService)));
    assert!(refused.unwrap_err().to_string().contains("room for 1"));
}
