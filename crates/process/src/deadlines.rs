//! The deadlines of one attempt: for SIGTERM, for SIGKILL and for the answer. Pure arithmetic.

use std::time::{Duration, Instant};

use crate::settings::MAX_KILL_GRACE;

/// Replaces a longer timeout, so that a clock can hold the deadline.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
/// The most of a budget that is reserved for SIGKILL and for the search after it.
const MAX_KILL_WINDOW: Duration = Duration::from_millis(100);

/// How long one attempt may take.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimits {
    /// Until SIGTERM.
    pub timeout: Duration,
    /// Maximum lifetime of the processes that it leaves after a successful end, measured from its
    /// start. Defaults to `timeout`.
    pub leftover_timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
}

/// The deadlines of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// When it gets SIGTERM.
    pub deadline: Instant,
    /// When the processes it left are killed after a successful end. No caller waits for them, so
    /// no budget shortens this.
    pub leftover_deadline: Instant,
    /// Whether the budget sets the deadline instead of its own timeout.
    pub by_budget: bool,
    grace: Duration,
    budget: Option<BudgetDeadlines>,
}

/// Deadlines inside a budget.
#[derive(Debug, Clone, Copy)]
struct BudgetDeadlines {
    kill: Instant,
    answer: Instant,
}

impl Deadlines {
    /// For an attempt that begins now. The budget limits the answer, not the process: grace and kill
    /// must fit into it and take at most a tenth of it each.
    pub fn from_limits(limits: &TimeLimits, now: Instant, budget: Option<Instant>) -> Self {
        let own = add_duration(now, limits.timeout);
        let leftover_deadline = limits
            .leftover_timeout
            .map_or(own, |leftover_timeout| add_duration(now, leftover_timeout));
        let grace = limits.kill_grace;
        let mut this =
            Self { deadline: own, leftover_deadline, by_budget: false, grace, budget: None };
        let Some(budget) = budget else { return this };

        let remaining = budget.saturating_duration_since(now);
        let kill_window = MAX_KILL_WINDOW.min(remaining / 10);
        let before = |by: Duration| budget.checked_sub(by).unwrap_or(now).max(now);
        let term_at =
            before(kill_window + limits.kill_grace.min(MAX_KILL_GRACE).min(remaining / 10));

        this.by_budget = term_at < own;
        this.deadline = term_at.min(own);
        this.budget =
            Some(BudgetDeadlines { kill: before(kill_window), answer: before(kill_window / 4) });
        this
    }

    /// The end of a grace that begins now.
    pub fn grace_end(&self, now: Instant) -> Instant {
        self.cap_at_kill(now + self.grace.min(MAX_KILL_GRACE))
    }

    /// The shortened grace in milliseconds, if its own grace is too long.
    pub fn shortened_grace_ms(&self) -> Option<u128> {
        let is_shortened = self.grace > MAX_KILL_GRACE && !self.by_budget;
        is_shortened.then(|| MAX_KILL_GRACE.as_millis())
    }

    /// This time, or the budget's deadline for SIGKILL if that is earlier.
    pub fn cap_at_kill(&self, at: Instant) -> Instant {
        self.budget.map_or(at, |inside| inside.kill.min(at))
    }

    /// This time, or the budget's deadline for the answer if that is earlier.
    pub fn cap_at_answer(&self, at: Instant) -> Instant {
        self.budget.map_or(at, |inside| inside.answer.min(at))
    }
}

/// Adds a duration to a time, as far as a clock can hold it.
pub fn add_duration(now: Instant, by: Duration) -> Instant {
    now.checked_add(by.min(MAX_TIMEOUT)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Deadlines, TimeLimits};

    const LIMITS: TimeLimits = TimeLimits {
        timeout: Duration::from_secs(60),
        leftover_timeout: None,
        kill_grace: Duration::from_millis(300),
    };

    fn from_ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn keeps_all_deadlines_inside_the_budget() {
        let now = Instant::now();
        for (budget, term_at, kill) in [(10_000, 9600, 9900), (1000, 800, 900), (100, 80, 90)] {
            let deadlines = Deadlines::from_limits(&LIMITS, now, Some(now + from_ms(budget)));
            assert!(deadlines.by_budget);
            assert_eq!(deadlines.deadline, now + from_ms(term_at));
            assert_eq!(deadlines.leftover_deadline, now + LIMITS.timeout);
            assert_eq!(deadlines.grace_end(deadlines.deadline), now + from_ms(kill));
            assert!(deadlines.cap_at_answer(now + from_ms(budget)) < now + from_ms(budget));
        }
    }

    #[test]
    fn keeps_the_grace_of_a_timeout_inside_the_budget() {
        let now = Instant::now();
        for (timeout, kill) in [(500, 800), (750, 900)] {
            let limits = TimeLimits { timeout: from_ms(timeout), ..LIMITS };
            let deadlines = Deadlines::from_limits(&limits, now, Some(now + from_ms(1000)));
            assert!(!deadlines.by_budget);
            assert_eq!(deadlines.grace_end(deadlines.deadline), now + from_ms(kill));
        }
    }
}
