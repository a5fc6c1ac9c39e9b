//! Processes of a test, found by a token in their environment, and how often an attack is repeated.

use rustix::process::{Pid, Signal, kill_process};

use crate::test_project::text;

/// The variable that every process of a test carries.
pub const TOKEN: &str = "GAMBREL_TEST_TOKEN";

/// A small count, or the full one with `GAMBREL_TEST_FULL=1`.
pub fn full_count(small: usize, full: usize) -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some_and(|set| set == "1") { full } else { small }
}

/// Every process with this token.
pub fn processes_with_token(token: &str) -> Vec<i32> {
    let wanted = format!("{TOKEN}={token}");
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    pids.filter(carries).collect()
}

/// Processes with this token whose command line contains this word.
pub fn processes_with_command(token: &str, word: &str) -> Vec<i32> {
    let line = |pid: &i32| text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    processes_with_token(token).into_iter().filter(|pid| line(pid).contains(word)).collect()
}

/// Sends SIGKILL.
pub fn kill(pid: i32) {
    let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}
