//! The two clocks of a call: time in which the module is active, which stands still while a
//! person is asked, and a wall that nothing may pass. Also what interrupts running code.
//!
//! The engine asks the tripwire between steps of JavaScript and inside regular expressions, not
//! inside its own loops in C: `new Array(2 ** 32 - 1).join()` runs to its end. Only a process of
//! its own could be stopped there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gambrel_model::Limits;

/// Read by the engine while it runs code; written between runs.
#[derive(Clone)]
pub struct Tripwire {
    base: Instant,
    until: Arc<AtomicU64>,
    tripped: Arc<AtomicBool>,
}

impl Tripwire {
    /// One that is not armed.
    pub fn new() -> Self {
        let until = Arc::new(AtomicU64::new(u64::MAX));
        Self { base: Instant::now(), until, tripped: Arc::default() }
    }

    /// Whether running code must end now; remembered.
    pub fn reached(&self) -> bool {
        let past = self.nanos(Instant::now()) >= self.until.load(Ordering::Relaxed);
        if past {
            self.tripped.store(true, Ordering::Relaxed);
        }
        past
    }

    /// Whether code was ended by it.
    pub fn tripped(&self) -> bool {
        self.tripped.load(Ordering::Relaxed)
    }

    /// Forgets that code was ended.
    pub fn rearm(&self) {
        self.tripped.store(false, Ordering::Relaxed);
    }

    /// When running code must end, if that is known.
    pub fn until(&self) -> Option<Instant> {
        let nanos = self.until.load(Ordering::Relaxed);
        self.base.checked_add(Duration::from_nanos(nanos)).filter(|_| nanos != u64::MAX)
    }

    fn arm(&self, at: Instant) {
        self.until.store(self.nanos(at), Ordering::Relaxed);
    }

    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.base);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// What a call may take to tell what it has, when its time is over.
const GRACE: Duration = Duration::from_millis(200);

/// Whose time is running.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lap {
    /// Each handler has all of it.
    Own,
    /// One was given up: those that are left have it together.
    Shared,
    /// None of theirs any more.
    Grace,
}

/// The clock of one call.
pub struct Clock {
    lap: Lap,
    grace: Duration,
    full: Duration,
    left: Duration,
    wall: Option<Instant>,
    wire: Tripwire,
}

impl Clock {
    /// Starts the clock: `active` stands still in dialogs, `wall` does not.
    fn start(active: Duration, wall: Option<Duration>, wire: Tripwire) -> Self {
        let wall = wall.and_then(|wall| Instant::now().checked_add(wall));
        Self { lap: Lap::Own, grace: GRACE, full: active, left: active, wall, wire }
    }

    /// The clock of a call with this pace.
    pub fn paced(pace: &Limits, wire: Tripwire) -> Self {
        let active = pace.budget.map_or(pace.timeout, |budget| budget.min(pace.timeout));
        let clock = Self::start(active, pace.budget, wire);
        // Whoever gave the budget waits a twentieth of it longer.
        Self { grace: pace.budget.map_or(GRACE, |budget| GRACE.min(budget / 80)), ..clock }
    }

    /// Lets code run, and takes what it took.
    pub fn run<T>(&mut self, code: impl FnOnce(&Tripwire) -> T) -> T {
        let began = Instant::now();
        if let Some(until) = self.until(began) {
            self.wire.arm(until);
        }
        let made = code(&self.wire);
        self.spend(began.elapsed());
        made
    }

    /// Until when one may wait; `None` is for ever.
    pub fn patience(&self, asking: bool) -> Option<Instant> {
        if asking { self.wall } else { self.until(Instant::now()) }
    }

    /// The next handler has the whole time; the wall stays where it is.
    pub fn renew(&mut self) {
        if self.lap == Lap::Own {
            self.left = self.full;
        }
    }

    /// After a handler was given up: what is left for the others, once, and then for an end. True
    /// if it must end here; nothing if that was tried too.
    pub fn another(&mut self) -> Option<bool> {
        let here = self.walled() || self.lap == Lap::Shared;
        match (self.lap, here) {
            (Lap::Grace, _) => return None,
            (_, false) => (self.lap, self.left) = (Lap::Shared, self.full),
            (_, true) => self.last_words(),
        }
        Some(here)
    }

    /// Nothing is left but to tell what there is.
    pub fn last_words(&mut self) {
        (self.lap, self.left) = (Lap::Grace, self.grace);
        self.wall = Instant::now().checked_add(self.grace);
    }

    /// Why a handler is late, in words.
    pub fn lateness(&self) -> String {
        match self.walled() {
            true => "handler was cut short: nobody waits any longer".into(),
            false => format!("handler timed out after {}ms", self.full.as_millis()),
        }
    }

    /// Takes time that was waited.
    pub fn spend(&mut self, took: Duration) {
        self.left = self.left.saturating_sub(took);
    }

    /// Whether the time is over.
    pub fn over(&self, asking: bool) -> bool {
        self.walled() || (self.left.is_zero() && !asking) || self.wire.tripped()
    }

    fn walled(&self) -> bool {
        self.wall.is_some_and(|wall| Instant::now() >= wall)
    }

    fn until(&self, now: Instant) -> Option<Instant> {
        match (now.checked_add(self.left), self.wall) {
            (Some(active), Some(wall)) => Some(active.min(wall)),
            (active, wall) => active.or(wall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_gives_the_whole_time_back_and_moves_no_wall() {
        let hour = Duration::from_secs(3600);
        let mut clock = Clock::start(hour, Some(hour), Tripwire::new());
        let wall = clock.wall;
        clock.spend(hour);
        assert!(clock.over(false));
        clock.renew();
        assert!(!clock.over(false));
        assert_eq!((clock.left, clock.wall), (hour, wall));
    }
}
