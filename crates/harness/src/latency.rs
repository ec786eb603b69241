//! Latency in a result: quantiles that say when they are bounds and when they are not known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::LatencyHistogram;

/// The quantiles of every result, as they are written.
pub const QUANTILES: [(&str, f64); 6] =
    [("0.5", 0.5), ("0.9", 0.9), ("0.95", 0.95), ("0.99", 0.99), ("0.999", 0.999), ("0.9999", 0.9999)];

/// Observations wanted beyond a quantile before it is reported.
///
/// With fewer, the order statistic's relative standard error (about 1/√k for k observations beyond
/// it, David & Nagaraja, *Order Statistics*, §2.5) exceeds a third of the tail's own scale.
pub const MIN_BEYOND_QUANTILE: f64 = 10.0;

/// What is known of one quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    /// The value in nanoseconds.
    Known(u64),
    /// At least this many nanoseconds: requests that never ended could lie at this rank.
    AtLeast(u64),
    /// Too few observations; this many are needed.
    TooFew {
        /// Observations needed for this quantile.
        needed: u64,
    },
}

/// Observations wanted for quantile `q` (0..1).
pub fn needed_samples(q: f64) -> u64 {
    // The small slack keeps 10 / (1 - 0.999) at 10,000 in spite of binary fractions.
    (MIN_BEYOND_QUANTILE / (1.0 - q) - 1e-6).ceil() as u64
}

/// Quantile `q` of all requests: those that ended (`observed`) and those whose latency is only
/// known to exceed what they had waited (`censored`).
///
/// The observation of rank ⌈q·n⌉ among both, each censored one taken at what it had waited, is a lower
/// bound; the one of the same rank with all censored ones taken as endless is an upper bound (right
/// censoring; Kaplan & Meier 1958). Where the two lie within the histogram's resolution, the quantile
/// is known in spite of what was cut off.
pub fn quantile(observed: &LatencyHistogram, censored: &LatencyHistogram, q: f64) -> Quantile {
    let (answered, all) = (observed.count(), observed.count() + censored.count());
    let needed = needed_samples(q);
    if all < needed {
        return Quantile::TooFew { needed };
    }
    if censored.count() == 0 {
        return observed.value_at_quantile_ns(q).map_or(Quantile::TooFew { needed }, Quantile::Known);
    }
    let mut both = observed.clone();
    both.merge(censored);
    let Some(lower) = both.value_at_quantile_ns(q) else { return Quantile::TooFew { needed } };
    let rank = (q * all as f64).ceil();
    // Endless observations take the last ranks: this one is among them.
    if rank > answered as f64 {
        return Quantile::AtLeast(lower);
    }
    match observed.value_at_quantile_ns(rank / answered as f64) {
        Some(upper) if observed.is_same_bucket(lower, upper) => Quantile::Known(upper),
        _ => Quantile::AtLeast(lower),
    }
}

/// One kind of latency over the measured phase. All values are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Requests whose latency is known.
    pub count: u64,
    /// Requests whose latency is only known to be at least what they had waited.
    pub censored: u64,
    /// Shortest known latency.
    pub min: Option<u64>,
    /// Mean of the known latencies. With censored requests it is too low.
    pub mean: Option<f64>,
    /// Longest known latency.
    pub max: Option<u64>,
    /// Quantile → value; null where it is only bounded or where samples are too few.
    pub quantiles: BTreeMap<String, Option<u64>>,
    /// Quantile → lower bound, for those that a censored request could have reached.
    pub lower_bounds: BTreeMap<String, u64>,
}

impl LatencySummary {
    /// Summarises what was observed together with what was cut off.
    pub fn new(observed: &LatencyHistogram, censored: &LatencyHistogram) -> Self {
        let mut summary = Self {
            count: observed.count(),
            censored: censored.count(),
            min: observed.min_ns(),
            mean: observed.mean_ns(),
            max: observed.max_ns(),
            quantiles: BTreeMap::new(),
            lower_bounds: BTreeMap::new(),
        };
        for (name, q) in QUANTILES {
            let value = match quantile(observed, censored, q) {
                Quantile::Known(value) => Some(value),
                Quantile::AtLeast(bound) => {
                    summary.lower_bounds.insert(name.to_owned(), bound);
                    None
                }
                Quantile::TooFew { .. } => None,
            };
            summary.quantiles.insert(name.to_owned(), value);
        }
        summary
    }

    /// What is known of the quantile written as `name` (`"0.99"`).
    pub fn quantile(&self, name: &str) -> Option<Quantile> {
        if let Some(&bound) = self.lower_bounds.get(name) {
            return Some(Quantile::AtLeast(bound));
        }
        match self.quantiles.get(name)? {
            Some(value) => Some(Quantile::Known(*value)),
            None => name.parse().ok().map(|q| Quantile::TooFew { needed: needed_samples(q) }),
        }
    }

    /// Longest known latency; a lower bound if anything was cut off.
    pub fn max(&self) -> Option<Quantile> {
        self.max.map(|max| if self.censored > 0 { Quantile::AtLeast(max) } else { Quantile::Known(max) })
    }

    /// The value or bound of the quantile written as `name`, in nanoseconds.
    pub fn value_or_bound_ns(&self, name: &str) -> Option<u64> {
        match self.quantile(name)? {
            Quantile::Known(value) | Quantile::AtLeast(value) => Some(value),
            Quantile::TooFew { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn a_quantile_wants_ten_observations_beyond_it() {
        assert_eq!(needed_samples(0.5), 20);
        assert_eq!(needed_samples(0.99), 1_000);
        assert_eq!(needed_samples(0.9999), 100_000);
        let (few, enough) = (filled(1..=999), filled(1..=1_000));
        let none = LatencyHistogram::new();
        assert_eq!(quantile(&few, &none, 0.99), Quantile::TooFew { needed: 1_000 });
        assert_eq!(quantile(&enough, &none, 0.99), Quantile::Known(990));
    }

    #[test]
    fn a_request_that_never_ended_turns_what_it_could_reach_into_a_bound() {
        // 98 of 100 requests took 1..=98 ns; two had waited 50 ns when the run ended.
        let observed = filled(1..=98);
        let censored = filled([50, 50]);
        assert_eq!(quantile(&observed, &censored, 0.4), Quantile::Known(40));
        assert_eq!(quantile(&observed, &censored, 0.9), Quantile::AtLeast(88));
    }

    #[test]
    fn one_short_wait_does_not_unsettle_a_large_sample() {
        // A connection broke with one request 20 ns old, among a hundred thousand that took 1 µs.
        let observed = filled((0..100_000).map(|_| 1_000));
        assert_eq!(quantile(&observed, &filled([20]), 0.99), Quantile::Known(1_000));
    }

    #[test]
    fn requests_cut_off_above_a_quantile_leave_it_known() {
        let observed = filled(1..=98);
        let censored = filled([1_000_000, 1_000_000]);
        assert_eq!(quantile(&observed, &censored, 0.9), Quantile::Known(90));
    }

    #[test]
    fn a_summary_survives_json() {
        let summary = LatencySummary::new(&filled(1..=5_000), &filled([20; 100]));
        let text = serde_json::to_string(&summary).unwrap();
        let back: LatencySummary = serde_json::from_str(&text).unwrap();
        assert_eq!(summary, back);
        assert_eq!(back.quantiles["0.9999"], None, "5,100 observations cannot carry p99.99");
        assert!(back.lower_bounds.contains_key("0.99"), "requests cut off at 20 ns could reach p99");
    }
}
