//! Two deadlines of a call: active time (paused while a user is asked) and wall-clock time (never
//! paused). Also the tripwire that interrupts running code.
//!
//! The engine checks the tripwire between JavaScript steps and inside regular expressions, but not
//! inside its own loops in C: `new Array(2 ** 32 - 1).join()` runs to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gambrel_model::Limits;

/// Interrupts running code at a deadline. The engine reads it while code runs; the clock sets it
/// between runs.
#[derive(Clone)]
pub struct Tripwire {
    base: Instant,
    deadline_nanos: Arc<AtomicU64>,
    tripped: Arc<AtomicBool>,
}

impl Tripwire {
    /// A tripwire without a deadline.
    pub fn new() -> Self {
        let deadline_nanos = Arc::new(AtomicU64::new(u64::MAX));
        Self { base: Instant::now(), deadline_nanos, tripped: Arc::default() }
    }

    /// Whether running code must end now. A yes is remembered.
    pub fn check_deadline(&self) -> bool {
        let past =
            self.nanos_since_base(Instant::now()) >= self.deadline_nanos.load(Ordering::Relaxed);
        if past {
            self.tripped.store(true, Ordering::Relaxed);
        }
        past
    }

    /// Whether it interrupted code.
    pub fn has_tripped(&self) -> bool {
        self.tripped.load(Ordering::Relaxed)
    }

    /// Forgets an earlier interruption.
    pub fn rearm(&self) {
        self.tripped.store(false, Ordering::Relaxed);
    }

    /// When running code must end, if there is a deadline.
    pub fn deadline(&self) -> Option<Instant> {
        let nanos = self.deadline_nanos.load(Ordering::Relaxed);
        self.base.checked_add(Duration::from_nanos(nanos)).filter(|_| nanos != u64::MAX)
    }

    fn arm(&self, at: Instant) {
        self.deadline_nanos.store(self.nanos_since_base(at), Ordering::Relaxed);
    }

    fn nanos_since_base(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.base);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Time to report results after the deadline.
const REPORT_GRACE: Duration = Duration::from_millis(200);

/// How the handlers share the active time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClockPhase {
    /// Each handler has the full time.
    PerHandler,
    /// A handler was abandoned: the others share the full time.
    Shared,
    /// All time is used: only the report is left.
    Grace,
}

/// The clock of one call.
pub struct Clock {
    phase: ClockPhase,
    grace: Duration,
    full_time: Duration,
    remaining: Duration,
    wall_deadline: Option<Instant>,
    tripwire: Tripwire,
}

impl Clock {
    /// Starts a clock. `active` time stops during dialogs, `wall` time does not.
    fn start(active: Duration, wall_deadline: Option<Duration>, tripwire: Tripwire) -> Self {
        let wall_deadline = wall_deadline.and_then(|wall| Instant::now().checked_add(wall));
        Self {
            phase: ClockPhase::PerHandler,
            grace: REPORT_GRACE,
            full_time: active,
            remaining: active,
            wall_deadline,
            tripwire,
        }
    }

    /// The clock of a call with these limits.
    pub fn with_limits(limits: &Limits, tripwire: Tripwire) -> Self {
        let active = limits.budget.map_or(limits.timeout, |budget| budget.min(limits.timeout));
        let clock = Self::start(active, limits.budget, tripwire);
        // The caller waits a twentieth longer than its budget.
        Self {
            grace: limits.budget.map_or(REPORT_GRACE, |budget| REPORT_GRACE.min(budget / 80)),
            ..clock
        }
    }

    /// Runs code under the tripwire and charges the time it took.
    pub fn run_code<T>(&mut self, code: impl FnOnce(&Tripwire) -> T) -> T {
        let began = Instant::now();
        if let Some(until) = self.next_deadline(began) {
            self.tripwire.arm(until);
        }

        let made = code(&self.tripwire);
        self.charge_time(began.elapsed());
        made
    }

    /// The latest time to wait until; `None` without a limit.
    pub fn wait_deadline(&self, asking: bool) -> Option<Instant> {
        if asking { self.wall_deadline } else { self.next_deadline(Instant::now()) }
    }

    /// Gives the next handler the full time. The wall-clock deadline stays.
    pub fn renew_active_time(&mut self) {
        if self.phase == ClockPhase::PerHandler {
            self.remaining = self.full_time;
        }
    }

    /// Extends the time after a handler was abandoned: first for the other handlers, then for the
    /// report. True if the call must end now; `None` if both extensions are used.
    pub fn extend_after_hang(&mut self) -> Option<bool> {
        let ends_here = self.wall_passed() || self.phase == ClockPhase::Shared;
        match (self.phase, ends_here) {
            (ClockPhase::Grace, _) => return None,
            (_, false) => (self.phase, self.remaining) = (ClockPhase::Shared, self.full_time),
            (_, true) => self.start_grace(),
        }
        Some(ends_here)
    }

    /// Leaves only the grace time for the report.
    pub fn start_grace(&mut self) {
        (self.phase, self.remaining) = (ClockPhase::Grace, self.grace);
        self.wall_deadline = Instant::now().checked_add(self.grace);
    }

    /// The error of a handler that timed out.
    pub fn timeout_message(&self) -> String {
        match self.wall_passed() {
            true => "handler was cut short: the caller's time is over".into(),
            false => format!("handler timed out after {}ms", self.full_time.as_millis()),
        }
    }

    /// Charges time that was spent waiting.
    pub fn charge_time(&mut self, elapsed: Duration) {
        self.remaining = self.remaining.saturating_sub(elapsed);
    }

    /// Whether the time is over. `asking` is true while a user is asked.
    pub fn is_over(&self, asking: bool) -> bool {
        self.wall_passed() || (self.remaining.is_zero() && !asking) || self.tripwire.has_tripped()
    }

    fn wall_passed(&self) -> bool {
        self.wall_deadline.is_some_and(|wall| Instant::now() >= wall)
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        match (now.checked_add(self.remaining), self.wall_deadline) {
            (Some(active), Some(wall)) => Some(active.min(wall)),
            (active, wall) => active.or(wall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewed_active_time_keeps_the_wall_clock_deadline() {
        let hour = Duration::from_secs(3600);
        let mut clock = Clock::start(hour, Some(hour), Tripwire::new());
        let wall = clock.wall_deadline;
        clock.charge_time(hour);
        assert!(clock.is_over(false));
        clock.renew_active_time();
        assert!(!clock.is_over(false));
        assert_eq!((clock.remaining, clock.wall_deadline), (hour, wall));
    }
}
