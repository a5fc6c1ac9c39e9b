//! Values that earlier hooks of one firing pass to later ones.

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::verdict::Patch;

/// Rewrites so far, and the previous hook of each dialect.
#[derive(Debug, Clone, Default)]
pub struct Carry {
    /// Rewrites that hold now.
    pub patch: Patch,
    /// By dialect.
    pub previous: BTreeMap<&'static str, PreviousHook>,
}

/// The result of the previous hook of a dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviousHook {
    /// Whether it succeeded; `None` before the first hook.
    pub ok: Option<bool>,
    /// The answer of a user or service.
    pub answer: String,
    /// The output of a child pipeline.
    pub output: String,
}

impl PreviousHook {
    /// Records whether the hook succeeded.
    pub fn record_outcome(&mut self, outcome: &Outcome) {
        self.ok = Some(outcome.is_success());
    }
}

impl Carry {
    /// The previous hook of this dialect.
    pub fn previous_of(&self, dialect: &str) -> PreviousHook {
        self.previous.get(dialect).cloned().unwrap_or_default()
    }
}
