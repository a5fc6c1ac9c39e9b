//! The state of sessions: undelivered messages, counts and claims.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{LedgerError, LedgerResult};
use crate::verdict::{Audience, Ruling, Verdict};

/// Folder beside a ledger on disk for files that belong to one session and are removed with it.
pub const SESSION_FILES: &str = "session-files";

/// Stores the state of sessions.
pub trait Sessions {
    /// The state of a session; empty for an unknown session.
    fn session_state(&self, session: &str) -> LedgerResult<SessionState>;

    /// Changes the state of a session exclusively. `change` may be called again with the newest
    /// state after a conflict; only its last call counts.
    fn update_session(&self, session: &str, change: &mut SessionChange<'_>) -> LedgerResult;

    /// The undelivered entries of a session that carry a ruling, such as a halt, and the errors met
    /// while reading them. They can be read even when [`session_state`](Self::session_state) fails.
    fn read_halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>);

    /// Stores an entry for a session whose state cannot be changed now. The next
    /// [`update_session`](Self::update_session) merges it.
    fn store_aside(&self, session: &str, entry: &Undelivered) -> LedgerResult;

    /// A claim by this process, for one of its firings.
    fn new_claim(&self, firing: &str) -> Claim;

    /// Whether the process that made a claim still runs.
    fn is_held(&self, claim: &Claim) -> bool;
}

/// Changes the state of a session. It may be called again.
pub type SessionChange<'c> = dyn FnMut(&mut SessionState) + 'c;

/// The stored state of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// Messages and halts that no caller could receive yet, oldest first.
    #[serde(rename = "owed")]
    pub undelivered: Vec<Undelivered>,
    /// Named counts: prompts so far, refusals in a row.
    pub counts: BTreeMap<String, u64>,
    /// Claims on work that runs once in a session, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
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

    /// Merges an entry that was stored aside. An interrupted change may have stored a part of it
    /// already.
    pub fn merge_undelivered(&mut self, entry: &Undelivered) {
        let Some(known) = self.undelivered.iter_mut().find(|known| known.id == entry.id) else {
            return self.keep_undelivered(entry.clone());
        };
        for message in &entry.verdict.messages {
            if !known.verdict.messages.contains(message) {
                known.verdict.messages.push(message.clone());
            }
        }
        if entry.is_halt() && !known.is_halt() {
            known.verdict.ruling = entry.verdict.ruling;
            known.verdict.reasons.clone_from(&entry.verdict.reasons);
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
