//! Views of a topology: JSON for programs, a tree and a picture for people.

mod hierarchy;
mod json;
mod svg;
mod tree;
mod unseen;
pub(crate) mod words;

pub use svg::Svg;
pub use tree::Tree;
pub use unseen::unseen;
