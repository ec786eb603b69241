//! What it costs to read the counters of a thread, and to turn two readings into what was counted.
//!
//! `read` is one system call per open group and may stand between requests; `interval` allocates and
//! belongs after the run. Where no counter can be opened, both are skipped.
//!
//! `cargo bench -p tailcore-benches --bench counter_read`

use criterion::{Criterion, criterion_group, criterion_main};
use tailcore_pmu::{Counters, Outcome, Snapshot, Target, default_events};

fn counter_read(criterion: &mut Criterion) {
    let events = default_events();
    let mut counters = Counters::open(Target::CurrentThread, &events);
    let open = open_events(&mut counters);
    println!("counter_read: {open} of {} default events open", events.len());
    if open == 0 {
        return;
    }
    let (mut start, mut end) = (counters.snapshot(), counters.snapshot());
    counters.read(&mut start);
    let mut group = criterion.benchmark_group("counter_read");
    group.bench_function("read", |b| b.iter(|| counters.read(&mut end)));
    counters.read(&mut end);
    check(&counters, (&start, &end), open);
    group.bench_function("interval", |b| b.iter(|| counters.interval(&start, &end)));
    group.finish();
}

/// Starts the counters; returns how many are open.
fn open_events(counters: &mut Counters) -> usize {
    counters.enable();
    let mut snapshot = counters.snapshot();
    counters.read(&mut snapshot);
    (0..counters.events().len()).filter(|&index| snapshot.totals(index).is_some()).count()
}

/// Totals never decrease, and the interval has a reading for every event: a count for those which ran,
/// and never one for those which are not open.
fn check(counters: &Counters, (start, end): (&Snapshot, &Snapshot), open: usize) {
    let (mut seen, mut counted) = (0, 0);
    let readings = counters.interval(start, end);
    assert_eq!(readings.len(), counters.events().len());
    for (index, reading) in readings.iter().enumerate() {
        let is_count = matches!(reading.outcome, Outcome::Counted { .. } | Outcome::Scaled { .. });
        let (Some(before), Some(after)) = (start.totals(index), end.totals(index)) else {
            assert!(!is_count, "{reading:?}");
            continue;
        };
        seen += 1;
        counted += usize::from(is_count);
        assert!(after.count >= before.count, "{reading:?}: {before:?} {after:?}");
        assert!(after.running_ns >= before.running_ns, "{reading:?}: {before:?} {after:?}");
        assert!(after.enabled_ns >= before.enabled_ns, "{reading:?}: {before:?} {after:?}");
        assert_eq!(is_count, after.running_ns > before.running_ns, "{reading:?}");
    }
    assert_eq!(seen, open);
    assert!(counted > 0, "{readings:?}");
}

criterion_group!(benches, counter_read);
criterion_main!(benches);
