//! A question that travels with a request: its ticket, its link, and the wait for an answer that
//! anybody may bring by way of the ledger. A process that is started again finds its ticket, sends
//! nothing twice, and gets no more time than was left.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gambrel_model::call::Limits;
use gambrel_model::ledger::{Ledger, LedgerError};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::request::{ApprovalRequest, WebhookRequest};
use gambrel_model::ticket::{Answer, Ticket};
use serde_json::json;

use super::action::{Post, Terms};
use super::settings::{Desk, Listening};
use crate::limits::later;

/// Between two looks at a ticket: at first, and at most.
const LOOK: Duration = Duration::from_millis(5);
const LONGEST_LOOK: Duration = Duration::from_millis(50);

type Kept = Arc<dyn Ledger + Send + Sync>;

/// Brings a question to somebody and waits for the answer.
pub(super) async fn ask(
    post: &Post,
    request: WebhookRequest,
    question: &ApprovalRequest,
    pace: &Limits,
    budget: Option<Instant>,
) -> Outcome {
    let Some(desk) = post.desk.clone() else {
        return unasked("nobody can listen for the answer here".to_owned());
    };
    let asked = ticket(question, pace.timeout);
    let opened = match with(&desk.ledger, move |ledger| ledger.open_ticket(&asked)).await {
        Ok(opened) => opened,
        Err(why) => return unasked(why),
    };
    let wait = Wait::of(&desk, &opened.ticket, pace.timeout, budget);
    if let Some(answer) = &opened.ticket.answer {
        return wait
            .take(answer, Outcome { attempts: 0, ..Outcome::from_end(End::Answered) })
            .await;
    }
    // A link that is out leads to its own port, whatever the usual one is.
    let port = if opened.ticket.port > 0 { opened.ticket.port } else { question.port };
    let (listening, trouble) = match listen(&desk, port).await {
        Ok(listening) => (Some(listening), None),
        // Its link is out already: a command may still answer it.
        Err(why) if opened.ticket.sent => (None, Some(format!("callback: {why}"))),
        Err(why) => {
            wait.spend().await;
            return unasked(why);
        }
    };
    let mut outcome = Outcome { attempts: 0, ..Outcome::from_end(End::Answered) };
    if let Some(listening) = listening.as_ref().filter(|_| !opened.ticket.sent) {
        let link = format!("{}/callback/{}", listening.base.trim_end_matches('/'), opened.token);
        let port = port_of(&listening.base).unwrap_or(question.port);
        let id = Some(format!("msg_{}", opened.ticket.id));
        let terms = Terms { pace, until: Some(wait.end()) };
        outcome = post.deliver(request, &link, id, &terms).await;
        if !outcome.is_success() {
            wait.spend().await;
            return unsent(outcome);
        }
        wait.note(move |ticket| (ticket.sent, ticket.port) = (true, port)).await;
    }
    outcome.remarks.extend(trouble);
    wait.for_answer(outcome).await
}

fn port_of(base: &str) -> Option<u16> {
    base.trim_end_matches('/').rsplit_once(':')?.1.parse().ok()
}

fn unasked(why: String) -> Outcome {
    Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) }
}

/// A message that was not taken in time is no question that nobody answered: it was cut short.
fn unsent(mut outcome: Outcome) -> Outcome {
    if outcome.end == End::TimedOut {
        let slow = || "its receiver did not take the message in time".to_owned();
        outcome.cut_short_by.get_or_insert_with(slow);
    }
    outcome
}

fn ticket(question: &ApprovalRequest, timeout: Duration) -> Ticket {
    let at = now();
    Ticket {
        key: question.key.clone(),
        at,
        expires: at.saturating_add(millis(timeout)),
        session: question.session.clone(),
        project: question.project.clone(),
        hook: question.hook.clone(),
        title: question.title.clone(),
        shown: question.shown.clone(),
        ..Ticket::default()
    }
}

async fn listen(desk: &Desk, port: u16) -> Result<Listening, String> {
    let listen = Arc::clone(&desk.listen);
    let work = tokio::task::spawn_blocking(move || listen(port));
    work.await.map_err(|error| format!("nobody can listen for the answer: {error}"))?
}

/// Asks the ledger beside the loop: it may wait for a disk or a lock.
async fn with<T: Send + 'static>(
    ledger: &Kept,
    work: impl FnOnce(&Kept) -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, String> {
    let ledger = Arc::clone(ledger);
    let done = tokio::task::spawn_blocking(move || work(&ledger)).await;
    done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// The wait for one ticket.
struct Wait {
    ledger: Kept,
    id: String,
    /// When the question does not count any more.
    over: Instant,
    /// When the one who waits has to go.
    budget: Option<Instant>,
}

impl Wait {
    /// The time counts from when the ticket was opened, by whichever process.
    fn of(desk: &Desk, ticket: &Ticket, timeout: Duration, budget: Option<Instant>) -> Self {
        let end = ticket.at.saturating_add(millis(timeout)).min(ticket.expires);
        // A clock that was set back must not make the wait longer than it ever was.
        let left = Duration::from_millis(end.saturating_sub(now())).min(timeout);
        let over = later(Instant::now(), left);
        Self { ledger: Arc::clone(&desk.ledger), id: ticket.id.clone(), over, budget }
    }

    fn end(&self) -> Instant {
        self.budget.map_or(self.over, |budget| budget.min(self.over))
    }

    async fn for_answer(self, outcome: Outcome) -> Outcome {
        let mut look = LOOK;
        loop {
            match self.ticket().await {
                Ok(Some(Ticket { answer: Some(answer), .. })) => {
                    return self.take(&answer, outcome).await;
                }
                Ok(Some(ticket)) if !ticket.spent => {}
                Ok(_) => return self.given_up(outcome, "ticket: somebody has closed it").await,
                // The ledger may be readable again before the time is over.
                Err(_) => {}
            }
            let now = Instant::now();
            if now >= self.over {
                return self.late(outcome).await;
            }
            if self.budget.is_some_and(|budget| now >= budget) {
                let answer = Some(json!({ "pending": self.id }));
                return Outcome { end: End::TimedOut, answer, ..outcome };
            }
            let left = self.end().saturating_duration_since(now);
            tokio::time::sleep(look.min(left)).await;
            look = (look * 2).min(LONGEST_LOOK);
        }
    }

    /// After it is closed nobody can answer; whoever did before is heard.
    async fn late(self, outcome: Outcome) -> Outcome {
        self.spend().await;
        match self.ticket().await {
            Ok(Some(Ticket { answer: Some(answer), .. })) => self.take(&answer, outcome).await,
            _ => Outcome { end: End::TimedOut, answer: None, ..outcome },
        }
    }

    async fn given_up(self, mut outcome: Outcome, why: &str) -> Outcome {
        outcome.remarks.push(why.to_owned());
        self.late(outcome).await
    }

    /// Spent is the answer only when the firing ends: one that is killed before finds it again.
    async fn take(&self, answer: &Answer, mut outcome: Outcome) -> Outcome {
        let id = self.id.clone();
        let noted = with(&self.ledger, move |ledger| ledger.take_answer(&id)).await;
        outcome.remarks.extend(noted.err());
        let words = json!({
            "action": answer.action,
            "message": answer.message,
            "body": answer.body,
            "by": answer.by,
            "ticket": self.id,
        });
        Outcome { end: End::Answered, answer: Some(words), ..outcome }
    }

    async fn ticket(&self) -> Result<Option<Ticket>, String> {
        let id = self.id.clone();
        with(&self.ledger, move |ledger| ledger.ticket(&id)).await
    }

    async fn spend(&self) {
        self.note(|ticket| ticket.spent = true).await;
    }

    /// What cannot be noted costs at most a second message.
    async fn note(&self, change: impl Fn(&mut Ticket) + Send + 'static) {
        let id = self.id.clone();
        let noted = with(&self.ledger, move |ledger| {
            ledger.update_ticket(&id, &mut |ticket: &mut Ticket| change(ticket))
        });
        let _ = noted.await;
    }
}

fn now() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
