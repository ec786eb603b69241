//! Why a typed event name was refused.

use crate::near::did_you_mean;
use crate::sysfs::TermsError;

/// The refusal of an event name, with the name, the fault and the way to mend it.
///
/// Names are quoted with escapes, so the message is one line whatever was typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseEventError {
    /// A name is missing: the list is empty or has a comma too many.
    #[error("event list {list:?}: a name is empty")]
    Empty {
        /// The whole list.
        list: String,
    },
    /// No event has this name.
    #[error("event {event:?}: unknown name{}", did_you_mean(near))]
    Unknown {
        /// What was typed.
        event: String,
        /// Up to three known names like it, nearest first.
        near: Vec<&'static str>,
    },
    /// The name looks like a raw code, and is none.
    #[error("event {event:?}: a raw event is `r` and 1 to 16 hexadecimal digits, like r01c2")]
    Raw {
        /// What was typed.
        event: String,
    },
    /// What stands between slashes is no list of terms.
    #[error("{source}")]
    Terms {
        /// The fault, with the event.
        source: TermsError,
    },
    /// The name begins like a breakpoint, and is none.
    #[error(
        "event {event:?}: a breakpoint is mem:0xADDRESS, then /LENGTH in bytes and :r, :w or :x if you like"
    )]
    Breakpoint {
        /// What was typed.
        event: String,
    },
    /// Braces of a list do not match.
    #[error("event list {list:?}: its braces do not match; write {{cycles,instructions}},page-faults")]
    Braces {
        /// The whole list.
        list: String,
    },
    /// What follows the colon is not a modifier.
    #[error(
        "event {event:?}: unknown modifier {modifier:?}: use :u (user mode), :k (kernel mode) or :uk (both)"
    )]
    Modifier {
        /// What was typed.
        event: String,
        /// What follows the colon.
        modifier: String,
    },
    /// `:u` on an event that only happens inside the kernel: the kernel would accept it and count 0.
    #[error(
        "event {event:?}: it happens in the kernel only, so :u would always read 0: leave the modifier out"
    )]
    KernelOnly {
        /// What was typed.
        event: String,
    },
    /// `:u` or `:k` on a clock: the kernel would accept it and count both modes.
    #[error("event {event:?}: the kernel does not split a clock by mode: leave the modifier out")]
    NotSeparable {
        /// What was typed.
        event: String,
    },
}
