//! The topology as a picture.

mod draw;
mod layout;
mod scene;

use std::fmt::{self, Display, Formatter};

use crate::topology::Topology;

/// A view of a [`Topology`] that prints as a picture: a whole SVG document of boxes inside boxes,
/// with a title and a legend, on a background of its own.
///
/// Every online logical CPU is a box `P#n`. CPUs that this process may not use are hatched, CPUs
/// set aside at boot have a thick edge, kinds of core differ in colour, and CPUs that are switched
/// off stand apart, because nothing tells where they belong. Which caches and nodes a CPU is in
/// shows by where its box is; parts that overlap without one being inside the other are named
/// below the picture.
///
/// Made by [`Topology::svg`]; any browser shows it.
#[derive(Clone, Copy, Debug)]
pub struct Svg<'a> {
    topology: &'a Topology,
}

impl Topology {
    /// Gives the machine as a picture for people, a standalone SVG document.
    ///
    /// ```
    /// let topology = tailcore_topology::Topology::read()?;
    /// std::fs::write(std::env::temp_dir().join("machine.svg"), topology.svg().to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> Svg<'_> {
        Svg { topology: self }
    }
}

impl Display for Svg<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut picture = scene::picture(self.topology);
        picture.arrange();
        draw::document(f, &picture)
    }
}
