//! A ledger in memory, for library users and tests. Its content ends with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gambrel_model::Outcome;
use gambrel_model::ledger::{JournalRecord, Ledger, LedgerError, SessionState, TrustEntry};
use gambrel_model::ticket::{Answer, AnswerResult, OpenedTicket, Ticket, TicketState};

use crate::token::{TicketToken, new_secret};

/// Stores everything in memory.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    state: Mutex<MemoryState>,
}

#[derive(Debug, Default)]
struct MemoryState {
    records: Vec<JournalRecord>,
    sessions: BTreeMap<String, SessionState>,
    outcomes: BTreeMap<(String, String), Outcome>,
    trust: BTreeMap<String, TrustEntry>,
    tickets: Vec<(String, Ticket)>,
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
}

impl Ledger for MemoryLedger {
    fn append_journal(&self, records: &[JournalRecord]) -> Result<(), LedgerError> {
        self.lock_state().records.extend_from_slice(records);
        Ok(())
    }

    fn session_state(&self, session: &str) -> Result<SessionState, LedgerError> {
        Ok(self.lock_state().sessions.get(session).cloned().unwrap_or_default())
    }

    fn update_session(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError> {
        let mut kept = self.lock_state();
        let mut state = kept.sessions.get(session).cloned().unwrap_or_default();
        change(&mut state);
        kept.sessions.insert(session.to_owned(), state);
        Ok(())
    }

    fn recorded_outcomes(
        &self,
        firing_key: &str,
    ) -> Result<BTreeMap<String, Outcome>, LedgerError> {
        let state = self.lock_state();
        let own = state.outcomes.iter().filter(|((key, _), _)| key == firing_key);
        Ok(own.map(|((_, hook), outcome)| (hook.clone(), outcome.clone())).collect())
    }

    fn record_outcome(
        &self,
        firing_key: &str,
        hook: &str,
        outcome: &Outcome,
    ) -> Result<(), LedgerError> {
        let key = (firing_key.to_owned(), hook.to_owned());
        self.lock_state().outcomes.entry(key).or_insert_with(|| outcome.clone());
        Ok(())
    }

    fn trust_entries(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
        Ok(self.lock_state().trust.clone())
    }

    fn update_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError> {
        let mut kept = self.lock_state();
        let mut trust = kept.trust.clone();
        change(&mut trust);
        kept.trust = trust;
        Ok(())
    }

    fn open_ticket(&self, asked: &Ticket) -> Result<OpenedTicket, LedgerError> {
        let mut kept = self.lock_state();
        let live = |ticket: &Ticket| {
            ticket.key == asked.key
                && !ticket.spent
                && ticket.taken.is_none()
                && ticket.state_at(asked.at) != TicketState::Expired
        };
        if let Some((token, ticket)) = kept.tickets.iter().find(|(_, ticket)| live(ticket)) {
            return Ok(OpenedTicket { ticket: ticket.clone(), token: token.clone() });
        }

        let secret =
            new_secret().map_err(|why| LedgerError { doing: "opening a ticket".into(), why })?;
        let unknown = || LedgerError { doing: "opening a ticket".into(), why: "no token".into() };
        let token = TicketToken::derive(&secret, &asked.key, 0).ok_or_else(unknown)?;
        let ticket = Ticket { id: token.id().to_owned(), answer: None, ..asked.clone() };
        kept.tickets.push((token.text.clone(), ticket.clone()));
        Ok(OpenedTicket { ticket, token: token.text })
    }

    fn find_ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        Ok(self.lock_state().tickets.iter().map(|(_, t)| t).find(|ticket| ticket.id == id).cloned())
    }

    fn ticket_by_token(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        let asked = TicketToken::from_text(token.to_owned());
        let kept = self.lock_state();
        let known = |text: &str| asked.matches_hash(&TicketToken::from_text(text.to_owned()).hash);
        Ok(kept.tickets.iter().find(|(text, _)| known(text)).map(|(_, ticket)| ticket.clone()))
    }

    fn list_tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        Ok(self.lock_state().tickets.iter().rev().map(|(_, ticket)| ticket.clone()).collect())
    }

    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<AnswerResult, LedgerError> {
        let mut kept = self.lock_state();
        let Some((_, ticket)) = kept.tickets.iter_mut().find(|(_, ticket)| ticket.id == id) else {
            return Ok(AnswerResult::Unknown);
        };
        Ok(match ticket.answer.clone() {
            Some(before) => AnswerResult::AlreadyAnswered(before),
            None if ticket.state_at(answer.at) == TicketState::Expired => AnswerResult::Expired,
            None => {
                ticket.answer = Some(answer.clone());
                AnswerResult::Recorded(answer.clone())
            }
        })
    }

    fn take_answer(&self, id: &str) -> Result<(), LedgerError> {
        let claim = self.new_claim("");
        self.update_ticket(id, &mut |ticket| ticket.taken = Some(claim.clone()))
    }

    fn spend_answers(&self) -> Result<(), LedgerError> {
        for (_, ticket) in &mut self.lock_state().tickets {
            ticket.spent |= ticket.taken.is_some();
        }
        Ok(())
    }

    fn update_ticket(
        &self,
        id: &str,
        note: &mut dyn FnMut(&mut Ticket),
    ) -> Result<(), LedgerError> {
        if let Some((_, ticket)) = self.lock_state().tickets.iter_mut().find(|(_, t)| t.id == id) {
            note(ticket);
        }
        Ok(())
    }
}
