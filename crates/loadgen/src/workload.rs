//! What each request asks: operation, key, value size.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_distr::{Distribution, Zipf};

use crate::random::{Purpose, StreamRng, stream};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a key.
    Get,
    /// Writes a key.
    Set,
}

/// One request's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub operation: Operation,
    /// Which key, as a number from 0; the protocol spells it.
    pub key: u64,
    /// Bytes to write, or expected when reading.
    pub value_len: u32,
}

/// Popularity of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum KeyLaw {
    /// Every key alike.
    Uniform,
    /// Key of rank k with weight 1/k^s for the given exponent s ≥ 0; key 0 is the most popular.
    /// Advice: 0.99 is the habit of the field (YCSB, SoCC 2010).
    Zipf(f64),
}

impl fmt::Display for KeyLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
        }
    }
}

impl FromStr for KeyLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let exponent = text
            .strip_prefix("zipf:")
            .ok_or_else(|| format!("unknown key distribution `{text}`: use `uniform` or `zipf:0.99`"))?;
        match exponent.parse::<f64>() {
            Ok(s) if s.is_finite() && s >= 0.0 => Ok(Self::Zipf(s)),
            _ => Err(format!("Zipf exponent `{exponent}` is not a number of at least 0: try `zipf:0.99`")),
        }
    }
}

/// Laws of the content of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Number of distinct keys, at least 1.
    pub keys: u64,
    /// Their popularity.
    pub key_law: KeyLaw,
    /// Bytes of every value.
    pub value_len: u32,
    /// Share of reads, 0 to 1.
    pub get_ratio: f64,
}

impl Default for Workload {
    /// A read-mostly cache: 10,000 Zipf-popular keys, 100-byte values, 90 % reads.
    fn default() -> Self {
        Self { keys: 10_000, key_law: KeyLaw::Zipf(0.99), value_len: 100, get_ratio: 0.9 }
    }
}

/// One worker's stream of request contents.
#[derive(Clone, Debug)]
pub struct Contents {
    rng: StreamRng,
    keys: u64,
    zipf: Option<Zipf<f64>>,
    value_len: u32,
    get_ratio: f64,
}

impl Contents {
    /// The stream of `worker` for `seed`.
    ///
    /// Laws out of range fall back to their nearest legal value (at least one key, exponent 0);
    /// the plan refuses them before.
    pub fn new(workload: &Workload, worker: u32, seed: u64) -> Self {
        let keys = workload.keys.max(1);
        let zipf = match workload.key_law {
            KeyLaw::Uniform => None,
            KeyLaw::Zipf(exponent) => Zipf::new(keys as f64, exponent).ok(),
        };
        Self {
            rng: stream(seed, worker, Purpose::Content),
            keys,
            zipf,
            value_len: workload.value_len,
            get_ratio: workload.get_ratio,
        }
    }

    /// The next request's content.
    #[inline]
    pub fn next_request(&mut self) -> Request {
        let key = match &self.zipf {
            // Samples ranks 1..=keys as whole floats.
            Some(zipf) => (zipf.sample(&mut self.rng) as u64).clamp(1, self.keys) - 1,
            None => self.rng.random_range(0..self.keys),
        };
        let is_get = self.rng.random::<f64>() < self.get_ratio;
        let operation = if is_get { Operation::Get } else { Operation::Set };
        Request { operation, key, value_len: self.value_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequencies(key_law: KeyLaw, keys: u64, draws: u32) -> Vec<f64> {
        let workload = Workload { keys, key_law, ..Workload::default() };
        let mut contents = Contents::new(&workload, 0, 3);
        let mut counts = vec![0.0; keys as usize];
        for _ in 0..draws {
            counts[contents.next_request().key as usize] += 1.0 / f64::from(draws);
        }
        counts
    }

    #[test]
    fn zipf_keys_have_the_popularity_of_their_rank() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.5] {
            let counts = frequencies(KeyLaw::Zipf(exponent), 100, 400_000);
            let total: f64 = (1..=100).map(|k| f64::from(k).powf(-exponent)).sum();
            for (rank, frequency) in (1..=100_i32).zip(&counts) {
                let expected = f64::from(rank).powf(-exponent) / total;
                assert!(
                    (frequency - expected).abs() < 0.003,
                    "s={exponent} rank {rank}: {frequency} for {expected}"
                );
            }
        }
    }

    #[test]
    fn uniform_keys_are_alike() {
        let counts = frequencies(KeyLaw::Uniform, 50, 200_000);
        assert!(counts.iter().all(|f| (f - 0.02).abs() < 0.003), "{counts:?}");
    }

    #[test]
    fn the_share_of_reads_is_kept() {
        let mut contents = Contents::new(&Workload { get_ratio: 0.75, ..Workload::default() }, 0, 1);
        let reads =
            (0..100_000).filter(|_| contents.next_request().operation == Operation::Get).count() as f64;
        assert!((reads / 100_000.0 - 0.75).abs() < 0.01, "{reads}");
    }

    #[test]
    fn laws_are_written_as_they_are_read_and_bad_ones_name_the_remedy() {
        for law in [KeyLaw::Uniform, KeyLaw::Zipf(0.99), KeyLaw::Zipf(0.0)] {
            assert_eq!(law.to_string().parse::<KeyLaw>().unwrap(), law);
        }
        for bad in ["zipf", "zipf:", "zipf:-1", "zipf:nan", "gauss"] {
            assert!(bad.parse::<KeyLaw>().unwrap_err().contains("zipf:0.99"), "{bad}");
        }
    }
}
