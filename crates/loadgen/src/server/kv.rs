//! An in-memory key-value store behind the memcached text protocol (get, gets, set, delete, version, quit).

use std::collections::HashMap;

use memchr::memchr;

use crate::memcached::{VALUE_LEN_MAX, parse_decimal, push_decimal};
use crate::service::Service;

/// Longest key, as in memcached.
const KEY_LEN_MAX: usize = 250;
/// Longest command line before the peer is taken for something else.
const LINE_MAX: usize = 8_192;
/// Most keys of one `get`: with values of the largest size, what one command may answer.
const KEYS_PER_GET_MAX: usize = 100;
/// Most bytes stored, keys and values together.
const STORE_LEN_MAX: usize = 1 << 30;

/// The store and its protocol state; one value serves one thread.
#[derive(Debug, Default)]
pub struct KvService {
    /// Key → `<flags> <bytes>\r\n<data>\r\n`: the part of the reply that does not change.
    entries: HashMap<Vec<u8>, Vec<u8>>,
    stored_len: usize,
    wants_close: bool,
}

/// A `set` command line.
struct SetLine<'a> {
    key: &'a [u8],
    flags: u64,
    data_len: usize,
    is_quiet: bool,
}

impl KvService {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// One command at the start of `input`; `None` until all of it is there.
    fn command(&mut self, input: &[u8], output: &mut Vec<u8>) -> Option<usize> {
        let Some(line_feed) = memchr(b'\n', &input[..input.len().min(LINE_MAX)]) else {
            if input.len() < LINE_MAX {
                return None;
            }
            output.extend_from_slice(b"CLIENT_ERROR line too long\r\n");
            self.wants_close = true;
            return Some(input.len());
        };
        let after_line = line_feed + 1;
        let line = input[..line_feed].strip_suffix(b"\r").unwrap_or(&input[..line_feed]);
        let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        match words.next() {
            Some(b"get" | b"gets") => self.get(words, output),
            Some(b"set") => return self.set(words, &input[after_line..], output).map(|len| after_line + len),
            Some(b"delete") => self.delete(words.next(), output),
            Some(b"version") => {
                output.extend_from_slice(
                    concat!("VERSION tailcore-", env!("CARGO_PKG_VERSION"), "\r\n").as_bytes(),
                );
            }
            Some(b"quit") => self.wants_close = true,
            _ => output.extend_from_slice(b"ERROR\r\n"),
        }
        Some(after_line)
    }

    fn get<'a>(&self, keys: impl Iterator<Item = &'a [u8]>, output: &mut Vec<u8>) {
        for key in keys.take(KEYS_PER_GET_MAX) {
            if let Some(entry) = self.entries.get(key) {
                output.extend_from_slice(b"VALUE ");
                output.extend_from_slice(key);
                output.push(b' ');
                output.extend_from_slice(entry);
            }
        }
        output.extend_from_slice(b"END\r\n");
    }

    fn delete(&mut self, key: Option<&[u8]>, output: &mut Vec<u8>) {
        let removed = key.and_then(|key| self.entries.remove_entry(key));
        if let Some((key, entry)) = &removed {
            self.stored_len -= key.len() + entry.len();
        }
        output.extend_from_slice(if removed.is_some() { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" });
    }

    /// Stores the data block that follows the line; `None` until all of it is there.
    fn set<'a>(
        &mut self,
        words: impl Iterator<Item = &'a [u8]>,
        rest: &[u8],
        output: &mut Vec<u8>,
    ) -> Option<usize> {
        let Some(set) = parse_set(words) else {
            output.extend_from_slice(b"CLIENT_ERROR bad command line format\r\n");
            // Without a length the data block cannot be told from commands.
            self.wants_close = true;
            return Some(rest.len());
        };
        let block_len = set.data_len + 2;
        let block = rest.get(..block_len)?;
        let Some(data) = block.strip_suffix(b"\r\n") else {
            output.extend_from_slice(b"CLIENT_ERROR bad data chunk\r\n");
            self.wants_close = true;
            return Some(rest.len());
        };
        let reply: &[u8] = if self.store(&set, data) {
            b"STORED\r\n"
        } else {
            b"SERVER_ERROR out of memory storing object\r\n"
        };
        if !set.is_quiet {
            output.extend_from_slice(reply);
        }
        Some(block_len)
    }

    fn store(&mut self, set: &SetLine<'_>, data: &[u8]) -> bool {
        // Room for the numbers and line ends around the data.
        let entry_len = data.len() + 48;
        let mut entry = match self.entries.get_mut(set.key) {
            Some(old) => {
                self.stored_len -= set.key.len() + old.len();
                std::mem::take(old)
            }
            None => Vec::with_capacity(entry_len),
        };
        if self.stored_len + set.key.len() + entry_len > STORE_LEN_MAX {
            self.entries.remove(set.key);
            return false;
        }
        entry.clear();
        push_decimal(set.flags, &mut entry);
        entry.push(b' ');
        push_decimal(data.len() as u64, &mut entry);
        entry.extend_from_slice(b"\r\n");
        entry.extend_from_slice(data);
        entry.extend_from_slice(b"\r\n");
        self.stored_len += set.key.len() + entry.len();
        match self.entries.get_mut(set.key) {
            Some(slot) => *slot = entry,
            None => {
                self.entries.insert(set.key.to_vec(), entry);
            }
        }
        true
    }
}

/// `<key> <flags> <exptime> <bytes> [noreply]`
fn parse_set<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<SetLine<'a>> {
    let key = words.next().filter(|key| key.len() <= KEY_LEN_MAX)?;
    let flags = parse_decimal(words.next()?)?;
    let _expiry = words.next()?;
    let data_len = parse_decimal(words.next()?).filter(|&len| len <= u64::from(VALUE_LEN_MAX))?;
    Some(SetLine { key, flags, data_len: data_len as usize, is_quiet: words.next() == Some(b"noreply") })
}

impl Service for KvService {
    fn handle(&mut self, input: &[u8], output: &mut Vec<u8>) -> usize {
        self.wants_close = false;
        self.command(input, output).unwrap_or(0)
    }

    fn wants_close(&self) -> bool {
        self.wants_close
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds `input` until nothing more is taken; returns what was answered and what was left over.
    fn talk(service: &mut KvService, input: &str) -> (String, usize) {
        let (mut output, mut used) = (Vec::new(), 0);
        loop {
            match service.handle(&input.as_bytes()[used..], &mut output) {
                0 => return (String::from_utf8(output).unwrap(), input.len() - used),
                taken => used += taken,
            }
            if service.wants_close() {
                return (String::from_utf8(output).unwrap(), input.len() - used);
            }
        }
    }

    #[test]
    fn what_is_set_can_be_got_and_deleted() {
        let mut kv = KvService::new();
        assert_eq!(talk(&mut kv, "set a 5 0 3\r\nxyz\r\n"), ("STORED\r\n".into(), 0));
        assert_eq!(talk(&mut kv, "get a b\r\n"), ("VALUE a 5 3\r\nxyz\r\nEND\r\n".into(), 0));
        assert_eq!(talk(&mut kv, "set a 0 0 0\r\n\r\nget a\r\n").0, "STORED\r\nVALUE a 0 0\r\n\r\nEND\r\n");
        assert_eq!(talk(&mut kv, "delete a\r\ndelete a\r\nget a\r\n").0, "DELETED\r\nNOT_FOUND\r\nEND\r\n");
        assert_eq!(kv.stored_len, 0);
    }

    #[test]
    fn a_cut_command_waits_for_its_rest() {
        let mut kv = KvService::new();
        let whole = "set a 0 0 3\r\nxyz\r\n";
        for cut in 0..whole.len() {
            assert_eq!(talk(&mut kv, &whole[..cut]), (String::new(), cut), "{:?}", &whole[..cut]);
        }
    }

    #[test]
    fn bad_commands_are_answered_as_errors() {
        let mut kv = KvService::new();
        assert_eq!(talk(&mut kv, "GET / HTTP/1.1\r\n").0, "ERROR\r\n");
        assert!(!kv.wants_close());
        let table = ["set a 0 0 many\r\n", "set a 0 0 9999999\r\n", "set a 0 0 1\r\nxyz\r\n"];
        for bad in table {
            assert!(talk(&mut kv, bad).0.starts_with("CLIENT_ERROR "), "{bad}");
            assert!(kv.wants_close(), "{bad}");
        }
        assert!(talk(&mut kv, &"x".repeat(LINE_MAX)).0.starts_with("CLIENT_ERROR "));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(
            input in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n')], 0..300),
            command in prop_oneof![Just(""), Just("set "), Just("get "), Just("set a 0 0 4\r\n")],
        ) {
            let bytes = [command.as_bytes(), &input].concat();
            let mut output = Vec::new();
            let used = KvService::new().handle(&bytes, &mut output);
            prop_assert!(used <= bytes.len());
        }
    }
}
