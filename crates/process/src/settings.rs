//! Settings for running processes. The program that builds the actions sets them; no hook and no
//! configuration file can change them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::redact::Redact;
use crate::watchdog_client::WatchdogClient;

/// First argument of the program when it is re-executed as a watchdog.
pub const WATCHDOG_WORD: &str = "__watchdog";
/// First argument of the program when it is re-executed as a supervisor.
pub const SUPERVISE_WORD: &str = "__supervise";

/// How long a hook's pipes may stay open after the hook itself has exited.
pub const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// A hook that runs this long is registered with the watchdog.
pub const WATCHDOG_DELAY: Duration = Duration::from_millis(50);
/// The longest grace that still lets the answer come within timeout + 1 s.
pub const MAX_KILL_GRACE: Duration = Duration::from_millis(700);
/// How long the action looks for killed processes before it answers anyway.
pub const SWEEP_TIMEOUT: Duration = Duration::from_millis(200);
/// The longest grace after a signal asked this process to end.
pub const SIGNAL_KILL_GRACE: Duration = Duration::from_millis(300);

/// What SIGTERM, SIGINT and SIGHUP do while processes run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignalPolicy {
    /// Nothing here: the host handles them.
    #[default]
    HostHandles,
    /// They end the processes and then this one, with exit code 128 + n. Only for a process of its
    /// own.
    ExitProcess,
    /// They end the processes, and the call returns. The owner of the outermost
    /// [`SignalGuard`](crate::signals::SignalGuard) decides what follows.
    Return,
}

/// How an action runs processes.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Directory for output that is too large to keep in memory; `None` drops the middle of it.
    pub spill_dir: Option<PathBuf>,
    /// The program to re-execute with [`WATCHDOG_WORD`] or [`SUPERVISE_WORD`]. `None` in hosts that
    /// cannot be re-executed: no hook outlives such a host under supervision.
    pub supervisor: Option<PathBuf>,
    /// The watchdog that all actions share; `None` gives each action its own.
    pub watchdog: Option<Arc<WatchdogClient>>,
    /// Orphans of hooks become children of this process. Only for a process whose children are all
    /// hooks or helpers.
    pub subreaper: bool,
    /// Whether shell text without shell syntax runs in a shell, too.
    pub always_uses_shell: bool,
    /// Redacts output before it is written to `spill_dir`; `None` writes it unchanged.
    pub redact: Option<Redact>,
    /// What SIGTERM, SIGINT and SIGHUP do.
    pub signals: SignalPolicy,
    /// Whether every hook is registered with the watchdog before it starts, not only one that runs
    /// for a while. For a process that no caller waits for.
    pub watch_at_once: bool,
    /// Whether the kernel kills a hook when this process is killed. Applies to hooks that start on
    /// the main thread and cannot detach. Only for a process of its own: a host's threads may end
    /// before their hooks.
    pub kill_with_parent: bool,
    /// The file that lists this process while it runs hooks. If this process is killed, a later
    /// start kills the processes its hooks left.
    pub running_file: Option<PathBuf>,
    /// Whether each hook is the first process of a PID namespace, so that the kernel kills all its
    /// processes when it ends. A hook that cannot have a namespace is not started.
    pub isolate: bool,
}

impl Settings {
    /// The shared watchdog, else a new one that starts with its first order.
    pub fn watchdog_client(&self) -> Arc<WatchdogClient> {
        let own = || Arc::new(WatchdogClient::new(self.supervisor.clone()));
        self.watchdog.clone().unwrap_or_else(own)
    }
}
