//! Properties of event names.

use proptest::prelude::*;
use tailcore_pmu::{Event, catalogue, default_events, parse_events};

proptest! {
    #[test]
    fn whatever_is_typed_never_panics(typed in any::<String>()) {
        let _ = typed.parse::<Event>();
        if let Err(error) = parse_events(&typed) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn near_names_never_panic(typed in "[rL1-]?[a-zA-Z0-9é-]{0,24}(:[a-z]{0,3})?") {
        let parsed = typed.parse::<Event>();
        if let Ok(event) = parsed {
            prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
        }
    }

    #[test]
    fn raw_codes_come_back(code in any::<u64>(), modifier in prop::sample::select(vec!["", ":u", ":k", ":uk"])) {
        let event: Event = format!("r{code:x}{modifier}").parse().unwrap();
        prop_assert_eq!(event.to_string(), format!("r{code:x}{modifier}"));
        prop_assert_eq!(event.to_string().parse::<Event>(), Ok(event));
    }
}

#[test]
fn every_known_name_comes_back() {
    for known in catalogue() {
        let event: Event = known.event.parse().unwrap();
        assert_eq!(event.to_string(), known.event);
        assert_eq!((event.kind(), event.description()), (known.kind, known.description));
    }
}

#[test]
fn the_default_events_are_those_of_the_documentation() {
    let names: Vec<String> = default_events().iter().map(Event::to_string).collect();
    let list = "cycles,instructions,L1-dcache-load-misses,cache-misses,branch-misses,\
                task-clock,context-switches,cpu-migrations,page-faults";
    assert_eq!(names.join(","), list);
    assert_eq!(parse_events(list), Ok(default_events()));
}
