//! The time budget of a firing: until shortly before its host gives up. Conditions, rules, matchers
//! and hooks share it.

use std::time::{Duration, Instant};

use gambrel_model::Event;

use crate::Engine;

/// The time of one firing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// The deadline of the reply; `None` without one.
    deadline: Option<Instant>,
}

impl Budget {
    /// The given budget, else the timeout of a live host.
    pub fn new(engine: &Engine<'_>, event: &Event) -> Self {
        let options = &engine.options;
        let host_timeout = || {
            let own = event.spec.host_timeout.filter(|_| options.hosted)?;
            Some(engine.loaded.entry_timeout(event).map_or(own, |entry| entry.min(own)))
        };
        let began = options.began.unwrap_or_else(Instant::now);
        let budget = options.budget.or_else(host_timeout);
        Self { deadline: budget.and_then(|budget| began.checked_add(subtract_margin(budget))) }
    }

    /// The remaining time; `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        Some(self.deadline?.saturating_duration_since(Instant::now()))
    }

    /// Whether no time is left.
    pub fn is_over(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }
}

/// Shortly before the host gives up.
fn subtract_margin(budget: Duration) -> Duration {
    budget.saturating_sub((budget / 10).min(Duration::from_millis(500)))
}
