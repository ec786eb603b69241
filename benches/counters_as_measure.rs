//! A bench measured by a counter instead of the wall clock: what one summation costs in time on a CPU.
//!
//! The value is `task-clock`, which the kernel counts, so that it works where there is no PMU. Where
//! there is one, `TAILCORE_BENCH_EVENT=instructions:u` makes another event the value.
//!
//! `cargo bench -p tailcore-benches --bench counters_as_measure`

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use tailcore_pmu::criterion::CounterMeasurement;
use tailcore_pmu::{Event, ParseEventError, parse_events};

const NUMBERS: u64 = 1000;

fn main() -> Result<(), ParseEventError> {
    let name = std::env::var("TAILCORE_BENCH_EVENT").unwrap_or("task-clock".to_owned());
    let value: Event = name.parse()?;
    let others = parse_events("page-faults,cycles,instructions")?;
    let measurement = match CounterMeasurement::open(&value, &others) {
        Ok(measurement) => measurement,
        Err(absent) => {
            println!("counters_as_measure: skipped: {absent}");
            return Ok(());
        }
    };
    let tally = measurement.tally();

    let sum = || (0..black_box(NUMBERS)).map(black_box).sum::<u64>();
    assert_eq!(sum(), NUMBERS * (NUMBERS - 1) / 2);
    let mut criterion = Criterion::default().with_measurement(measurement).configure_from_args();
    let mut group = criterion.benchmark_group(format!("counters_as_measure/{value}"));
    group.throughput(Throughput::Elements(NUMBERS)).bench_function("sum", |b| b.iter(sum));
    group.finish();
    criterion.final_summary();

    println!("in all intervals of the bench, warm-up included:");
    for reading in tally.take() {
        println!("  {}: {:?}", reading.event, reading.outcome);
    }
    Ok(())
}
