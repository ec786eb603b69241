//! Placements of a published study, replayed by its formulas.

use serde::Serialize;

/// A formula from thread number to CPU number, as a published study of contention on UDP sockets
/// used them on 24 logical CPUs. In the formulas, i is the thread's number, from 0, and Φ the
/// number of online logical CPUs.
///
/// Source: S. Blasco Valencia, *Estudio de detección y amortización de contención sobre la interfaz
/// de red en sistemas Linux en escenarios de concurrencia sobre máquinas multicore*, thesis,
/// Universidad de Chile, 2016; there they are called DummyAffinity, EquitativeAffinity and so on.
///
/// They are CPU numbers and know nothing of the topology: what a number is differs between
/// machines, several threads may get one CPU, and where online CPUs are not numbered from 0
/// without gaps a number may not exist. Take them to repeat that study, and a rule otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Formula {
    /// CPU 0 for every thread.
    Dummy,
    /// (i + 1) mod Φ: one after the other, as the study's text has it. A version of its programs
    /// starts at CPU 0 instead, i mod Φ; list `0-23` for that.
    Equitative,
    /// 2i mod Φ: the even numbers.
    Pair,
    /// (2i + 1) mod Φ: the odd numbers.
    Impair,
    /// ((i mod 2) / 2) · Φ: 0, Φ/2, 0, Φ/2, …; SMT siblings where firmware numbers them so.
    SimpleCore,
    /// i mod Φ for even i, ((i − 1) + Φ/2) mod Φ for odd: 0, 12, 2, 14, 4, 16, … for Φ = 24.
    NumaPair,
}

impl Formula {
    pub(super) const ALL: [Self; 6] =
        [Self::Dummy, Self::Equitative, Self::Pair, Self::Impair, Self::SimpleCore, Self::NumaPair];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Dummy => "dummy",
            Self::Equitative => "equitative",
            Self::Pair => "pair",
            Self::Impair => "impair",
            Self::SimpleCore => "simplecore",
            Self::NumaPair => "numapair",
        }
    }

    /// Gives the CPU number of a thread where `online` logical CPUs are online.
    pub(super) fn cpu(self, thread: usize, online: usize) -> u32 {
        let online = online.max(1) as u64; // A machine has one; a division must not rely on it.
        let (i, odd) = (thread as u64 % (2 * online), thread % 2 == 1);
        let number = match self {
            Self::Dummy => 0,
            Self::Equitative => i + 1,
            Self::Pair => 2 * i,
            Self::Impair => 2 * i + 1,
            Self::SimpleCore => u64::from(odd) * online / 2,
            Self::NumaPair if odd => i - 1 + online / 2,
            Self::NumaPair => i,
        };
        u32::try_from(number % online).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_gives(formula: Formula, expected: &[u32]) {
        let cpus = (0..expected.len()).map(|thread| formula.cpu(thread, 24));
        assert_eq!(cpus.collect::<Vec<_>>(), expected, "{}", formula.text());
    }

    #[test]
    fn on_the_24_cpus_of_the_study() {
        assert_gives(Formula::Dummy, &[0, 0, 0]);
        let after_0: Vec<u32> = (1..24).chain([0, 1]).collect();
        assert_gives(Formula::Equitative, &after_0);
        assert_gives(Formula::Pair, &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 0, 2]);
        assert_gives(Formula::Impair, &[1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 1, 3]);
        assert_gives(Formula::SimpleCore, &[0, 12, 0, 12, 0]);
        assert_gives(Formula::NumaPair, &[0, 12, 2, 14, 4, 16, 6, 18, 8, 20, 10, 22, 12, 0, 14, 2]);
    }

    #[test]
    fn numapair_and_pair_use_the_same_cpus_in_another_order() {
        let sorted = |formula: Formula, threads| {
            let mut cpus: Vec<u32> = (0..threads).map(|i| formula.cpu(i, 24)).collect();
            cpus.sort_unstable();
            cpus
        };
        assert_eq!(sorted(Formula::NumaPair, 12), sorted(Formula::Pair, 12));
        assert_eq!(sorted(Formula::NumaPair, 24), sorted(Formula::Pair, 24));
        assert_ne!(sorted(Formula::NumaPair, 4), sorted(Formula::Pair, 4));
    }

    #[test]
    fn an_odd_number_of_cpus_gives_numbers_below_it() {
        for formula in Formula::ALL {
            assert!((0..40).all(|thread| formula.cpu(thread, 7) < 7), "{}", formula.text());
            assert_eq!(formula.cpu(usize::MAX - 1, 1), 0);
        }
    }
}
