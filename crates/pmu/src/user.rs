//! Counters of the calling thread, read without a system call.
//!
//! The kernel shares one page per counter with the program. It says in which register the event is counted
//! at the moment, what to add to that register, and how to turn the processor's clock into the times of the
//! counter. The kernel rewrites the page whenever it moves the event, mostly because the thread was switched
//! out; a sequence number in the page shows whether that happened during a read.
//!
//! * `page`: the layout of the page.
//! * `arithmetic`: what the numbers in it mean.
//! * `seqlock`: reading the pages of a group as of one moment.
//! * `access`: whether this system has such reads, and what counters must ask for.
//! * `simulated`: a page for kernels which are simulated.
//!
//! Layout and protocol: `struct perf_event_mmap_page` in `include/uapi/linux/perf_event.h`.

mod access;
mod arithmetic;
mod page;
mod seqlock;
mod simulated;

pub use access::{NoUserRead, UserAccess};
pub use arithmetic::PageClock;
pub use page::PageState;
pub use simulated::SimulatedPage;

pub(crate) use access::{Architecture, read as read_access};
pub(crate) use page::Page;
pub(crate) use seqlock::{Source, read_group};

use std::sync::Arc;

use crate::sys::Mapping;
use crate::sys::registers;

/// The page of one counter of the calling thread, with the registers it speaks of.
///
/// Given by [`Kernel::map`](crate::Kernel::map). While it exists, the counter stays open in the kernel.
#[derive(Debug)]
pub struct UserPage(Backing);

#[derive(Debug)]
enum Backing {
    Mapped(Mapping),
    Simulated(Arc<SimulatedPage>),
}

impl UserPage {
    pub(crate) fn mapped(mapping: Mapping) -> UserPage {
        UserPage(Backing::Mapped(mapping))
    }

    /// A page that a simulated kernel writes to.
    pub fn simulated(page: Arc<SimulatedPage>) -> UserPage {
        UserPage(Backing::Simulated(page))
    }

    /// Why no read through this page can ever work, if that is so.
    pub(crate) fn never(&self) -> Option<NoUserRead> {
        let page = self.page();
        match page.compat_version() {
            0 if page.is_readable() => None,
            0 => Some(NoUserRead::NotReadable),
            compat_version => Some(NoUserRead::Layout { compat_version }),
        }
    }
}

impl Source for UserPage {
    #[inline]
    fn page(&self) -> &Page {
        match &self.0 {
            Backing::Mapped(mapping) => mapping.page(),
            Backing::Simulated(simulated) => simulated.page(),
        }
    }

    #[inline]
    fn settle(&self) {
        match &self.0 {
            Backing::Mapped(_) => registers::settle(),
            Backing::Simulated(_) => {}
        }
    }

    #[inline]
    fn cycles(&self) -> u64 {
        match &self.0 {
            Backing::Mapped(_) => registers::cycles(),
            Backing::Simulated(simulated) => simulated.cycles(),
        }
    }

    #[inline]
    fn counter(&self, index: u32) -> Option<u64> {
        match &self.0 {
            Backing::Mapped(_) => registers::counter(index),
            Backing::Simulated(simulated) => simulated.counter(index),
        }
    }
}
