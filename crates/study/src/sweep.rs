//! One plan at several rates.

use std::sync::atomic::{AtomicBool, Ordering};

use tailcore_loadgen::RunOutcome;

/// Runs at each rate in the order given and returns the outcomes in that order.
///
/// Once `stop` is set no further rate is begun; the outcome that was cut short is the last one.
///
/// # Errors
///
/// The first error of `run_at`.
pub fn sweep<E>(
    rates_rps: &[f64],
    stop: &AtomicBool,
    mut run_at: impl FnMut(f64) -> Result<RunOutcome, E>,
) -> Result<Vec<RunOutcome>, E> {
    let mut outcomes = Vec::with_capacity(rates_rps.len());
    for &rate_rps in rates_rps {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        outcomes.push(run_at(rate_rps)?);
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_stops_end_the_sweep() {
        let stop = AtomicBool::new(false);
        let mut asked = Vec::new();
        let failed = sweep(&[1.0, 2.0], &stop, |rate| {
            asked.push(rate);
            Err("refused")
        });
        assert_eq!((failed.unwrap_err(), asked), ("refused", vec![1.0]));
        stop.store(true, Ordering::Relaxed);
        assert!(sweep(&[1.0], &stop, |_| Err(())).is_ok_and(|outcomes| outcomes.is_empty()));
    }
}
