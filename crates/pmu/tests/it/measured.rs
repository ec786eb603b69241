//! Criterion benches that are measured in counts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use criterion::Criterion;
use criterion::measurement::Measurement;
use tailcore_pmu::criterion::{CounterMeasurement, NotMeasurable};
use tailcore_pmu::{Outcome, Reading};

use crate::events;
use crate::fake::{Fake, RATE, Reads, Rule, rate};

/// Opens a measurement of the first event of the list.
fn open(kernel: &Fake, list: &str) -> Result<CounterMeasurement, NotMeasurable> {
    let events = events(list);
    CounterMeasurement::open_with(kernel.clone(), &events[0], &events[1..])
}

/// One interval of `enabled` ns, in which the PMU counts for `running` ns.
fn interval(kernel: &Fake, measurement: &CounterMeasurement, enabled: u64, running: u64) -> u64 {
    measurement.start();
    kernel.run(enabled, running);
    measurement.end(())
}

fn outcomes(readings: Vec<Reading>) -> Vec<Outcome> {
    readings.into_iter().map(|reading| reading.outcome).collect()
}

#[test]
fn the_value_is_the_count_between_start_and_end() {
    let kernel = Fake::new(Rule::Counters(4));
    let measurement = open(&kernel, "instructions,cycles").unwrap();
    kernel.run(1000, 1000);
    let one = interval(&kernel, &measurement, 100, 100);
    kernel.run(1000, 1000);
    let two = interval(&kernel, &measurement, 7, 7);
    // Instructions are config 1.
    assert_eq!((one, two), (100 * rate(1), 7 * rate(1)));
    let sum = measurement.add(&measurement.add(&measurement.zero(), &one), &two);
    assert_eq!(measurement.to_f64(&sum), (107 * rate(1)) as f64);
    assert_eq!(measurement.formatter().format_value(1500.0), "1.5000 k instructions");
}

#[test]
fn the_tally_sums_what_was_measured_and_nothing_else() {
    let kernel = Fake::new(Rule::Counters(4));
    let measurement = open(&kernel, "cycles,instructions").unwrap();
    let tally = measurement.tally();
    for ns in [10, 20, 30] {
        kernel.run(1000, 1000);
        interval(&kernel, &measurement, ns, ns);
    }
    drop(measurement);
    let readings = tally.take();
    assert_eq!(readings.iter().map(|r| r.event.as_str()).collect::<Vec<_>>(), ["cycles", "instructions"]);
    let counted = |count| Outcome::Counted { count };
    assert_eq!(outcomes(readings), [counted(60 * RATE), counted(60 * rate(1))]);
    for outcome in outcomes(tally.take()) {
        assert!(
            matches!(&outcome, Outcome::NotScheduled { reason } if reason.contains("no interval")),
            "{outcome:?}"
        );
    }
}

#[test]
fn estimates_are_values_and_the_tally_says_that_they_are() {
    let kernel = Fake::new(Rule::Counters(4));
    let measurement = open(&kernel, "cycles").unwrap();
    assert_eq!(interval(&kernel, &measurement, 100, 50), 100 * RATE);
    assert_eq!(interval(&kernel, &measurement, 100, 100), 100 * RATE);
    assert_eq!(outcomes(measurement.tally().take()), [Outcome::Scaled { count: 200 * RATE, running: 0.75 }]);
}

#[test]
fn an_event_that_is_absent_is_refused_with_its_reason() {
    let cases = [
        (Rule::NoPmu, "cycles,task-clock", "virtual machine"),
        (Rule::Paranoid3, "task-clock", "perf_event_paranoid"),
        (Rule::Paranoid2, "context-switches", "perf_event_paranoid"),
    ];
    for (rule, list, word) in cases {
        let error = open(&Fake::new(rule), list).unwrap_err();
        assert_eq!(error.event, events(list)[0].to_string());
        assert!(
            matches!(error.outcome, Outcome::Unsupported { .. } | Outcome::Forbidden { .. }),
            "{error:?}"
        );
        let words = error.to_string();
        assert!(words.starts_with(&format!("event {} cannot be measured: ", error.event)), "{words}");
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn an_event_that_opens_and_never_runs_is_refused_with_its_reason() {
    let kernel = Fake::new(Rule::Counters(4));
    kernel.steal(4);
    let error = open(&kernel, "cycles").unwrap_err();
    assert!(matches!(error.outcome, Outcome::NotScheduled { .. }), "{error:?}");
    assert!(error.to_string().contains("no free counter"), "{error}");
}

#[test]
fn another_event_that_is_absent_has_its_reason_in_the_tally() {
    let kernel = Fake::new(Rule::NoPmu);
    let measurement = open(&kernel, "task-clock,cycles").unwrap();
    let value = interval(&kernel, &measurement, 10, 10);
    let outcomes = outcomes(measurement.tally().take());
    assert_eq!(outcomes[0], Outcome::Counted { count: value });
    assert!(matches!(outcomes[1], Outcome::Unsupported { .. }), "{outcomes:?}");
}

#[test]
fn an_interval_without_a_count_ends_the_bench_with_the_reason() {
    for (reads_fail, word) in [(true, "errno 5"), (false, "no free counter")] {
        let kernel = Fake::new(Rule::Counters(4));
        let measurement = open(&kernel, "cycles").unwrap();
        let tally = measurement.tally();
        measurement.start();
        if reads_fail {
            kernel.set_reads(Reads::Fails(libc::EIO));
        } else {
            kernel.steal(4);
        }
        kernel.run(10, 10);
        let panic = catch_unwind(AssertUnwindSafe(|| measurement.end(()))).unwrap_err();
        let words = panic.downcast_ref::<String>().unwrap();
        assert!(words.starts_with("event cycles was not measured: ") && words.contains(word), "{words}");
        assert!(!matches!(outcomes(tally.take())[0], Outcome::Counted { .. } | Outcome::Scaled { .. }));
    }
}

#[test]
fn criterion_measures_with_an_event_of_the_kernel() {
    let (value, others) = ("task-clock".parse().unwrap(), events("page-faults"));
    let measurement = match CounterMeasurement::open(&value, &others) {
        Ok(measurement) => measurement,
        Err(absent) => {
            skipped!("criterion_measures_with_an_event_of_the_kernel: {absent}");
            return;
        }
    };
    let (tally, results) = (measurement.tally(), tempfile::tempdir().unwrap());
    let mut criterion = Criterion::default()
        .with_measurement(measurement)
        .output_directory(results.path())
        .sample_size(10)
        .nresamples(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(5));
    criterion.bench_function("spin", |b| b.iter(|| (0..1000_u64).map(std::hint::black_box).sum::<u64>()));

    let estimates = std::fs::read(results.path().join("spin/new/estimates.json")).unwrap();
    let estimates: serde_json::Value = serde_json::from_slice(&estimates).unwrap();
    let ns = estimates["mean"]["point_estimate"].as_f64().unwrap();
    let Outcome::Counted { count } = tally.take()[0].outcome else { panic!("task-clock needs no PMU") };
    assert!(ns > 0.0 && ns < count as f64, "{ns} ns per iteration, {count} ns in all");
}
