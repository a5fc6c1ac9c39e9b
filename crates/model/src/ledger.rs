//! The trait of the ledger: journal, session state, tickets and trust. It must not know where
//! values are stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::Outcome;
use crate::ticket::{Answer, AnswerResult, OpenedTicket, Ticket};
use crate::verdict::{Audience, Ruling, Verdict};

/// Folder beside a ledger on disk for files that belong to one session and are removed with it.
pub const SESSION_FILES: &str = "session-files";

/// Stores state between processes. Every method may fail; no decision depends on success.
pub trait Ledger: Sync {
    /// Appends records with one write. Does not sync the disk.
    fn append_journal(&self, records: &[JournalRecord]) -> Result<(), LedgerError>;

    /// The state of a session; empty for an unknown session.
    fn session_state(&self, session: &str) -> Result<SessionState, LedgerError>;

    /// Changes the state of a session under its lock.
    fn update_session(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError>;

    /// The undelivered entries of a session that carry a ruling, such as a halt, and the errors met
    /// while reading them. They are stored apart, so that they can be read when
    /// [`session_state`](Self::session_state) fails.
    fn read_halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>) {
        match self.session_state(session) {
            Ok(SessionState { undelivered: mut halts, .. }) => {
                halts.retain(Undelivered::is_halt);
                (halts, Vec::new())
            }
            Err(error) => (Vec::new(), vec![error]),
        }
    }

    /// Stores an entry for a session whose state cannot be changed now. The next
    /// [`update_session`](Self::update_session) merges it. A ledger without such a place returns an
    /// error.
    fn store_aside(&self, session: &str, entry: &Undelivered) -> Result<(), LedgerError> {
        let doing = format!("keeping `{}` for `{session}`", entry.id);
        Err(LedgerError { doing, why: "this ledger has no other place for it".to_owned() })
    }

    /// A claim by this process, for one of its firings.
    fn new_claim(&self, firing: &str) -> Claim {
        Claim { firing: firing.to_owned(), pid: std::process::id(), start: 0 }
    }

    /// Whether the process that made a claim still runs.
    fn is_held(&self, claim: &Claim) -> bool {
        claim.pid == std::process::id()
    }

    /// The recorded outcomes of a firing with this key, by hook.
    fn recorded_outcomes(&self, firing_key: &str)
    -> Result<BTreeMap<String, Outcome>, LedgerError>;

    /// Records the outcome of a hook in a firing with this key. A repeated firing reads it instead
    /// of running the hook.
    fn record_outcome(
        &self,
        firing_key: &str,
        hook: &str,
        outcome: &Outcome,
    ) -> Result<(), LedgerError>;

    /// All trust entries by key.
    fn trust_entries(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError>;

    /// Changes the trust entries under their lock.
    fn update_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError>;

    /// Redacts secrets from a value that will be written outside the ledger. No-op by default.
    fn redact_value(&self, value: &mut Value) {
        let _ = value;
    }

    /// Returns the ticket with the question's key that is neither spent nor expired, else a new
    /// one. It is on disk before this returns.
    fn open_ticket(&self, asked: &Ticket) -> Result<OpenedTicket, LedgerError> {
        let (doing, why) = (format!("asking `{}`", asked.title), "this ledger keeps no tickets");
        Err(LedgerError { doing, why: why.to_owned() })
    }

    /// The ticket with this id.
    fn find_ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = id;
        Ok(None)
    }

    /// The ticket with this callback token.
    fn ticket_by_token(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = token;
        Ok(None)
    }

    /// All stored tickets, newest first.
    fn list_tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        Ok(Vec::new())
    }

    /// Records an answer. The first answer counts.
    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<AnswerResult, LedgerError> {
        let _ = (id, answer);
        Ok(AnswerResult::Unknown)
    }

    /// Reserves a ticket's answer for this process as long as it runs.
    fn take_answer(&self, id: &str) -> Result<(), LedgerError> {
        self.update_ticket(id, &mut |ticket| ticket.spent = true)
    }

    /// Spends every answer that this process reserved. Called when a firing has ended: a killed
    /// firing finds its answer again, and a later firing does not.
    fn spend_answers(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Changes the notes of a ticket (`sent`, `spent`). Its answer cannot be changed.
    fn update_ticket(
        &self,
        id: &str,
        note: &mut dyn FnMut(&mut Ticket),
    ) -> Result<(), LedgerError> {
        let _ = (id, note);
        Ok(())
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// Id of the firing.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Which step of the firing this is.
    pub step: FiringPhase,
    /// The session that the event belongs to.
    pub session: String,
    /// The process that wrote it. A firing without an end whose process is gone was interrupted.
    pub pid: u32,
    /// The step's own fields.
    pub body: Value,
}

/// The phase of a firing that a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FiringPhase {
    /// The event was parsed; no hook has run.
    Accepted,
    /// Hooks are about to start.
    Started,
    /// A decision was made.
    Finished,
    /// A detached hook has ended.
    Late,
}

/// The stored state of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// Messages and halts that no caller could receive yet, oldest first.
    #[serde(default, rename = "owed")]
    pub undelivered: Vec<Undelivered>,
    /// Named counts: prompts so far, refusals in a row.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// Claims on work that runs once in a session, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, Claim>,
}

/// Maximum number of messages that wait for a session.
pub const MAX_UNDELIVERED_COUNT: usize = 1_000;
/// Maximum bytes of messages that wait for a session; far below the size limit of a session file.
pub const MAX_UNDELIVERED_BYTES: usize = 2 << 20;
/// Maximum number of stored halts; one is enough to stop a session.
pub const MAX_HALT_COUNT: usize = 50;
/// Prefix of the id of the notice about dropped messages; their number follows.
const DROPPED: &str = "dropped:";

impl SessionState {
    /// Stores an entry for the session. Above the limits the oldest messages are dropped, and a
    /// notice tells the user how many. Halts stay.
    pub fn keep_undelivered(&mut self, mut entry: Undelivered) {
        let halts = self.undelivered.iter().filter(|old| old.is_halt()).count();
        if entry.is_halt() && halts >= MAX_HALT_COUNT {
            entry.verdict.ruling = Ruling::Silent;
            entry.verdict.reasons.clear();
            if entry.verdict.messages.is_empty() {
                return;
            }
        }
        self.undelivered.push(entry);
        let (mut count, mut bytes) = (0, 0);
        let mut dropped = 0;
        for entry in
            self.undelivered.iter_mut().rev().filter(|entry| !entry.id.starts_with(DROPPED))
        {
            let messages = &mut entry.verdict.messages;
            let size: usize = messages.iter().map(|message| message.text.len()).sum();
            // The newest is kept at any size, because its maker bounds it.
            let fits = count == 0
                || (count + messages.len() <= MAX_UNDELIVERED_COUNT
                    && bytes + size <= MAX_UNDELIVERED_BYTES);
            if fits {
                (count, bytes) = (count + messages.len(), bytes + size);
                continue;
            }
            // All older messages are dropped too, so that no gap is in the middle.
            (dropped, count) = (dropped + messages.len() as u64, MAX_UNDELIVERED_COUNT + 1);
            messages.clear();
        }
        if dropped > 0 {
            self.add_dropped_notice(dropped);
        }
    }

    fn add_dropped_notice(&mut self, dropped: u64) {
        let notice = |entry: &Undelivered| entry.id.strip_prefix(DROPPED)?.parse::<u64>().ok();
        let earlier: u64 = self.undelivered.iter().filter_map(notice).sum();
        let empty = |entry: &Undelivered| entry.verdict.messages.is_empty() && !entry.is_halt();
        self.undelivered.retain(|entry| notice(entry).is_none() && !empty(entry));
        let all = dropped.saturating_add(earlier);
        let text = format!(
            "gambrel: {all} messages of hooks were dropped, because more than {MAX_UNDELIVERED_COUNT} \
             messages or {} MiB waited for this session",
            MAX_UNDELIVERED_BYTES >> 20
        );
        let verdict = Verdict::with_only_message(Audience::User, text).attributed_to("gambrel");
        self.undelivered.insert(0, Undelivered::new(format!("{DROPPED}{all}"), "gambrel", verdict));
    }
}

/// A verdict that waits for a caller that can receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undelivered {
    /// Id of the entry, so that it is delivered exactly once.
    pub id: String,
    /// The hook that it comes from, for the trail.
    pub from: String,
    /// The undelivered verdict.
    pub verdict: Verdict,
    /// The firing that is delivering it; other firings skip it while that firing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

impl Undelivered {
    /// An entry without a claim.
    pub fn new(id: impl Into<String>, from: impl Into<String>, verdict: Verdict) -> Self {
        Self { id: id.into(), from: from.into(), verdict, claim: None }
    }

    /// Whether it carries a ruling, and not only messages.
    pub fn is_halt(&self) -> bool {
        self.verdict.ruling != Ruling::Silent
    }
}

/// A reservation by a firing. It holds as long as the firing's process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The firing.
    pub firing: String,
    /// Its process.
    pub pid: u32,
    /// Start time of the process in kernel ticks, because process ids are reused.
    pub start: u64,
}

/// The user's trust decision about one project hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The hash of all that was trusted: the definition, and the lists below.
    pub hash: String,
    /// The version of the rules by which the lists were made; 0 for a record without lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rules: u32,
    /// The folder that names in the lists are relative to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// The hash of the definition alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Every file that the hook is made of, with the hash of its bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Patterns, with the files that fit them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub globs: BTreeMap<String, Vec<String>>,
    /// Whether it is made of the same files wherever it runs, for the same project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchored: bool,
    /// Why some of the code that runs cannot be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// True when the user refused it (`gambrel untrust`).
    #[serde(default)]
    pub denied: bool,
    /// What was shown: the literal command.
    pub shown: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A failure of the ledger.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{doing}: {why}")]
pub struct LedgerError {
    /// The operation.
    pub doing: String,
    /// The cause.
    pub why: String,
}
