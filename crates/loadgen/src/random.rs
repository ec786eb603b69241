//! Independent random streams from one seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Generator of every stream: small, fast, and value-stable across versions and platforms.
pub type StreamRng = Xoshiro256PlusPlus;

/// What a stream is drawn for. Streams of different purposes never share numbers, so that, say,
/// another key law leaves the arrivals as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Inter-arrival times.
    Arrivals = 1,
    /// Operations, keys and sizes.
    Content = 2,
    /// Service times of simulated servers.
    Service = 3,
}

/// The stream of one worker for one purpose: same arguments, same numbers.
pub fn stream(seed: u64, worker: u32, purpose: Purpose) -> StreamRng {
    let mixed = mix(mix(seed).wrapping_add(u64::from(worker) << 8 | purpose as u64));
    StreamRng::seed_from_u64(mixed)
}

/// Finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): neighbouring seeds become unrelated.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_repeat_and_differ_by_seed_worker_and_purpose() {
        let first = |seed, worker, purpose| stream(seed, worker, purpose).next_u64();
        let reference = first(7, 0, Purpose::Arrivals);
        assert_eq!(reference, first(7, 0, Purpose::Arrivals));
        for other in
            [first(8, 0, Purpose::Arrivals), first(7, 1, Purpose::Arrivals), first(7, 0, Purpose::Content)]
        {
            assert_ne!(reference, other);
        }
    }
}
