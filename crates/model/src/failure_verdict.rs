//! The verdict that a hook's policy holds ready. Nearly every hook has none, so an empty verdict
//! takes no memory.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::verdict::{Patch, Ruling, Verdict};

static EMPTY_VERDICT: Verdict = Verdict {
    ruling: Ruling::Silent,
    reasons: Vec::new(),
    patch: Patch::new(),
    messages: Vec::new(),
    side_effects: Vec::new(),
    gate_failures: Vec::new(),
};

/// A verdict on failure, timeout or rejection. Its texts are filled in when it is needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Verdict", into = "Verdict")]
pub struct FailureVerdict(Option<Box<Verdict>>);

impl Deref for FailureVerdict {
    type Target = Verdict;

    fn deref(&self) -> &Verdict {
        self.0.as_deref().unwrap_or(&EMPTY_VERDICT)
    }
}

impl From<Verdict> for FailureVerdict {
    fn from(verdict: Verdict) -> Self {
        Self((verdict != EMPTY_VERDICT).then(|| Box::new(verdict)))
    }
}

impl From<FailureVerdict> for Verdict {
    fn from(verdict: FailureVerdict) -> Self {
        verdict.0.map(|verdict| *verdict).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_stored_like_a_plain_verdict() {
        for verdict in [Verdict::default(), Verdict::with_ruling(Ruling::Deny, "no")] {
            let plain = serde_json::to_value(&verdict).unwrap();
            let kept = FailureVerdict::from(verdict.clone());
            assert_eq!(serde_json::to_value(&kept).unwrap(), plain);
            assert_eq!(serde_json::from_value::<FailureVerdict>(plain).unwrap(), kept);
            assert_eq!(*kept, verdict);
        }
    }
}
