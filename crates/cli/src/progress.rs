//! The progress bar and the early end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tailcore_loadgen::Progress;

/// A bar on standard error, drawn by the coordinating thread; invisible where that is no terminal.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar with a label in front of it.
    pub(crate) fn new(label: String) -> Self {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {prefix}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("━━╌"));
        bar.set_message(label);
        Self(bar)
    }

    /// Shows how far a run is.
    pub(crate) fn show(&self, progress: Progress) {
        self.0.set_length(progress.total.as_millis().max(1) as u64);
        self.0.set_position(progress.elapsed.as_millis() as u64);
        let left = progress.total.saturating_sub(progress.elapsed);
        self.0.set_prefix(format!("{:.0} s left", left.as_secs_f64().ceil()));
    }

    /// Shows a count on its way to a total.
    pub(crate) fn count(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Wipes the bar away.
    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; a second one ends the process at once.
pub(crate) fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot watch for signals")?;
    }
    Ok(stop)
}
