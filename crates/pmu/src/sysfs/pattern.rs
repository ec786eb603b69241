//! Which PMUs a typed PMU name stands for, beyond the one that is named so.
//!
//! The rules are perf's: boxes of one kind are numbered (`uncore_imc_0`, `uncore_imc_1`), and their common
//! name means all of them; `uncore_` may be left out; `*` and `?` are wildcards.

/// Whether the name `pmu` is one of those that `typed` stands for.
pub(super) fn stands_for(typed: &str, pmu: &str) -> bool {
    let (typed, pmu) = (without_uncore(typed), without_uncore(pmu));
    !typed.is_empty() && (is_numbered(typed, pmu) || matches(typed.as_bytes(), pmu.as_bytes()))
}

/// The common name of a numbered PMU.
pub(super) fn family(pmu: &str) -> &str {
    let base = pmu.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if base.len() < pmu.len() { base.strip_suffix('_').unwrap_or(base) } else { pmu }
}

fn without_uncore(name: &str) -> &str {
    name.strip_prefix("uncore_").unwrap_or(name)
}

/// Whether `pmu` is `base` with a number behind it, `_` between them or not.
///
/// Some numbers are addresses in hexadecimal; those have at least three digits, so that `imc_fc` stays a name.
fn is_numbered(base: &str, pmu: &str) -> bool {
    let Some(suffix) = pmu.strip_prefix(base) else {
        return false;
    };
    let number = suffix.strip_prefix('_').unwrap_or(suffix).as_bytes();
    let decimal = number.iter().all(u8::is_ascii_digit);
    let hexadecimal = number.iter().all(u8::is_ascii_hexdigit);
    suffix.is_empty() || !number.is_empty() && (decimal || hexadecimal && number.len() > 2)
}

/// Whether a name fits a pattern with `*` (any letters) and `?` (one letter).
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on after a mismatch: behind the last star, one letter further.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(&letter) if letter == b'?' || letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after_star, from)) = retry else {
                    return false;
                };
                (p, n) = (after_star, from + 1);
                retry = Some((after_star, n));
            }
        }
    }
    pattern[p..].iter().all(|&letter| letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_stand_for() {
        let cases = [
            ("uncore_imc", "uncore_imc_0", true),
            ("uncore_imc", "uncore_imc_11", true),
            ("imc", "uncore_imc_0", true),
            ("imc", "uncore_imc", true),
            ("uncore_imc", "uncore_imc_free_running_0", false),
            ("uncore_imc_free_running", "uncore_imc_free_running_0", true),
            ("uncore_cbox", "uncore_cbox0", true),
            ("ali_drw", "ali_drw_27080", true),
            ("arm_smmuv3_pmcg", "arm_smmuv3_pmcg_3ba42", true),
            ("imc", "uncore_imc_fc", false),
            ("imc", "uncore_imc_", false),
            ("cpu", "cpu_core", false),
            ("uncore_imc_*", "uncore_imc_3", true),
            ("uncore_imc_?", "uncore_imc_11", false),
            ("*", "msr", true),
            ("*imc*0", "uncore_imc_free_running_0", true),
            ("a*b*c", "axbxbx", false),
            ("uncore_", "7", false),
            ("", "", false),
        ];
        for (typed, pmu, answer) in cases {
            assert_eq!(stands_for(typed, pmu), answer, "{typed} {pmu}");
        }
    }

    #[test]
    fn the_family_of_a_numbered_pmu_stands_for_it() {
        for (pmu, name) in
            [("uncore_imc_0", "uncore_imc"), ("cbox12", "cbox"), ("cpu", "cpu"), ("a__1", "a_")]
        {
            assert_eq!(family(pmu), name);
            assert!(stands_for(family(pmu), pmu));
        }
    }
}
