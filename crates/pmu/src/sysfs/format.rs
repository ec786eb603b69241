//! Where a PMU wants the bits of a term: the files of its `format/`.

use std::fmt;
use std::io::ErrorKind;
use std::str::FromStr;

/// The words of `struct perf_event_attr` which say what is counted.
///
/// Later kernels have a `config4`, which is not passed to them: fields of it are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Config {
    /// `config`: the event and most of its details.
    pub config: u64,
    /// `config1`: extra registers, and switches of the driver.
    pub config1: u64,
    /// `config2`: as `config1`.
    pub config2: u64,
    /// `config3`: as `config1`; kernels before 6.3 have none and refuse a non-zero one.
    pub config3: u64,
}

impl Config {
    /// Gives one of the words.
    pub fn word(&self, word: Word) -> u64 {
        match word {
            Word::Config => self.config,
            Word::Config1 => self.config1,
            Word::Config2 => self.config2,
            Word::Config3 => self.config3,
        }
    }

    pub(super) fn word_mut(&mut self, word: Word) -> &mut u64 {
        match word {
            Word::Config => &mut self.config,
            Word::Config1 => &mut self.config1,
            Word::Config2 => &mut self.config2,
            Word::Config3 => &mut self.config3,
        }
    }
}

/// The name of one word of [`Config`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Word {
    /// `config`.
    Config,
    /// `config1`.
    Config1,
    /// `config2`.
    Config2,
    /// `config3`.
    Config3,
}

impl Word {
    /// Finds a word by the name that the kernel and perf give it.
    pub fn find(name: &str) -> Option<Word> {
        [Word::Config, Word::Config1, Word::Config2, Word::Config3]
            .into_iter()
            .find(|word| word.name() == name)
    }

    /// Gives the name as it is typed and as `format/` files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Word::Config => "config",
            Word::Config1 => "config1",
            Word::Config2 => "config2",
            Word::Config3 => "config3",
        }
    }
}

/// A field of a PMU: the bits of one word that take a value, such as `config:0-7,32-35`.
///
/// The lowest bit of the value goes to the lowest bit of the field and so on upwards, in whatever order the
/// file lists the bits, which is how perf reads the same file. Two fields may share bits.
///
/// Source: `Documentation/ABI/testing/sysfs-bus-event_source-devices-format` of the kernel.
///
/// ```
/// use tailcore_pmu::sysfs::{Config, Field};
///
/// let event: Field = "config:0-7,32-35".parse()?;
/// let mut config = Config::default();
/// assert!(event.put(&mut config, 0x1a0));
/// assert_eq!(config.config, 0x1_0000_00a0);
/// assert_eq!(event.get(&config), 0x1a0);
/// assert!(!event.put(&mut config, 0x1000), "12 bits hold at most 0xfff");
/// # Ok::<(), tailcore_pmu::sysfs::FieldError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    word: Word,
    /// Never 0: a field has at least one bit.
    mask: u64,
}

impl Field {
    /// Gives the word that the field is in.
    pub fn word(&self) -> Word {
        self.word
    }

    /// Gives the bits of the field in its word.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Gives the largest value that fits.
    pub fn max(&self) -> u64 {
        u64::MAX >> self.mask.leading_zeros().max(64 - self.mask.count_ones())
    }

    /// Puts a value into the field, in place of what was there; says whether it fits, and changes nothing if
    /// it does not.
    #[must_use]
    pub fn put(&self, config: &mut Config, value: u64) -> bool {
        if value > self.max() {
            return false;
        }
        let (mut spread, mut value) = (0, value);
        for bit in bits(self.mask) {
            spread |= (value & 1) << bit;
            value >>= 1;
        }
        let word = config.word_mut(self.word);
        *word = *word & !self.mask | spread;
        true
    }

    /// Reads the field: what [`put`](Self::put) stored, unless another field that shares its bits came after.
    pub fn get(&self, config: &Config) -> u64 {
        let word = config.word(self.word);
        bits(self.mask)
            .enumerate()
            .map(|(to, from)| (word >> from & 1) << to)
            .fold(0, |value, bit| value | bit)
    }
}

/// The numbers of the bits that are set, ascending.
fn bits(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

impl FromStr for Field {
    type Err = FieldError;

    fn from_str(content: &str) -> Result<Field, FieldError> {
        let text = content.trim();
        let shape = || FieldError::Shape { content: text.to_owned() };
        let (word, ranges) = text.split_once(':').ok_or_else(shape)?;
        let Some(word) = Word::find(word) else {
            return Err(FieldError::Word { content: text.to_owned(), word: word.to_owned() });
        };
        let mut mask = 0;
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            match (bit_number(first), bit_number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    mask |= u64::MAX >> (63 - last) & u64::MAX << first;
                }
                _ => return Err(FieldError::Bits { content: text.to_owned(), bits: range.to_owned() }),
            }
        }
        Ok(Field { word, mask })
    }
}

fn bit_number(text: &str) -> Option<u32> {
    // `parse` alone would take a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&bit| digits && bit < 64)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word.name())?;
        let mut separator = ':';
        let mut rest = self.mask;
        while rest != 0 {
            let first = rest.trailing_zeros();
            let length = (rest >> first).trailing_ones();
            write!(f, "{separator}{first}")?;
            if length > 1 {
                write!(f, "-{}", first + length - 1)?;
            }
            rest &= u64::MAX.checked_shl(first + length).unwrap_or(0);
            separator = ',';
        }
        Ok(())
    }
}

/// Why a file of `format/` describes no field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// There is no colon in it.
    #[error("{content:?} is not of the form config:0-7")]
    Shape {
        /// The content of the file.
        content: String,
    },
    /// It puts the field into a word that is not passed to the kernel.
    #[error("{content:?}: there is no {word:?}: a field is in config, config1, config2 or config3")]
    Word {
        /// The content of the file.
        content: String,
        /// What stands before the colon.
        word: String,
    },
    /// What should be a bit or a range of bits is none.
    #[error("{content:?}: {bits:?} is neither a bit from 0 to 63 nor an ascending range of them")]
    Bits {
        /// The content of the file.
        content: String,
        /// The part at fault.
        bits: String,
    },
    /// The file cannot be read.
    #[error("its file cannot be read: {kind}")]
    Unreadable {
        /// What the system said.
        kind: ErrorKind,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(content: &str) -> Field {
        content.parse().unwrap()
    }

    #[test]
    fn fields_by_table() {
        let cases = [
            ("config:0-7\n", Word::Config, 0xff, 0xff),
            ("config:0-7,32-35", Word::Config, 0xf_0000_00ff, 0xfff),
            ("config:8-15,40-47\n", Word::Config, 0xff00_0000_ff00, 0xffff),
            ("config:23", Word::Config, 1 << 23, 1),
            ("config1:63", Word::Config1, 1 << 63, 1),
            ("config2:0-63", Word::Config2, u64::MAX, u64::MAX),
            ("config3:1-63\n", Word::Config3, u64::MAX - 1, u64::MAX >> 1),
            ("config:8-15,32-43,45-55", Word::Config, 0x00ff_efff_0000_ff00, 0x7fff_ffff),
            ("config:32-35,0-7", Word::Config, 0xf_0000_00ff, 0xfff),
            ("config:0-3,2-5", Word::Config, 0x3f, 0x3f),
        ];
        for (content, word, mask, max) in cases {
            let field = field(content);
            assert_eq!((field.word(), field.mask(), field.max()), (word, mask, max), "{content}");
        }
    }

    #[test]
    fn malformed_fields_are_named() {
        let cases = [
            ("", r#""" is not of the form config:0-7"#),
            ("config", r#""config" is not of the form config:0-7"#),
            ("0-7", r#""0-7" is not of the form config:0-7"#),
        ];
        for (content, message) in cases {
            assert_eq!(content.parse::<Field>().unwrap_err().to_string(), message);
        }
        for content in ["config4:0-3", "Config:0", " :0", "attr:1", "config 1:1"] {
            assert!(matches!(content.parse::<Field>(), Err(FieldError::Word { .. })), "{content}");
        }
        let ranges = ["", "64", "7-0", "0-64", "0-", "-3", "+1", "1,", ",1", "1,,2", "0x3", "0-3-5", "0 - 3"];
        for ranges in ranges.iter().chain(&["99999999999999999999", "1\n2", "1:2", "a"]) {
            let content = format!("config:{ranges}");
            assert!(matches!(content.parse::<Field>(), Err(FieldError::Bits { .. })), "{content}");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_changes_nothing() {
        let mut config = Config { config: 0x1234, ..Config::default() };
        assert!(!field("config:0-7").put(&mut config, 0x100));
        assert_eq!(config.config, 0x1234);
    }

    #[test]
    fn a_value_replaces_the_one_before() {
        let mut config = Config { config: u64::MAX, ..Config::default() };
        assert!(field("config:4-7").put(&mut config, 0b0101));
        assert_eq!(config.config, 0xffff_ffff_ffff_ff5f);
    }

    /// A field of any bits, in ranges in any order.
    fn any_field() -> impl Strategy<Value = (String, u64)> {
        let range = (0_u32..64, 0_u32..64).prop_map(|(a, b)| (a.min(b), a.max(b)));
        prop::collection::vec(range, 1..5).prop_map(|ranges| {
            let text: Vec<String> = ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
            let listed =
                (0..64).filter(|bit| ranges.iter().any(|(first, last)| (first..=last).contains(&bit)));
            (format!("config1:{}", text.join(",")), listed.map(|bit: u32| 1 << bit).sum())
        })
    }

    proptest! {
        #[test]
        fn each_bit_goes_where_the_file_says_and_comes_back(
            (content, mask) in any_field(), value: u64, before: u64,
        ) {
            let field = field(&content);
            prop_assert_eq!(field.mask(), mask);
            prop_assert_eq!(field.max().count_ones(), mask.count_ones());
            let value = value & field.max();
            let mut config = Config { config1: before, ..Config::default() };
            prop_assert!(field.put(&mut config, value));
            prop_assert_eq!(field.get(&config), value);
            prop_assert_eq!(config.config1 & !mask, before & !mask, "bits of others are left alone");
            // The nth bit of the value is the nth bit of the mask from below.
            for bit in bits(mask) {
                let nth = (mask & !(u64::MAX << bit)).count_ones();
                prop_assert_eq!(config.config1 >> bit & 1, value >> nth & 1);
            }
            prop_assert_eq!((config.config, config.config2, config.config3), (0, 0, 0));
        }

        #[test]
        fn a_field_prints_as_it_is_read((content, _) in any_field()) {
            let field = field(&content);
            prop_assert_eq!(field.to_string().parse::<Field>(), Ok(field));
        }

        #[test]
        fn no_content_panics(content in r"\PC*|config[0-4]?:[-0-9,x ]*\n?") {
            let _ = content.parse::<Field>();
        }
    }
}
