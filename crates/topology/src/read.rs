//! Reading of a machine: from files below a root to plain data. What is missing or malformed
//! becomes a problem, never a panic and never a guess.

pub(crate) mod caches;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod numa;
pub(crate) mod parse;
pub(crate) mod presence;
