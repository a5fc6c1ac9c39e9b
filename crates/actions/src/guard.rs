//! Our end of the watchdog: it is told which hooks run, and by the end of its pipe that we are
//! gone. Started only when somebody needs it. It knows nothing of calls.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::{Errno, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::orphans;
use crate::process::{self, Trace};
use crate::settings::WATCHDOG_WORD;
use crate::spawn::{Start, spawn};
use crate::tree::Member;

/// An order has to fit into one write that is not taken apart.
const SLIP: usize = 2048;

/// How often an order is written, if the watchdog dies or a signal comes in between.
const TRIES: usize = 4;

/// The watchdog of one action.
#[derive(Default)]
pub(crate) struct Guard {
    pipe: Mutex<Option<OwnedFd>>,
}

/// Children of this process that are no hooks: of all guards, so that one that is gone leaves no
/// zombie for good.
static HELPERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

impl Guard {
    /// Has a running hook killed should we die.
    pub fn watch(&self, program: &Path, leader: Member, mark: &str) -> Result<(), String> {
        self.tell(program, &format!("watch {} {} {mark}\n", leader.pid, leader.start))
    }

    /// Has whatever carries the mark killed should we die. Told before a hook is started, so that
    /// there is no moment at which nobody knows of it.
    pub fn expect(&self, program: &Path, mark: &str) -> Result<(), String> {
        self.tell(program, &format!("expect {mark}\n"))
    }

    /// A hook that was watched or expected has ended.
    pub fn done(&self, program: &Path, mark: &str) {
        let _ = self.tell(program, &format!("done {mark}\n"));
    }

    /// Has what a hook left running killed when its time is over.
    pub fn until(
        &self,
        program: &Path,
        members: &[Member],
        trace: &Trace<'_>,
    ) -> Result<(), String> {
        let left = trace.until.saturating_duration_since(Instant::now());
        let at = crate::watchdog::clock_ms().saturating_add(left.as_millis() as u64);
        let short = |slip: &&str| slip.len() <= SLIP && !slip.contains('\n');
        let (mark, slip) = (trace.mark, trace.slip.filter(short).unwrap_or_default());
        let line = |m: &Member| format!("until {at} {} {} {mark} {slip}\n", m.pid, m.start);
        members.iter().try_for_each(|member| self.tell(program, &line(member)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, program: &Path, line: &str) -> Result<(), String> {
        let mut held = self.lock();
        for _ in 0..TRIES {
            if held.is_none() {
                *held = Some(start(program)?);
            }
            let Some(pipe) = held.as_ref() else { break };
            match write(pipe, line.as_bytes()) {
                Ok(_) => return Ok(()),
                // It died: another one is told, of this and whatever follows.
                Err(Errno::PIPE) => *held = None,
                Err(Errno::INTR) => {}
                Err(error) => return Err(format!("the watchdog does not listen: {error}")),
            }
        }
        Err("the watchdog ends at once".to_owned())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        *self.lock() = None;
        reap();
    }
}

/// Whether a child is a watchdog, a supervisor, or theirs to look after.
pub(crate) fn is_helper(pid: Pid) -> bool {
    helpers().contains(&pid)
}

/// Takes in a child that others look after: all that is left to us is to reap it.
pub(crate) fn keep(child: Pid) {
    helpers().push(child);
}

/// Takes leave of helpers that have ended.
pub(crate) fn reap() {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    helpers().retain(|helper| matches!(waitid(WaitId::Pid(*helper), options), Ok(None)));
}

fn helpers() -> MutexGuard<'static, Vec<Pid>> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Re-executes the program as a watchdog and gives the pipe that it reads.
pub(crate) fn start(program: &Path) -> Result<OwnedFd, String> {
    let broken = |error: std::io::Error| format!("no watchdog: {}: {error}", program.display());
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| broken(error.into()))?;
    let (theirs, ours) = (process::lift(theirs), process::lift(ours));
    process::unblock(&ours);
    spawn_helper(program, WATCHDOG_WORD, &[Some(theirs.as_fd()), None, None]).map_err(broken)?;
    Ok(ours)
}

/// Starts our own program again under another name of work, with nothing to read and nobody to
/// tell. It outlives us.
pub fn start_helper(program: &Path, word: &str) -> std::io::Result<()> {
    spawn_helper(program, word, &[None, None, None])
}

/// Starts our own program again under another name of work, with our whole environment.
pub(crate) fn spawn_helper(
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
    let _birth = orphans::hold();
    let start = Start {
        path: &path,
        argv: &argv,
        env: &env,
        cwd: None,
        streams,
        kill_with_parent: false,
        isolate: false,
        view: None,
    };
    helpers().push(spawn(&start)?);
    Ok(())
}
