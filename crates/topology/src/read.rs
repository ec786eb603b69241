//! Reading of a machine: from files below a root to plain data. What is missing or malformed
//! becomes a problem, never a panic and never a guess.

pub(crate) mod caches;
mod cgroup;
pub(crate) mod consistency;
pub(crate) mod files;
mod frequency;
pub(crate) mod groups;
mod hypervisor;
mod interrupts;
pub(crate) mod kinds;
pub(crate) mod limits;
pub(crate) mod numa;
pub(crate) mod parse;
pub(crate) mod presence;
pub(crate) mod source;

pub use frequency::{Frequencies, FrequencyPolicy};
pub use hypervisor::Hypervisor;
pub use interrupts::{Interrupt, Interrupts};
pub use source::{Directory, Source};
