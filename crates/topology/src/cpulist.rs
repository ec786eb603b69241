//! The kernel's two text forms of a set of CPUs: list and hexadecimal mask.

use crate::cpuset::CpuSet;

/// The highest CPU number that text may name. The largest kernels are built for 8 192 CPUs; a
/// number far beyond that is a typing error or a broken file.
pub(crate) const CPU_MAX: u32 = (1 << 20) - 1;

/// The most characters of foreign text that a message repeats.
const QUOTE_LEN_MAX: usize = 40;

/// Text that is not a set of CPUs, with the part that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{token}` in a CPU list {reason}")]
pub struct ParseCpuListError {
    token: String,
    reason: &'static str,
}

impl ParseCpuListError {
    fn new(token: &str, reason: &'static str) -> Self {
        Self { token: quoted(token), reason }
    }

    /// Gives the offending part of the text, shortened and with control characters escaped.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }
}

/// Makes foreign text fit for a message of one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut quote: String = text.chars().take(QUOTE_LEN_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(QUOTE_LEN_MAX).is_some() {
        quote.push('…');
    }
    quote
}

/// Parses `0-3,8,10-11`; space around the list is ignored, and an empty list is a set.
pub(crate) fn parse_list(list: &str) -> Result<CpuSet, ParseCpuListError> {
    let list = list.trim();
    if list.is_empty() {
        return Ok(CpuSet::new());
    }
    let ranges = list.split(',').map(parse_range);
    Ok(CpuSet::from_ranges(ranges.collect::<Result<_, _>>()?))
}

fn parse_range(token: &str) -> Result<(u32, u32), ParseCpuListError> {
    let (first, last) = token.split_once('-').unwrap_or((token, token));
    let (first, last) = (parse_cpu(first, token)?, parse_cpu(last, token)?);
    if first > last {
        let reason = "is a reversed range; write the lower CPU first";
        return Err(ParseCpuListError::new(token, reason));
    }
    Ok((first, last))
}

fn parse_cpu(digits: &str, token: &str) -> Result<u32, ParseCpuListError> {
    // `u32::from_str` alone would let `+3` pass.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let reason = "is neither a CPU number nor a range; write it like `0-3,8`";
        return Err(ParseCpuListError::new(token, reason));
    }
    match digits.parse() {
        Ok(cpu) if cpu <= CPU_MAX => Ok(cpu),
        _ => Err(ParseCpuListError::new(token, "is beyond the highest CPU number that is accepted, 1048575")),
    }
}

/// Parses `00000000,0000000f`, most significant word first; space around the mask is ignored.
pub(crate) fn parse_mask(mask: &str) -> Result<CpuSet, ParseCpuListError> {
    let mut ranges = Vec::new();
    for (index, word) in mask.trim().rsplit(',').enumerate() {
        let bits = parse_word(word)?;
        if bits == 0 {
            continue;
        }
        let base = u32::try_from(index * 32).unwrap_or(u32::MAX);
        if base > CPU_MAX {
            let reason = "is a mask word beyond the highest CPU number that is accepted, 1048575";
            return Err(ParseCpuListError::new(word, reason));
        }
        let set_bits = (0..32).filter(|bit| bits & (1 << bit) != 0);
        ranges.extend(set_bits.map(|bit| (base + bit, base + bit)));
    }
    Ok(CpuSet::from_ranges(ranges))
}

fn parse_word(word: &str) -> Result<u32, ParseCpuListError> {
    let valid = (1..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = u32::from_str_radix(word, 16).ok().filter(|_| valid);
    bits.ok_or_else(|| {
        let reason = "is not a mask word; each is 1 to 8 hexadecimal digits";
        ParseCpuListError::new(word, reason)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> Vec<u32> {
        parse_list(text).unwrap().iter().collect()
    }

    /// The kernel's mask form of a set, written the slow and obvious way.
    fn mask_of(set: &CpuSet, words: u32) -> String {
        let word = |index: u32| {
            (0..32).filter(|bit| set.contains(index * 32 + bit)).fold(0_u32, |bits, bit| bits | 1 << bit)
        };
        let words: Vec<String> = (0..words).rev().map(|i| format!("{:08x}", word(i))).collect();
        words.join(",")
    }

    #[test]
    fn lists_as_the_kernel_writes_them() {
        assert_eq!(list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert!(list("").is_empty());
        assert!(list(" \n").is_empty());
        assert_eq!(list("5"), [5]);
        assert_eq!(list("7-7"), [7]);
        assert_eq!(list("8,0-3,2-4"), [0, 1, 2, 3, 4, 8]);
        assert_eq!(list("1048575"), [1_048_575]);
    }

    #[test]
    fn wrong_lists_name_the_token() {
        for (text, token) in [
            ("0-3,5-4", "5-4"),
            ("0,,2", ""),
            ("0,", ""),
            ("0-3,x", "x"),
            ("-1", "-1"),
            ("1-2-3", "1-2-3"),
            ("+1", "+1"),
            ("0x3", "0x3"),
            ("1 2", "1 2"),
            ("0-1048576", "0-1048576"),
            ("0-4294967295", "0-4294967295"),
            ("99999999999999999999", "99999999999999999999"),
            ("(null)", "(null)"),
        ] {
            let error = parse_list(text).unwrap_err();
            assert_eq!(error.token(), token, "{text}");
            assert!(error.to_string().contains(token), "{error}");
        }
        let reversed = parse_list("0-3,5-4").unwrap_err().to_string();
        let expected = "`5-4` in a CPU list is a reversed range; write the lower CPU first";
        assert_eq!(reversed, expected);
    }

    #[test]
    fn messages_stay_on_one_short_line() {
        let error = parse_list(&"a\n".repeat(1000)).unwrap_err().to_string();
        assert!(!error.contains('\n') && error.len() < 200, "{error}");
    }

    #[test]
    fn masks_as_the_kernel_writes_them() {
        let mask = |text: &str| parse_mask(text).unwrap().to_string();
        assert_eq!(mask("ffffffff,00000001\n"), "0,32-63");
        assert_eq!(mask("f"), "0-3");
        // 48 CPUs: the top word has only the digits that it needs.
        assert_eq!(mask("ffff,ffffffff"), "0-47");
        assert_eq!(mask("00000000,00000000"), "");
    }

    #[test]
    fn wrong_masks_name_the_word() {
        for (text, word) in [("", ""), ("1,", ""), ("123456789", "123456789"), ("0,+1", "+1")] {
            assert_eq!(parse_mask(text).unwrap_err().token(), word, "{text}");
        }
        let beyond = format!("1{}", ",00000000".repeat(32_768));
        assert!(parse_mask(&beyond).is_err());
        let highest = format!("80000000{}", ",00000000".repeat(32_767));
        assert_eq!(parse_mask(&highest).unwrap().first(), Some(CPU_MAX));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(
            cpus in proptest::collection::vec(0..=CPU_MAX, 0..50),
            dense in proptest::collection::vec(0..64_u32, 0..50),
        ) {
            let set: CpuSet = cpus.into_iter().chain(dense).collect();
            prop_assert_eq!(parse_list(&set.to_string()).unwrap(), set);
        }

        #[test]
        fn mask_and_list_agree(cpus in proptest::collection::btree_set(0..200_u32, 0..60)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(parse_mask(&mask_of(&set, 7)).unwrap(), set);
        }

        #[test]
        fn no_text_panics(text in "[0-9a-f,\\- \n(x]{0,60}|\\PC{0,30}") {
            let _ = parse_list(&text);
            let _ = parse_mask(&text);
        }
    }
}
