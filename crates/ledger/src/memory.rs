//! The ledger of one process, for libraries and scripted tests. Forgets everything at its end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gambrel_model::ledger::{JournalRecord, Ledger, LedgerError, SessionState, TrustEntry};
use gambrel_model::ticket::{Answer, AnswerResult, OpenedTicket, Ticket, TicketState};

use crate::token::{Token, fresh};

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    records: Vec<JournalRecord>,
    sessions: BTreeMap<String, SessionState>,
    trust: BTreeMap<String, TrustEntry>,
    tickets: Vec<(String, Ticket)>,
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every record so far, in the order in which they came.
    pub fn records(&self) -> Vec<JournalRecord> {
        self.kept().records.clone()
    }

    /// A change that panicked left its own copy behind, not this one.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for MemoryLedger {
    fn append_journal(&self, records: &[JournalRecord]) -> Result<(), LedgerError> {
        self.kept().records.extend_from_slice(records);
        Ok(())
    }

    fn session_state(&self, session: &str) -> Result<SessionState, LedgerError> {
        Ok(self.kept().sessions.get(session).cloned().unwrap_or_default())
    }

    fn update_session(
        &self,
        session: &str,
        change: &mut dyn FnMut(&mut SessionState),
    ) -> Result<(), LedgerError> {
        let mut kept = self.kept();
        let mut state = kept.sessions.get(session).cloned().unwrap_or_default();
        change(&mut state);
        kept.sessions.insert(session.to_owned(), state);
        Ok(())
    }

    fn trust(&self) -> Result<BTreeMap<String, TrustEntry>, LedgerError> {
        Ok(self.kept().trust.clone())
    }

    fn update_trust(
        &self,
        change: &mut dyn FnMut(&mut BTreeMap<String, TrustEntry>),
    ) -> Result<(), LedgerError> {
        let mut kept = self.kept();
        let mut trust = kept.trust.clone();
        change(&mut trust);
        kept.trust = trust;
        Ok(())
    }

    fn open_ticket(&self, asked: &Ticket) -> Result<OpenedTicket, LedgerError> {
        let mut kept = self.kept();
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
            fresh().map_err(|why| LedgerError { doing: "opening a ticket".into(), why })?;
        let unknown = || LedgerError { doing: "opening a ticket".into(), why: "no token".into() };
        let token = Token::of(&secret, &asked.key, 0).ok_or_else(unknown)?;
        let ticket = Ticket { id: token.id().to_owned(), answer: None, ..asked.clone() };
        kept.tickets.push((token.text.clone(), ticket.clone()));
        Ok(OpenedTicket { ticket, token: token.text })
    }

    fn ticket(&self, id: &str) -> Result<Option<Ticket>, LedgerError> {
        Ok(self.kept().tickets.iter().map(|(_, t)| t).find(|ticket| ticket.id == id).cloned())
    }

    fn ticket_by_token(&self, token: &str) -> Result<Option<Ticket>, LedgerError> {
        let asked = Token::known(token.to_owned());
        let kept = self.kept();
        let known = |text: &str| asked.is(&Token::known(text.to_owned()).hash);
        Ok(kept.tickets.iter().find(|(text, _)| known(text)).map(|(_, ticket)| ticket.clone()))
    }

    fn tickets(&self) -> Result<Vec<Ticket>, LedgerError> {
        Ok(self.kept().tickets.iter().rev().map(|(_, ticket)| ticket.clone()).collect())
    }

    fn answer_ticket(&self, id: &str, answer: &Answer) -> Result<AnswerResult, LedgerError> {
        let mut kept = self.kept();
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
        let claim = self.claim("");
        self.update_ticket(id, &mut |ticket| ticket.taken = Some(claim.clone()))
    }

    fn spend_answers(&self) -> Result<(), LedgerError> {
        for (_, ticket) in &mut self.kept().tickets {
            ticket.spent |= ticket.taken.is_some();
        }
        Ok(())
    }

    fn update_ticket(
        &self,
        id: &str,
        note: &mut dyn FnMut(&mut Ticket),
    ) -> Result<(), LedgerError> {
        if let Some((_, ticket)) = self.kept().tickets.iter_mut().find(|(_, t)| t.id == id) {
            note(ticket);
        }
        Ok(())
    }
}
