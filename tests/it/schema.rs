//! `docs/result-schema.md` against a real result: every key that is written is explained.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tailcore_harness::counters::Delta;
use tailcore_harness::{FailCause, result};
use tailcore_loadgen::server::kv::KvService;
use tailcore_loadgen::server::tcp::{ServerOptions, TcpServer};
use tailcore_pmu::Outcome;

use crate::support::{OWN_ADDRESS, drive, plan, require_or_skip};

/// Objects whose keys are data: quantiles, and the events of an interval.
const DATA_KEYED: [&str; 3] = ["quantiles", "lower_bounds", "timeline[].counters[]"];

/// Adds the keys of `value`, which is written at `path`, and of all that is in it.
fn collect_keys(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let is_data_keyed = DATA_KEYED.iter().any(|keyed| path.ends_with(keyed));
            for (key, inner) in fields {
                if !is_data_keyed {
                    keys.insert(key.clone());
                }
                collect_keys(inner, &format!("{path}.{key}"), keys);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| collect_keys(item, &format!("{path}[]"), keys));
        }
        _ => {}
    }
}

/// The names in backticks of a page: `a.b[].c` names a, b and c. Fenced blocks are examples, not
/// explanations.
fn documented(page: &str) -> BTreeSet<&str> {
    let mut is_fenced = false;
    let mut names = BTreeSet::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            let spans = line.split('`').skip(1).step_by(2);
            names.extend(spans.flat_map(|span| span.split(|c: char| !c.is_alphanumeric() && c != '_')));
        }
    }
    names
}

/// What a result may contain although the one at hand does not: this machine counts what it counts.
fn other_keys() -> Value {
    let reason = || "why".to_owned();
    let outcomes = [
        Outcome::Counted { count: 1 },
        Outcome::Scaled { count: 1, running: 0.5 },
        Outcome::NotScheduled { reason: reason() },
        Outcome::Unsupported { reason: reason() },
        Outcome::Forbidden { reason: reason() },
    ];
    let outcomes = outcomes.map(|outcome| serde_json::to_value(outcome).expect("an outcome is JSON"));
    // Their names are values, and as much a part of the format as its keys.
    let names = |value: &Value| value["outcome"].as_str().expect("an outcome has a name").to_owned();
    let mut named: Vec<String> = outcomes.iter().map(names).collect();
    named.extend(FailCause::ALL.map(|cause| {
        let cause = serde_json::to_value(cause).expect("a cause is JSON");
        cause.as_str().expect("a cause is a name").to_owned()
    }));
    let named: serde_json::Map<String, Value> = named.into_iter().map(|name| (name, Value::Null)).collect();
    json!({ "outcomes": outcomes, "names": named, "delta": Delta::Scaled { count: 1, running: 0.5 } })
}

#[test]
fn every_key_of_a_result_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/result-schema.md");
    let page = std::fs::read_to_string(&path);
    let problem = page.as_ref().err().map(|error| format!("cannot read {}: {error}", path.display()));
    if !require_or_skip("result-schema", problem) {
        return;
    }
    let page = page.unwrap_or_default();

    let server = TcpServer::start(OWN_ADDRESS, KvService::new(), ServerOptions::default()).unwrap();
    // Reads of keys that are not there: a verdict with reasons. The client counted: a thread.
    let outcome = drive(server.address(), &plan(500.0, Duration::from_millis(200)));
    let result = serde_json::to_value(&outcome.result).unwrap();
    let mut keys = BTreeSet::new();
    collect_keys(&result, "", &mut keys);
    let others = other_keys();
    others.as_object().into_iter().flat_map(|parts| parts.values()).for_each(|part| {
        collect_keys(part, "", &mut keys);
    });
    for expected in ["schedule_hash", "counters_read_ns", "code", "event", "connections", "clock_ns"] {
        assert!(keys.contains(expected), "{expected} is no key any more: {keys:?}");
    }
    let names = documented(&page);
    let missing: Vec<&String> = keys.iter().filter(|key| !names.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{} does not explain {missing:?}", path.display());
    assert!(page.contains(result::SCHEMA), "{} does not name the format {}", path.display(), result::SCHEMA);
}

#[test]
fn keys_are_found_in_the_json_and_names_in_the_page() {
    let value = json!({
        "a": 1,
        "list": [{ "b": null }, { "c": [] }],
        "sojourn": { "quantiles": { "0.5": 7 } },
        "timeline": [{ "counters": [{ "cycles:u": 9 }] }],
    });
    let mut keys = BTreeSet::new();
    collect_keys(&value, "", &mut keys);
    let expected = ["a", "b", "c", "counters", "list", "quantiles", "sojourn", "timeline"];
    assert!(keys.iter().eq(expected), "{keys:?}");

    let page = "| `a` | plain b |\n`list[].c` and\n```json\n{ \"x\": `y` }\n```\n`time_at_cap_ns`";
    let names = documented(page);
    for (name, is_documented) in
        [("a", true), ("b", false), ("list", true), ("c", true), ("y", false), ("time_at_cap_ns", true)]
    {
        assert_eq!(names.contains(name), is_documented, "{name}: {names:?}");
    }
}
