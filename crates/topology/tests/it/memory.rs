//! Memory policies of threads of this very process, and where its memory lies. A kernel or a
//! sandbox without them makes a test skip, by name and with the reason.

use std::process::Command;
use std::thread;

use tailcore_topology::{
    MemoryError, MemoryPolicy, MemoryPolicyGuard, NodeSet, allowed_nodes, memory_per_node, memory_policy,
    nodes_of, set_memory_policy,
};

/// Runs `test` in a thread of its own, so that nothing of its policy is left behind; skips it where
/// the kernel has no memory policies.
fn with_policies(name: &str, test: impl FnOnce(NodeSet) + Send) {
    let allowed = match allowed_nodes() {
        Ok(allowed) => allowed,
        Err(reason @ (MemoryError::NoNuma { .. } | MemoryError::NotPermitted { .. })) => {
            skipped!("{name}: {reason}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let set = set_memory_policy(&MemoryPolicy::Default);
    if let Err(reason @ (MemoryError::NoNuma { .. } | MemoryError::NotPermitted { .. })) = set {
        skipped!("{name}: {reason}");
        return;
    }
    thread::scope(|scope| scope.spawn(|| test(allowed)).join().expect("the test passes"));
}

#[test]
fn a_policy_that_was_set_reads_back() {
    with_policies("a_policy_that_was_set_reads_back", |allowed| {
        let first = allowed.iter().next().unwrap();
        for policy in [
            MemoryPolicy::Bind(NodeSet::from_iter([first])),
            MemoryPolicy::Interleave(allowed),
            MemoryPolicy::Preferred(first),
            MemoryPolicy::Local,
            MemoryPolicy::Default,
        ] {
            set_memory_policy(&policy).unwrap();
            assert_eq!(memory_policy().unwrap(), policy);
        }
    });
}

#[test]
fn a_node_that_does_not_exist_is_named_and_nothing_changes() {
    with_policies("a_node_that_does_not_exist_is_named_and_nothing_changes", |allowed| {
        let absent = (0..1024).find(|&node| !allowed.contains(node)).unwrap();
        let with_absent: NodeSet = allowed.iter().chain([absent]).collect();
        for policy in [
            MemoryPolicy::Bind(NodeSet::from_iter([absent])),
            // The kernel takes these two and drops the node without a word.
            MemoryPolicy::Bind(with_absent.clone()),
            MemoryPolicy::Interleave(with_absent),
            MemoryPolicy::Preferred(absent),
            MemoryPolicy::Preferred(u32::MAX),
        ] {
            let error = set_memory_policy(&policy).unwrap_err();
            let MemoryError::NoSuchNode { missing, allowed: may } = &error else { panic!("{error}") };
            assert_eq!((missing.len(), may), (1, &allowed), "{error}");
        }
        let none = set_memory_policy(&MemoryPolicy::Bind(NodeSet::new()));
        assert!(matches!(none, Err(MemoryError::NoNodes { .. })));
        assert_eq!(memory_policy().unwrap(), MemoryPolicy::Default);
    });
}

#[test]
fn guards_restore_the_former_policy_in_reverse_order() {
    with_policies("guards_restore_the_former_policy_in_reverse_order", |allowed| {
        let outer = MemoryPolicyGuard::set(&MemoryPolicy::Bind(allowed.clone())).unwrap();
        assert_eq!(outer.former(), MemoryPolicy::Default);
        {
            let _inner = MemoryPolicyGuard::set(&MemoryPolicy::Local).unwrap();
            assert_eq!(memory_policy().unwrap(), MemoryPolicy::Local);
            assert!(MemoryPolicyGuard::set(&MemoryPolicy::Preferred(1023)).is_err());
            assert_eq!(memory_policy().unwrap(), MemoryPolicy::Local);
        }
        assert_eq!(memory_policy().unwrap(), MemoryPolicy::Bind(allowed));
        outer.restore().unwrap();
        assert_eq!(memory_policy().unwrap(), MemoryPolicy::Default);
    });
}

#[test]
fn a_flag_that_somebody_else_set_comes_back_with_the_policy() {
    with_policies("a_flag_that_somebody_else_set_comes_back_with_the_policy", |nodes| {
        // MPOL_BIND with MPOL_F_STATIC_NODES.
        let flagged = MemoryPolicy::Other { mode: 2 | 1 << 15, nodes };
        set_memory_policy(&flagged).unwrap();
        MemoryPolicyGuard::set(&MemoryPolicy::Local).unwrap().restore().unwrap();
        assert_eq!(memory_policy().unwrap(), flagged);
    });
}

#[test]
fn memory_lies_nowhere_until_it_is_written_and_then_where_the_policy_says() {
    with_policies("memory_lies_nowhere_until_it_is_written", |allowed| {
        let node = allowed.iter().next().unwrap();
        if let Err(reason @ (MemoryError::NoNuma { .. } | MemoryError::NotPermitted { .. })) = nodes_of(&[1])
        {
            skipped!("memory_lies_nowhere_until_it_is_written: {reason}");
            return;
        }
        let _policy = MemoryPolicyGuard::set(&MemoryPolicy::Bind(NodeSet::from_iter([node]))).unwrap();
        // So large that the allocator maps it afresh, and the kernel gives it untouched.
        let mut memory = vec![0_u8; 64 << 20];
        let before = nodes_of(&memory).unwrap();
        let bytes = before.page_bytes;
        assert!(before.untouched * 2 > before.pages(), "{before:?}");

        memory.iter_mut().step_by(bytes).for_each(|byte| *byte = 1);
        *memory.last_mut().unwrap() = 1;
        let after = nodes_of(&memory).unwrap();
        assert_eq!(after.pages(), before.pages());
        assert!(after.by_node.contains_key(&node), "{after:?}");
        // Under pressure the kernel may swap some out meanwhile, but it puts none elsewhere.
        assert!(after.by_node.len() == 1 && after.unknown.is_empty(), "{after:?}");
    });
}

#[test]
fn a_page_counts_if_a_byte_of_the_slice_is_in_it() {
    with_policies("a_page_counts_if_a_byte_of_the_slice_is_in_it", |_| {
        let memory = vec![1_u8; 1 << 20];
        let Ok(none) = nodes_of(&[]) else { unreachable!("no call is made for nothing") };
        assert_eq!(none.pages(), 0);
        let bytes = none.page_bytes;
        let aligned = memory.as_ptr().align_offset(bytes);
        for (from, to, pages) in
            [(0, 1, 1), (bytes - 1, bytes + 1, 2), (0, 3 * bytes, 3), (1, 3 * bytes + 1, 4)]
        {
            match nodes_of(&memory[aligned + from..aligned + to]) {
                Ok(sum) => assert_eq!(sum.pages(), pages, "{from}..{to}"),
                Err(MemoryError::NoNuma { .. } | MemoryError::NotPermitted { .. }) => {
                    skipped!("a_page_counts_if_a_byte_of_the_slice_is_in_it: no move_pages");
                    return;
                }
                Err(error) => panic!("{error}"),
            }
        }
    });
}

#[test]
fn the_memory_of_a_process_lies_on_its_nodes() {
    let sum = match memory_per_node(std::process::id()) {
        Ok(sum) => sum,
        Err(reason @ (MemoryError::NoNumaMaps { .. } | MemoryError::Unreadable { .. })) => {
            skipped!("the_memory_of_a_process_lies_on_its_nodes: {reason}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(sum.total_bytes() > 0 || sum.pages_of_unknown_size > 0, "{sum:?}");
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let of_child = memory_per_node(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(of_child.is_ok(), "{of_child:?}");
    assert!(matches!(memory_per_node(child.id()), Err(MemoryError::ProcessGone { .. })));
}
