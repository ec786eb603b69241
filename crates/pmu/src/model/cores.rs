//! The table of core types: names, groups, numbers of counters, and the processors they are in.

use std::fmt;
use std::sync::LazyLock;

/// A type of core, as event lists are made for it: `ice-lake-sp`, `gracemont`, `zen4`, `neoverse-v2`.
///
/// It is a row of a table, not a variant of an enum, so that a new core is a line of data. Two are equal if
/// they are the same row.
///
/// ```
/// use tailcore_pmu::Microarchitecture;
///
/// let zen4 = Microarchitecture::find("Zen4").ok_or("not in the table")?;
/// assert_eq!((zen4.id(), zen4.title(), zen4.general_counters()), ("zen4", "Zen 4", Some(6)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Microarchitecture(&'static str);

impl Microarchitecture {
    /// The core type with this id, in any letter case.
    pub fn find(id: &str) -> Option<Microarchitecture> {
        Microarchitecture::all().find(|core| core.0.eq_ignore_ascii_case(id))
    }

    /// All core types of the table, oldest first within each vendor.
    pub fn all() -> impl Iterator<Item = Microarchitecture> {
        TABLE.cores.iter().map(|row| Microarchitecture(row.id))
    }

    /// The name in tables and output: lower case, no blanks.
    pub fn id(self) -> &'static str {
        self.0
    }

    /// The name that the vendor uses.
    pub fn title(self) -> &'static str {
        self.row().map_or(self.0, |row| row.title)
    }

    /// How many counters one logical CPU has that count any event, with SMT on.
    ///
    /// `None`: not published. A virtual machine often has fewer, and a watchdog or another user may hold
    /// some, so take it as a first guess to be tried, never as a promise.
    pub fn general_counters(self) -> Option<u8> {
        self.row().and_then(|row| row.general)
    }

    /// The same with SMT switched off, when a core's counters need not be shared.
    pub fn general_counters_without_smt(self) -> Option<u8> {
        self.row().and_then(|row| row.smt_off)
    }

    /// How many further counters count one event each. Intel: instructions, cycles, reference cycles, and on
    /// newer cores slots; ARM: cycles; AMD has none.
    pub fn fixed_counters(self) -> u8 {
        self.row().map_or(0, |row| row.fixed)
    }

    fn row(self) -> Option<&'static CoreRow<'static>> {
        TABLE.cores.iter().find(|row| row.id == self.0)
    }
}

impl fmt::Debug for Microarchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Microarchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// The core types that a word of a data file means: one by its id, or a group.
pub(crate) fn expand(word: &str) -> Result<Vec<Microarchitecture>, String> {
    match TABLE.expand(word) {
        Some(ids) => Ok(ids.into_iter().map(Microarchitecture).collect()),
        None => Err(format!("{word:?} is neither a core nor a group")),
    }
}

/// The lines of a data file that say something, with their numbers from 1. Comments begin with `#`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A line of a data file that was skipped, and why. The files are our own: a test holds that there is none.
pub(crate) type BadLine = (usize, String);

static TABLE: LazyLock<Table<'static>> =
    LazyLock::new(|| Table::parse(include_str!("../../data/cores.table")));

/// Looks up the cores of a processor: pairs of a PMU's name and a core type. Empty: not in the table.
pub(super) fn of_processor(processor: &Processor) -> Vec<(&'static str, Microarchitecture)> {
    let fits = TABLE.models.iter().find(|row| row.fits(processor));
    let cores = fits.map_or(&[][..], |row| &row.cores);
    cores.iter().map(|&(pmu, id)| (pmu, Microarchitecture(id))).collect()
}

/// What tells processors apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Processor {
    /// As in `vendor_id`; `arm` where there is none.
    pub(super) vendor: String,
    /// ARM: the implementer.
    pub(super) family: u32,
    /// ARM: the part number.
    pub(super) model: u32,
    /// ARM: 0, because no list depends on the revision.
    pub(super) stepping: u32,
}

struct Table<'a> {
    cores: Vec<CoreRow<'a>>,
    groups: Vec<(&'a str, Vec<&'a str>)>,
    models: Vec<ModelRow<'a>>,
    bad: Vec<BadLine>,
}

struct CoreRow<'a> {
    id: &'a str,
    general: Option<u8>,
    smt_off: Option<u8>,
    fixed: u8,
    title: &'a str,
}

struct ModelRow<'a> {
    vendor: &'a str,
    family: u32,
    models: Numbers,
    steppings: Numbers,
    cores: Vec<(&'a str, &'a str)>,
}

impl ModelRow<'_> {
    fn fits(&self, processor: &Processor) -> bool {
        self.vendor == processor.vendor
            && self.family == processor.family
            && self.models.contain(processor.model)
            && self.steppings.contain(processor.stepping)
    }
}

/// A list of inclusive ranges.
struct Numbers(Vec<(u32, u32)>);

impl Numbers {
    fn parse(text: &str, radix: u32) -> Result<Numbers, String> {
        if text == "*" {
            return Ok(Numbers(vec![(0, u32::MAX)]));
        }
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Ok((number(first, radix)?, number(last, radix)?))
        };
        text.split(',').map(range).collect::<Result<_, String>>().map(Numbers)
    }

    fn contain(&self, number: u32) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&number))
    }
}

fn number(text: &str, radix: u32) -> Result<u32, String> {
    u32::from_str_radix(text, radix).map_err(|error| format!("{text:?}: {error}"))
}

/// What follows the first `words` words of a line.
fn after_words(line: &str, words: usize) -> &str {
    (0..words)
        .fold(line, |rest, _| rest.trim_start().split_once(char::is_whitespace).map_or("", |it| it.1))
        .trim()
}

/// `-`, or a number of counters.
fn count(text: &str) -> Result<Option<u8>, String> {
    let parsed = (text != "-").then(|| text.parse().map_err(|error| format!("{text:?}: {error}")));
    parsed.transpose()
}

impl<'a> Table<'a> {
    fn parse(text: &'a str) -> Table<'a> {
        let mut table = Table { cores: vec![], groups: vec![], models: vec![], bad: vec![] };
        for (at, line) in lines(text) {
            if let Err(why) = table.line(line) {
                table.bad.push((at, why));
            }
        }
        table
    }

    fn line(&mut self, line: &'a str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["core", id, general, smt_off, fixed, _, ..] => {
                let (general, smt_off) = (count(general)?, count(smt_off)?);
                let fixed = count(fixed)?.ok_or("the fixed counters must be given")?;
                let title = after_words(line, 5);
                self.cores.push(CoreRow { id, general, smt_off, fixed, title });
            }
            ["group", name, ref members @ ..] => {
                let cores =
                    members.iter().map(|word| self.expand(word).ok_or(format!("{word:?} is unknown")));
                let cores = cores.collect::<Result<Vec<_>, _>>()?.concat();
                self.groups.push((name, cores));
            }
            ["model", vendor, family, models, steppings, ref cores @ ..] => {
                let family = number(family, if vendor == "arm" { 16 } else { 10 })?;
                let (models, steppings) = (Numbers::parse(models, 16)?, Numbers::parse(steppings, 10)?);
                let cores = cores.iter().map(|pair| self.pair(pair)).collect::<Result<_, _>>()?;
                self.models.push(ModelRow { vendor, family, models, steppings, cores });
            }
            _ => return Err("neither core, group nor model".into()),
        }
        Ok(())
    }

    fn pair(&self, pair: &'a str) -> Result<(&'a str, &'a str), String> {
        let (pmu, id) = pair.split_once('=').ok_or("PMU=CORE expected")?;
        let known = self.cores.iter().any(|row| row.id == id);
        if known { Ok((pmu, id)) } else { Err(format!("{id:?} is not a core")) }
    }

    fn expand(&self, word: &str) -> Option<Vec<&'a str>> {
        let core = self.cores.iter().find(|row| row.id == word).map(|row| vec![row.id]);
        core.or_else(|| self.groups.iter().find(|(name, _)| *name == word).map(|(_, ids)| ids.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood_and_every_id_is_unique() {
        assert_eq!(TABLE.bad, []);
        let mut ids: Vec<&str> = Microarchitecture::all().map(Microarchitecture::id).collect();
        ids.extend(TABLE.groups.iter().map(|(name, _)| *name));
        let listed = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), listed);
        assert!(listed > 50, "{listed}");
    }

    #[test]
    fn a_core_knows_its_counters() {
        let of = |id| {
            let core = Microarchitecture::find(id).expect(id);
            (core.general_counters(), core.general_counters_without_smt(), core.fixed_counters())
        };
        assert_eq!(of("haswell-ep"), (Some(4), Some(8), 3));
        assert_eq!(of("granite-rapids"), (Some(8), Some(8), 4));
        assert_eq!(of("lion-cove"), (Some(10), Some(10), 4));
        assert_eq!(of("gracemont"), (Some(6), Some(6), 3));
        assert_eq!(of("zen2"), (Some(6), Some(6), 0));
        assert_eq!(of("neoverse-n1"), (Some(6), Some(6), 1));
        assert_eq!(of("neoverse-v2"), (None, None, 1));
        assert_eq!(
            Microarchitecture::find("ice-lake-sp").map(|it| it.to_string()).as_deref(),
            Some("Ice Lake-SP")
        );
    }

    const WORD: &str = "core|group|model|arm|a|-|\\*|0-4|ff|x=a|9{12}|\\PC{0,6}|\n";

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(words in proptest::collection::vec(WORD, 0..40)) {
            let _ = Table::parse(&words.join(" "));
        }
    }
}
