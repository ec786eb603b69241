//! Memory policies, and on which node the memory lies then.

use std::collections::BTreeMap;

use tailcore_topology::{
    MemoryError, MemoryPolicy, SlicePages, memory_per_node, nodes_of, pin_current_thread, set_memory_policy,
};

use crate::guest::{Group, in_guest, in_thread_of_its_own};

/// So much that it is a mapping of its own, whose pages nobody has used before.
const BYTES: usize = 8 << 20;

/// Where memory lies that a thread on `cpu` touches first, under a policy.
fn touched(cpu: u32, policy: &str) -> SlicePages {
    let policy: MemoryPolicy = policy.parse().unwrap();
    in_thread_of_its_own(|| {
        pin_current_thread(cpu).unwrap();
        set_memory_policy(&policy).unwrap();
        let memory = vec![7_u8; BYTES];
        let pages = nodes_of(&memory).unwrap();
        assert_eq!((pages.untouched, &pages.unknown), (0, &BTreeMap::new()));
        assert!(pages.pages() as usize >= BYTES / pages.page_bytes);
        pages
    })
}

/// The nodes that hold pages.
fn nodes(pages: &SlicePages) -> Vec<u32> {
    pages.by_node.keys().copied().collect()
}

#[test]
fn without_a_policy_memory_is_near_to_who_touches_it() {
    if !in_guest() {
        return;
    }
    assert_eq!(nodes(&touched(1, "default")), [0]);
    assert_eq!(nodes(&touched(6, "default")), [1]);
}

#[test]
fn a_policy_decides_wherever_the_thread_runs() {
    if !in_guest() {
        return;
    }
    for cpu in [0, 7] {
        assert_eq!(nodes(&touched(cpu, "bind:1")), [1]);
        assert_eq!(nodes(&touched(cpu, "preferred:0")), [0]);
    }
}

#[test]
fn interleaved_memory_is_on_both_nodes_in_equal_parts() {
    if !in_guest() {
        return;
    }
    let pages = touched(2, "interleave:0-1");
    let (near, far) = (pages.by_node[&0], pages.by_node[&1]);
    // Huge pages, where there are any, take turns as a whole: 512 pages at a time.
    assert!(near.abs_diff(far) <= 1024, "{pages:?}");
}

#[test]
fn a_process_is_told_where_its_memory_lies() {
    if !in_guest() {
        return;
    }
    let on_far = || memory_per_node(std::process::id()).unwrap().bytes.get(&1).copied().unwrap_or(0);
    in_thread_of_its_own(|| {
        set_memory_policy(&"bind:1".parse().unwrap()).unwrap();
        let before = on_far();
        let memory = vec![7_u8; BYTES];
        assert!(on_far() - before >= BYTES as u64, "{before} bytes before, {} after", on_far());
        drop(memory);
    });
}

#[test]
fn a_node_outside_the_cpuset_is_refused() {
    if !in_guest() {
        return;
    }
    let _group = Group::enter("/near", &[("cpuset.mems", "0")]);
    let refused = in_thread_of_its_own(|| set_memory_policy(&"bind:0-1".parse().unwrap())).unwrap_err();
    let MemoryError::NoSuchNode { missing, allowed } = refused else { panic!("{refused}") };
    assert_eq!((missing.to_string(), allowed.to_string()), ("1".to_owned(), "0".to_owned()));
}
