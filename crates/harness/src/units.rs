//! Durations and counts as people read them.

/// A duration in the largest unit that keeps it above one, with three significant digits:
/// `850 ns`, `12.3 µs`, `4.56 ms`, `1.23 s`.
pub fn format_ns(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} µs", three_digits(value / 1e3)),
        999_500..999_500_000 => format!("{} ms", three_digits(value / 1e6)),
        _ => format!("{} s", three_digits(value / 1e9)),
    }
}

/// A rate as people type it: `20k/s`, `1.5M/s`, `850/s`.
pub fn format_rps(rps: f64) -> String {
    let (scaled, suffix) = match rps {
        r if r >= 999_500.0 => (r / 1e6, "M"),
        r if r >= 999.5 => (r / 1e3, "k"),
        r => (r, ""),
    };
    let digits = three_digits(scaled);
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{digits}{suffix}/s")
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_across_units() {
        let table = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_499, "999 µs"),
            (999_999, "1.00 ms"),
            (90_000_000, "90.0 ms"),
            (1_234_567_890, "1.23 s"),
            (4_000_000_000_000, "4000 s"),
        ];
        for (ns, text) in table {
            assert_eq!(format_ns(ns), text);
        }
    }

    #[test]
    fn rates_read_like_what_was_typed() {
        let table = [
            (850.0, "850/s"),
            (20_000.0, "20k/s"),
            (1_500_000.0, "1.5M/s"),
            (999_999.0, "1M/s"),
            (0.5, "0.5/s"),
        ];
        for (rps, text) in table {
            assert_eq!(format_rps(rps), text);
        }
    }
}
