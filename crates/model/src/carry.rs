//! What an earlier hook leaves to a later one in the same firing. A value that only moves forward.

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::verdict::Patch;

/// Rewrites so far, and what each dialect's last hook left.
#[derive(Debug, Clone, Default)]
pub struct Carry {
    /// Rewrites that hold now.
    pub patch: Patch,
    /// By dialect.
    pub previous: BTreeMap<&'static str, PreviousHook>,
}

/// What the previous hook of a dialect left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviousHook {
    /// Whether it did what was asked; `None` before the first.
    pub ok: Option<bool>,
    /// What a person or a service answered.
    pub answer: String,
    /// What a child pipeline gave.
    pub output: String,
}

impl PreviousHook {
    /// What every outcome leaves: whether it did what was asked.
    pub fn note(&mut self, outcome: &Outcome) {
        self.ok = Some(outcome.is_success());
    }
}

impl Carry {
    /// What the previous hook of this dialect left.
    pub fn previous_of(&self, dialect: &str) -> PreviousHook {
        self.previous.get(dialect).cloned().unwrap_or_default()
    }
}
