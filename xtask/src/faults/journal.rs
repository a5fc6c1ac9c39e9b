//! Checks a journal after an attack.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Faults of a journal in which each session fired once.
#[derive(Default)]
pub struct JournalFaults {
    /// Acknowledged firings that are not recorded as finished.
    pub lost: usize,
    /// Firings that are recorded twice.
    pub twice: usize,
}

impl JournalFaults {
    /// Compares a journal with the sessions that received a reply.
    pub fn find(journal: &[Value], acknowledged: &BTreeSet<String>) -> Self {
        let (mut finished, mut seen) = (BTreeSet::new(), BTreeMap::<&str, usize>::new());
        for firing in journal {
            let session = firing["session"].as_str().unwrap_or_default();
            *seen.entry(session).or_default() += 1;
            if firing["state"] == "finished" {
                finished.insert(session);
            }
        }
        let lost = acknowledged.iter().filter(|session| !finished.contains(session.as_str()));
        Self { lost: lost.count(), twice: seen.values().filter(|count| **count > 1).count() }
    }

    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.twice == 0
    }
}

#[cfg(test)]
mod tests {
    use super::JournalFaults;
    use serde_json::json;

    #[test]
    fn finds_lost_and_doubled_firings() {
        let line = |session: &str, state: &str| json!({"session": session, "state": state});
        let journal = [line("a", "finished"), line("b", "interrupted"), line("c", "finished")];
        let acknowledged = ["a", "b"].map(str::to_owned).into();
        let found = JournalFaults::find(&journal, &acknowledged);
        assert_eq!((found.lost, found.twice), (1, 0));
        let journal = [line("a", "finished"), line("a", "finished")];
        let found = JournalFaults::find(&journal, &["a".to_owned()].into());
        assert_eq!((found.lost, found.twice), (0, 1));
        assert!(JournalFaults::find(&journal[..1], &["a".to_owned()].into()).is_clean());
    }
}
