//! Views of a topology: JSON for programs, a tree for people.

mod json;
mod tree;

pub use tree::Tree;
