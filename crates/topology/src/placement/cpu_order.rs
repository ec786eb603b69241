//! A CPU list whose order counts.

use std::fmt;
use std::str::FromStr;

use crate::cpulist::{ParseCpuListError, parse_list};
use crate::cpuset::CpuSet;

/// Logical CPUs in the order typed, such as `4,0,2-3`; none twice, and at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CpuOrder {
    cpus: Vec<u32>,
}

/// CPUs that are not a [`CpuOrder`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuOrderError {
    /// There is no CPU.
    #[error("an empty CPU list places nothing; list a CPU for each thread")]
    Empty,
    /// A CPU is there twice.
    #[error("CPU {cpu} is listed twice; two threads on one CPU measure the scheduler, so list each once")]
    Twice {
        /// The CPU.
        cpu: u32,
    },
    /// The text is not a CPU list.
    #[error(transparent)]
    NotAList(#[from] ParseCpuListError),
}

impl CpuOrder {
    /// Gives the CPUs in their order: the first is for the first thread.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }
}

impl TryFrom<Vec<u32>> for CpuOrder {
    type Error = CpuOrderError;

    fn try_from(cpus: Vec<u32>) -> Result<Self, CpuOrderError> {
        let mut sorted = cpus.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CpuOrderError::Twice { cpu: pair[0] }),
            None if cpus.is_empty() => Err(CpuOrderError::Empty),
            None => Ok(Self { cpus }),
        }
    }
}

impl FromStr for CpuOrder {
    type Err = CpuOrderError;

    fn from_str(text: &str) -> Result<Self, CpuOrderError> {
        if text.trim().is_empty() {
            return Err(CpuOrderError::Empty);
        }
        parse_list(text)?; // As a whole first: an empty token alone would pass as a set.
        let (mut cpus, mut seen) = (Vec::new(), CpuSet::new());
        for token in text.trim().split(',') {
            let part = parse_list(token)?;
            // Checked here, or `0-9999,0-9999,…` would grow before it is refused.
            if let Some(cpu) = seen.intersection(&part).first() {
                return Err(CpuOrderError::Twice { cpu });
            }
            cpus.extend(&part);
            seen = seen.union(&part);
        }
        Ok(Self { cpus })
    }
}

impl fmt::Display for CpuOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.cpus.chunk_by(|&cpu, &next| cpu.checked_add(1) == Some(next));
        for (index, run) in runs.enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match run {
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                _ => write!(f, "{separator}{}", run[0])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CpuOrder, CpuOrderError> {
        text.parse()
    }

    #[test]
    fn the_order_typed_is_kept() {
        let order = parse("4,0,2-3").unwrap();
        assert_eq!(order.cpus(), [4, 0, 2, 3]);
        assert_eq!(order.to_string(), "4,0,2-3");
        assert_eq!(parse("3,2,1-1").unwrap().to_string(), "3,2,1");
        assert_eq!(CpuOrder::try_from(vec![7, 8, 9, 1]).unwrap().to_string(), "7-9,1");
    }

    #[test]
    fn a_cpu_listed_twice_is_named() {
        for text in ["0,4,0", "2-5,1,4", "4,2-5"] {
            let error = parse(text).unwrap_err();
            let cpu = if text.starts_with('0') { 0 } else { 4 };
            assert_eq!(error, CpuOrderError::Twice { cpu }, "{text}");
        }
        assert_eq!(CpuOrder::try_from(vec![1, 0, 1]), Err(CpuOrderError::Twice { cpu: 1 }));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(parse(" "), Err(CpuOrderError::Empty));
        assert_eq!(CpuOrder::try_from(vec![]), Err(CpuOrderError::Empty));
        for text in ["0,,2", "0,", "3-1", "x", "+1"] {
            assert!(matches!(parse(text), Err(CpuOrderError::NotAList(_))), "{text}");
        }
    }
}
