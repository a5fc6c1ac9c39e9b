//! What the program that composes the rooms decides about running processes. No hook and no
//! configuration file can change it.

use std::path::PathBuf;
use std::time::Duration;

use crate::veil::Veil;

/// First argument of the program when it is re-executed as a watchdog.
pub const WATCHDOG_WORD: &str = "__watchdog";
/// First argument of the program when it is re-executed as a supervisor.
pub const SUPERVISE_WORD: &str = "__supervise";

/// After the hook itself has exited, how long its pipes may stay open before we go on.
pub(crate) const DRAIN: Duration = Duration::from_millis(200);
/// A hook that has lived this long gets a watchdog.
pub(crate) const WATCH_AFTER: Duration = Duration::from_millis(50);
/// The longest grace that still lets an answer come within timeout + 1 s.
pub(crate) const LONGEST_GRACE: Duration = Duration::from_millis(700);
/// How long killed processes are looked for before the answer is given all the same.
pub(crate) const SWEEP: Duration = Duration::from_millis(200);
/// The longest grace once a signal has told us to go ourselves.
pub(crate) const PARTING: Duration = Duration::from_millis(300);

/// How processes are run here.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where output goes that is too large to keep; `None` drops its middle.
    pub spill_dir: Option<PathBuf>,
    /// The program to re-execute with [`WATCHDOG_WORD`] or [`SUPERVISE_WORD`]; `None` in hosts
    /// that cannot be re-executed: nothing outlives them under supervision then.
    pub supervisor: Option<PathBuf>,
    /// Orphans of hooks become our children. Only for a process whose children are all ours.
    pub subreaper: bool,
    /// Whether shell text without shell syntax is executed without a shell.
    pub direct: bool,
    /// What output goes through before it is written to `spill_dir`; `None` writes it as it is.
    pub veil: Option<Veil>,
    /// While hooks are waited for, TERM, INT and HUP end them first and then this process, with
    /// the exit code 128 + n. Only for a program of its own: elsewhere signals are the host's.
    pub heeds_signals: bool,
    /// Whether every hook is told to the watchdog before it starts, and not only one that lives for
    /// a while. For a process that nobody waits for.
    pub watch_at_once: bool,
    /// Whether the kernel kills a hook when we are killed. Counts for hooks that are started on the
    /// main thread and cannot ask to go on alone. Only for a program of its own: threads of a host
    /// may end before their hooks.
    pub kill_with_parent: bool,
    /// The file in which this process is entered while it runs hooks, so that a later start ends
    /// what they leave running should we be killed.
    pub running_file: Option<PathBuf>,
    /// Whether each hook is the first process of a PID namespace, so that the kernel ends whatever
    /// it started when it ends. A hook that cannot have one is not started.
    pub isolate: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            spill_dir: None,
            supervisor: None,
            subreaper: false,
            direct: true,
            veil: None,
            heeds_signals: false,
            watch_at_once: false,
            kill_with_parent: false,
            running_file: None,
            isolate: false,
        }
    }
}
