//! One small file for each ticket, synced to the disk before the ticket is used. The first answer
//! is written under a lock. Shown texts have their secrets redacted.

use std::io::Read;
use std::time::Duration;

use gambrel_model::ledger::LedgerError;
use gambrel_model::ticket::{Answer, AnswerKind, AnswerResult, OpenedTicket, Ticket, TicketState};
use serde::{Deserialize, Serialize};

use super::lock::FileLock;
use super::state_dir::{Durable, StateDir, corrupt_error, io_error, refused_error};
use crate::open_ticket::{is_over, now_ms};
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

fn lock_ticket(folder: &StateDir, id: &str) -> Result<FileLock, LedgerError> {
    let last = id.chars().next_back().unwrap_or('0');
    FileLock::wait(folder, &format!("{TICKETS_DIR}/{last}.lock"))
}

fn read_ticket(folder: &StateDir, id: &str) -> Result<Option<StoredTicket>, LedgerError> {
    let Some(name) = file_of(id) else { return Ok(None) };
    let Some(file) = folder.open_existing(&name)? else { return Ok(None) };
    let text = folder.read_text(&name, file)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        corrupt_error("reading", &folder.path_of(&name), format!("it is not a ticket: {error}"))
    })
}

fn write_ticket(folder: &StateDir, kept: &StoredTicket) -> Result<(), LedgerError> {
    let name = file_of(&kept.ticket.id).unwrap_or_else(|| format!("{TICKETS_DIR}/odd.json"));
    let bytes = serde_json::to_vec(kept)
        .map_err(|error| refused_error("writing", &folder.path_of(&name), error))?;
    folder.replace_file(&name, &bytes, Durable::Yes)
}

/// The ledger's secret, created at the first use.
fn ledger_secret(folder: &StateDir) -> Result<LedgerSecret, LedgerError> {
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

/// Finds the open ticket of a question, or creates one.
pub(super) fn open_ticket(
    folder: &StateDir,
    redactor: &Redactor,
    asked: &Ticket,
) -> Result<OpenedTicket, LedgerError> {
    let secret = ledger_secret(folder)?;
    for serial in 0..MAX_SERIAL_COUNT {
        let Some(token) = TicketToken::derive(&secret, &asked.key, serial) else { break };
        let _held = lock_ticket(folder, token.id())?;
        match read_ticket(folder, token.id())? {
            Some(kept) if is_over(&kept.ticket) => {}
            Some(kept) => return Ok(OpenedTicket { ticket: kept.ticket, token: token.text }),
            None => {
                let ticket = Ticket { id: token.id().to_owned(), ..redact_ticket(asked, redactor) };
                let kept = StoredTicket { hash: token.hash, ticket };
                write_ticket(folder, &kept)?;
                return Ok(OpenedTicket { ticket: kept.ticket, token: token.text });
            }
        }
    }
    let why = "this question was asked too often; wait until its tickets expire";
    Err(refused_error("opening a ticket in", &folder.path_of(TICKETS_DIR), why))
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

pub(super) fn by_id(folder: &StateDir, id: &str) -> Result<Option<Ticket>, LedgerError> {
    Ok(read_ticket(folder, id)?.map(|kept| kept.ticket))
}

pub(super) fn by_token(folder: &StateDir, token: &str) -> Result<Option<Ticket>, LedgerError> {
    let token = TicketToken::from_text(token.to_owned());
    let kept = read_ticket(folder, token.id())?;
    Ok(kept.filter(|kept| token.matches_hash(&kept.hash)).map(|kept| kept.ticket))
}

pub(super) fn all_tickets(folder: &StateDir) -> Result<Vec<Ticket>, LedgerError> {
    let Ok(entries) = std::fs::read_dir(folder.path_of(TICKETS_DIR)) else { return Ok(Vec::new()) };
    let mut tickets = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        // Unreadable tickets are skipped.
        tickets.extend(id.and_then(|id| by_id(folder, id).ok().flatten()));
    }
    tickets.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
    Ok(tickets)
}

/// Records an answer. The first one counts.
pub(super) fn record_answer(
    folder: &StateDir,
    id: &str,
    answer: &Answer,
) -> Result<AnswerResult, LedgerError> {
    if file_of(id).is_none() {
        return Ok(AnswerResult::Unknown);
    }
    let _held = lock_ticket(folder, id)?;
    let Some(mut kept) = read_ticket(folder, id)? else { return Ok(AnswerResult::Unknown) };
    if let Some(before) = kept.ticket.answer {
        return Ok(AnswerResult::AlreadyAnswered(before));
    }
    if is_over(&kept.ticket) {
        return Ok(AnswerResult::Expired);
    }
    let taken = Answer { at: now_ms(), ..answer.clone() };
    kept.ticket.answer = Some(taken.clone());
    write_ticket(folder, &kept)?;
    Ok(AnswerResult::Recorded(taken))
}

/// Changes a ticket, but not its id and answer.
pub(super) fn update_ticket(
    folder: &StateDir,
    id: &str,
    change: &mut dyn FnMut(&mut Ticket),
) -> Result<(), LedgerError> {
    let _held = lock_ticket(folder, id)?;
    let Some(mut kept) = read_ticket(folder, id)? else { return Ok(()) };
    let before = kept.ticket.clone();
    change(&mut kept.ticket);
    kept.ticket.answer.clone_from(&before.answer);
    kept.ticket.id.clone_from(&before.id);
    if kept.ticket == before { Ok(()) } else { write_ticket(folder, &kept) }
}

/// Removes tickets that are not open and that did not change for `age`. Returns how many.
pub(super) fn remove_old_tickets(folder: &StateDir, age: Duration) -> Result<u64, LedgerError> {
    let old = now_ms().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let mut forgotten = 0;
    for ticket in all_tickets(folder)? {
        let over = ticket.state_at(now_ms()) != TicketState::Open;
        let last = ticket.answer.as_ref().map_or(ticket.at.max(ticket.expires), |given| given.at);
        if let Some(name) = file_of(&ticket.id).filter(|_| over && last < old) {
            let _held = lock_ticket(folder, &ticket.id)?;
            folder.remove_file(&name)?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}
