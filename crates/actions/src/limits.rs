//! The times of one attempt: when it is told to end, when it is killed, and when its answer must
//! be given at the latest. Pure arithmetic; it knows no process.

use std::time::{Duration, Instant};

use gambrel_model::call::Limits;
use gambrel_model::outcome::Outcome;

use crate::settings::LONGEST_GRACE;

/// A deadline for those who set none that a clock can hold.
const AGES: Duration = Duration::from_secs(365 * 24 * 3600);
/// The most that is set aside in a budget for the last signal and for looking after it.
const ASIDE: Duration = Duration::from_millis(100);

/// When an attempt must have come how far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// The polite signal.
    pub deadline: Instant,
    /// The end of what it leaves running when it ends well: nobody waits for that, so no budget
    /// ends it.
    pub linger: Instant,
    /// Whether the budget sets the deadline, not the hook's own timeout.
    pub by_budget: bool,
    grace: Duration,
    budget: Option<Inside>,
}

/// What must happen before a budget ends.
#[derive(Debug, Clone, Copy)]
struct Inside {
    kill: Instant,
    answer: Instant,
}

impl Deadlines {
    /// Of an attempt that begins now. A budget is an end for the answer, not for the hook: the
    /// grace and the killing have to fit into it, and take a tenth of it each at most.
    pub fn of(pace: &Limits, now: Instant, budget: Option<Instant>) -> Self {
        let own = later(now, pace.timeout);
        let linger = pace.leftover_timeout.map_or(own, |linger| later(now, linger));
        let grace = pace.kill_grace;
        let mut this = Self { deadline: own, linger, by_budget: false, grace, budget: None };
        let Some(budget) = budget else { return this };
        let room = budget.saturating_duration_since(now);
        let aside = ASIDE.min(room / 10);
        let before = |by: Duration| budget.checked_sub(by).unwrap_or(now).max(now);
        let polite = before(aside + pace.kill_grace.min(LONGEST_GRACE).min(room / 10));
        this.by_budget = polite < own;
        this.deadline = polite.min(own);
        this.budget = Some(Inside { kill: before(aside), answer: before(aside / 4) });
        this
    }

    /// What ends something that has taken so long, if that is not its own timeout.
    pub fn cut(&self, after: Duration) -> Option<String> {
        self.by_budget.then(|| Outcome::budget_reason(after))
    }

    /// The end of a grace that begins now.
    pub fn grace_end(&self, now: Instant) -> Instant {
        self.before_kill(now + self.grace.min(LONGEST_GRACE))
    }

    /// To how many milliseconds the hook's own grace is cut, if it is.
    pub fn grace_cut(&self) -> Option<u128> {
        let cut = self.grace > LONGEST_GRACE && !self.by_budget;
        cut.then(|| LONGEST_GRACE.as_millis())
    }

    /// This time, or the one at which the budget has everything killed.
    pub fn before_kill(&self, at: Instant) -> Instant {
        self.budget.map_or(at, |inside| inside.kill.min(at))
    }

    /// This time, or the last at which an answer is still within the budget.
    pub fn before_answer(&self, at: Instant) -> Instant {
        self.budget.map_or(at, |inside| inside.answer.min(at))
    }
}

/// A time after this one, as far as a clock can hold it.
pub(crate) fn later(now: Instant, by: Duration) -> Instant {
    now.checked_add(by.min(AGES)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use gambrel_model::call::Limits;

    use super::Deadlines;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn all_of_it_lies_inside_the_budget() {
        let now = Instant::now();
        for (budget, polite, kill) in [(10_000, 9600, 9900), (1000, 800, 900), (100, 80, 90)] {
            let limits = Deadlines::of(&Limits::default(), now, Some(now + ms(budget)));
            assert!(limits.by_budget);
            assert_eq!(limits.deadline, now + ms(polite));
            assert_eq!(limits.linger, now + Limits::default().timeout);
            assert_eq!(limits.grace_end(limits.deadline), now + ms(kill));
            assert!(limits.before_answer(now + ms(budget)) < now + ms(budget));
        }
    }

    #[test]
    fn the_own_timeout_keeps_its_grace_as_far_as_the_budget_allows() {
        let now = Instant::now();
        let pace = Limits { timeout: ms(500), ..Limits::default() };
        let limits = Deadlines::of(&pace, now, Some(now + ms(1000)));
        assert!(!limits.by_budget);
        assert_eq!(limits.grace_end(limits.deadline), now + ms(800));
        let pace = Limits { timeout: ms(750), ..pace };
        let limits = Deadlines::of(&pace, now, Some(now + ms(1000)));
        assert!(!limits.by_budget);
        assert_eq!(limits.grace_end(limits.deadline), now + ms(900));
    }
}
