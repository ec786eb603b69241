//! The percentile text format (`.hgrm`) that the HdrHistogram plotters read.

use std::io::{self, Write};

use crate::histogram::LatencyHistogram;

/// Reporting levels per halving of the distance to 100 %: HdrHistogram's default.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
const NS_PER_US: f64 = 1_000.0;

/// Writes the distribution as `Value Percentile TotalCount 1/(1-Percentile)` lines, values in
/// microseconds, with the footer that the HdrHistogram tools write.
///
/// `censored` requests, whose latency is not known, have no place in the lines and are counted in the
/// footer.
pub fn write_hgrm(histogram: &LatencyHistogram, censored: u64, mut out: impl Write) -> io::Result<()> {
    let hdr = histogram.as_hdr();
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut below = 0;
    for step in hdr.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        below += step.count_since_last_iteration();
        let percentile = step.quantile_iterated_to();
        let value_us = step.value_iterated_to() as f64 / NS_PER_US;
        write!(out, "{value_us:12.3} {percentile:14.12} {below:10}")?;
        if percentile < 1.0 {
            writeln!(out, " {:14.2}", 1.0 / (1.0 - percentile))?;
        } else {
            writeln!(out, " {:>14}", "inf")?;
        }
    }
    let (mean, deviation) = (histogram.mean_ns().unwrap_or(0.0), hdr.stdev());
    let max = histogram.max_ns().unwrap_or(0) as f64;
    writeln!(out, "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]", mean / NS_PER_US, deviation / NS_PER_US)?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", max / NS_PER_US, histogram.count())?;
    writeln!(
        out,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        hdr.buckets(),
        2_048 // three significant digits
    )?;
    writeln!(out, "#[Unit    = microseconds, counted from the intended arrival]")?;
    writeln!(out, "#[Censored = {censored} requests that never ended are not in these lines]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_climb_to_the_whole_count_and_the_footer_gives_the_unit() {
        let mut histogram = LatencyHistogram::new();
        (1..=1_000_u64).for_each(|i| histogram.record(i * 1_000));
        let mut text = Vec::new();
        write_hgrm(&histogram, 3, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .take_while(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(rows.len() > 20, "{text}");
        assert!(rows.windows(2).all(|w| w[0][0] <= w[1][0] && w[0][1] <= w[1][1] && w[0][2] <= w[1][2]));
        assert_eq!(rows.last().unwrap()[2], 1_000.0);
        assert!(text.contains("Total count    =         1000"), "{text}");
        assert!(text.contains("microseconds") && text.contains("Censored = 3 "));
    }

    #[test]
    fn an_empty_distribution_is_written_without_invented_values() {
        let mut text = Vec::new();
        write_hgrm(&LatencyHistogram::new(), 0, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("Total count    =            0"));
    }
}
