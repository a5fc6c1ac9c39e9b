//! This process's end of the watchdog pipe: it registers running processes, and EOF shows the watchdog
//! that this process is gone. Started only when needed.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use rustix::io::{Errno, write};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::error::WatchdogError;
use crate::lock::lock;
use crate::orphans;
use crate::posix_spawn::{SpawnRequest, spawn_process};
use crate::process::{self, LeftoverTrace};
use crate::process_table::ProcessId;
use crate::settings::WATCHDOG_WORD;

/// An order must fit into one atomic write.
const MAX_NOTE_BYTES: usize = 2048;

/// How often an order is written if the watchdog dies or a signal interrupts the write.
const MAX_ATTEMPTS: usize = 4;

/// The watchdog of one owner of processes.
#[derive(Debug, Default)]
pub struct WatchdogClient {
    /// The program to execute again; without one there is no watchdog.
    program: Option<PathBuf>,
    pipe: Mutex<Option<OwnedFd>>,
}

/// Helpers among the children of this process. Shared by all clients, so that a dropped client
/// leaves no zombie.
static HELPERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

impl WatchdogClient {
    /// A client that starts its watchdog with the first order.
    pub fn new(program: Option<PathBuf>) -> Self {
        Self { program, pipe: Mutex::default() }
    }

    /// Whether a watchdog can be started here.
    pub fn is_available(&self) -> bool {
        self.program.is_some()
    }

    /// Has a running process killed with its descendants if this process dies.
    pub fn watch_process(&self, leader: ProcessId, tag: &str) -> Result<(), WatchdogError> {
        self.send_order(&format!("watch {} {} {tag}\n", leader.pid, leader.start))
    }

    /// Has every process with the tag killed if this process dies. Sent before a start, so that the
    /// watchdog knows the process from the beginning.
    pub fn expect_tag(&self, tag: &str) -> Result<(), WatchdogError> {
        self.send_order(&format!("expect {tag}\n"))
    }

    /// Removes a process that has ended.
    pub fn release_tag(&self, tag: &str) {
        let _ = self.send_order(&format!("done {tag}\n"));
    }

    /// Has remaining processes killed at their deadline.
    pub fn kill_leftovers_at(
        &self,
        members: &[ProcessId],
        trace: &LeftoverTrace<'_>,
    ) -> Result<(), WatchdogError> {
        let time_left = trace.deadline.saturating_duration_since(Instant::now());
        let at = crate::watchdog::monotonic_ms().saturating_add(time_left.as_millis() as u64);
        let fits = |note: &&str| note.len() <= MAX_NOTE_BYTES && !note.contains('\n');
        let (tag, note) = (trace.tag, trace.leak_record.filter(fits).unwrap_or_default());
        let line = |m: &ProcessId| format!("until {at} {} {} {tag} {note}\n", m.pid, m.start);
        members.iter().try_for_each(|member| self.send_order(&line(member)))
    }

    /// Has these processes and all with the tag killed at their deadline.
    pub fn kill_tagged_at(
        &self,
        members: &[ProcessId],
        trace: &LeftoverTrace<'_>,
    ) -> Result<(), WatchdogError> {
        // No process has the number 0: the tag alone identifies the others.
        self.kill_leftovers_at(&[ProcessId { pid: 0, start: 0 }], trace)?;
        self.kill_leftovers_at(members, trace)
    }

    fn send_order(&self, line: &str) -> Result<(), WatchdogError> {
        let program = self.program.as_deref().ok_or(WatchdogError::NoProgram)?;
        let mut pipe_slot = lock(&self.pipe);
        for _ in 0..MAX_ATTEMPTS {
            if pipe_slot.is_none() {
                *pipe_slot = Some(start_watchdog(program)?);
            }
            let Some(pipe) = pipe_slot.as_ref() else { break };
            match write(pipe, line.as_bytes()) {
                Ok(_) => return Ok(()),
                // The watchdog died: a new one gets this and all later orders.
                Err(Errno::PIPE) => *pipe_slot = None,
                Err(Errno::INTR) => {}
                Err(error) => return Err(WatchdogError::Order(error.into())),
            }
        }
        Err(WatchdogError::KeepsEnding)
    }
}

impl Drop for WatchdogClient {
    fn drop(&mut self) {
        *lock(&self.pipe) = None;
        reap_helpers();
    }
}

/// Whether a child is a watchdog, a supervisor, or a process that a supervisor owns.
pub fn is_helper(pid: Pid) -> bool {
    lock(&HELPERS).contains(&pid)
}

/// Adds a child that a supervisor owns; this process only reaps it.
pub fn add_helper(child: Pid) {
    lock(&HELPERS).push(child);
}

/// Reaps helpers that have ended.
pub fn reap_helpers() {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    lock(&HELPERS).retain(|helper| matches!(waitid(WaitId::Pid(*helper), options), Ok(None)));
}

/// Re-executes the program as a watchdog and returns the pipe that it reads.
pub(crate) fn start_watchdog(program: &Path) -> Result<OwnedFd, WatchdogError> {
    let start_failure =
        |source: std::io::Error| WatchdogError::Start { program: program.to_owned(), source };
    let (theirs, ours) = process::open_pipe().map_err(|error| start_failure(error.into()))?;
    process::set_nonblocking(&ours);
    spawn_helper(program, WATCHDOG_WORD, &[Some(theirs.as_fd()), None, None])
        .map_err(start_failure)?;
    Ok(ours)
}

/// Starts this program again with the argument `word`, without stdin and output. It outlives this
/// process.
pub fn start_helper(program: &Path, word: &str) -> std::io::Result<()> {
    spawn_helper(program, word, &[None, None, None])
}

/// Starts this program again with the argument `word` and this process's environment.
pub fn spawn_helper(
    program: &Path,
    word: &str,
    streams: &[Option<std::os::fd::BorrowedFd<'_>>],
) -> std::io::Result<()> {
    let path = CString::new(program.as_os_str().as_bytes())?;
    let argv = [path.clone(), CString::new(word)?];
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend(value.into_vec());
        CString::new(text)
    };

    let env = std::env::vars_os().map(entry).collect::<Result<Vec<_>, _>>()?;
    let _birth = orphans::lock_spawns();

    let request =
        SpawnRequest { path: &path, argv: &argv, env: &env, streams, ..SpawnRequest::default() };
    lock(&HELPERS).push(spawn_process(&request)?);
    Ok(())
}
