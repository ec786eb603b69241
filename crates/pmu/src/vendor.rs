//! The vendors' names of events: what the PMU of a given core is asked for.

use std::sync::LazyLock;

use crate::model::{BadLine, Microarchitecture, expand, lines};

/// An event by its vendor's name, on one type of core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VendorEvent {
    /// The name in the vendor's list; letter case does not matter when it is typed.
    pub name: &'static str,
    /// The PMU that counts it, if that is not the PMU of the core: then it is counted for all CPUs of a
    /// package or a cache, not for a thread.
    pub pmu: Option<&'static str>,
    /// The terms in the words of the PMU's `format` folder: `event=0xa2,umask=0x08`, `…,cmask=1,inv`.
    pub terms: &'static str,
    /// Which counters can count it.
    pub counters: CounterSet,
    /// Where name and code come from.
    pub source: &'static str,
}

/// The counters that can count an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CounterSet {
    /// Every general counter, as far as is known.
    Any,
    /// Some of the general counters: bit n stands for counter n. With SMT on, a logical CPU may have fewer
    /// counters than there are bits.
    General(u16),
    /// A counter that counts only this event; a general counter may be able to as well.
    Fixed(u8),
}

/// The event that a core's vendor calls `name`, in any letter case.
///
/// ```
/// use tailcore_pmu::{Microarchitecture, vendor};
///
/// let core = Microarchitecture::find("haswell").ok_or("not in the table")?;
/// let event = vendor::find(core, "RESOURCE_STALLS.SB").ok_or("not on this core")?;
/// assert_eq!(event.terms, "event=0xa2,umask=0x08");
/// # Ok::<(), &str>(())
/// ```
pub fn find(core: Microarchitecture, name: &str) -> Option<VendorEvent> {
    events(core).find(|event| event.name.eq_ignore_ascii_case(name))
}

/// Every name in the tables, some more than once.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| &table.rows).map(|row| row.name)
}

/// The spelling of the tables, if any core's vendor uses `name` for an event.
pub(crate) fn canonical(name: &str) -> Option<&'static str> {
    let mut rows = TABLES.iter().flat_map(|table| &table.rows);
    rows.find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.name)
}

/// All events that the tables have for a core, in the order of the tables.
pub fn events(core: Microarchitecture) -> impl Iterator<Item = VendorEvent> {
    let rows = TABLES.iter().flat_map(|table| &table.rows);
    rows.filter(move |row| row.cores.contains(&core)).map(Row::event)
}

/// The cores whose vendor uses `name` for an event: to tell somebody whose processor does not.
pub fn cores_with(name: &str) -> impl Iterator<Item = Microarchitecture> {
    Microarchitecture::all().filter(move |&core| find(core, name).is_some())
}

static TABLES: LazyLock<[Table<'static>; 3]> = LazyLock::new(|| {
    [
        Table::parse(include_str!("../data/intel.events")),
        Table::parse(include_str!("../data/amd.events")),
        Table::parse(include_str!("../data/arm.events")),
    ]
});

struct Table<'a> {
    rows: Vec<Row<'a>>,
    bad: Vec<BadLine>,
}

struct Row<'a> {
    name: &'a str,
    pmu: Option<&'a str>,
    terms: &'a str,
    counters: CounterSet,
    source: &'a str,
    cores: Vec<Microarchitecture>,
}

impl Row<'static> {
    fn event(&self) -> VendorEvent {
        let &Row { name, pmu, terms, counters, source, .. } = self;
        VendorEvent { name, pmu, terms, counters, source }
    }
}

impl<'a> Table<'a> {
    fn parse(text: &'a str) -> Table<'a> {
        let mut table = Table { rows: Vec::new(), bad: Vec::new() };
        let mut source = "";
        for (at, line) in lines(text) {
            match line.strip_prefix("source ") {
                Some(text) => source = text.trim(),
                None => match row(line, source) {
                    Ok(row) => table.rows.push(row),
                    Err(why) => table.bad.push((at, why)),
                },
            }
        }
        table
    }
}

fn row<'a>(line: &'a str, source: &'a str) -> Result<Row<'a>, String> {
    let mut words = line.split_whitespace();
    let mut word = |what| words.next().ok_or(format!("no {what}"));
    let (name, terms, counters) = (word("name")?, word("terms")?, counters(word("counters")?)?);
    let (pmu, terms) = match terms.split_once('/') {
        Some((pmu, terms)) => (Some(pmu), terms.strip_suffix('/').ok_or("no / after the terms")?),
        None => (None, terms),
    };
    let cores = words.map(expand).collect::<Result<Vec<_>, _>>()?.concat();
    if cores.is_empty() {
        Err("no cores".into())
    } else {
        Ok(Row { name, pmu, terms, counters, source, cores })
    }
}

fn counters(text: &str) -> Result<CounterSet, String> {
    let number = |digits: &str| digits.parse::<u8>().ok().filter(|&it| it < 16).ok_or(format!("{digits:?}"));
    if text == "any" {
        return Ok(CounterSet::Any);
    }
    if let Some(digits) = text.strip_prefix('F') {
        return number(digits).map(CounterSet::Fixed);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    Ok(CounterSet::General((first..=last).fold(0, |mask, counter| mask | 1 << counter)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_of_the_tables_is_understood_and_has_a_source() {
        for table in TABLES.iter() {
            assert_eq!(table.bad, []);
            assert!(table.rows.len() > 30);
            assert!(table.rows.iter().all(|row| !row.source.is_empty()));
        }
    }

    #[test]
    fn no_core_has_two_rows_of_one_name() {
        for core in Microarchitecture::all() {
            let mut names: Vec<String> = events(core).map(|event| event.name.to_lowercase()).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{core:?}: {twice:?}");
            assert!(names.len() > 15, "{core:?} has {names:?}");
        }
    }

    #[test]
    fn terms_are_words_of_a_pmu_format_with_numbers_that_fit() {
        for event in Microarchitecture::all().flat_map(events) {
            for term in event.terms.split(',').filter(|&term| term != "inv") {
                let (value, limit) = match term.split_once('=') {
                    Some(("event", value)) => (value, 0xffff),
                    Some(("umask" | "cmask", value)) => (value, 0xff),
                    _ => panic!("{event:?}"),
                };
                let value = value
                    .strip_prefix("0x")
                    .map_or_else(|| value.parse(), |hex| u64::from_str_radix(hex, 16));
                assert!(value.is_ok_and(|value| value <= limit), "{event:?}");
            }
        }
    }

    #[test]
    fn a_counter_set_is_read_as_written() {
        assert_eq!(counters("any"), Ok(CounterSet::Any));
        assert_eq!(counters("2"), Ok(CounterSet::General(0b100)));
        assert_eq!(counters("0-3"), Ok(CounterSet::General(0b1111)));
        assert_eq!(counters("0-9"), Ok(CounterSet::General(0x3ff)));
        assert_eq!(counters("F1"), Ok(CounterSet::Fixed(1)));
        for bad in ["", "-", "F", "16", "0-99", "x"] {
            assert!(counters(bad).is_err(), "{bad:?}");
        }
    }

    const LINE: &str = "(a.b |source |p/|/|,|event=0x1|0-3|9-0|F|any|zen|intel| |\\PC){0,30}";

    proptest! {
        #[test]
        fn no_line_makes_the_parser_panic(line in LINE) {
            let _ = Table::parse(&line);
        }
    }
}
