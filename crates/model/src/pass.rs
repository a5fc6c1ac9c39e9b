//! Which hooks of a Close one firing runs.

use serde::Deserialize;

/// The hooks of a Close that a firing runs. A live host fires all hooks at once. A runner first
/// fires those that can veto the end, as often as one refuses, and then all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    /// All hooks.
    #[default]
    All,
    /// Hooks that can veto the end.
    Veto,
    /// The other hooks, after the end is certain.
    Notify,
}

impl Pass {
    /// Why this pass skips a hook, if it does.
    pub fn skip_reason(self, can_veto_end: bool) -> Option<&'static str> {
        match (self, can_veto_end) {
            (Self::Veto, false) => Some("runs when the iteration has ended"),
            (Self::Notify, true) => Some("ran before the iteration ended"),
            _ => None,
        }
    }
}
