//! Catches SIGTERM, SIGINT and SIGHUP while processes run. The owner of the outermost guard decides
//! what happens after a signal.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::exit;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::lock::lock;
use crate::posix_spawn;
use crate::process::{open_pipe, set_nonblocking};
use crate::settings::{SIGNAL_KILL_GRACE, SWEEP_TIMEOUT};

const SIGNALS: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// Keeps the signal handlers installed. The signal is forgotten when the last guard is dropped.
pub struct SignalGuard {
    read_end: Arc<OwnedFd>,
    /// Whether it still counts as a live guard.
    installed: bool,
}

#[derive(Default)]
struct SignalState {
    /// The end that batches poll, and the end that the signal handler writes to.
    pipe: Option<(Arc<OwnedFd>, OwnedFd)>,
    /// The number of live guards.
    guard_count: usize,
    /// The signals with a handler of this process. Others are ignored or handled by the host.
    caught: Vec<i32>,
}

static SIGNAL_STATE: Mutex<SignalState> =
    Mutex::new(SignalState { pipe: None, guard_count: 0, caught: Vec::new() });

impl SignalGuard {
    /// Installs the handlers. `None` if there is no pipe for them: then signals end this process at
    /// once.
    pub fn install() -> Option<Self> {
        let mut state = lock(&SIGNAL_STATE);
        let read_end = state.read_end()?;
        if state.guard_count == 0 {
            state.caught =
                SIGNALS.into_iter().filter(|number| posix_spawn::catch_signal(*number)).collect();
        }
        state.guard_count += 1;
        Some(Self { read_end, installed: true })
    }

    /// Readable from the first signal on.
    pub fn fd(&self) -> &OwnedFd {
        &self.read_end
    }

    /// The first signal that has arrived while a guard was installed.
    pub fn triggered(&self) -> Option<i32> {
        caught_signal()
    }

    /// Removes the guard and ends this process with 128 + n if a signal has arrived. If other
    /// guards are left, their owners get the time to end their processes.
    pub fn exit_if_triggered(mut self) {
        let (last, caught) = self.release();
        let Some(number) = caught else { return };
        if !last {
            thread::sleep(SIGNAL_KILL_GRACE + SWEEP_TIMEOUT + Duration::from_millis(500));
        }
        exit(128 + number);
    }

    /// Removes the guard. Returns whether it was the last one, and the caught signal.
    fn release(&mut self) -> (bool, Option<i32>) {
        let mut state = lock(&SIGNAL_STATE);
        if !std::mem::take(&mut self.installed) {
            return (false, None);
        }
        state.guard_count = state.guard_count.saturating_sub(1);
        if state.guard_count > 0 {
            return (false, caught_signal());
        }
        state.caught.drain(..).for_each(posix_spawn::restore_signal);
        // After the handlers are gone, so that no signal is lost in between.
        let caught = caught_signal();
        posix_spawn::CAUGHT_SIGNAL.store(0, Ordering::SeqCst);
        if caught.is_some() {
            set_nonblocking(&self.read_end);
            let mut bytes = [0; 64];
            while rustix::io::read(&*self.read_end, &mut bytes).is_ok_and(|count| count > 0) {}
        }
        (true, caught)
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.release();
    }
}

/// Whether a signal has arrived whose guard is still installed.
pub fn is_interrupted() -> bool {
    caught_signal().is_some()
}

fn caught_signal() -> Option<i32> {
    Some(posix_spawn::CAUGHT_SIGNAL.load(Ordering::SeqCst)).filter(|number| *number != 0)
}

impl SignalState {
    fn read_end(&mut self) -> Option<Arc<OwnedFd>> {
        if self.pipe.is_none() {
            let (ours, theirs) = open_pipe().ok()?;
            set_nonblocking(&theirs);
            posix_spawn::set_signal_pipe(theirs.as_raw_fd());
            self.pipe = Some((Arc::new(ours), theirs));
        }
        self.pipe.as_ref().map(|(read_end, _)| Arc::clone(read_end))
    }
}

#[cfg(test)]
mod tests {
    use super::{SIGNALS, SignalGuard};

    fn signal_mask(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let ours: u64 = SIGNALS.iter().map(|number| 1 << (number - 1)).sum();
        u64::from_str_radix(mask.trim(), 16).unwrap() & ours
    }

    fn caught_mask() -> u64 {
        signal_mask("SigCgt:")
    }

    #[test]
    fn catches_signals_only_while_a_guard_lives() {
        assert_eq!(caught_mask(), 0);
        // A signal that the parent process ignores (nohup: HUP) stays ignored.
        let ours = 3 - signal_mask("SigIgn:").count_ones();
        let (first, second) = (SignalGuard::install().unwrap(), SignalGuard::install().unwrap());
        assert_eq!(caught_mask().count_ones(), ours);
        drop(first);
        assert_eq!(caught_mask().count_ones(), ours);
        drop(second);
        assert_eq!(caught_mask(), 0);
        assert!(
            SignalGuard::install()
                .is_some_and(|guard| guard.triggered().is_none() && caught_mask() != 0)
        );
        assert_eq!(caught_mask(), 0);
    }
}
