//! A ledger in memory, for library users and tests. Its content ends with the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::Outcome;
use gambrel_model::ledger::{
    BoardNote, Boards, Claim, FiringQuery, FiringRecord, Imported, InboxMessage, Journal,
    JournalRecord, Ledger, LedgerError, LedgerErrorKind, LedgerResult, LogLines, NoteFill,
    ProcessOrigin, RecentFirings, RunLock, RunLog, Runs, SessionChange, SessionState, Sessions,
    Task, TaskUpdate, Tickets, TrustEntries, TrustStore, Undelivered, WatchTarget,
};
use gambrel_model::ticket::{Answer, AnswerResult, OpenedTicket, Ticket};
use serde_json::Value;

use crate::firing::{self, build_firing};
use crate::open_ticket::is_over;
use crate::pid_alive;
use crate::run_error::{conflict_error, locked_error};
use crate::task::{change_task, fill_note};
use crate::token::{TicketToken, new_secret};

/// Maximum length of one wait: a change before the wait is not seen.
const WAIT_TIMEOUT: Duration = Duration::from_millis(250);

/// Stores everything in memory. It calls each change twice, so that a change that must not be
/// repeated is found in tests.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    state: Mutex<MemoryState>,
    changed: Condvar,
    locks: MemoryLocks,
}

#[derive(Debug, Default)]
struct MemoryState {
    records: Vec<JournalRecord>,
    sessions: BTreeMap<String, SessionState>,
    outcomes: BTreeMap<(String, String), Outcome>,
    trust: TrustEntries,
    trusted_texts: BTreeMap<String, String>,
    tickets: Vec<(String, Ticket)>,
    logs: BTreeMap<RunLog, Vec<Value>>,
    tasks: BTreeMap<String, Vec<Task>>,
    notes: BTreeMap<String, Vec<BoardNote>>,
    messages: BTreeMap<String, Vec<InboxMessage>>,
}

/// The locks by name. They are shared with those who hold one.
type MemoryLocks = Arc<Mutex<BTreeMap<String, MemoryLock>>>;

#[derive(Debug, Default)]
struct MemoryLock {
    fence: u64,
    owner: Option<ProcessOrigin>,
}

/// Releases a lock when it is dropped.
struct HeldLock {
    locks: MemoryLocks,
    name: String,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.entry(self.name.clone()).or_default().owner = None;
    }
}

impl MemoryState {
    fn ticket_mut(&mut self, id: &str) -> Option<&mut Ticket> {
        self.tickets.iter_mut().map(|(_, ticket)| ticket).find(|ticket| ticket.id == id)
    }

    /// All firings, oldest first.
    fn firings(&self) -> Vec<FiringRecord> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut firings: Vec<Vec<JournalRecord>> = Vec::new();
        for record in &self.records {
            let place = *places.entry(&record.id).or_insert(firings.len());
            match firings.get_mut(place) {
                Some(records) => records.push(record.clone()),
                None => firings.push(vec![record.clone()]),
            }
        }
        (1..).zip(firings).filter_map(|(seq, records)| build_firing(seq, records)).collect()
    }
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// All journal records, oldest first.
    pub fn records(&self) -> Vec<JournalRecord> {
        self.lock_state().records.clone()
    }

    /// Ignores poisoning: a change works on a copy, so a panic leaves the state unchanged.
    fn lock_state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state for a change, and wakes those who wait for one.
    fn change_state(&self) -> MutexGuard<'_, MemoryState> {
        let state = self.lock_state();
        self.changed.notify_all();
        state
    }
}

/// Changes a copy of `value` twice from the beginning; the last call counts.
fn change_twice<T: Clone>(value: &T, change: &mut dyn FnMut(&mut T)) -> T {
    change(&mut value.clone());
    let mut changed = value.clone();
    change(&mut changed);
    changed
}

impl Journal for MemoryLedger {
    fn append_journal(&self, records: &[JournalRecord]) -> LedgerResult {
        self.change_state().records.extend_from_slice(records);
        Ok(())
    }

    fn firings(&self, query: &FiringQuery) -> LedgerResult<Vec<FiringRecord>> {
        let mut firings = self.lock_state().firings();
        firings.retain(|firing| {
            query.after.is_none_or(|after| firing.seq > after)
                && query.session.as_ref().is_none_or(|session| *session == firing.session)
        });
        match query.after {
            Some(_) => firings.truncate(query.limit),
            None => drop(firings.drain(..firings.len().saturating_sub(query.limit))),
        }
        Ok(firings)
    }

    fn firing(&self, id_or_prefix: &str) -> LedgerResult<Option<FiringRecord>> {
        let firings = self.lock_state().firings();
        let ids = firings.iter().map(|firing| firing.id.as_str());
        let found = firing::choose_id(id_or_prefix, ids)?.map(str::to_owned);
        Ok(firings.into_iter().find(|firing| Some(&firing.id) == found.as_ref()))
    }

    /// Nothing waits for an import.
    fn recent_firings(&self, _query: &FiringQuery) -> LedgerResult<Option<RecentFirings>> {
        Ok(None)
    }

    /// Appended records are listed at once.
    fn import_journal(&self) -> LedgerResult<Imported> {
        Ok(Imported::default())
    }

    fn import_unattended(&self) -> LedgerResult {
        Ok(())
    }

    fn take_import_due(&self) -> bool {
        false
    }
}

impl Sessions for MemoryLedger {
    fn session_state(&self, session: &str) -> LedgerResult<SessionState> {
        Ok(self.lock_state().sessions.get(session).cloned().unwrap_or_default())
    }

    fn update_session(&self, session: &str, change: &mut SessionChange<'_>) -> LedgerResult {
        let mut kept = self.change_state();
        let state = kept.sessions.get(session).cloned().unwrap_or_default();
        kept.sessions.insert(session.to_owned(), change_twice(&state, change));
        Ok(())
    }

    fn read_halts(&self, session: &str) -> (Vec<Undelivered>, Vec<LedgerError>) {
        let state = self.lock_state().sessions.get(session).cloned().unwrap_or_default();
        (state.undelivered.into_iter().filter(Undelivered::is_halt).collect(), Vec::new())
    }

    /// The state can always be changed.
    fn store_aside(&self, session: &str, entry: &Undelivered) -> LedgerResult {
        self.update_session(session, &mut |state| state.merge_undelivered(entry))
    }

    fn new_claim(&self, firing: &str) -> Claim {
        pid_alive::new_claim(firing)
    }

    fn is_held(&self, claim: &Claim) -> bool {
        pid_alive::is_held(claim)
    }
}

impl Tickets for MemoryLedger {
    fn open_ticket(&self, asked: &Ticket) -> LedgerResult<OpenedTicket> {
        let mut kept = self.change_state();
        let live = |ticket: &Ticket| ticket.key == asked.key && !is_over(ticket);
        if let Some((token, ticket)) = kept.tickets.iter().find(|(_, ticket)| live(ticket)) {
            return Ok(OpenedTicket { ticket: ticket.clone(), token: token.clone() });
        }

        let unusable = |why: &dyn std::fmt::Display| {
            LedgerError::new(LedgerErrorKind::Unavailable, "opening a ticket", why)
        };
        let secret = new_secret().map_err(|error| unusable(&error))?;
        let token = TicketToken::derive(&secret, &asked.key, 0);
        let token = token.ok_or_else(|| unusable(&"no token"))?;
        let ticket = Ticket { id: token.id().to_owned(), answer: None, ..asked.clone() };
        kept.tickets.push((token.text.clone(), ticket.clone()));
        Ok(OpenedTicket { ticket, token: token.text })
    }

    fn find_ticket(&self, id: &str) -> LedgerResult<Option<Ticket>> {
        Ok(self.lock_state().ticket_mut(id).cloned())
    }

    fn ticket_by_token(&self, token: &str) -> LedgerResult<Option<Ticket>> {
        let asked = TicketToken::from_text(token.to_owned());
        let kept = self.lock_state();
        let known = |text: &str| asked.matches_hash(&TicketToken::from_text(text.to_owned()).hash);
        Ok(kept.tickets.iter().find(|(text, _)| known(text)).map(|(_, ticket)| ticket.clone()))
    }

    fn list_tickets(&self) -> LedgerResult<Vec<Ticket>> {
        Ok(self.lock_state().tickets.iter().rev().map(|(_, ticket)| ticket.clone()).collect())
    }

    fn answer_ticket(&self, id: &str, answer: &Answer) -> LedgerResult<AnswerResult> {
        let mut kept = self.change_state();
        let Some(ticket) = kept.ticket_mut(id) else { return Ok(AnswerResult::Unknown) };
        Ok(match ticket.answer.clone() {
            Some(before) => AnswerResult::AlreadyAnswered(before),
            None if is_over(ticket) => AnswerResult::Expired,
            None => {
                ticket.answer = Some(answer.clone());
                AnswerResult::Recorded(answer.clone())
            }
        })
    }

    fn take_answer(&self, id: &str) -> LedgerResult {
        let claim = self.new_claim("");
        self.update_ticket(id, &mut |ticket| ticket.taken = Some(claim.clone()))
    }

    fn spend_answers(&self) -> LedgerResult {
        for (_, ticket) in &mut self.change_state().tickets {
            ticket.spent |= ticket.taken.as_ref().is_some_and(pid_alive::is_held);
        }
        Ok(())
    }

    fn update_ticket(&self, id: &str, note: &mut dyn FnMut(&mut Ticket)) -> LedgerResult {
        if let Some(ticket) = self.change_state().ticket_mut(id) {
            let changed = change_twice(ticket, note);
            *ticket = Ticket { id: ticket.id.clone(), answer: ticket.answer.take(), ..changed };
        }
        Ok(())
    }
}

impl Runs for MemoryLedger {
    fn recorded_outcomes(&self, firing_key: &str) -> LedgerResult<BTreeMap<String, Outcome>> {
        let state = self.lock_state();
        let own = state.outcomes.iter().filter(|((key, _), _)| key == firing_key);
        Ok(own.map(|((_, hook), outcome)| (hook.clone(), outcome.clone())).collect())
    }

    fn record_outcome(&self, firing_key: &str, hook: &str, outcome: &Outcome) -> LedgerResult {
        let key = (firing_key.to_owned(), hook.to_owned());
        self.change_state().outcomes.entry(key).or_insert_with(|| outcome.clone());
        Ok(())
    }

    fn replace_outcomes(
        &self,
        firing_key: &str,
        outcomes: &BTreeMap<String, Outcome>,
    ) -> LedgerResult {
        let named = |(hook, outcome): (&String, &Outcome)| {
            ((firing_key.to_owned(), hook.clone()), outcome.clone())
        };
        let mut state = self.change_state();
        state.outcomes.retain(|(key, _), _| key != firing_key);
        state.outcomes.extend(outcomes.iter().map(named));
        Ok(())
    }

    fn acquire_lock(&self, name: &str, owner: &ProcessOrigin) -> LedgerResult<RunLock> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = locks.entry(name.to_owned()).or_default();
        if let Some(owner) = &lock.owner {
            return Err(locked_error(name, owner));
        }
        *lock = MemoryLock { fence: lock.fence + 1, owner: Some(owner.clone()) };
        let held = HeldLock { locks: Arc::clone(&self.locks), name: name.to_owned() };
        Ok(RunLock::new(lock.fence, held))
    }

    fn lock_owner(&self, name: &str) -> LedgerResult<Option<ProcessOrigin>> {
        let locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(locks.get(name).and_then(|lock| lock.owner.clone()))
    }

    fn append(&self, log: &RunLog, after: u64, lines: &[Value]) -> LedgerResult<u64> {
        let mut state = self.change_state();
        let stored = state.logs.entry(log.clone()).or_default();
        if stored.len() as u64 != after {
            return Err(conflict_error(&log.name, after, stored.len() as u64));
        }
        stored.extend_from_slice(lines);
        Ok(stored.len() as u64)
    }

    fn read(&self, log: &RunLog) -> LedgerResult<LogLines> {
        let lines = self.lock_state().logs.get(log).cloned().unwrap_or_default();
        Ok(LogLines { lines, torn: None })
    }
}

impl Boards for MemoryLedger {
    fn tasks(&self, board: &str) -> LedgerResult<Vec<Task>> {
        Ok(self.lock_state().tasks.get(board).cloned().unwrap_or_default())
    }

    fn update_task(
        &self,
        board: &str,
        id: Option<&str>,
        change: &mut TaskUpdate<'_>,
    ) -> LedgerResult<Task> {
        let mut state = self.change_state();
        let tasks = state.tasks.entry(board.to_owned()).or_default();
        change_task(board, tasks, id, change)?;
        let task = change_task(board, tasks, id, change)?;
        match tasks.iter_mut().find(|known| known.id == task.id) {
            Some(known) => *known = task.clone(),
            None => tasks.push(task.clone()),
        }
        Ok(task)
    }

    fn notes(&self, board: &str) -> LedgerResult<Vec<BoardNote>> {
        Ok(self.lock_state().notes.get(board).cloned().unwrap_or_default())
    }

    fn add_note(&self, board: &str, fill: &mut NoteFill<'_>) -> LedgerResult<BoardNote> {
        let mut state = self.change_state();
        let tasks = state.tasks.get(board).cloned().unwrap_or_default();
        let notes = state.notes.entry(board.to_owned()).or_default();
        fill_note(board, &tasks, notes, fill)?;
        let note = fill_note(board, &tasks, notes, fill)?;
        notes.push(note.clone());
        Ok(note)
    }

    fn send(&self, board: &str, message: &InboxMessage) -> LedgerResult {
        let mut state = self.change_state();
        let messages = state.messages.entry(board.to_owned()).or_default();
        if !messages.iter().any(|known| known.id == message.id) {
            messages.push(message.clone());
        }
        Ok(())
    }

    fn inbox(&self, board: &str, member: &str) -> LedgerResult<Vec<InboxMessage>> {
        let messages = self.lock_state().messages.get(board).cloned().unwrap_or_default();
        Ok(messages.into_iter().filter(|message| message.to == member).collect())
    }
}

impl Ledger for MemoryLedger {
    /// Nobody else can use this ledger, so its address tells it apart.
    fn ledger_id(&self) -> String {
        format!("memory-{}-{:p}", std::process::id(), self)
    }

    fn wait_for_change(&self, _what: WatchTarget<'_>, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now()).min(WAIT_TIMEOUT);
        drop(self.changed.wait_timeout(self.lock_state(), left));
    }
}

impl TrustStore for MemoryLedger {
    fn trust_entries(&self) -> LedgerResult<TrustEntries> {
        Ok(self.lock_state().trust.clone())
    }

    fn update_trust(&self, change: &mut dyn FnMut(&mut TrustEntries)) -> LedgerResult {
        let mut kept = self.change_state();
        kept.trust = change_twice(&kept.trust, change);
        Ok(())
    }

    fn keep_trusted_texts(&self, texts: &[(&str, &[u8])], in_use: &BTreeSet<&str>) -> LedgerResult {
        let mut kept = self.change_state();
        kept.trusted_texts.retain(|digest, _| in_use.contains(digest.as_str()));
        for (digest, bytes) in texts {
            let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
            kept.trusted_texts.extend(text.map(|text| ((*digest).to_owned(), text)));
        }
        Ok(())
    }

    fn trusted_text(&self, digest: &str) -> Option<String> {
        self.lock_state().trusted_texts.get(digest).cloned()
    }
}
