//! How a running batch hears that this process is told to go: a bell that TERM, INT and HUP ring
//! while somebody waits for hooks. Whoever takes it down after it rang ends the process.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::process::{lift, unblock};
use crate::settings::{PARTING, SWEEP};
use crate::spawn;

const SIGNALS: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// A batch's hold on the one bell of this process. Only for a program of its own: elsewhere signals
/// are the host's.
pub struct Bell {
    ear: Arc<OwnedFd>,
}

#[derive(Default)]
struct Tower {
    /// What is polled, and what the signal writes to.
    pipe: Option<(Arc<OwnedFd>, OwnedFd)>,
    /// How many batches listen.
    listeners: usize,
    /// The signals that ring; the others are ignored or handled by somebody else.
    taken: Vec<i32>,
}

static TOWER: Mutex<Tower> = Mutex::new(Tower { pipe: None, listeners: 0, taken: Vec::new() });

impl Bell {
    /// From here on signals ring. `None` when there is no pipe for it: they end us as ever.
    pub fn hang() -> Option<Self> {
        let mut tower = tower();
        let ear = tower.ear()?;
        if tower.listeners == 0 {
            tower.taken =
                SIGNALS.into_iter().filter(|number| spawn::take_signal(*number)).collect();
        }
        tower.listeners += 1;
        Some(Self { ear })
    }

    /// Readable once it rang, and for ever after.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.ear
    }

    /// Whether it rang.
    pub fn rang(&self) -> bool {
        spawn::signal_taken().is_some()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let last = {
            let mut tower = tower();
            tower.listeners = tower.listeners.saturating_sub(1);
            if tower.listeners == 0 {
                tower.taken.drain(..).for_each(spawn::give_back_signal);
            }
            tower.listeners == 0
        };
        // Asked after the signals are the kernel's again, so that none falls between.
        let Some(number) = spawn::signal_taken() else { return };
        if !last {
            // Other batches are about to end their hooks, too; the last of them ends us all.
            thread::sleep(PARTING + SWEEP + Duration::from_millis(500));
        }
        exit(128 + number);
    }
}

impl Tower {
    fn ear(&mut self) -> Option<Arc<OwnedFd>> {
        if self.pipe.is_none() {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).ok()?;
            let (ours, theirs) = (lift(ours), lift(theirs));
            unblock(&theirs);
            spawn::signals_write_to(theirs.as_raw_fd());
            self.pipe = Some((Arc::new(ours), theirs));
        }
        self.pipe.as_ref().map(|(ear, _)| Arc::clone(ear))
    }
}

fn tower() -> MutexGuard<'static, Tower> {
    TOWER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Bell, SIGNALS};

    fn mask(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let ours: u64 = SIGNALS.iter().map(|number| 1 << (number - 1)).sum();
        u64::from_str_radix(mask.trim(), 16).unwrap() & ours
    }

    fn caught() -> u64 {
        mask("SigCgt:")
    }

    #[test]
    fn signals_are_taken_only_while_somebody_listens() {
        assert_eq!(caught(), 0);
        // What our starter ignores (nohup: HUP) stays ignored.
        let ours = 3 - mask("SigIgn:").count_ones();
        let (first, second) = (Bell::hang().unwrap(), Bell::hang().unwrap());
        assert_eq!(caught().count_ones(), ours);
        drop(first);
        assert_eq!(caught().count_ones(), ours);
        drop(second);
        assert_eq!(caught(), 0);
        assert!(Bell::hang().is_some_and(|bell| !bell.rang() && caught() != 0));
        assert_eq!(caught(), 0);
    }
}
