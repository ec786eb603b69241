//! What names are looked up in: the processor's model and the counting units of one machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::model::Model;
use crate::sysfs::Pmus;

/// A machine, as far as the meaning of event names depends on it.
///
/// It can be another machine's: with a folder that holds its `/proc` and `/sys`,
/// [`Event::on`](crate::Event::on) tells what a name would come to there.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    model: Model,
    pmus: Pmus,
}

impl Machine {
    /// Gives this machine; it is read once, when it is first asked for.
    #[must_use]
    pub fn this() -> &'static Machine {
        static THIS: OnceLock<Machine> = OnceLock::new();
        THIS.get_or_init(|| Machine::read_from(Path::new("/")))
    }

    /// Reads the machine whose files lie below `root`. What is missing or malformed is not known, and an
    /// event that needs it says so.
    #[must_use]
    pub fn read_from(root: &Path) -> Machine {
        Machine { root: root.to_owned(), model: Model::read(root), pmus: Pmus::read(root) }
    }

    /// The processor's model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The counting units that the kernel has a driver for.
    #[must_use]
    pub fn pmus(&self) -> &Pmus {
        &self.pmus
    }

    /// The folder that holds the machine's `/proc` and `/sys`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
