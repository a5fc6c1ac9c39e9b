//! One small file for each ticket, synced to the disk before the ticket is used. The first answer
//! is written under a lock. Shown texts have their secrets redacted.

use std::io::Read;
use std::sync::PoisonError;
use std::time::Duration;

use gambrel_model::ledger::{LedgerResult, Tickets};
use gambrel_model::ticket::{Answer, AnswerKind, AnswerResult, OpenedTicket, Ticket, TicketState};
use serde::{Deserialize, Serialize};

use super::LocalLedger;
use super::lock::FileLock;
use super::state_dir::{Durable, StateDir, corrupt_error, io_error, refused_error};
use crate::open_ticket::{is_over, now_ms};
use crate::pid_alive;
use crate::redact::Redactor;
use crate::token::{LedgerSecret, TicketToken, hash_key, new_secret};

const TICKETS_DIR: &str = "tickets";
const SECRET_FILE: &str = "tickets/secret";
/// Maximum number of tickets of one question before old tickets are removed.
const MAX_SERIAL_COUNT: u32 = 100_000;

/// A ticket with the hash of its token.
#[derive(Serialize, Deserialize)]
struct StoredTicket {
    hash: String,
    ticket: Ticket,
}

pub(super) fn file_of(id: &str) -> Option<String> {
    let sound = !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then(|| format!("{TICKETS_DIR}/{id}.json"))
}

impl Tickets for LocalLedger {
    /// Finds the open ticket of a question, or creates one.
    fn open_ticket(&self, asked: &Ticket) -> LedgerResult<OpenedTicket> {
        let secret = ledger_secret(&self.folder)?;
        for serial in 0..MAX_SERIAL_COUNT {
            let Some(token) = TicketToken::derive(&secret, &asked.key, serial) else { break };
            let _held = self.lock_ticket(token.id())?;
            match self.read_ticket(token.id())? {
                Some(kept) if is_over(&kept.ticket) => {}
                Some(kept) => return Ok(OpenedTicket { ticket: kept.ticket, token: token.text }),
                None => {
                    let id = token.id().to_owned();
                    let ticket = Ticket { id, ..redact_ticket(asked, &self.redactor) };
                    let kept = StoredTicket { hash: token.hash, ticket };
                    self.write_ticket(&kept)?;
                    return Ok(OpenedTicket { ticket: kept.ticket, token: token.text });
                }
            }
        }
        let why = "this question was asked too often; wait until its tickets expire";
        Err(refused_error("opening a ticket in", &self.folder.path_of(TICKETS_DIR), why))
    }

    fn find_ticket(&self, id: &str) -> LedgerResult<Option<Ticket>> {
        Ok(self.read_ticket(id)?.map(|kept| kept.ticket))
    }

    fn ticket_by_token(&self, token: &str) -> LedgerResult<Option<Ticket>> {
        let token = TicketToken::from_text(token.to_owned());
        let kept = self.read_ticket(token.id())?;
        Ok(kept.filter(|kept| token.matches_hash(&kept.hash)).map(|kept| kept.ticket))
    }

    /// All tickets, the newest first. Unreadable tickets are left out.
    fn list_tickets(&self) -> LedgerResult<Vec<Ticket>> {
        let folder = self.folder.path_of(TICKETS_DIR);
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut tickets = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            tickets.extend(id.and_then(|id| self.find_ticket(id).ok().flatten()));
        }
        tickets.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        Ok(tickets)
    }

    /// Records an answer. The first one counts.
    fn answer_ticket(&self, id: &str, answer: &Answer) -> LedgerResult<AnswerResult> {
        if file_of(id).is_none() {
            return Ok(AnswerResult::Unknown);
        }
        let _held = self.lock_ticket(id)?;
        let Some(mut kept) = self.read_ticket(id)? else { return Ok(AnswerResult::Unknown) };
        if let Some(before) = kept.ticket.answer {
            return Ok(AnswerResult::AlreadyAnswered(before));
        }
        if is_over(&kept.ticket) {
            return Ok(AnswerResult::Expired);
        }
        let taken = Answer { at: now_ms(), ..answer.clone() };
        kept.ticket.answer = Some(taken.clone());
        self.write_ticket(&kept)?;
        Ok(AnswerResult::Recorded(taken))
    }

    fn take_answer(&self, id: &str) -> LedgerResult {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.push(id.to_owned());
        self.update_ticket(id, &mut |ticket| ticket.taken = Some(pid_alive::new_claim("")))
    }

    fn spend_answers(&self) -> LedgerResult {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(id) = taken.last() {
            self.update_ticket(id, &mut |ticket| ticket.spent = true)?;
            taken.pop();
        }
        Ok(())
    }

    /// Changes a ticket, but not its id and answer.
    fn update_ticket(&self, id: &str, note: &mut dyn FnMut(&mut Ticket)) -> LedgerResult {
        let _held = self.lock_ticket(id)?;
        let Some(mut kept) = self.read_ticket(id)? else { return Ok(()) };
        let before = kept.ticket.clone();
        note(&mut kept.ticket);
        kept.ticket.answer.clone_from(&before.answer);
        kept.ticket.id.clone_from(&before.id);
        if kept.ticket == before { Ok(()) } else { self.write_ticket(&kept) }
    }
}

impl LocalLedger {
    fn lock_ticket(&self, id: &str) -> LedgerResult<FileLock> {
        let last = id.chars().next_back().unwrap_or('0');
        FileLock::wait(&self.folder, &format!("{TICKETS_DIR}/{last}.lock"))
    }

    fn read_ticket(&self, id: &str) -> LedgerResult<Option<StoredTicket>> {
        let Some(name) = file_of(id) else { return Ok(None) };
        let Some(text) = self.folder.read_existing(&name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let why = format!("it is not a ticket: {error}");
            corrupt_error("reading", &self.folder.path_of(&name), why)
        })
    }

    fn write_ticket(&self, kept: &StoredTicket) -> LedgerResult {
        let name = file_of(&kept.ticket.id).unwrap_or_else(|| format!("{TICKETS_DIR}/odd.json"));
        self.folder.replace_json(&name, kept, Durable::Yes)
    }

    /// Removes tickets that are not open and that did not change for `age`.
    pub(super) fn remove_old_tickets(&self, age: Duration) -> LedgerResult {
        let old = now_ms().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        for ticket in self.list_tickets()? {
            let over = ticket.state_at(now_ms()) != TicketState::Open;
            let given = ticket.answer.as_ref().map(|given| given.at);
            let last = given.unwrap_or(ticket.at.max(ticket.expires));
            if let Some(name) = file_of(&ticket.id).filter(|_| over && last < old) {
                let _held = self.lock_ticket(&ticket.id)?;
                self.folder.remove_file(&name)?;
            }
        }
        Ok(())
    }
}

/// The ledger's secret, created at the first use.
fn ledger_secret(folder: &StateDir) -> LedgerResult<LedgerSecret> {
    let path = folder.path_of(SECRET_FILE);
    let _held = FileLock::wait(folder, &format!("{TICKETS_DIR}/secret.lock"))?;
    let mut secret = LedgerSecret::default();
    if let Some(mut file) = folder.open_existing(SECRET_FILE)? {
        file.read_exact(&mut secret).map_err(|error| io_error("reading", &path, &error))?;
        return Ok(secret);
    }
    let secret = new_secret().map_err(|error| io_error("making", &path, &error))?;
    folder.replace_file(SECRET_FILE, &secret, Durable::Yes)?;
    Ok(secret)
}

fn redact_ticket(asked: &Ticket, redactor: &Redactor) -> Ticket {
    let clean = |text: &str| redactor.redact_text(text).into_owned();
    Ticket {
        key: hash_key(&asked.key),
        at: now_ms(),
        session: clean(&asked.session),
        project: clean(&asked.project),
        title: clean(&asked.title),
        shown: asked.shown.iter().map(|(name, text)| (clean(name), clean(text))).collect(),
        context: asked.context.map_texts(&clean),
        wants: match &asked.wants {
            AnswerKind::Line(text) => AnswerKind::Line(clean(text)),
            AnswerKind::Text(text) => AnswerKind::Text(clean(text)),
            other => other.clone(),
        },
        answer: None,
        sent: false,
        spent: false,
        taken: None,
        ..asked.clone()
    }
}
