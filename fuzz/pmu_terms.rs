//! Describes a PMU by files that hold what the fuzzer likes, then asks it for what the fuzzer types.
//!
//! The input is text in lines. One with a tab is a file of the PMU: its path, the tab, its content with `|` for
//! a line break. Any other is an event, `pmu/terms/modifiers` or the terms alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailcore_pmu::sysfs::{Config, Pmu, Pmus, Slashed, TermValue, Terms, Tracepoint};

fuzz_target!(|text: &str| {
    let (mut files, mut typed) = (vec![("type".to_owned(), "4".to_owned())], Vec::new());
    for line in text.lines() {
        match line.split_once('\t') {
            Some((path, content)) => files.push((path.to_owned(), content.replace('|', "\n"))),
            None => typed.push(line),
        }
    }
    let Ok(pmu) = Pmu::from_files("uncore_imc_0", files) else {
        return;
    };
    fields_hold_what_is_put(&pmu);
    for event in pmu.events().keys() {
        if let Ok(terms) = event.parse() {
            encoding_is_what_the_terms_say(&pmu, &terms);
        }
    }
    let pmus = Pmus::of([pmu.clone()]);
    for line in typed {
        if let Ok(tracepoint) = line.parse::<Tracepoint>() {
            assert_eq!(tracepoint.to_string().parse(), Ok(tracepoint));
        }
        if let Ok(slashed) = line.parse::<Slashed>() {
            assert_eq!(slashed.to_string().parse(), Ok(slashed.clone()));
            let _ = pmus.encode(&slashed.pmu, &slashed.terms).map_err(|error| error.to_string());
        }
        if let Ok(terms) = line.parse::<Terms>() {
            assert_eq!(terms.to_string().parse(), Ok(terms.clone()));
            encoding_is_what_the_terms_say(&pmu, &terms);
        }
    }
});

/// The largest value of a field sets all its bits and no other.
fn fields_hold_what_is_put(pmu: &Pmu) {
    for field in pmu.fields().values().flatten() {
        assert_eq!(field.to_string().parse(), Ok(*field));
        let mut config = Config::default();
        assert!(field.put(&mut config, field.max()));
        assert_eq!((config.word(field.word()), field.get(&config)), (field.mask(), field.max()));
        assert!(field.max() == u64::MAX || !field.put(&mut config, field.max() + 1));
    }
}

/// The last term has the last word.
fn encoding_is_what_the_terms_say(pmu: &Pmu, terms: &Terms) {
    let config = match pmu.encode(terms) {
        Ok(config) => config,
        Err(error) => {
            assert!(error.to_string().contains(pmu.name()));
            return;
        }
    };
    let last = terms.iter().last().expect("there is at least one term");
    if let (Some(Ok(field)), TermValue::Number(value)) = (pmu.fields().get(&last.name), &last.value) {
        assert_eq!(field.get(&config), *value);
    }
}
