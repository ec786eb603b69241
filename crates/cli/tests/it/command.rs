//! Starts the command and waits for it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// After this time a test counts as hung. Far beyond what anything takes on the slowest machine.
pub(crate) const HANG_LIMIT: Duration = Duration::from_secs(120);
/// Time between two looks at something that is waited for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tailcore");

/// A load for any machine: about 500 requests in half a second, no warm-up.
pub(crate) const SMALL: &str = "--rate 1k --duration 500ms --warmup 0s";

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Exit status; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Asserts the exit status, and that no thread panicked on the way.
    #[track_caller]
    pub(crate) fn expect(self, codes: &[i32]) -> Self {
        assert!(self.code.is_some_and(|code| codes.contains(&code)), "wanted {codes:?}: {self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// Standard output as JSON, which has to be all of it.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs `tailcore` with these arguments to its end.
#[track_caller]
pub(crate) fn tailcore<'a>(args: impl IntoIterator<Item = &'a str>) -> Finished {
    let mut command = Command::new(BINARY);
    command.args(args);
    finish(command)
}

/// Runs any command to its end.
#[track_caller]
pub(crate) fn finish(command: Command) -> Finished {
    Running::spawn(command, Stdio::piped()).finish()
}

/// The arguments of `tailcore run`; options are separated by spaces.
pub(crate) fn run_args<'a>(target: &'a str, options: &'a str) -> impl Iterator<Item = &'a str> {
    ["run", target].into_iter().chain(options.split_whitespace())
}

/// Runs `tailcore run` to its end.
pub(crate) fn run(target: &str, options: &str) -> Finished {
    tailcore(run_args(target, options))
}

/// Runs `tailcore run` with `--json FILE`: what it printed, and the file's content.
#[track_caller]
pub(crate) fn run_with_json(target: &str, options: &str) -> (Finished, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let finished = tailcore(run_args(target, options).chain(["--json", path.to_str().unwrap()]));
    let result = read_json(&path, &finished);
    (finished, result)
}

/// Reads a result, complaining with what the command had to say if there is none.
#[track_caller]
pub(crate) fn read_json(path: &Path, finished: &Finished) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {finished:#?}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A `tailcore` that goes on while the test does something to it. Ended with the test.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    pub(crate) fn start<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(BINARY);
        command.args(args);
        Self::spawn(command, Stdio::piped())
    }

    /// Starts any command with this standard output.
    pub(crate) fn spawn(mut command: Command, stdout: Stdio) -> Self {
        let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().expect("the command starts");
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Self { child, stdout, stderr }
    }

    /// Sends a signal, `INT` or `TERM`, to exactly this process.
    pub(crate) fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &line]).status().expect("there is a shell");
        assert!(status.success(), "`{line}`: {status}");
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < HANG_LIMIT, "{self:?} does not end");
            thread::sleep(LOOK_EVERY);
        };
        let text =
            |reader: Option<JoinHandle<String>>| reader.map_or_else(String::new, |r| r.join().unwrap());
        Finished { code: status.code(), stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads a pipe to its end, so that its writer never has to wait.
fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Says by name that a test cannot run here, or fails where `TAILCORE_REQUIRE` wants what is missing.
pub(crate) fn skip(test: &str, missing: &str, why: &str) {
    let required = std::env::var("TAILCORE_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == missing), "{test} needs {missing}: {why}");
    eprintln!("skipped {test}: {why}");
}
