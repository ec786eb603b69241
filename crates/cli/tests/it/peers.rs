//! Peers that are no proper servers, in threads of the test.
//!
//! The threads wait for connections that no longer come, and end with the test process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Asks only for reads, so that every request is one line and `END` answers it.
pub(crate) const READS_ONLY: &str = "--get-ratio 1";

const MISS: &[u8] = b"END\r\n";

/// An address on which nobody listens.
pub(crate) fn deserted() -> SocketAddr {
    listen().local_addr().unwrap()
}

/// Accepts every connection and never says a word.
pub(crate) fn silent() -> TcpListener {
    // The kernel accepts on the listener's behalf.
    listen()
}

/// Answers anything with `reply`.
pub(crate) fn babbling(reply: &'static [u8]) -> SocketAddr {
    serve(move |_, mut stream| while lines(&mut stream).is_some() && stream.write_all(reply).is_ok() {})
}

/// Answers reads; its first connection closes after `limit` of them, the others go on.
pub(crate) fn losing_its_first_connection(limit: usize) -> SocketAddr {
    serve(move |index, mut stream| {
        let mut answered = 0;
        while let Some(count) = lines(&mut stream) {
            answered += count;
            if (index == 0 && answered > limit) || stream.write_all(&MISS.repeat(count)).is_err() {
                return;
            }
        }
    })
}

/// Collects `count` reads, pauses, and only then answers them all.
pub(crate) fn holding_back(count: usize, pause: Duration) -> SocketAddr {
    serve(move |_, mut stream| {
        let mut held = 0;
        while held < count {
            let Some(more) = lines(&mut stream) else { return };
            held += more;
        }
        thread::sleep(pause);
        stream.write_all(&MISS.repeat(held)).ok();
        while lines(&mut stream).is_some() {}
    })
}

fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Gives each connection a thread of its own, with its number in the order of arrival.
fn serve(talk: impl Fn(usize, TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = listen();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (index, stream) in listener.incoming().flatten().enumerate() {
            let talk = talk.clone();
            thread::spawn(move || talk(index, stream));
        }
    });
    address
}

/// Reads what is there and counts the lines; `None` at the end of the connection.
fn lines(stream: &mut TcpStream) -> Option<usize> {
    let mut chunk = [0; 4_096];
    match stream.read(&mut chunk) {
        Ok(0) | Err(_) => None,
        Ok(len) => Some(chunk[..len].iter().filter(|&&byte| byte == b'\n').count()),
    }
}
