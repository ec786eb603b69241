//! Exit statuses: 0 valid, 1 the run failed, 2 bad usage, 3 the run finished but its verdict is invalid.

use std::process::ExitCode;

use tailcore_harness::{Ending, RunResult};
use tailcore_loadgen::LoadError;

/// What a command comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and the verdict, if there is one, is valid.
    Valid,
    /// The run failed: it could not start, or its target went away.
    Failed,
    /// What was typed cannot be done.
    Usage,
    /// The run finished, but its numbers do not answer the question.
    Invalid,
    /// Another command was run, and this is its status.
    Command(u8),
}

impl Exit {
    /// The status of a finished run.
    pub(crate) fn of_run(result: &RunResult, ending: &Ending) -> Self {
        match ending {
            Ending::TargetLost(_) => Self::Failed,
            Ending::Completed | Ending::Interrupted if result.verdict.valid => Self::Valid,
            Ending::Completed | Ending::Interrupted => Self::Invalid,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Valid => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Command(status) => status,
        })
    }
}

/// An error that is the typist's, found after the command line itself was understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// An error and its causes on one line. Messages that already name their cause are not followed by it.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// The status of an error: usage errors are told apart from failures.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    let is_usage = error.is::<UsageError>()
        || error.downcast_ref::<LoadError>().is_some_and(|error| {
            matches!(
                error,
                LoadError::Plan { .. }
                    | LoadError::Target { .. }
                    | LoadError::OpenFiles { .. }
                    | LoadError::Placement(_)
            )
        });
    if is_usage { Exit::Usage } else { Exit::Failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_named_once() {
        let inner = std::io::Error::other("disk full");
        let outer = anyhow::Error::new(inner).context("cannot write x");
        assert_eq!(describe(&outer), "cannot write x: disk full");
        assert_eq!(describe(&outer.context("sorry: disk full")), "sorry: disk full: cannot write x");
        assert_eq!(of_error(&UsageError("typo".to_owned()).into()), Exit::Usage);
    }
}
