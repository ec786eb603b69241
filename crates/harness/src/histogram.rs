//! Latency histograms: HdrHistogram with the bounds that fit a run.

use hdrhistogram::Histogram;

/// Longest latency told apart, in nanoseconds: one hour. Longer ones are counted as one hour.
pub const MAX_LATENCY_NS: u64 = 3_600_000_000_000;

/// Histogram of nanoseconds, 1 ns to one hour, three significant digits (within 0.1 %).
///
/// All its memory (about 280 KiB) is allocated at creation, so recording never allocates.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    inner: Histogram<u64>,
    max_ns: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    ///
    /// # Panics
    ///
    /// Never: the bounds are constants that HdrHistogram accepts.
    pub fn new() -> Self {
        let mut inner = Histogram::new_with_bounds(1, MAX_LATENCY_NS, 3).expect("constant bounds are valid");
        // Writes to every page now, so that the first record of a latency never takes a page fault.
        inner.clear();
        Self { inner, max_ns: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.max_ns = self.max_ns.max(value_ns);
        self.inner.saturating_record(value_ns);
    }

    /// Adds another histogram's counts. Percentiles are never averaged; histograms merge.
    ///
    /// # Panics
    ///
    /// Never: all latency histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        self.inner.add(&other.inner).expect("equal bounds always add");
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Smallest recorded value in nanoseconds, rounded down to its bucket; `None` when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.min())
    }

    /// Largest recorded value in nanoseconds, exact; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// Mean in nanoseconds, within 0.1 %; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.inner.mean())
    }

    /// Value at quantile `q` (0..=1) in nanoseconds: the upper end of the bucket that holds the
    /// observation of rank ⌈q·n⌉, but never above the true maximum; `None` when empty.
    pub fn value_at_quantile_ns(&self, q: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.value_at_quantile(q).min(self.max_ns))
    }

    /// Whether two values are the same to this histogram.
    pub fn is_same_bucket(&self, one_ns: u64, other_ns: u64) -> bool {
        self.inner.equivalent(one_ns, other_ns)
    }

    /// The HdrHistogram itself, for its iterators and encoders.
    pub fn as_hdr(&self) -> &Histogram<u64> {
        &self.inner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_values_rather_than_zeros() {
        let empty = LatencyHistogram::new();
        assert_eq!((empty.count(), empty.min_ns(), empty.max_ns()), (0, None, None));
        assert_eq!((empty.mean_ns(), empty.value_at_quantile_ns(0.5)), (None, None));
    }

    #[test]
    fn values_beyond_an_hour_are_kept_as_an_hour_but_the_maximum_is_true() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(2 * MAX_LATENCY_NS);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.max_ns(), Some(2 * MAX_LATENCY_NS));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth_of_the_sorted_values(
            mut values in proptest::collection::vec(1_u64..1_000_000_000, 1..300),
            q in 0.0_f64..=1.0,
        ) {
            let mut histogram = LatencyHistogram::new();
            for &value in &values {
                histogram.record(value);
            }
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let estimate = histogram.value_at_quantile_ns(q).unwrap() as f64;
            prop_assert!((estimate - exact).abs() <= exact * 0.001 + 1.0, "{estimate} for {exact}");
        }

        #[test]
        fn merging_equals_recording_into_one(
            left in proptest::collection::vec(0_u64..10_000_000, 0..100),
            right in proptest::collection::vec(0_u64..10_000_000, 0..100),
        ) {
            let (mut a, mut b, mut both) =
                (LatencyHistogram::new(), LatencyHistogram::new(), LatencyHistogram::new());
            for &value in &left { a.record(value); both.record(value); }
            for &value in &right { b.record(value); both.record(value); }
            a.merge(&b);
            prop_assert_eq!(a.as_hdr(), both.as_hdr());
            prop_assert_eq!(a.max_ns(), both.max_ns());
        }
    }
}
