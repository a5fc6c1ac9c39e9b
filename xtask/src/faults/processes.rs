//! Finds processes that belong to a project by working folder, environment or arguments, also
//! orphans.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process of a project.
pub struct ProjectProcess {
    pub pid: u32,
    /// Its command line, for messages.
    pub words: String,
    /// Whether it is gambrel.
    pub is_gambrel: bool,
}

/// Living processes that work in `base`, or name it in their environment or arguments.
pub fn processes_of(base: &Path, program: &Path) -> Vec<ProjectProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let own = std::process::id();
    pids.filter(|pid| *pid != own).filter_map(|pid| inspect_process(pid, base, program)).collect()
}

fn inspect_process(pid: u32, base: &Path, program: &Path) -> Option<ProjectProcess> {
    let proc = |name: &str| format!("/proc/{pid}/{name}");
    let stat = fs::read_to_string(proc("stat")).ok()?;
    let state = stat.rsplit(") ").next()?.chars().next()?;
    if matches!(state, 'Z' | 'X') {
        return None;
    }

    let needle = base.as_os_str().as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
    let arguments = fs::read(proc("cmdline")).unwrap_or_default();
    let folder = fs::read_link(proc("cwd")).is_ok_and(|cwd| holds(cwd.as_os_str().as_bytes()));
    let environment = || fs::read(proc("environ")).is_ok_and(|bytes| holds(&bytes));
    if !folder && !holds(&arguments) && !environment() {
        return None;
    }

    let words = String::from_utf8_lossy(&arguments).replace('\0', " ");
    let is_gambrel = fs::read_link(proc("exe")).is_ok_and(|exe| exe.ends_with(program));
    let is_gambrel =
        is_gambrel || fs::canonicalize(program).ok() == fs::read_link(proc("exe")).ok();
    Some(ProjectProcess { pid, words: words.chars().take(60).collect(), is_gambrel })
}

/// Waits until no process is left, at most until `until`. Returns the remaining ones.
pub fn wait_for_none(base: &Path, program: &Path, until: Instant) -> Vec<ProjectProcess> {
    loop {
        let left = processes_of(base, program);
        if left.is_empty() || Instant::now() >= until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Kills the remaining processes of an attack.
pub fn kill_all(left: &[ProjectProcess]) {
    for process in left {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            // The process may have ended already.
            let _gone = kill_process(pid, Signal::KILL);
        }
    }
}
