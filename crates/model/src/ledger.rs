//! The border to the room that remembers: journal, what is owed to sessions, counts, trust.
//! The engine speaks to it in these words only and never learns where anything is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ticket::{Answer, Opened, Taken, Ticket};
use crate::verdict::Verdict;

/// Beside a ledger on disk: the folder of files that belong to one session each, and that are
/// forgotten with it.
pub const SESSION_FILES: &str = "session-files";

/// Remembers between processes. Every method may fail; no decision depends on success.
pub trait Ledger: Sync {
    /// Appends records, together. Never waits for the disk.
    fn journal(&self, records: &[Record]) -> Result<(), LedgerError>;

    /// What is kept about a session; empty for an unknown one.
    fn session(&self, session: &str) -> Result<SessionState, LedgerError>;

    /// Changes what is kept about a session while no other process does.
    fn amend(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError>;

    /// Every trust entry: key to what was said of it.
    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError>;

    /// Changes the trust entries while no other process does.
    fn amend_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError>;

    /// Takes out of what is written elsewhere what this ledger would not write itself. One that
    /// writes nothing knows no secrets.
    fn veil(&self, value: &mut Value) {
        let _ = value;
    }

    /// The ticket of a question, by its key: the one that is there and not spent or expired, else
    /// a new one. On disk before it returns. A ledger that keeps no tickets refuses.
    fn open_ticket(&self, asked: &Ticket) -> Result<Opened, LedgerError> {
        let (doing, why) = (format!("asking `{}`", asked.title), "this ledger keeps no tickets");
        Err(LedgerError { doing, why: why.to_owned() })
    }

    /// The ticket of an id.
    fn ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = id;
        Ok(None)
    }

    /// The ticket that a link's token answers.
    fn ticket_of(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = token;
        Ok(None)
    }

    /// All that are kept, newest first.
    fn tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        Ok(Vec::new())
    }

    /// Takes an answer: the first one counts, whoever brings it.
    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<Taken, LedgerError> {
        let _ = (id, answer);
        Ok(Taken::Unknown)
    }

    /// Changes what is noted about a ticket (`sent`, `spent`); its answer cannot be changed.
    fn note_ticket(&self, id: &str, note: &mut dyn FnMut(&mut Ticket)) -> Result<(), LedgerError> {
        let _ = (id, note);
        Ok(())
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The firing it belongs to.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Which step of the firing this is.
    pub step: Stage,
    /// The session that the event belongs to.
    pub session: String,
    /// The process that writes it: a firing whose process is gone was interrupted.
    pub pid: u32,
    /// The step's own fields.
    pub body: Value,
}

/// The life of a firing as the journal tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The event was understood; nothing ran yet.
    Accepted,
    /// Hooks are about to start.
    Started,
    /// A decision was made.
    Finished,
    /// A hook that nobody waited for has ended.
    Late,
}

/// What is kept about one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// Words and rulings that no caller could be told yet, oldest first.
    #[serde(default)]
    pub owed: Vec<Debt>,
    /// Named counts: prompts so far, refusals in a row.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
}

/// One verdict that waits for a caller who can hear it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Debt {
    /// Names this debt, so that it can be paid exactly once.
    pub id: String,
    /// Who owes it, for the trail.
    pub from: String,
    /// What is owed.
    pub verdict: Verdict,
}

/// What a person said of one project hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The hash of definition and files that was trusted.
    pub hash: String,
    /// True when a person refused it for good.
    #[serde(default)]
    pub denied: bool,
    /// What was shown: the literal command.
    pub shown: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}

/// The world's refusal, in words fit for a person.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{doing}: {why}")]
pub struct LedgerError {
    /// What was being done.
    pub doing: String,
    /// What the world said.
    pub why: String,
}
