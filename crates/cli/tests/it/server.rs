//! The built-in server as a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::command::{BINARY, HANG_LIMIT, LOOK_EVERY};

/// A `tailcore serve`. Killed with the test, and nothing else is.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// A server on a free port.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A server with further options.
    pub(crate) fn with(options: &[&str]) -> Self {
        let mut child = Command::new(BINARY)
            .args(["serve", "--listen", "127.0.0.1:0", "--for", "5m"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("tailcore starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        stdout.read_line(&mut line).expect("the server says where it listens");
        let address = line
            .strip_prefix("serving memcached://")
            .and_then(|rest| rest.split([' ', ',']).next())
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("no address in `{line}`"));
        Self { child, address }
    }

    /// The server as `tailcore run` takes it.
    pub(crate) fn target(&self) -> String {
        format!("memcached://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// SIGKILL: no farewell.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until a run of writes to one key (`--keys 1 --get-ratio 0`) has been heard: load is
    /// being offered, however long that took.
    pub(crate) fn wait_for_load(&self) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let started = Instant::now();
        loop {
            stream.write_all(b"get k000000000000000\r\n").unwrap();
            if reply(&mut stream).starts_with(b"VALUE ") {
                return;
            }
            assert!(started.elapsed() < HANG_LIMIT, "no write reached {}", self.address);
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn reply(stream: &mut TcpStream) -> Vec<u8> {
    let mut reply = Vec::new();
    while !reply.ends_with(b"END\r\n") {
        let mut chunk = [0; 1_024];
        let len = stream.read(&mut chunk).unwrap();
        assert!(len > 0, "the server hung up");
        reply.extend_from_slice(&chunk[..len]);
    }
    reply
}
