//! Rounds in which everyone has a turn, and what came of them.

use std::fmt;

use crate::contender::Contender;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    rounds: usize,
    batches: usize,
    reads: u32,
}

impl Effort {
    pub(crate) const FULL: Effort = Effort { rounds: 15, batches: 101, reads: 200 };
    pub(crate) const TRIAL: Effort = Effort { rounds: 1, batches: 1, reads: 10 };
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rounds of {} batches of {} reads", self.rounds, self.batches, self.reads)
    }
}

/// What one contender took, ns per read, round by round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(Vec<f64>);

/// Measures all contenders, in turn in each round.
pub(crate) fn run(contenders: &mut [Contender], effort: Effort) -> Vec<Figures> {
    let mut figures = vec![Figures::default(); contenders.len()];
    for _ in 0..effort.rounds {
        for (contender, figures) in contenders.iter_mut().zip(&mut figures) {
            contender.time_ns(effort.reads); // The caches are the last one's.
            figures.0.push(median((0..effort.batches).map(|_| contender.time_ns(effort.reads)).collect()));
        }
    }
    figures
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Figures {
    /// These, less those of the same rounds.
    pub(crate) fn less(&self, others: &Figures) -> Figures {
        Figures(self.0.iter().zip(&others.0).map(|(one, other)| one - other).collect())
    }

    pub(crate) fn divided_by(&self, parts: f64) -> Figures {
        Figures(self.0.iter().map(|ns| ns / parts).collect())
    }

    pub(crate) fn median(&self) -> String {
        format!("{:.1}", median(self.0.clone()))
    }

    pub(crate) fn range(&self) -> String {
        let (low, high) =
            self.0.iter().fold((f64::MAX, f64::MIN), |(low, high), &ns| (low.min(ns), high.max(ns)));
        format!("{low:.1} – {high:.1}")
    }

    pub(crate) fn both(&self) -> String {
        format!("{} ({})", self.median(), self.range())
    }
}
