//! Where a machine's files come from: a directory, or anything that answers as one does.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::sys;

/// The most bytes that a file may have. The longest real one, `/proc/interrupts`, has a column for
/// each CPU and a row for each queue: several MB on the largest servers.
const FILE_BYTES_MAX: usize = 64 << 20;

/// The first read asks for this many bytes: one page, the most that one sysfs file has to say.
const READ_BYTES: usize = 4096;

/// The files of one machine, by their paths relative to its root (`sys/devices/system/cpu/online`).
///
/// [`Directory`] is the one that reads files. Implement it to read a machine from an archive, over
/// a network, or out of memory in a test.
pub trait Source {
    /// Reads a whole file and puts its text behind what `text` already holds. A path is relative and
    /// without `..`; anything else is an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] or [`ErrorKind::NotADirectory`] where there is no such file: most
    /// files may be missing. Any other error becomes a problem of the machine that is read.
    fn read(&self, path: &str, text: &mut String) -> io::Result<()>;

    /// Lists the names in a directory, in any order.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Gives a path as people are told it. The default has a slash before it.
    fn name(&self, path: &str) -> PathBuf {
        Path::new("/").join(path)
    }
}

/// The files below a directory: `/`, or the root of a recorded machine.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    /// Paths are looked up from here: the way to a recording is long, and is walked once.
    opened: Result<Arc<File>, ErrorKind>,
}

impl Directory {
    /// Makes the source of the files below `root`. One that cannot be opened fails at every read.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let directory = File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(&root);
        Self { root, opened: directory.map(Arc::new).map_err(|error| error.kind()) }
    }
}

impl Source for Directory {
    fn read(&self, path: &str, text: &mut String) -> io::Result<()> {
        let root = self.opened.as_ref().map_err(|&kind| kind)?;
        stays_below(path)?;
        let name = CString::new(path).map_err(|_| ErrorKind::InvalidInput)?;
        let file = sys::open_below(root.as_fd(), &name)?;
        let mut bytes = std::mem::take(text).into_bytes();
        let result = read_to_end(&mut bytes, path.starts_with("sys/"), |bytes| {
            sys::read_behind(file.as_fd(), bytes, READ_BYTES)
        });
        *text = String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))?;
        result
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        stays_below(path)?;
        let names = fs::read_dir(self.root.join(path))?.map(|entry| Ok(entry?.file_name()));
        // What is not UTF-8 is none of the kernel's.
        names.filter_map(|name: io::Result<_>| name.map(|name| name.into_string().ok()).transpose()).collect()
    }

    fn name(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// Refuses a path that leads out of the root: some are made of what files say, and a recording must
/// not be mixed with the machine that it is read on.
fn stays_below(path: &str) -> io::Result<()> {
    let below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if below { Ok(()) } else { Err(io::Error::new(ErrorKind::InvalidInput, "leads out of the root")) }
}

/// Calls `read`, which puts at most [`READ_BYTES`] behind `bytes` and says how many, until the end
/// of the file. A sysfs file gives all that fits at once, so there a short answer is the end
/// (`short_is_end`); procfs promises no such thing.
fn read_to_end(
    bytes: &mut Vec<u8>,
    short_is_end: bool,
    mut read: impl FnMut(&mut Vec<u8>) -> io::Result<usize>,
) -> io::Result<()> {
    let start = bytes.len();
    let least = if short_is_end { READ_BYTES } else { 1 };
    loop {
        if bytes.len() - start >= FILE_BYTES_MAX {
            bytes.truncate(start);
            let message = format!("longer than {FILE_BYTES_MAX} bytes");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        match read(bytes) {
            Ok(count) if count < least => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in turn, then with the end of the file.
    fn scripted(answers: &[usize], short_is_end: bool) -> usize {
        let mut answers = answers.iter();
        let mut bytes = b"before".to_vec();
        read_to_end(&mut bytes, short_is_end, |bytes| {
            let count = answers.next().copied().unwrap_or(0);
            bytes.resize(bytes.len() + count, b'x');
            Ok(count)
        })
        .unwrap();
        bytes.len() - 6
    }

    #[test]
    fn a_short_answer_is_the_end_of_a_sysfs_file_only() {
        assert_eq!(scripted(&[10, 20, 30], true), 10);
        assert_eq!(scripted(&[READ_BYTES, READ_BYTES, 30, 40], true), 2 * READ_BYTES + 30);
        assert_eq!(scripted(&[READ_BYTES], true), READ_BYTES);
        assert_eq!(scripted(&[10, 20, 30], false), 60);
    }

    #[test]
    fn no_path_leads_out_of_the_root() {
        let source = Directory::new("/proc/self");
        for path in ["/proc/self/stat", "../self/stat", "fd/../stat"] {
            let error = source.read(path, &mut String::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
            assert_eq!(source.list(path).unwrap_err().kind(), ErrorKind::InvalidInput, "{path}");
        }
        assert!(source.read("stat", &mut String::new()).is_ok());
    }

    #[test]
    fn a_root_that_cannot_be_opened_fails_at_every_read() {
        let nowhere = Directory::new("/no/such/root");
        let error = nowhere.read("sys/devices/system/cpu/online", &mut String::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
