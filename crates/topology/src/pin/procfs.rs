//! What the proc file system tells of a thread; see proc(5). Parsers only, and the one file that a
//! guard needs.

use std::fs;

use crate::cpuset::CpuSet;

/// Where the fields that are used stand in `stat`, counted from the one after the name, which the
/// manual calls field 3.
const START_FIELD: usize = 22 - 3;
const CPU_FIELD: usize = 39 - 3;

/// `stat` of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) name: String,
    /// Whether the thread has ended, and only its entry waits to be collected.
    pub(super) ended: bool,
    /// When it was started, in clock ticks since the machine was.
    pub(super) started: u64,
    /// The CPU it runs on, or ran on last.
    pub(super) cpu: u32,
}

/// Parses `stat`; `None` names no field, since a kernel that wrote this is none we know.
pub(super) fn parse_stat(stat: &[u8]) -> Option<Stat> {
    let stat = String::from_utf8_lossy(stat);
    // The name is whatever the thread likes, spaces and brackets included; nothing behind it has one.
    let (head, fields) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    Some(Stat {
        name: name.to_owned(),
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        started: fields.get(START_FIELD)?.parse().ok()?,
        cpu: fields.get(CPU_FIELD)?.parse().ok()?,
    })
}

/// `status` of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) affinity: CpuSet,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

/// Parses `status`; `None` when a line is missing or malformed.
pub(super) fn parse_status(status: &[u8]) -> Option<Status> {
    let status = String::from_utf8_lossy(status);
    Some(Status {
        affinity: value(&status, "Cpus_allowed_list")?.parse().ok()?,
        voluntary_switches: value(&status, "voluntary_ctxt_switches")?.parse().ok()?,
        involuntary_switches: value(&status, "nonvoluntary_ctxt_switches")?.parse().ok()?,
    })
}

/// Finds the number of migrations in `sched`.
pub(super) fn parse_migrations(sched: &[u8]) -> Option<u64> {
    value(&String::from_utf8_lossy(sched), "se.nr_migrations")?.parse().ok()
}

/// Gives what stands behind `name :`. In `sched` as in `status` the thread's own name comes in the
/// first line, so the last line of a name is the kernel's.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).next_back()
}

/// Tells when a thread was started, in clock ticks since the machine was; `None` where proc does
/// not say.
pub(super) fn start_of(tid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{tid}/stat")).ok()?;
    parse_stat(&stat).map(|stat| stat.started)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `stat` of a thread with this name, in this state, last on CPU 5.
    fn stat(name: &str, state: &str) -> Vec<u8> {
        let between = (4..39).map(|field| if field == 22 { 777 } else { -i64::from(field) });
        let between: Vec<String> = between.map(|number| number.to_string()).collect();
        format!("31 ({name}) {state} {} 5 0 0 3 0\n", between.join(" ")).into_bytes()
    }

    #[test]
    fn a_name_may_hold_spaces_and_brackets() {
        for name in ["cat", "a b", "x) R 1 2 (y", ")", "(", "", "tab\tand) 9"] {
            let parsed = parse_stat(&stat(name, "S")).unwrap();
            assert_eq!(parsed, Stat { name: name.to_owned(), ended: false, started: 777, cpu: 5 });
        }
    }

    #[test]
    fn a_thread_whose_entry_alone_is_left_has_ended() {
        for (state, ended) in [("R", false), ("S", false), ("t", false), ("Z", true), ("X", true)] {
            assert_eq!(parse_stat(&stat("a", state)).unwrap().ended, ended, "{state}");
        }
    }

    #[test]
    fn a_stat_that_is_cut_short_is_no_stat() {
        let whole = stat("a", "R");
        assert!(parse_stat(&whole[..whole.len() - 12]).is_none());
        assert!(parse_stat(b"").is_none());
        assert!(parse_stat(b"31 (a").is_none());
    }

    #[test]
    fn status_gives_the_mask_and_the_switches() {
        let text = "Name:\tvoluntary_ctxt_switches: 9\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n\
                    voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        let expected =
            Status { affinity: CpuSet::from_iter([0, 2]), voluntary_switches: 12, involuntary_switches: 3 };
        assert_eq!(parse_status(text.as_bytes()), Some(expected));
        assert_eq!(parse_status(b"Name:\ta\n"), None);
    }

    #[test]
    fn migrations_stand_in_sched_where_the_kernel_tells_them() {
        let text = "se.nr_migrations : 9 (31, #threads: 1)\n------\nse.vruntime   :   66.9\n\
                    se.nr_migrations                 :        14\nnr_switches  :   9\n";
        assert_eq!(parse_migrations(text.as_bytes()), Some(14));
        assert_eq!(parse_migrations(b"a (31, #threads: 1)\nnr_switches : 9\n"), None);
    }

    #[test]
    fn this_thread_has_a_start() {
        assert!(start_of(crate::pin::current_tid()).is_some());
        assert_eq!(start_of(u32::MAX), None);
    }

    proptest! {
        #[test]
        fn any_name_is_told_from_the_fields(name in "\\PC{0,15}") {
            prop_assert_eq!(parse_stat(&stat(&name, "R")).unwrap().name, name);
        }

        #[test]
        fn no_content_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (parse_stat(&bytes), parse_status(&bytes), parse_migrations(&bytes));
        }
    }
}
