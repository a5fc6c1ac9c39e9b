//! Values that earlier hooks of one firing pass to later ones.

use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::verdict::{Patch, Verdict};

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

/// What a dialect reads from an outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookAnswer {
    /// The answer of the hook.
    pub verdict: Verdict,
    /// The values for the dialect's next hook.
    pub carry: CarryUpdate,
}

/// A change of `PreviousHook`. An absent value stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarryUpdate {
    /// Whether the hook succeeded.
    pub ok: bool,
    /// The answer of a user or service.
    pub answer: Option<String>,
    /// The output of a child pipeline.
    pub output: Option<String>,
}

impl HookAnswer {
    /// An answer that passes on only whether the hook succeeded.
    pub fn new(verdict: Verdict, outcome: &Outcome) -> Self {
        let carry = CarryUpdate { ok: outcome.is_success(), ..CarryUpdate::default() };
        Self { verdict, carry }
    }
}

impl PreviousHook {
    /// Takes over the values of the hook that ran.
    pub fn update(&mut self, carry: CarryUpdate) {
        self.ok = Some(carry.ok);
        self.answer = carry.answer.unwrap_or(std::mem::take(&mut self.answer));
        self.output = carry.output.unwrap_or(std::mem::take(&mut self.output));
    }
}

impl Carry {
    /// The previous hook of this dialect.
    pub fn previous_of(&self, dialect: &str) -> PreviousHook {
        self.previous.get(dialect).cloned().unwrap_or_default()
    }
}
