//! Where a machine's files come from: a directory, or anything that answers as one does.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The most bytes that a file may have. The longest real one, a list of every other CPU of a
/// kernel built for 8 192, is 20 KB.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The first read asks for this many bytes: one page, the most that one sysfs file has to say.
const READ_BYTES: usize = 4096;

/// The files of one machine, by their paths relative to its root (`sys/devices/system/cpu/online`).
///
/// [`Directory`] is the one that reads files. Implement it to read a machine from an archive, over
/// a network, or out of memory in a test.
pub trait Source {
    /// Reads a whole file and puts its text behind what `text` already holds.
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
}

impl Directory {
    /// Makes the source of the files below `root`. Nothing is opened yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl Source for Directory {
    fn read(&self, path: &str, text: &mut String) -> io::Result<()> {
        let mut file = File::open(self.root.join(path))?;
        let mut bytes = std::mem::take(text).into_bytes();
        // A sysfs file gives all that fits at once, so a short answer is the end. procfs promises
        // no such thing.
        let short_is_end = path.starts_with("sys/");
        let result = read_to_end(&mut file, &mut bytes, short_is_end);
        *text = String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))?;
        result
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let names = fs::read_dir(self.root.join(path))?.map(|entry| Ok(entry?.file_name()));
        // What is not UTF-8 is none of the kernel's.
        names.filter_map(|name: io::Result<_>| name.map(|name| name.into_string().ok()).transpose()).collect()
    }

    fn name(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// Like [`Read::read_to_end`], with a bound, and without asking for the size first: the kernel
/// says 4096 of every file in sysfs.
fn read_to_end(file: &mut File, bytes: &mut Vec<u8>, short_is_end: bool) -> io::Result<()> {
    let start = bytes.len();
    loop {
        let filled = bytes.len();
        if filled - start > FILE_BYTES_MAX {
            bytes.truncate(start);
            let message = format!("longer than {FILE_BYTES_MAX} bytes");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        bytes.resize(filled + READ_BYTES, 0);
        let count = read_some(file, &mut bytes[filled..]);
        bytes.truncate(filled + *count.as_ref().unwrap_or(&0));
        if count? < if short_is_end { READ_BYTES } else { 1 } {
            return Ok(());
        }
    }
}

fn read_some(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
