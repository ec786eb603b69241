//! Tracepoints: events in the kernel's own code, numbered in tracefs.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::terms::is_name;
use crate::near::{did_you_mean, near_owned};

/// A place in the kernel that can be counted, such as `sched:sched_switch`.
///
/// Its number is the `config` of an event of `PERF_TYPE_TRACEPOINT` (2). Numbers differ between kernels and may
/// change when a module is loaded again, so they are looked up each time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Tracepoint {
    /// The part of the kernel, such as `sched`.
    pub system: String,
    /// The event in it, such as `sched_switch`.
    pub event: String,
}

/// Where tracefs is mounted, below the root; the second is its place in kernels before 4.1.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

impl Tracepoint {
    /// Looks up the number in the system whose files are below `root` (`/` for the running one).
    ///
    /// # Errors
    ///
    /// [`TracepointError`] tells a tracefs that is missing or closed from a tracepoint that does not exist.
    pub fn id(&self, root: &Path) -> Result<u64, TracepointError> {
        let events = events_folder(root)?;
        let path = events.join(&self.system).join(&self.event).join("id");
        match fs::read_to_string(&path) {
            Ok(content) => content.trim().parse().map_err(|_| TracepointError::Malformed {
                path: path.display().to_string(),
                content: content.clone(),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(&events)),
            Err(error) => Err(TracepointError::refused(&path, error.kind())),
        }
    }

    /// Why there is no file with the number.
    fn missing(&self, events: &Path) -> TracepointError {
        let tracepoint = self.to_string();
        let system = events.join(&self.system);
        if system.join(&self.event).is_dir() {
            return TracepointError::NotCountable { tracepoint };
        }
        let in_system = folders(&system);
        let near_events = near_owned(&self.event, in_system.iter().map(String::as_str));
        let systems = folders(events);
        let near_systems = near_owned(&self.system, systems.iter().map(String::as_str));
        let mut near: Vec<String> =
            near_events.iter().map(|event| format!("{}:{event}", self.system)).collect();
        if in_system.is_empty() {
            let same_event = |system: &&String| events.join(system).join(&self.event).is_dir();
            let moved = systems.iter().filter(same_event).chain(&near_systems);
            near = moved.map(|system| format!("{system}:{}", self.event)).collect();
            near.dedup();
            near.truncate(3);
        }
        TracepointError::NoSuch { tracepoint, near }
    }
}

/// Lists the tracepoints of the system whose files are below `root`, in order.
///
/// # Errors
///
/// [`TracepointError`] if tracefs is missing or closed. Parts of it that cannot be listed are left out.
pub fn tracepoints(root: &Path) -> Result<Vec<Tracepoint>, TracepointError> {
    let events = events_folder(root)?;
    if let Err(error) = fs::read_dir(&events) {
        return Err(TracepointError::refused(&events, error.kind()));
    }
    let mut found = Vec::new();
    for system in folders(&events) {
        for event in folders(&events.join(&system)) {
            found.push(Tracepoint { system: system.clone(), event });
        }
    }
    Ok(found)
}

/// The directory which has one for each part of the kernel.
fn events_folder(root: &Path) -> Result<PathBuf, TracepointError> {
    let mut refused = None;
    for place in PLACES {
        let events = root.join(place).join("events");
        match fs::metadata(&events) {
            Ok(_) => return Ok(events),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
            // The first place is the more telling one: the second is closed on most systems.
            Err(error) => refused = refused.or(Some(TracepointError::refused(&events, error.kind()))),
        }
    }
    Err(refused.unwrap_or_else(|| TracepointError::NotMounted {
        places: PLACES.map(|place| root.join(place).display().to_string()).join(" and "),
    }))
}

/// The names of the directories in a directory, in order; none if it cannot be listed.
fn folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

impl FromStr for Tracepoint {
    type Err = TracepointError;

    fn from_str(typed: &str) -> Result<Tracepoint, TracepointError> {
        let (system, event) = typed.trim().split_once(':').unwrap_or_default();
        // They become parts of a path.
        if [system, event].iter().all(|name| is_name(name) && !name.starts_with('.')) {
            return Ok(Tracepoint { system: system.to_owned(), event: event.to_owned() });
        }
        Err(TracepointError::Name { typed: typed.to_owned() })
    }
}

impl fmt::Display for Tracepoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.system, self.event)
    }
}

/// Why a tracepoint has no number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TracepointError {
    /// It is not a tracepoint's name.
    #[error("tracepoint {typed:?}: not of the form system:event, as in sched:sched_switch")]
    Name {
        /// What was typed.
        typed: String,
    },
    /// Tracefs is nowhere to be found.
    #[error(
        "tracepoints have no numbers: {places} hold no events; as root: mount -t tracefs tracefs /sys/kernel/tracing \
         (a kernel without tracing has no such directory)"
    )]
    NotMounted {
        /// Where it was looked for.
        places: String,
    },
    /// Tracefs may not be read.
    #[error(
        "tracepoints have no numbers: {path}: no permission; run as root, or mount tracefs for your group"
    )]
    Forbidden {
        /// What was to be read.
        path: String,
    },
    /// Tracefs cannot be read.
    #[error("tracepoints have no numbers: {path} cannot be read: {kind}")]
    Unreadable {
        /// What was to be read.
        path: String,
        /// What the system said.
        kind: ErrorKind,
    },
    /// The kernel has no such tracepoint.
    #[error("tracepoint {tracepoint}: this kernel has none of that name{}", did_you_mean(near))]
    NoSuch {
        /// What was asked for.
        tracepoint: String,
        /// Up to three tracepoints like it, nearest first.
        near: Vec<String>,
    },
    /// It can be traced but has no number to count it by.
    #[error("tracepoint {tracepoint}: the kernel gives it no number, so it can be traced but not counted")]
    NotCountable {
        /// What was asked for.
        tracepoint: String,
    },
    /// Its number is none.
    #[error("tracepoint: {path} holds {content:?}, which is no number")]
    Malformed {
        /// The file.
        path: String,
        /// What it holds.
        content: String,
    },
}

impl TracepointError {
    fn refused(path: &Path, kind: ErrorKind) -> TracepointError {
        let path = path.display().to_string();
        match kind {
            ErrorKind::PermissionDenied => TracepointError::Forbidden { path },
            _ => TracepointError::Unreadable { path, kind },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_tracefs() {
        let name = "sched:sched_switch";
        assert_eq!(name.parse::<Tracepoint>().unwrap().to_string(), name);
        for typed in
            ["", "sched", ":", "a:", ":b", "..:..", "a/b:c", "a:b/../c", ".:x", "a:b:c", "a:*", "é:a"]
        {
            assert_eq!(typed.parse::<Tracepoint>(), Err(TracepointError::Name { typed: typed.to_owned() }));
        }
    }

    #[test]
    fn a_closed_door_is_not_a_missing_one() {
        let path = Path::new("/x");
        let forbidden = TracepointError::refused(path, ErrorKind::PermissionDenied);
        assert_eq!(forbidden, TracepointError::Forbidden { path: "/x".to_owned() });
        let other = TracepointError::refused(path, ErrorKind::Other);
        assert!(matches!(other, TracepointError::Unreadable { .. }));
    }
}
