//! Numbers as people type them: `20k`, `1.5M`, `10s`, `500us`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// A count or rate with an optional suffix `k`, `M` or `G` (powers of 1,000).
pub(crate) fn parse_number(text: &str) -> Result<f64, String> {
    let complaint = || format!("`{text}` is not a number: write for example 500, 20k or 1.5M");
    let (digits, scale) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        // No lower-case m: in a time it means minutes.
        Some((at, 'M')) => (&text[..at], 1e6),
        Some((at, 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| complaint())?;
    Ok(number * scale)
}

/// A whole number with an optional suffix.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let number = parse_number(text)?;
    // 16.1k is 16,100, whatever binary fractions make of it.
    let is_nearly_whole = (number - number.round()).abs() <= number.abs() * 1e-12;
    let number = if is_nearly_whole { number.round() } else { number };
    if number >= 0.0 && number.fract() == 0.0 && number <= 2_f64.powi(53) {
        Ok(number as u64)
    } else {
        Err(format!("`{text}` is not a whole number of at least 0: write for example 500 or 20k"))
    }
}

/// A whole number that fits 32 bits.
pub(crate) fn parse_small_count(text: &str) -> Result<u32, String> {
    u32::try_from(parse_count(text)?).map_err(|_| format!("`{text}` is too large: at most {}", u32::MAX))
}

/// A seed: any number of 64 bits.
pub(crate) fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a seed: write a whole number from 0 to {}", u64::MAX))
}

/// An address to listen on, by number or by name.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let complaint =
        |why: String| format!("{why}: write HOST:PORT, for example 127.0.0.1:11311 (port 0: a free one)");
    let mut addresses = text.to_socket_addrs().map_err(|error| complaint(error.to_string()))?;
    addresses.next().ok_or_else(|| complaint(format!("`{text}` has no address")))
}

/// A time with its unit: `ns`, `us`, `ms`, `s`, `m` or `h`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let complaint = || format!("`{text}` is not a time: write for example 10s, 500us or 1.5m");
    let unit_at = text
        .find(|c: char| c.is_alphabetic())
        .ok_or_else(|| format!("{}; the unit is missing", complaint()))?;
    let scale_ns = match &text[unit_at..] {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        _ => return Err(complaint()),
    };
    let number: f64 = text[..unit_at].trim_end().parse().map_err(|_| complaint())?;
    let ns = number * scale_ns;
    if ns >= 0.0 && ns <= u64::MAX as f64 {
        Ok(Duration::from_nanos(ns.round() as u64))
    } else {
        Err(complaint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_type_them() {
        let table = [("500", 500.0), ("20k", 20e3), ("1.5M", 1.5e6), ("2G", 2e9), ("0", 0.0)];
        for (text, number) in table {
            assert_eq!(parse_number(text), Ok(number));
        }
        assert!(parse_number("NaN").is_ok_and(f64::is_nan), "the plan refuses it with a better message");
        for bad in ["", "k", "20kk", "5m", "fast", "1,000"] {
            assert!(parse_number(bad).unwrap_err().contains("20k"), "{bad}");
        }
    }

    #[test]
    fn counts_are_whole() {
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_count("1.5k"), Ok(1_500));
        assert_eq!(parse_count("16.1k"), Ok(16_100));
        for bad in ["1.5", "-1", "nan", "inf", "1e300"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
        assert!(parse_small_count("5G").is_err());
    }

    #[test]
    fn seeds_and_addresses_say_what_would_be_right() {
        assert_eq!(parse_seed("18446744073709551615"), Ok(u64::MAX));
        assert!(parse_seed("abc").unwrap_err().contains("whole number"));
        assert_eq!(parse_address("127.0.0.1:0").map(|address| address.port()), Ok(0));
        assert!(parse_address("nonsense").unwrap_err().contains("HOST:PORT"));
    }

    #[test]
    fn times_need_a_unit() {
        let table = [
            ("10s", Duration::from_secs(10)),
            ("500us", Duration::from_micros(500)),
            ("1.5ms", Duration::from_micros(1_500)),
            ("2m", Duration::from_secs(120)),
            ("0s", Duration::ZERO),
        ];
        for (text, time) in table {
            assert_eq!(parse_duration(text), Ok(time));
        }
        assert!(parse_duration("10").unwrap_err().contains("unit is missing"));
        for bad in ["", "s", "-1s", "10 parsecs", "nans", "infs", "1e300h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
