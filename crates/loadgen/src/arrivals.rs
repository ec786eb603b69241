//! When requests are meant to arrive.

use std::fmt;
use std::str::FromStr;

use rand_distr::{Distribution, Exp1};

use crate::random::{Purpose, StreamRng, stream};

/// Law of the inter-arrival times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrivalLaw {
    /// Exponential gaps: many independent users. Advice: the default; a service that only holds its
    /// SLO under [`ArrivalLaw::Constant`] will not hold it in production.
    Poisson,
    /// Equal gaps: the kindest load of a given rate.
    Constant,
}

impl fmt::Display for ArrivalLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Poisson => "poisson",
            Self::Constant => "constant",
        })
    }
}

impl FromStr for ArrivalLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "poisson" => Ok(Self::Poisson),
            "constant" => Ok(Self::Constant),
            other => Err(format!("unknown arrival process `{other}`: use `poisson` or `constant`")),
        }
    }
}

/// Which part of the offered load a worker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The worker, from 0.
    pub worker: u32,
    /// All workers; each takes an equal part.
    pub workers: u32,
}

/// One worker's share of the arrivals, in nanoseconds since the schedule's start, for ever.
///
/// The streams of `workers` workers superpose to the law at the full rate: independent Poisson
/// streams do so by themselves, constant ones are interleaved.
#[derive(Clone, Debug)]
pub struct Arrivals {
    law: ArrivalLaw,
    mean_gap_ns: f64,
    rng: StreamRng,
    /// Last arrival: whole nanoseconds and the fraction (0..1) that is carried to the next, so that
    /// the rate is exact and no precision is lost however long the run.
    whole_ns: u64,
    fraction_ns: f64,
    is_first: bool,
    /// Offset of a constant stream's first arrival.
    phase_ns: f64,
}

impl Arrivals {
    /// The stream of one worker of those that together offer `rate_rps`.
    ///
    /// `rate_rps` must be finite and above 0 (the plan checks it).
    pub fn new(law: ArrivalLaw, rate_rps: f64, share: Share, seed: u64) -> Self {
        let total_gap_ns = 1e9 / rate_rps;
        Self {
            law,
            mean_gap_ns: total_gap_ns * f64::from(share.workers.max(1)),
            rng: stream(seed, share.worker, Purpose::Arrivals),
            whole_ns: 0,
            fraction_ns: 0.0,
            is_first: true,
            phase_ns: total_gap_ns * f64::from(share.worker),
        }
    }

    /// The next arrival.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        let gap_ns = match self.law {
            ArrivalLaw::Poisson => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                unit * self.mean_gap_ns
            }
            ArrivalLaw::Constant if self.is_first => self.phase_ns,
            ArrivalLaw::Constant => self.mean_gap_ns,
        };
        self.is_first = false;
        let sum = self.fraction_ns + gap_ns;
        // A cast saturates: an arrival beyond 584 years lies beyond every run's end.
        let whole = sum as u64;
        self.fraction_ns = sum - whole as f64;
        self.whole_ns = self.whole_ns.saturating_add(whole);
        self.whole_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(law: ArrivalLaw, rate_rps: f64, (worker, workers): (u32, u32), count: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(law, rate_rps, Share { worker, workers }, 42);
        (0..count).map(|_| arrivals.next_ns()).collect()
    }

    #[test]
    fn constant_streams_interleave_to_the_full_rate() {
        let mut all: Vec<u64> =
            (0..4).flat_map(|worker| take(ArrivalLaw::Constant, 1_000_000.0, (worker, 4), 100)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..400).map(|i| i * 1_000).collect::<Vec<u64>>());
    }

    #[test]
    fn a_rate_that_is_no_whole_number_of_nanoseconds_does_not_drift() {
        let last = *take(ArrivalLaw::Constant, 3.0, (0, 1), 3_000_001).last().unwrap();
        assert!(last.abs_diff(1_000_000_000_000_000) <= 1_000, "{last}");
    }

    #[test]
    fn poisson_gaps_follow_the_exponential_law() {
        // One million gaps at 1 M/s; the largest distance between the empirical and the
        // exponential distribution function (Kolmogorov–Smirnov) stays within 0.005, also where
        // gaps are rounded to whole nanoseconds.
        let arrivals = take(ArrivalLaw::Poisson, 1e6, (0, 1), 1_000_000);
        let mut gaps: Vec<u64> = arrivals.windows(2).map(|w| w[1] - w[0]).collect();
        gaps.sort_unstable();
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, &gap)| ((i as f64 + 1.0) / n - (1.0 - (-(gap as f64 + 0.5) / 1_000.0).exp())).abs())
            .fold(0.0, f64::max);
        assert!(distance < 0.005, "largest distance {distance}");
        let mean = arrivals[arrivals.len() - 1] as f64 / n;
        assert!((mean - 1_000.0).abs() < 5.0, "mean gap {mean} ns");
    }

    #[test]
    fn laws_are_written_as_they_are_read() {
        for law in [ArrivalLaw::Poisson, ArrivalLaw::Constant] {
            assert_eq!(law.to_string().parse::<ArrivalLaw>().unwrap(), law);
        }
        assert!("burst".parse::<ArrivalLaw>().unwrap_err().contains("poisson"));
    }
}
