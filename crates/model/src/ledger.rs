//! The border to the room that remembers: journal, what is owed to sessions, counts, trust.
//! The engine speaks to it in these words only and never learns where anything is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ticket::{Answer, AnswerResult, OpenedTicket, Ticket};
use crate::verdict::{Audience, Ruling, Verdict};

/// Beside a ledger on disk: the folder of files that belong to one session each, and that are
/// forgotten with it.
pub const SESSION_FILES: &str = "session-files";

/// Remembers between processes. Every method may fail; no decision depends on success.
pub trait Ledger: Sync {
    /// Appends records, together. Never waits for the disk.
    fn append_journal(&self, records: &[JournalRecord]) -> Result<(), LedgerError>;

    /// What is kept about a session; empty for an unknown one.
    fn session_state(&self, session: &str) -> Result<SessionState, LedgerError>;

    /// Changes what is kept about a session while no other process does.
    fn update_session(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError>;

    /// What is owed to a session with a ruling to it, such as a halt, as far as it can be read, and
    /// what is in the way. Kept apart from the rest, so that it can be read when
    /// [`session`](Self::session) cannot.
    fn halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>) {
        match self.session_state(session) {
            Ok(SessionState { undelivered: mut owed, .. }) => {
                owed.retain(Undelivered::is_halt);
                (owed, Vec::new())
            }
            Err(error) => (Vec::new(), vec![error]),
        }
    }

    /// Keeps something for a session whose state cannot be changed now. The next
    /// [`amend`](Self::amend) takes it in. A ledger without such a place refuses.
    fn store_aside(&self, session: &str, debt: &Undelivered) -> Result<(), LedgerError> {
        let doing = format!("keeping `{}` for `{session}`", debt.id);
        Err(LedgerError { doing, why: "this ledger has no other place for it".to_owned() })
    }

    /// A claim by this process, for one of its firings.
    fn claim(&self, firing: &str) -> Claim {
        Claim { firing: firing.to_owned(), pid: std::process::id(), start: 0 }
    }

    /// Whether the process that made a claim still runs. A ledger of one process knows no other.
    fn is_held(&self, claim: &Claim) -> bool {
        claim.pid == std::process::id()
    }

    /// Every trust entry: key to what was said of it.
    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError>;

    /// Changes the trust entries while no other process does.
    fn update_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError>;

    /// Takes out of what is written elsewhere what this ledger would not write itself. One that
    /// writes nothing knows no secrets.
    fn redact(&self, value: &mut Value) {
        let _ = value;
    }

    /// The ticket of a question, by its key: the one that is there and not spent or expired, else
    /// a new one. On disk before it returns. A ledger that keeps no tickets refuses.
    fn open_ticket(&self, asked: &Ticket) -> Result<OpenedTicket, LedgerError> {
        let (doing, why) = (format!("asking `{}`", asked.title), "this ledger keeps no tickets");
        Err(LedgerError { doing, why: why.to_owned() })
    }

    /// The ticket of an id.
    fn ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = id;
        Ok(None)
    }

    /// The ticket that a link's token answers.
    fn ticket_by_token(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        let _ = token;
        Ok(None)
    }

    /// All that are kept, newest first.
    fn tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        Ok(Vec::new())
    }

    /// Takes an answer: the first one counts, whoever brings it.
    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<AnswerResult, LedgerError> {
        let _ = (id, answer);
        Ok(AnswerResult::Unknown)
    }

    /// Notes that this process uses a ticket's answer: nobody else does, until it is gone.
    fn take_answer(&self, id: &str) -> Result<(), LedgerError> {
        self.update_ticket(id, &mut |ticket| ticket.spent = true)
    }

    /// Spends every answer that this process has taken. Called when a firing has ended, so that a
    /// firing that was killed finds its answer again, and a later one does not.
    fn spend_answers(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Changes what is noted about a ticket (`sent`, `spent`); its answer cannot be changed.
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
    /// The firing it belongs to.
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// Which step of the firing this is.
    pub step: FiringPhase,
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
pub enum FiringPhase {
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
    #[serde(default, rename = "owed")]
    pub undelivered: Vec<Undelivered>,
    /// Named counts: prompts so far, refusals in a row.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// Who is at something that happens only once in a session, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, Claim>,
}

/// So many messages may wait for a session, and so many bytes of them.
pub const MAX_UNDELIVERED_COUNT: usize = 1_000;
/// See [`MAX_UNDELIVERED_COUNT`]; far below what a small file may hold.
pub const MAX_UNDELIVERED_BYTES: usize = 2 << 20;
/// So many halts are kept; one is enough to stop a session.
pub const MAX_HALT_COUNT: usize = 50;
/// The id of the notice that messages were dropped begins so and ends with their number.
const DROPPED: &str = "dropped:";

impl SessionState {
    /// Keeps something for the session. Where too much waits, the oldest messages go, and the user
    /// is told how many. Halts stay.
    pub fn keep_undelivered(&mut self, mut debt: Undelivered) {
        let halts = self.undelivered.iter().filter(|old| old.is_halt()).count();
        if debt.is_halt() && halts >= MAX_HALT_COUNT {
            debt.verdict.ruling = Ruling::Silent;
            debt.verdict.reasons.clear();
            if debt.verdict.messages.is_empty() {
                return;
            }
        }
        self.undelivered.push(debt);
        let (mut count, mut bytes) = (0, 0);
        let mut dropped = 0;
        for debt in self.undelivered.iter_mut().rev().filter(|debt| !debt.id.starts_with(DROPPED)) {
            let says = &mut debt.verdict.messages;
            let size: usize = says.iter().map(|say| say.text.len()).sum();
            // The newest is kept whatever its size: it is bounded where it is made.
            let fits = count == 0
                || (count + says.len() <= MAX_UNDELIVERED_COUNT
                    && bytes + size <= MAX_UNDELIVERED_BYTES);
            if fits {
                (count, bytes) = (count + says.len(), bytes + size);
                continue;
            }
            // Whatever is older goes too: a gap in the middle would mislead.
            (dropped, count) = (dropped + says.len() as u64, MAX_UNDELIVERED_COUNT + 1);
            says.clear();
        }
        if dropped > 0 {
            self.add_dropped_notice(dropped);
        }
    }

    fn add_dropped_notice(&mut self, dropped: u64) {
        let notice = |debt: &Undelivered| debt.id.strip_prefix(DROPPED)?.parse::<u64>().ok();
        let earlier: u64 = self.undelivered.iter().filter_map(notice).sum();
        let empty = |debt: &Undelivered| debt.verdict.messages.is_empty() && !debt.is_halt();
        self.undelivered.retain(|debt| notice(debt).is_none() && !empty(debt));
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

/// One verdict that waits for a caller who can hear it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undelivered {
    /// Names this debt, so that it can be paid exactly once.
    pub id: String,
    /// Who owes it, for the trail.
    pub from: String,
    /// What is owed.
    pub verdict: Verdict,
    /// The firing that is about to tell its words; others leave them to it while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

impl Undelivered {
    /// A debt that nobody has claimed.
    pub fn new(id: impl Into<String>, from: impl Into<String>, verdict: Verdict) -> Self {
        Self { id: id.into(), from: from.into(), verdict, claim: None }
    }

    /// Whether it carries a ruling, and not only words.
    pub fn is_halt(&self) -> bool {
        self.verdict.ruling != Ruling::Silent
    }
}

/// Who is at something. It counts as long as its process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The firing.
    pub firing: String,
    /// Its process.
    pub pid: u32,
    /// When that process was started, in the kernel's own count: numbers are given away again.
    pub start: u64,
}

/// What a person said of one project hook.
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
    /// What runs and could not be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// True when a person refused it for good.
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

/// The world's refusal, in words fit for a person.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{doing}: {why}")]
pub struct LedgerError {
    /// What was being done.
    pub doing: String,
    /// What the world said.
    pub why: String,
}
