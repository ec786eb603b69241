//! Counters of each thread of a running process.
//!
//! Nobody is told when a process creates a thread, so its threads are listed from time to time. What a thread
//! did before it was found is missed, and so are threads that came and went between two looks. How much that
//! was is told by a clock that misses nothing.

use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use tailcore_pmu::Target;

use super::report::{Run, ThreadCounts, Unseen};
use super::tally::Tally;
use super::wanted::Wanted;

/// Time between two looks.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The threads of a process that were found until now.
#[derive(Debug)]
pub(crate) struct Threads {
    pid: u32,
    wanted: Rc<Wanted>,
    /// Of the process and all its children.
    whole: Option<Tally>,
    found: BTreeMap<u32, Found>,
}

#[derive(Debug)]
struct Found {
    tally: Tally,
    name: String,
    at: Duration,
    /// A thread may be found before it has given itself a name.
    is_fresh: bool,
}

impl Threads {
    /// Opens counters of a process that waits before its exec.
    pub(crate) fn open(wanted: &Rc<Wanted>, pid: u32) -> Threads {
        let clock = Wanted::clock().ok().map(Rc::new);
        let whole = clock.map(|clock| Tally::on_exec(&clock, Target::Process(pid)));
        let first = Found {
            tally: Tally::on_exec(wanted, Target::Thread(pid)),
            name: String::new(),
            at: Duration::ZERO,
            is_fresh: true,
        };
        Threads { pid, wanted: Rc::clone(wanted), whole, found: BTreeMap::from([(pid, first)]) }
    }

    /// Finds the threads that are new.
    pub(crate) fn look(&mut self, now: Duration) {
        for tid in self.list() {
            let name = || comm(self.pid, tid);
            if let Some(known) = self.found.get_mut(&tid) {
                if known.is_fresh {
                    known.name = name().unwrap_or_default();
                    known.is_fresh = false;
                }
                continue;
            }
            let tally = Tally::now(&self.wanted, Target::Thread(tid));
            // Without a counter it has ended since it was listed.
            if tally.is_any_open() {
                let name = name().unwrap_or_default();
                self.found.insert(tid, Found { tally, name, at: now, is_fresh: true });
            }
        }
    }

    fn list(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Reads all threads, and says how much they leave out.
    pub(crate) fn finish(mut self, run: &mut Run) {
        let elapsed = run.elapsed();
        let mut seen_ns = Some(0_u64);
        for (tid, found) in &mut self.found {
            let end = found.tally.read();
            let start = found.tally.start();
            let clock_ns = found.tally.clock_ns(start, &end);
            seen_ns = seen_ns.zip(clock_ns).map(|(sum, ns)| sum.saturating_add(ns));
            run.threads.push(ThreadCounts {
                tid: *tid,
                name: found.name.clone(),
                found_ns: u64::try_from(found.at.as_nanos()).unwrap_or(u64::MAX),
                events: found.tally.readings(start, &end),
                metrics: found.tally.metrics(start, &end, elapsed.saturating_sub(found.at)),
            });
        }
        let Some(whole) = &mut self.whole else { return };
        let end = whole.read();
        run.events = whole.readings(whole.start(), &end);
        let whole_ns = whole.clock_ns(whole.start(), &end);
        run.unseen = seen_ns.zip(whole_ns).map(|(seen_ns, whole_ns)| Unseen { seen_ns, whole_ns });
    }
}

/// The name of a thread.
fn comm(pid: u32, tid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}
