//! A kernel whose counters ask to be readable by their thread.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::kernel::{Errno, EventAttr, Kernel, Place, SystemFacts};
use crate::machine::Machine;
use crate::names::{TYPE_HARDWARE, TYPE_HW_CACHE, TYPE_RAW};
use crate::user::{NoUserRead, UserAccess, UserPage};

/// `kernel`, with `access` asked for on every event of the core's PMU.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) access: UserAccess,
}

impl Asking {
    fn asks(&self, attr: &EventAttr) -> bool {
        let of_the_core = [TYPE_HARDWARE, TYPE_HW_CACHE, TYPE_RAW].contains(&attr.type_)
            || self.access.pmu_type == Some(attr.type_);
        self.access.config1 != 0 && of_the_core
    }
}

impl Kernel for Asking {
    fn open(
        &self,
        attr: &EventAttr,
        place: &Place,
        leader: Option<BorrowedFd<'_>>,
    ) -> Result<OwnedFd, Errno> {
        if self.asks(attr) {
            let asking = EventAttr { config1: attr.config1 | self.access.config1, ..*attr };
            match self.kernel.open(&asking, place, leader) {
                // Perhaps it is the question that is refused: a counter that must be asked the slow way is
                // better than none.
                Err(Errno(libc::EINVAL | libc::EOPNOTSUPP)) => {}
                result => return result,
            }
        }
        self.kernel.open(attr, place, leader)
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        self.kernel.enable(leader)
    }

    fn read(&self, leader: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.kernel.read(leader, buffer)
    }

    fn machine(&self) -> &Machine {
        self.kernel.machine()
    }

    fn facts(&self) -> SystemFacts {
        self.kernel.facts()
    }

    fn threads(&self, pid: u32) -> Result<Vec<u32>, Errno> {
        self.kernel.threads(pid)
    }

    fn cpus(&self) -> Result<Vec<u32>, Errno> {
        self.kernel.cpus()
    }

    fn work(&self) -> Option<u64> {
        self.kernel.work()
    }

    fn user_access(&self) -> Result<UserAccess, NoUserRead> {
        self.kernel.user_access()
    }

    fn map(&self, counter: BorrowedFd<'_>) -> Result<UserPage, Errno> {
        self.kernel.map(counter)
    }
}
