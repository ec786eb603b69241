//! Names like the one that was typed, for messages.

/// At most three of `known` that are like `name`, nearest first.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_ascii_lowercase();
    // A third of the letters wrong is still a slip; more is another word.
    let limit = (name.len() / 3).clamp(1, 4);
    let mut found: Vec<(usize, &str)> = known
        // Far shorter or longer names cannot be near: this also bounds the work on absurd input.
        .filter(|known| known.len().abs_diff(name.len()) <= limit)
        .map(|known| (distance(name.as_bytes(), known.to_ascii_lowercase().as_bytes()), known))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(3);
    found.into_iter().map(|(_, known)| known).collect()
}

/// The same, to keep.
pub(crate) fn near_owned<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    near(name, known).into_iter().map(str::to_owned).collect()
}

/// The end of a message: the names that may have been meant.
pub(crate) fn did_you_mean<S: AsRef<str>>(near: &[S]) -> String {
    let near: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// The number of bytes to insert, delete or replace to turn `a` into `b` (Levenshtein).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["sched_switch", "sched_wakeup", "sched_waking", "irq_handler_entry"];
        assert_eq!(near("sched_swich", known.into_iter()), ["sched_switch"]);
        assert_eq!(near("SCHED_WAKEUP", known.into_iter())[0], "sched_wakeup");
        assert!(near("frobnicate", known.into_iter()).is_empty());
        assert!(near("", known.into_iter()).is_empty());
        assert!(near(&"x".repeat(100_000), known.into_iter()).is_empty());
        assert_eq!((distance(b"kitten", b"sitting"), distance(b"", b"ab"), distance(b"ab", b"")), (3, 2, 2));
    }
}
