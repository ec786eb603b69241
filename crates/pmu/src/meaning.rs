//! Portable names: one question, and the event that answers it on each type of core.

use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;

use crate::model::{BadLine, Microarchitecture, expand, lines};

/// A portable name such as `store-buffer-stalls`, which stands for another event on each type of core.
///
/// The same name never means the same number everywhere: vendors count similar things, not equal ones. So
/// what a core counts is stated beside the event, and a core without a fitting event has [`NoMeaning`] with
/// the nearest one, which is left to the user to ask for.
///
/// ```
/// use tailcore_pmu::{Meaning, Microarchitecture};
///
/// let stalls = Meaning::find("store-buffer-stalls").ok_or("unknown")?;
/// let haswell = Microarchitecture::find("haswell").ok_or("unknown")?;
/// assert_eq!(stalls.on(haswell).map(|it| it.event), Ok("resource_stalls.sb"));
/// let lion_cove = Microarchitecture::find("lion-cove").ok_or("unknown")?;
/// assert_eq!(stalls.on(lion_cove).map_err(|it| it.nearest), Err(Some("exe_activity.bound_on_stores")));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
pub struct Meaning {
    name: &'static str,
    title: &'static str,
    on: Vec<On<'static>>,
}

/// What answers a portable name on one type of core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeaningOn {
    /// The event to open: a vendor's name on that core ([`crate::vendor::find`]), or `PMU/TERMS/` where the
    /// vendor has codes but no name for it.
    pub event: &'static str,
    /// What one count is. Only counts of one unit can be set in relation.
    pub unit: Unit,
    /// What the event counts.
    pub counts: &'static str,
    /// What it leaves out of the portable name's title, or adds to it.
    pub leaves_out: &'static str,
    /// Who says so. Contains "derived, unchecked on hardware" where the match is our own reading.
    pub source: &'static str,
}

/// What one count of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unit {
    /// Something that happened once.
    Events,
    /// A cycle of the core.
    Cycles,
    /// A chance to issue one operation, of which a cycle has several: never a share of cycles.
    Slots,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Events => "events",
            Unit::Cycles => "cycles",
            Unit::Slots => "slots",
        })
    }
}

/// Why a portable name has no event on a type of core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why}{}", nearest.map(|event| format!("; nearest: {event}")).unwrap_or_default())]
#[non_exhaustive]
pub struct NoMeaning {
    /// The reason.
    pub why: &'static str,
    /// The closest thing that this core can count, by a name that can be asked for. It is not the same, so
    /// it is never taken of our own accord.
    pub nearest: Option<&'static str>,
}

impl Meaning {
    /// The portable name that is spelled so, in any letter case.
    pub fn find(name: &str) -> Option<&'static Meaning> {
        Meaning::all().iter().find(|meaning| meaning.name.eq_ignore_ascii_case(name))
    }

    /// All portable names, in the order of the table.
    pub fn all() -> &'static [Meaning] {
        &TABLE.meanings
    }

    /// The name: `l1d-misses`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What is wanted, whatever the core.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// What answers this name on `core`.
    ///
    /// # Errors
    ///
    /// [`NoMeaning`] if the core has no event of this kind.
    pub fn on(&self, core: Microarchitecture) -> Result<MeaningOn, NoMeaning> {
        let on = self.on.iter().find(|on| on.cores.contains(&core));
        on.map_or(Err(NoMeaning { why: "no table says what it is on this core", nearest: None }), On::answer)
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (parsed, bad) = parse(include_str!("../data/portable.meanings"));
    let meanings = parsed.into_iter().map(|it| Meaning { name: it.name, title: it.title, on: it.on });
    Table { meanings: meanings.collect(), bad }
});

struct Table {
    meanings: Vec<Meaning>,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds that it is empty"))]
    bad: Vec<BadLine>,
}

/// A name of the table and what was said under it.
struct Named<'a> {
    name: &'a str,
    title: &'a str,
    on: Vec<On<'a>>,
}

/// What was said of some cores. Either `event` or `none` is given, which a test holds.
#[derive(Debug, Default)]
struct On<'a> {
    cores: Vec<Microarchitecture>,
    event: Option<&'a str>,
    unit: Option<Unit>,
    counts: &'a str,
    omits: &'a str,
    source: &'a str,
    none: &'a str,
    nearest: Option<&'a str>,
}

impl On<'static> {
    fn answer(&self) -> Result<MeaningOn, NoMeaning> {
        let &On { event, unit, counts, omits, source, none, nearest, .. } = self;
        match (event, unit) {
            (Some(event), Some(unit)) => Ok(MeaningOn { event, unit, counts, leaves_out: omits, source }),
            _ => Err(NoMeaning { why: none, nearest }),
        }
    }
}

fn parse(text: &str) -> (Vec<Named<'_>>, Vec<BadLine>) {
    let (mut meanings, mut bad) = (Vec::new(), Vec::new());
    for (at, line) in lines(text) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if let Err(why) = take(&mut meanings, key, value.trim()) {
            bad.push((at, why));
        }
    }
    (meanings, bad)
}

fn take<'a>(meanings: &mut Vec<Named<'a>>, key: &str, value: &'a str) -> Result<(), String> {
    if key == "meaning" {
        let (name, title) = value.split_once(' ').ok_or("a name and a title expected")?;
        meanings.push(Named { name, title: title.trim(), on: Vec::new() });
        return Ok(());
    }
    let meaning = meanings.last_mut().ok_or("no meaning begun")?;
    if key == "on" {
        let cores = value.split_whitespace().map(|word| match word {
            "rest" => Ok(rest(&meaning.on)),
            _ => expand(word),
        });
        let cores = cores.collect::<Result<Vec<_>, _>>()?.concat();
        meaning.on.push(On { cores, ..On::default() });
        return Ok(());
    }
    let on = meaning.on.last_mut().ok_or("no cores named")?;
    match (key, value) {
        ("event", _) => on.event = Some(value),
        ("nearest", _) => on.nearest = Some(value),
        ("counts", _) => on.counts = value,
        ("omits", _) => on.omits = value,
        ("source", _) => on.source = value,
        ("none", _) => on.none = value,
        ("unit", "events") => on.unit = Some(Unit::Events),
        ("unit", "cycles") => on.unit = Some(Unit::Cycles),
        ("unit", "slots") => on.unit = Some(Unit::Slots),
        _ => return Err(format!("{key:?} {value:?} is not understood")),
    }
    Ok(())
}

/// The cores that were not named yet.
fn rest(named: &[On<'_>]) -> Vec<Microarchitecture> {
    Microarchitecture::all().filter(|core| !named.iter().any(|on| on.cores.contains(core))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vendor;

    #[test]
    fn every_line_of_the_table_is_understood() {
        assert_eq!(TABLE.bad, []);
        assert!(Meaning::all().len() > 15);
    }

    #[test]
    fn every_name_says_one_thing_of_every_core() {
        for meaning in Meaning::all() {
            for core in Microarchitecture::all() {
                let said = meaning.on.iter().filter(|on| on.cores.contains(&core)).count();
                assert_eq!(said, 1, "{} on {core:?}", meaning.name);
            }
        }
    }

    #[test]
    fn an_answer_is_complete_and_its_event_exists_on_the_core() {
        for (meaning, core) in pairs() {
            match meaning.on(core) {
                Ok(it) => {
                    assert!(exists(core, it.event), "{} on {core:?}: {}", meaning.name, it.event);
                    let texts = [it.counts, it.leaves_out, it.source];
                    assert!(texts.iter().all(|text| !text.is_empty()), "{} on {core:?}", meaning.name);
                }
                Err(it) => assert!(!it.why.is_empty(), "{} on {core:?}", meaning.name),
            }
        }
    }

    #[test]
    fn the_nearest_event_exists_and_a_portable_name_given_as_such_resolves() {
        for (meaning, core) in pairs() {
            let Err(NoMeaning { nearest: Some(nearest), .. }) = meaning.on(core) else { continue };
            let portable = Meaning::find(nearest).is_some_and(|meaning| meaning.on(core).is_ok());
            assert!(portable || exists(core, nearest), "{} on {core:?}: {nearest}", meaning.name);
        }
    }

    #[test]
    fn an_event_made_of_masks_says_that_it_is_derived() {
        for (meaning, core) in pairs() {
            let Ok(it) = meaning.on(core) else { continue };
            if it.event.contains("umask") {
                assert!(it.source.contains("unchecked on hardware"), "{} on {core:?}", meaning.name);
            }
        }
    }

    fn pairs() -> impl Iterator<Item = (&'static Meaning, Microarchitecture)> {
        Meaning::all().iter().flat_map(|meaning| Microarchitecture::all().map(move |core| (meaning, core)))
    }

    fn exists(core: Microarchitecture, event: &str) -> bool {
        vendor::find(core, event).is_some() || event.ends_with('/')
    }

    const WORD: &str = "meaning|on|event|unit|cycles|none|zen|rest|\\PC{0,6}|\n";

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(words in proptest::collection::vec(WORD, 0..40)) {
            let _ = parse(&words.join(" "));
        }
    }
}
