//! Finds and kills the processes of a module's program by a tag in their environment. This reaches
//! processes that left the process group. A process that cleared its environment is not found.

use std::fs;
use std::hash::{BuildHasher, RandomState};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The environment variable with the tag of a module's program and its descendants.
pub const TAG_VAR: &str = "GAMBREL_PROGRAM";
/// A later round finds processes that started during an earlier one. A program that forks faster
/// than that survives.
const MAX_KILL_ROUNDS: usize = 16;

/// A new random tag.
pub fn new_tag() -> String {
    // Each `RandomState` has its own random keys.
    let half = |word: &str| RandomState::new().hash_one(word);
    format!("{:016x}{:016x}", half("one"), half("two"))
}

/// Kills every process with this tag.
pub fn kill_tagged(tag: &str) {
    for _ in 0..MAX_KILL_ROUNDS {
        if kill_round(tag) == 0 {
            return;
        }
    }
}

/// Whether a process with this tag exists.
pub fn any_tagged(tag: &str) -> bool {
    process_ids().any(|number| has_tag(number, tag))
}

fn kill_round(tag: &str) -> usize {
    process_ids().filter(|number| kill_if_tagged(*number, tag).is_some()).count()
}

/// The ids of all processes.
fn process_ids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn kill_if_tagged(number: i32, tag: &str) -> Option<()> {
    let pid = Pid::from_raw(number)?;
    if !has_tag(number, tag) {
        return None;
    }
    // Check again while the pidfd is open: another process may have got this number.
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    has_tag(number, tag).then(|| pidfd_send_signal(pidfd, Signal::KILL).ok()).flatten()
}

/// False for a process that has ended: it has no environment.
fn has_tag(number: i32, tag: &str) -> bool {
    let environ = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
    let ours = |entry: &[u8]| {
        let value = entry.strip_prefix(TAG_VAR.as_bytes());
        value.and_then(|value| value.strip_prefix(b"=")) == Some(tag.as_bytes())
    };

    environ.split(|byte| *byte == 0).any(ours)
}
