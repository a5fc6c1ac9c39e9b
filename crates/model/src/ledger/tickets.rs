//! Questions that wait for a person or a service.

use super::error::LedgerResult;
use crate::ticket::{Answer, AnswerResult, OpenedTicket, Ticket};

/// Stores tickets.
pub trait Tickets {
    /// Returns the ticket with the question's key that is neither spent nor expired, else a new
    /// one. It is stored durably before this returns.
    fn open_ticket(&self, asked: &Ticket) -> LedgerResult<OpenedTicket>;

    /// The ticket with this id.
    fn find_ticket(&self, id: &str) -> LedgerResult<Option<Ticket>>;

    /// The ticket with this callback token.
    fn ticket_by_token(&self, token: &str) -> LedgerResult<Option<Ticket>>;

    /// All stored tickets, newest first.
    fn list_tickets(&self) -> LedgerResult<Vec<Ticket>>;

    /// Records an answer. The first answer counts.
    fn answer_ticket(&self, id: &str, answer: &Answer) -> LedgerResult<AnswerResult>;

    /// Reserves a ticket's answer for this process as long as it runs.
    fn take_answer(&self, id: &str) -> LedgerResult;

    /// Spends every answer that this process reserved. Called when a firing has ended: a killed
    /// firing finds its answer again, and a later firing does not.
    fn spend_answers(&self) -> LedgerResult;

    /// Changes the notes of a ticket (`sent`, `spent`). Its id and answer cannot be changed. `note`
    /// may be called again after a conflict. An unknown ticket stays unknown.
    fn update_ticket(&self, id: &str, note: &mut dyn FnMut(&mut Ticket)) -> LedgerResult;
}
