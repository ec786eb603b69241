//! Threads that are pinned, and where they run then.

use std::sync::Barrier;
use std::thread;

use tailcore_topology::{
    Migrations, PinGuard, PinPolicy, PlacementError, Request, ResidenceWatch, Role, Rule, Topology, arrange,
    current_affinity, current_cpu, current_tid, pin_current_thread, place,
};

use crate::guest::{cpus, in_guest, in_thread_of_its_own, read};

/// Pins a thread to each CPU; gives the CPUs on which they found themselves while all were pinned.
fn run_pinned(to: &[u32]) -> Vec<u32> {
    let all_are_pinned = Barrier::new(to.len());
    let pinned = |cpu| {
        let all_are_pinned = &all_are_pinned;
        move || {
            let pinned = pin_current_thread(cpu);
            all_are_pinned.wait(); // Also after an error, or the others would wait for ever.
            pinned.unwrap();
            assert!(current_affinity().unwrap().iter().eq([cpu]));
            current_cpu().unwrap()
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = to.iter().map(|&cpu| scope.spawn(pinned(cpu))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread does not panic")).collect()
    })
}

/// Where a server's and a client's threads are placed by these rules.
fn arranged(machine: &Topology, server: (&str, usize), client: (&str, usize)) -> Vec<u32> {
    let request =
        |role, (rule, threads): (&str, usize)| Request { role, rule: rule.parse().unwrap(), threads };
    let requests = [request(Role::Server, server), request(Role::Client, client)];
    let placement = arrange(machine, &requests).unwrap();
    [placement.cpus_of(Role::Server), placement.cpus_of(Role::Client)].concat()
}

#[test]
fn a_thread_runs_on_each_cpu_in_turn() {
    if !in_guest() {
        return;
    }
    // From package to package, so that the thread really has to move.
    let order = [0, 4, 1, 5, 2, 6, 3, 7];
    in_thread_of_its_own(|| {
        pin_current_thread(order[0]).unwrap();
        let mut watch = ResidenceWatch::new(std::process::id(), &[current_tid()]).unwrap();
        for cpu in order {
            pin_current_thread(cpu).unwrap();
            assert!(current_affinity().unwrap().iter().eq([cpu]));
            assert_eq!(current_cpu().unwrap(), cpu);
            watch.sample().unwrap();
        }
        let [seen] = &watch.report()[..] else { panic!("one thread was watched") };
        assert_eq!(seen.cpus_seen, cpus("0-7"));
        assert_eq!(seen.migrations, Migrations::Counted(7));
    });
    assert_eq!(current_affinity().unwrap(), cpus("0-7"));
}

#[test]
fn a_guard_gives_the_thread_its_cpus_back() {
    if !in_guest() {
        return;
    }
    in_thread_of_its_own(|| {
        let guard = PinGuard::pin(&cpus("5,7")).unwrap();
        assert!([5, 7].contains(&current_cpu().unwrap()));
        drop(guard);
        assert_eq!(current_affinity().unwrap(), cpus("0-7"));
    });
}

#[test]
fn threads_placed_by_a_policy_run_there() {
    if !in_guest() {
        return;
    }
    let roles = [Role::Client, Role::Server, Role::Client, Role::Server];
    let placed = place(&read(), &PinPolicy::Auto, &roles).unwrap();
    let placed: Vec<u32> = placed.into_iter().flatten().collect();
    // A core each; the one with CPU 0 last, and the servers first.
    assert_eq!(placed, [6, 2, 0, 4]);
    assert_eq!(run_pinned(&placed), placed);
}

#[test]
fn threads_placed_by_a_rule_run_there() {
    if !in_guest() {
        return;
    }
    let machine = read();
    let nobody = ("one-thread", 0);
    for (server, client, expected) in [
        (("one-thread", 1), ("client-on-rest", 2), &[0, 4, 6][..]),
        (("one-per-core", 4), nobody, &[0, 2, 4, 6]),
        (("smt-pair", 4), ("client-on-rest", 1), &[0, 1, 2, 3, 6]),
        (("pack", 3), nobody, &[0, 1, 2]),
        (("spread", 8), nobody, &[0, 4, 2, 6, 1, 5, 3, 7]),
        (("one-l3", 3), nobody, &[0, 2, 1]),
        (("one-node", 2), ("other-package", 2), &[0, 2, 4, 6]),
        (("2-physical-4-logical", 4), nobody, &[0, 2, 1, 3]),
        (("1-per-package", 2), nobody, &[0, 4]),
        (("7,0,4-5", 4), nobody, &[7, 0, 4, 5]),
    ] {
        let placed = arranged(&machine, server, client);
        assert_eq!(placed, expected, "{server:?}, {client:?}");
        assert_eq!(run_pinned(&placed), placed);
    }
}

#[test]
fn a_rule_that_the_machine_cannot_follow_is_an_error() {
    if !in_guest() {
        return;
    }
    let request = Request { role: Role::Server, rule: Rule::OnePerCore, threads: 5 };
    let refused: PlacementError = arrange(&read(), &[request]).unwrap_err();
    assert!(refused.to_string().contains("5 free cores, and 4"), "{refused}");
}
