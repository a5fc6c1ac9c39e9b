//! One small file per ticket, on disk before anybody is told of it. The first answer is written
//! under a lock; what is shown to people has no secrets in it.

use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gambrel_model::ledger::LedgerError;
use gambrel_model::ticket::{Answer, AnswerKind, AnswerResult, OpenedTicket, Ticket, TicketState};
use serde::{Deserialize, Serialize};

use super::folder::{Durable, Folder, refusal, trouble};
use super::lock::Held;
use crate::alive::is_held;
use crate::redact::Redactor;
use crate::token::{Secret, Token, fresh, hashed};

const FOLDER: &str = "tickets";
const SECRET: &str = "tickets/secret";
/// The same question is not asked more often than this before the old tickets are forgotten.
const SERIALS: u32 = 100_000;

/// A ticket as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    hash: String,
    ticket: Ticket,
}

fn file_of(id: &str) -> Option<String> {
    let sound = !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then(|| format!("{FOLDER}/{id}.json"))
}

fn lock(folder: &Folder, id: &str) -> Result<Held, LedgerError> {
    let last = id.chars().next_back().unwrap_or('0');
    Held::wait(folder, &format!("{FOLDER}/{last}.lock"))
}

fn read(folder: &Folder, id: &str) -> Result<Option<Kept>, LedgerError> {
    let Some(name) = file_of(id) else { return Ok(None) };
    let Some(file) = folder.existing(&name)? else { return Ok(None) };
    let text = folder.text_of(&name, file)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        refusal("reading", &folder.path(&name), format!("it is not a ticket: {error}"))
    })
}

fn write(folder: &Folder, kept: &Kept) -> Result<(), LedgerError> {
    let name = file_of(&kept.ticket.id).unwrap_or_else(|| format!("{FOLDER}/odd.json"));
    let bytes =
        serde_json::to_vec(kept).map_err(|error| refusal("writing", &folder.path(&name), error))?;
    folder.replace(&name, &bytes, Durable::Yes)
}

/// The ledger's secret, made by whoever needs it first.
fn secret(folder: &Folder) -> Result<Secret, LedgerError> {
    let path = folder.path(SECRET);
    let _held = Held::wait(folder, &format!("{FOLDER}/secret.lock"))?;
    let mut secret = Secret::default();
    if let Some(mut file) = folder.existing(SECRET)? {
        file.read_exact(&mut secret).map_err(|error| trouble("reading", &path, &error))?;
        return Ok(secret);
    }
    let secret = fresh().map_err(|error| refusal("making", &path, error))?;
    folder.replace(SECRET, &secret, Durable::Yes)?;
    Ok(secret)
}

/// The ticket of a question.
pub(super) fn open(
    folder: &Folder,
    redactor: &Redactor,
    asked: &Ticket,
) -> Result<OpenedTicket, LedgerError> {
    let secret = secret(folder)?;
    for serial in 0..SERIALS {
        let Some(token) = Token::of(&secret, &asked.key, serial) else { break };
        let _held = lock(folder, token.id())?;
        match read(folder, token.id())? {
            Some(kept) if is_over(&kept.ticket) => {}
            Some(kept) => return Ok(OpenedTicket { ticket: kept.ticket, token: token.text }),
            None => {
                let ticket = Ticket { id: token.id().to_owned(), ..shown(asked, redactor) };
                let kept = Kept { hash: token.hash, ticket };
                write(folder, &kept)?;
                return Ok(OpenedTicket { ticket: kept.ticket, token: token.text });
            }
        }
    }
    Err(refusal("opening a ticket in", &folder.path(FOLDER), "this was asked too often"))
}

/// Nobody can be helped by it any more.
fn is_over(ticket: &Ticket) -> bool {
    let in_use = || ticket.taken.as_ref().is_some_and(is_held);
    ticket.spent || ticket.state_at(now()) == TicketState::Expired || in_use()
}

fn shown(asked: &Ticket, redactor: &Redactor) -> Ticket {
    let clean = |text: &str| redactor.redact_text(text).into_owned();
    Ticket {
        key: hashed(&asked.key),
        at: now(),
        session: clean(&asked.session),
        project: clean(&asked.project),
        title: clean(&asked.title),
        shown: asked.shown.iter().map(|(name, text)| (clean(name), clean(text))).collect(),
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

pub(super) fn by_id(folder: &Folder, id: &str) -> Result<Option<Ticket>, LedgerError> {
    Ok(read(folder, id)?.map(|kept| kept.ticket))
}

pub(super) fn by_token(folder: &Folder, token: &str) -> Result<Option<Ticket>, LedgerError> {
    let token = Token::known(token.to_owned());
    let kept = read(folder, token.id())?;
    Ok(kept.filter(|kept| token.is(&kept.hash)).map(|kept| kept.ticket))
}

pub(super) fn all(folder: &Folder) -> Result<Vec<Ticket>, LedgerError> {
    let Ok(entries) = std::fs::read_dir(folder.path(FOLDER)) else { return Ok(Vec::new()) };
    let mut tickets = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        // One that cannot be read must not hide the others.
        tickets.extend(id.and_then(|id| by_id(folder, id).ok().flatten()));
    }
    tickets.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
    Ok(tickets)
}

/// The first answer counts.
pub(super) fn answer(
    folder: &Folder,
    id: &str,
    answer: &Answer,
) -> Result<AnswerResult, LedgerError> {
    if file_of(id).is_none() {
        return Ok(AnswerResult::Unknown);
    }
    let _held = lock(folder, id)?;
    let Some(mut kept) = read(folder, id)? else { return Ok(AnswerResult::Unknown) };
    if let Some(before) = kept.ticket.answer {
        return Ok(AnswerResult::AlreadyAnswered(before));
    }
    if is_over(&kept.ticket) {
        return Ok(AnswerResult::Expired);
    }
    let taken = Answer { at: now(), ..answer.clone() };
    kept.ticket.answer = Some(taken.clone());
    write(folder, &kept)?;
    Ok(AnswerResult::Recorded(taken))
}

/// Notes how far the one who asks has come.
pub(super) fn note(
    folder: &Folder,
    id: &str,
    change: &mut dyn FnMut(&mut Ticket),
) -> Result<(), LedgerError> {
    let _held = lock(folder, id)?;
    let Some(mut kept) = read(folder, id)? else { return Ok(()) };
    let before = kept.ticket.clone();
    change(&mut kept.ticket);
    kept.ticket.answer.clone_from(&before.answer);
    kept.ticket.id.clone_from(&before.id);
    if kept.ticket == before { Ok(()) } else { write(folder, &kept) }
}

/// Forgets tickets that nobody touched for `age` and that cannot be answered any more.
pub(super) fn forget(folder: &Folder, age: Duration) -> Result<u64, LedgerError> {
    let old = now().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let mut forgotten = 0;
    for ticket in all(folder)? {
        let over = ticket.state_at(now()) != TicketState::Open;
        let last = ticket.answer.as_ref().map_or(ticket.at.max(ticket.expires), |given| given.at);
        if let Some(name) = file_of(&ticket.id).filter(|_| over && last < old) {
            let _held = lock(folder, &ticket.id)?;
            folder.remove(&name)?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
