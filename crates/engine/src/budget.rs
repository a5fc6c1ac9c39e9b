//! How long a firing may take: until shortly before its host gives up. Conditions, rules, matchers
//! and hooks share it.

use std::time::{Duration, Instant};

use gambrel_model::Event;

use crate::Engine;

/// The time of one firing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// When everything must be answered; `None` where nobody gives up.
    deadline: Option<Instant>,
}

impl Budget {
    /// The budget that was given, else the patience of a live host.
    pub fn new(engine: &Engine<'_>, event: &Event) -> Self {
        let options = &engine.options;
        let patience = || {
            let own = options.hosted.then(|| event.dialect.host_timeout(event)).flatten()?;
            Some(engine.loaded.entry_timeout(event).map_or(own, |entry| entry.min(own)))
        };
        let began = options.began.unwrap_or_else(Instant::now);
        let budget = options.budget.or_else(patience);
        Self { deadline: budget.and_then(|budget| began.checked_add(subtract_margin(budget))) }
    }

    /// What is left of it; `None` where it has no end.
    pub fn time_left(&self) -> Option<Duration> {
        Some(self.deadline?.saturating_duration_since(Instant::now()))
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }
}

/// Shortly before the host gives up.
fn subtract_margin(budget: Duration) -> Duration {
    budget.saturating_sub((budget / 10).min(Duration::from_millis(500)))
}
