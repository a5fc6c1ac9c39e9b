//! A question sent with a request: its ticket, its link, and the wait for the answer through the
//! ledger. A process that is started again finds its ticket, sends nothing twice, and gets only the
//! remaining time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gambrel_model::call::Limits;
use gambrel_model::ledger::{Ledger, LedgerError, WatchTarget};
use gambrel_model::outcome::{CutShort, End, Outcome};
use gambrel_model::request::{ApprovalRequest, WebhookRequest};
use gambrel_model::ticket::{Answer, Ticket};
use serde_json::json;

use super::action::WebhookPost;
use super::error::AskError;
use super::settings::{ApprovalChannel, ListenerHandle};
use gambrel_process::deadlines::add_duration;

/// Maximum time between two reads of a ticket: a cancelled wait ends within it.
const READ_INTERVAL: Duration = Duration::from_millis(50);

type SharedLedger = Arc<dyn Ledger>;

/// Sends a question and waits for the answer.
pub(super) async fn ask_question(
    sender: &WebhookPost,
    request: WebhookRequest,
    question: &ApprovalRequest,
    limits: &Limits,
    budget: Option<Instant>,
) -> Outcome {
    let Some(approvals) = sender.approvals.clone() else {
        return Outcome::not_attempted(AskError::NoChannel);
    };
    let mut new_ticket = build_ticket(question, limits.timeout);
    let (add_facts, change) = (Arc::clone(&approvals.add_facts), question.change.clone());
    let open_ticket = move |ledger: &SharedLedger| {
        add_facts(&mut new_ticket, change.as_ref());
        ledger.open_ticket(&new_ticket)
    };
    let opened = match with_ledger(&approvals.ledger, open_ticket).await {
        Ok(opened) => opened,
        Err(why) => return Outcome::not_attempted(why),
    };

    let wait = AnswerWait::for_ticket(&approvals, &opened.ticket, limits.timeout, budget);
    if let Some(answer) = &opened.ticket.answer {
        return wait
            .claim_answer(answer, Outcome { attempts: 0, ..Outcome::from_end(End::Answered) })
            .await;
    }

    // A link that was already sent leads to its own port, whatever the configured one is.
    let port = port_of(&opened.ticket.base_url).unwrap_or(question.port);
    let (listener, remark) = match start_listener(&approvals, port).await {
        Ok(listener) => (Some(listener), None),
        // Its link was already sent: a command may still answer it.
        Err(why) if opened.ticket.sent => (None, Some(format!("callback: {why}"))),
        Err(why) => {
            wait.close_ticket().await;
            return Outcome::not_attempted(why);
        }
    };

    let mut outcome = Outcome { attempts: 0, ..Outcome::from_end(End::Answered) };
    if let Some(listener) = listener.as_ref().filter(|_| !opened.ticket.sent) {
        let link = format!("{}/callback/{}", listener.base.trim_end_matches('/'), opened.token);
        let base_url = listener.base.clone();
        let sent = Some((link, format!("msg_{}", opened.ticket.id)));
        outcome = sender.deliver_request(request, sent, limits, Some(wait.deadline())).await;
        if !outcome.is_success() {
            wait.close_ticket().await;
            return mark_unsent(outcome);
        }
        wait.update_ticket(move |ticket| {
            (ticket.sent, ticket.base_url) = (true, base_url.clone());
        })
        .await;
    }
    outcome.remarks.extend(remark);
    (approvals.on_wait)(&opened.ticket);
    wait.wait_for_answer(outcome).await
}

/// The port of a link to this machine.
fn port_of(base: &str) -> Option<u16> {
    base.strip_prefix("http://localhost:")?.trim_end_matches('/').parse().ok()
}

/// Marks an unsent question as cut short, so that it does not count as unanswered.
fn mark_unsent(mut outcome: Outcome) -> Outcome {
    if outcome.end == End::TimedOut {
        let slow = || CutShort::Other("its receiver did not accept the message in time".to_owned());
        outcome.cut_short_by.get_or_insert_with(slow);
    }
    outcome
}

fn build_ticket(question: &ApprovalRequest, timeout: Duration) -> Ticket {
    let at = now_ms();
    Ticket {
        key: question.key.clone(),
        at,
        expires: at.saturating_add(to_millis(timeout)),
        session: question.session.clone(),
        project: question.project.clone(),
        hook: question.hook.clone(),
        title: question.title.clone(),
        shown: question.shown.clone(),
        context: question.context.clone(),
        ..Ticket::default()
    }
}

async fn start_listener(
    approvals: &ApprovalChannel,
    port: u16,
) -> Result<ListenerHandle, AskError> {
    let listen = Arc::clone(&approvals.listen);
    let work = tokio::task::spawn_blocking(move || listen(port));
    work.await.map_err(AskError::NoListenerThread)?.map_err(AskError::Listener)
}

/// Calls the ledger on another thread: it may wait for a disk or a lock.
async fn with_ledger<T: Send + 'static>(
    ledger: &SharedLedger,
    work: impl FnOnce(&SharedLedger) -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, AskError> {
    let ledger = Arc::clone(ledger);
    Ok(tokio::task::spawn_blocking(move || work(&ledger)).await??)
}

/// The wait for one ticket.
struct AnswerWait {
    ledger: SharedLedger,
    is_served: Arc<dyn Fn() -> bool + Send + Sync>,
    id: String,
    /// When the question expires.
    expires_at: Instant,
    /// When the caller stops waiting.
    budget: Option<Instant>,
}

impl AnswerWait {
    /// The timeout counts from the opening of the ticket, by whichever process.
    fn for_ticket(
        approvals: &ApprovalChannel,
        ticket: &Ticket,
        timeout: Duration,
        budget: Option<Instant>,
    ) -> Self {
        let end = ticket.at.saturating_add(to_millis(timeout)).min(ticket.expires);
        // A clock that was set back must not make the wait longer than the timeout.
        let time_left = Duration::from_millis(end.saturating_sub(now_ms())).min(timeout);
        let expires_at = add_duration(Instant::now(), time_left);
        let (ledger, is_served) = (Arc::clone(&approvals.ledger), Arc::clone(&approvals.is_served));
        Self { ledger, is_served, id: ticket.id.clone(), expires_at, budget }
    }

    fn deadline(&self) -> Instant {
        self.budget.map_or(self.expires_at, |budget| budget.min(self.expires_at))
    }

    async fn wait_for_answer(self, outcome: Outcome) -> Outcome {
        loop {
            match self.read_ticket().await {
                Ok(Some(Ticket { answer: Some(answer), .. })) => {
                    return self.claim_answer(&answer, outcome).await;
                }
                Ok(Some(ticket)) if !ticket.spent => {}
                Ok(_) => return self.give_up(outcome, "ticket: closed by another process").await,
                // The ledger may be readable again before the deadline.
                Err(_) => {}
            }

            let now = Instant::now();
            if now >= self.expires_at {
                return self.finish_late(outcome).await;
            }
            if self.budget.is_some_and(|budget| now >= budget) {
                let is_served = Arc::clone(&self.is_served);
                let served = with_ledger(&self.ledger, move |_| Ok(is_served())).await;
                let served = served.unwrap_or(false);
                let answer = Some(json!({ "pending": self.id, "served": served }));
                return Outcome { end: End::TimedOut, answer, ..outcome };
            }
            self.wait_for_change(self.deadline().min(now + READ_INTERVAL)).await;
        }
    }

    /// Closes the ticket, then reads it once more: an answer may have come just before.
    async fn finish_late(self, outcome: Outcome) -> Outcome {
        self.close_ticket().await;
        match self.read_ticket().await {
            Ok(Some(Ticket { answer: Some(answer), .. })) => {
                self.claim_answer(&answer, outcome).await
            }
            _ => Outcome { end: End::TimedOut, answer: None, ..outcome },
        }
    }

    async fn give_up(self, mut outcome: Outcome, why: &str) -> Outcome {
        outcome.remarks.push(why.to_owned());
        self.finish_late(outcome).await
    }

    /// Claims the answer. It is spent when the firing ends: a firing killed before that finds it
    /// again.
    async fn claim_answer(&self, answer: &Answer, mut outcome: Outcome) -> Outcome {
        let id = self.id.clone();
        let claimed = with_ledger(&self.ledger, move |ledger| ledger.take_answer(&id)).await;
        outcome.remarks.extend(claimed.err().map(|error| error.to_string()));

        let answer_json = json!({
            "action": answer.action,
            "message": answer.message,
            "body": answer.body,
            "by": answer.by,
            "ticket": self.id,
        });
        Outcome { end: End::Answered, answer: Some(answer_json), ..outcome }
    }

    async fn read_ticket(&self) -> Result<Option<Ticket>, AskError> {
        let id = self.id.clone();
        with_ledger(&self.ledger, move |ledger| ledger.find_ticket(&id)).await
    }

    async fn wait_for_change(&self, deadline: Instant) {
        let id = self.id.clone();
        let wait = with_ledger(&self.ledger, move |ledger| {
            ledger.wait_for_change(WatchTarget::Ticket(&id), deadline);
            Ok(())
        });
        // Without a thread for the wait, the ticket is read again at once.
        let _ = wait.await;
    }

    async fn close_ticket(&self) {
        self.update_ticket(|ticket| ticket.spent = true).await;
    }

    /// Updates the ticket. A failure costs at most a second message.
    async fn update_ticket(&self, change: impl Fn(&mut Ticket) + Send + 'static) {
        let id = self.id.clone();
        let update = with_ledger(&self.ledger, move |ledger| {
            ledger.update_ticket(&id, &mut |ticket: &mut Ticket| change(ticket))
        });
        let _ = update.await;
    }
}

fn now_ms() -> u64 {
    to_millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn to_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
