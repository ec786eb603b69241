//! The archive that a kernel unpacks as its first file system: cpio, in the format `newc`.
//!
//! Format: `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel.

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;

/// Writes an archive, one entry after the other.
pub(super) struct Archive<W> {
    out: W,
    /// Entries so far. It numbers the inodes: entries with the same number would be links.
    entries: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, entries: 0 }
    }

    /// Adds an empty folder; the folder around it must have been added before.
    pub(super) fn folder(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY, &[])
    }

    /// Adds a file that can be executed.
    pub(super) fn executable(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        self.entry(path, EXECUTABLE, content)
    }

    /// Writes the end and gives the writer back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let size = u32::try_from(content.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let name_size = path.len() as u32 + 1;
        // Inode, mode, owner, group, links, time, size, four device numbers, size of name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        let mut head = "070701".to_owned();
        head.extend(fields.map(|field| format!("{field:08x}")));
        head.push_str(path);
        head.push('\0');
        self.padded(head.as_bytes())?;
        self.padded(content)
    }

    /// Writes `bytes` and zeros up to the next multiple of four, where the next part begins.
    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 3][..bytes.len().wrapping_neg() % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads back what the format says, independently of how it was written.
    fn entries(mut archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut found = Vec::new();
        while !archive.is_empty() {
            assert_eq!(&archive[..6], b"070701");
            let field = |index: usize| {
                let digits = std::str::from_utf8(&archive[6 + 8 * index..][..8]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            let (mode, size, name_size) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(archive[110..110 + name_size - 1].to_vec()).unwrap();
            let content = (110 + name_size).next_multiple_of(4);
            found.push((name, mode, archive[content..content + size].to_vec()));
            archive = &archive[(content + size).next_multiple_of(4)..];
        }
        found
    }

    #[test]
    fn every_length_of_name_and_content_is_read_back() {
        let mut archive = Archive::new(Vec::new());
        archive.folder("bin").unwrap();
        for length in 0..9 {
            archive.executable(&"x".repeat(length + 1), &vec![7; length]).unwrap();
        }
        let read = entries(&archive.finish().unwrap());
        assert_eq!(read.first(), Some(&("bin".to_owned(), DIRECTORY, vec![])));
        for (length, entry) in read[1..10].iter().enumerate() {
            assert_eq!(*entry, ("x".repeat(length + 1), EXECUTABLE, vec![7; length]));
        }
        assert_eq!(read.last().map(|entry| entry.0.as_str()), Some("TRAILER!!!"));
    }
}
