//! The watchdog process: it outlives us by a moment only, kills what we were running when we
//! died, and kills what finished hooks left behind once their time is over, which it has recorded.
//! It knows numbers of processes and times, nothing of hooks.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use rustix::time::{ClockId, clock_gettime};

use crate::running;
use crate::spawn;
use crate::tree::{self, Kin, Member, Snapshot};

const GRACE: Duration = Duration::from_millis(300);
const SWEEP: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);
/// How often it is checked whether what was left behind has ended by itself.
const LOOK: Duration = Duration::from_secs(1);

/// What the re-executed program does after the word [`crate::WATCHDOG_WORD`]: reads orders until
/// the pipe ends, and returns when nothing is left to kill. `record` is given the slip of a hook
/// whose leftovers it has killed, and how many they were.
pub fn watchdog_main(input: impl Read + Send + 'static, record: &mut dyn FnMut(&str, usize)) {
    // Already so when started by us; by hand it may not be.
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    spawn::ignore_polite_signals();
    let (sender, orders) = channel();
    thread::spawn(move || {
        for line in BufReader::new(input).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Watchdog::default().serve(&orders, record);
}

/// Milliseconds of the clock that all processes share and nobody can set.
pub(crate) fn clock_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64) * 1000 + (now.tv_nsec as u64) / 1_000_000
}

#[derive(Default)]
struct Watchdog {
    /// What ends with its owner, by mark.
    watched: HashMap<String, Kin>,
    left: Vec<Left>,
    /// Files of running processes to be looked through once our owner has told us of them.
    swept: Vec<PathBuf>,
}

/// What a hook left running.
struct Left {
    /// It may run until then.
    until: u64,
    kin: Kin,
    slip: String,
}

impl Watchdog {
    fn serve(&mut self, orders: &Receiver<String>, record: &mut dyn FnMut(&str, usize)) {
        loop {
            let wait = if self.left.is_empty() { Duration::from_secs(3600) } else { self.nap() };
            match orders.recv_timeout(wait) {
                Ok(line) => {
                    self.obey(&line);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.enforce(record);
        }
        kill(self.watched.drain().map(|(_, kin)| kin).collect());
        self.swept.drain(..).for_each(|file| running::sweep(&file, kill));
        while !self.left.is_empty() {
            thread::sleep(self.nap());
            self.enforce(record);
        }
    }

    fn obey(&mut self, line: &str) -> Option<()> {
        let mut words = line.splitn(6, ' ');
        match words.next()? {
            "watch" => {
                let (root, mark) = (member(&mut words)?, words.next()?.to_owned());
                let session = Some(root.pid);
                let roots = vec![root];
                let kin =
                    Kin { session, roots, mark: mark.clone(), since: root.start, prefix: false };
                self.watched.insert(mark, kin);
            }
            "expect" => {
                let mark = words.next()?.to_owned();
                self.watched.insert(mark.clone(), Kin { mark, ..Kin::default() });
            }
            "done" => {
                self.watched.remove(words.next()?);
            }
            "sweep" => self.swept.push(running::path_from_hex(words.next()?)?),
            "until" => {
                let until = words.next()?.parse().ok()?;
                let (root, mark) = (member(&mut words)?, words.next()?.to_owned());
                let slip = words.next().unwrap_or_default().to_owned();
                self.leave(Left {
                    until,
                    slip,
                    kin: Kin { roots: vec![root], mark, ..Kin::default() },
                });
            }
            _ => {}
        }
        Some(())
    }

    /// Those of one hook belong together.
    fn leave(&mut self, new: Left) {
        match self.left.iter_mut().find(|left| left.kin.mark == new.kin.mark) {
            Some(left) => left.kin.roots.extend(new.kin.roots),
            None => self.left.push(new),
        }
    }

    fn nap(&self) -> Duration {
        let now = clock_ms();
        let next = self.left.iter().map(|left| left.until.saturating_sub(now)).min().unwrap_or(0);
        Duration::from_millis(next).min(LOOK)
    }

    /// Kills what is over its time and forgets what has ended by itself.
    fn enforce(&mut self, record: &mut dyn FnMut(&str, usize)) {
        let now = clock_ms();
        let (over, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.left).into_iter().partition(|left| left.until <= now);
        let mut table = None;
        let mut members = |kin: &Kin| table.get_or_insert_with(Snapshot::take).members(kin).len();
        let found: Vec<usize> = over.iter().map(|left| members(&left.kin)).collect();
        let (kins, slips): (Vec<_>, Vec<_>) =
            over.into_iter().map(|left| (left.kin, left.slip)).unzip();
        kill(kins);
        let killed = slips.iter().zip(found).filter(|(slip, count)| !slip.is_empty() && *count > 0);
        killed.for_each(|(slip, count)| record(slip, count));
        self.left = rest;
        self.left.retain(|Left { kin, .. }| {
            kin.roots.iter().any(|root| tree::lives(*root)) || members(kin) > 0
        });
    }
}

fn member<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Member> {
    Some(Member { pid: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? })
}

/// The polite signal to all, a grace, and the last signal until none of them is left.
fn kill(mut kins: Vec<Kin>) {
    if kins.is_empty() {
        return;
    }
    for kin in &mut kins {
        // Without its leader a session number may already be somebody else's.
        kin.session = kin.session.filter(|_| kin.roots.iter().any(|root| tree::lives(*root)));
    }
    let found = |kins: &[Kin]| -> Vec<Member> {
        let table = Snapshot::take();
        kins.iter().flat_map(|kin| table.members(kin)).collect()
    };
    let mut members = found(&kins);
    if members.is_empty() && kins.iter().any(|kin| kin.roots.is_empty()) {
        // A child that has not executed its program yet does not carry its mark.
        thread::sleep(STEP);
        members = found(&kins);
    }
    tree::signal_all(&members, Signal::TERM);
    tree::signal_all(&members, Signal::CONT);
    // Whoever is known now stays known when its parents are gone.
    if let Some(first) = kins.first_mut() {
        first.roots.extend(members);
    }
    let (begun, mut waited) = (clock_ms(), Duration::ZERO);
    while waited < GRACE && !found(&kins).is_empty() {
        thread::sleep(STEP);
        waited = Duration::from_millis(clock_ms() - begun);
    }
    while waited < GRACE + SWEEP {
        let members = found(&kins);
        if members.is_empty() {
            return;
        }
        for leader in kins.iter().filter_map(|kin| kin.session).filter_map(Pid::from_raw) {
            if members.iter().any(|member| member.pid == leader.as_raw_nonzero().get()) {
                tree::signal_group(leader, Signal::KILL);
            }
        }
        tree::signal_all(&members, Signal::KILL);
        thread::sleep(STEP);
        waited = Duration::from_millis(clock_ms() - begun);
    }
}
