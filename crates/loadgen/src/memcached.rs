//! The memcached text protocol (`protocol.txt` of memcached): get, set, and their replies.

use memchr::memchr;
use tailcore_harness::Reply;

use crate::protocol::{Decoded, Protocol};
use crate::workload::{Operation, Request};

/// Bytes of every key: `k` and 15 digits.
pub const KEY_LEN: usize = 16;
/// Longest reply line that is not garbage. `VALUE` lines with our keys stay far below it.
const LINE_MAX: usize = 512;
/// Largest value that memcached stores by default.
pub const VALUE_LEN_MAX: u32 = 1_000_000;
/// The letter that values are filled with.
const FILL: u8 = b'x';

/// Client side of the memcached text protocol.
#[derive(Clone, Debug, Default)]
pub struct MemcachedText {
    /// Payload of the largest value written so far.
    value: Vec<u8>,
}

impl MemcachedText {
    /// A codec ready for values of up to `value_len` bytes without allocating.
    pub fn new(value_len: u32) -> Self {
        Self { value: vec![FILL; value_len as usize] }
    }
}

impl Protocol for MemcachedText {
    fn encode(&mut self, request: &Request, out: &mut Vec<u8>) {
        match request.operation {
            Operation::Get => {
                out.extend_from_slice(b"get ");
                push_key(request.key, out);
            }
            Operation::Set => {
                let len = request.value_len as usize;
                if self.value.len() < len {
                    self.value.resize(len, FILL);
                }
                out.extend_from_slice(b"set ");
                push_key(request.key, out);
                out.extend_from_slice(b" 0 0 ");
                push_decimal(u64::from(request.value_len), out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(&self.value[..len]);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn decode(&mut self, request: &Request, input: &[u8]) -> Decoded {
        let Some(line_feed) = memchr(b'\n', &input[..input.len().min(LINE_MAX)]) else {
            return if input.len() >= LINE_MAX { Decoded::Garbage } else { Decoded::Incomplete };
        };
        let len = line_feed + 1;
        let Some(line) = input[..line_feed].strip_suffix(b"\r") else { return Decoded::Garbage };
        match line {
            b"STORED" if request.operation == Operation::Set => Decoded::Good { len, reply: Reply::Stored },
            b"END" if request.operation == Operation::Get => Decoded::Good { len, reply: Reply::Miss },
            b"STORED" | b"END" | b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" => Decoded::Wrong { len },
            b"ERROR" => Decoded::Error { len },
            _ if line.starts_with(b"SERVER_ERROR ") || line.starts_with(b"CLIENT_ERROR ") => {
                Decoded::Error { len }
            }
            _ => match line.strip_prefix(b"VALUE ") {
                Some(header) => decode_value(request, header, &input[len..], len),
                None => Decoded::Garbage,
            },
        }
    }
}

/// `VALUE <key> <flags> <bytes>[ <cas>]\r\n<data>\r\nEND\r\n`; `rest` follows the first line.
fn decode_value(request: &Request, header: &[u8], rest: &[u8], line_len: usize) -> Decoded {
    let mut fields = header.split(|&byte| byte == b' ');
    let (Some(key), Some(_flags), Some(bytes)) = (fields.next(), fields.next(), fields.next()) else {
        return Decoded::Garbage;
    };
    let Some(bytes) = parse_decimal(bytes).filter(|&bytes| bytes <= u64::from(VALUE_LEN_MAX)) else {
        return Decoded::Garbage;
    };
    let data_len = bytes as usize;
    let tail = b"\r\nEND\r\n";
    let Some(after) = rest.get(data_len..) else { return Decoded::Incomplete };
    let seen = &after[..after.len().min(tail.len())];
    if !tail.starts_with(seen) {
        return Decoded::Garbage;
    }
    if seen.len() < tail.len() {
        return Decoded::Incomplete;
    }
    let len = line_len + data_len + tail.len();
    let is_asked = request.operation == Operation::Get
        && key == key_bytes(request.key)
        && bytes == u64::from(request.value_len);
    if is_asked { Decoded::Good { len, reply: Reply::Hit } } else { Decoded::Wrong { len } }
}

/// A key number as it goes over the wire.
pub fn key_bytes(key: u64) -> [u8; KEY_LEN] {
    let mut bytes = [b'0'; KEY_LEN];
    bytes[0] = b'k';
    let mut rest = key;
    for byte in bytes[1..].iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    bytes
}

fn push_key(key: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&key_bytes(key));
}

/// Appends a number in decimal without formatting machinery.
pub(crate) fn push_decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// An unsigned decimal number, digits only.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |number, &digit| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GET: Request = Request { operation: Operation::Get, key: 7, value_len: 3 };
    const SET: Request = Request { operation: Operation::Set, key: 7, value_len: 3 };

    fn encoded(request: &Request) -> String {
        let mut out = Vec::new();
        MemcachedText::default().encode(request, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn decoded(request: &Request, input: &str) -> Decoded {
        MemcachedText::default().decode(request, input.as_bytes())
    }

    #[test]
    fn requests_are_spelled_as_the_protocol_says() {
        assert_eq!(encoded(&GET), "get k000000000000007\r\n");
        assert_eq!(encoded(&SET), "set k000000000000007 0 0 3\r\nxxx\r\n");
    }

    #[test]
    fn replies_are_told_apart() {
        let hit = "VALUE k000000000000007 0 3\r\nxxx\r\nEND\r\n";
        let table = [
            (&GET, hit, Decoded::Good { len: hit.len(), reply: Reply::Hit }),
            (&GET, "END\r\nmore", Decoded::Good { len: 5, reply: Reply::Miss }),
            (&SET, "STORED\r\n", Decoded::Good { len: 8, reply: Reply::Stored }),
            (&GET, "STORED\r\n", Decoded::Wrong { len: 8 }),
            (&SET, "NOT_STORED\r\n", Decoded::Wrong { len: 12 }),
            (&GET, "VALUE k000000000000008 0 3\r\nxxx\r\nEND\r\n", Decoded::Wrong { len: hit.len() }),
            (&GET, "VALUE k000000000000007 0 2\r\nxx\r\nEND\r\n", Decoded::Wrong { len: hit.len() - 1 }),
            (&SET, "SERVER_ERROR out of memory\r\n", Decoded::Error { len: 28 }),
            (&GET, "ERROR\r\n", Decoded::Error { len: 7 }),
            (&GET, "HTTP/1.1 400 Bad Request\r\n", Decoded::Garbage),
            (&GET, "END\n", Decoded::Garbage),
            (&GET, "VALUE k000000000000007 0 many\r\n", Decoded::Garbage),
            (&GET, "VALUE k000000000000007 0 3\r\nxxxxEND\r\n", Decoded::Garbage),
            (&GET, "VALUE k000000000000007 0 99999999999999999999\r\n", Decoded::Garbage),
        ];
        for (request, input, expected) in table {
            assert_eq!(decoded(request, input), expected, "{input:?}");
        }
    }

    #[test]
    fn every_cut_of_a_reply_is_incomplete() {
        let hit = "VALUE k000000000000007 0 3\r\nxxx\r\nEND\r\n";
        for cut in 0..hit.len() {
            assert_eq!(decoded(&GET, &hit[..cut]), Decoded::Incomplete, "{:?}", &hit[..cut]);
        }
    }

    #[test]
    fn a_line_without_an_end_is_garbage_at_last() {
        assert_eq!(decoded(&GET, &"x".repeat(LINE_MAX - 1)), Decoded::Incomplete);
        assert_eq!(decoded(&GET, &"x".repeat(LINE_MAX)), Decoded::Garbage);
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic_and_never_claim_more_than_there_is(
            input in proptest::collection::vec(any::<u8>(), 0..200),
            is_get in any::<bool>(),
        ) {
            let request = if is_get { GET } else { SET };
            match MemcachedText::default().decode(&request, &input) {
                Decoded::Good { len, .. } | Decoded::Error { len } | Decoded::Wrong { len } => {
                    prop_assert!(len <= input.len() && len > 0);
                }
                Decoded::Incomplete | Decoded::Garbage => {}
            }
        }

        #[test]
        fn decimals_are_read_as_written(number in any::<u64>()) {
            let mut out = Vec::new();
            push_decimal(number, &mut out);
            let expected = number.to_string().into_bytes();
            prop_assert_eq!(&out, &expected);
            let expected = (number < 10_000_000_000_000_000_000).then_some(number);
            prop_assert_eq!(parse_decimal(&out), expected);
        }
    }
}
