//! A request that asks somebody: its ticket, its link, the one answer, and what becomes of it when
//! nobody answers, when the process is started again, and when the message does not arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gambrel_actions::{Desk, Listening, WebSettings, WebhookAction};
use gambrel_ledger::{LocalLedger, MemoryLedger, Redactor};
use gambrel_model::request::CALLBACK_MARKER;
use gambrel_model::{
    Answer, AnswerResult, ApprovalRequest, Call, End, Ledger, Limits, Outcome, Ticket,
    WebhookRequest,
};
use serde_json::{Value, json};

use crate::receiver::{Receiver, answer, call, post, run};
use crate::stand::{eventually, unstarted};

type Kept = Arc<dyn Ledger + Send + Sync>;

/// A desk that only counts who listens.
struct Office {
    ledger: Kept,
    listening: Arc<AtomicUsize>,
}

struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Office {
    fn new() -> Self {
        Self::over(Arc::new(MemoryLedger::new()))
    }

    fn over(ledger: Kept) -> Self {
        Self { ledger, listening: Arc::default() }
    }

    fn action(&self) -> WebhookAction {
        let count = Arc::clone(&self.listening);
        let listen = Arc::new(move |port: u16| {
            if port == 1 {
                return Err("port 1 is not ours".to_owned());
            }
            count.fetch_add(1, Ordering::SeqCst);
            let keep = Box::new(Leave(Arc::clone(&count)));
            Ok(Listening { base: format!("http://localhost:{port}"), keep })
        });
        let desk = Some(Desk { ledger: Arc::clone(&self.ledger), listen });
        WebhookAction::new(WebSettings { desk, ..WebSettings::default() })
    }

    fn answer_by_token(&self, token: &str, word: &str) -> AnswerResult {
        let ticket = self.ledger.ticket_by_token(token).unwrap().unwrap();
        let given = Answer {
            action: word.to_owned(),
            message: "because".to_owned(),
            body: "{}".to_owned(),
            by: "bearer of the link".to_owned(),
            at: ticket.at,
        };
        self.ledger.answer_ticket(&ticket.id, &given).unwrap()
    }

    fn ticket(&self) -> Ticket {
        self.ledger.tickets().unwrap().remove(0)
    }
}

fn question(receiver: &Receiver) -> WebhookRequest {
    let ask = ApprovalRequest {
        port: 8765,
        key: "the same question".to_owned(),
        session: "s".to_owned(),
        hook: "deploy".to_owned(),
        title: "Deploy?".to_owned(),
        shown: vec![("branch".to_owned(), "main".to_owned())],
        ..ApprovalRequest::default()
    };
    WebhookRequest {
        headers: vec![("x-link".to_owned(), CALLBACK_MARKER.to_owned())],
        body: json!({ "blocks": [{ "url": format!("{CALLBACK_MARKER}?action=approve") }] }),
        ask: Some(ask),
        ..post(&receiver.url(&format!("/in?back={CALLBACK_MARKER}")))
    }
}

fn asked(office: &Office, request: &WebhookRequest, timeout: u64, budget: Option<u64>) -> Outcome {
    let call = call(request);
    let pace = Limits {
        timeout: Duration::from_millis(timeout),
        budget: budget.map(Duration::from_millis),
        ..call.limits.clone()
    };
    run(&office.action(), &Call { limits: pace, ..call })
}

fn fine() -> Receiver {
    Receiver::new(|_, stream| answer(stream, "200 OK", "", "posted"))
}

/// The token of the link in a message.
fn token(receiver: &Receiver) -> String {
    let body: Value = serde_json::from_str(&receiver.got()[0].body).unwrap();
    let link = body["blocks"][0]["url"].as_str().unwrap().to_owned();
    let rest = link.strip_prefix("http://localhost:8765/callback/").unwrap();
    rest.strip_suffix("?action=approve").unwrap().to_owned()
}

#[test]
fn the_link_in_the_message_answers_it() {
    let (office, receiver) = (Office::new(), fine());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asked(&office, &question(&receiver), 15_000, None));
        eventually("the message", || {
            office.ledger.tickets().unwrap().first().is_some_and(|ticket| ticket.sent)
        });
        assert_eq!(office.listening.load(Ordering::SeqCst), 1);
        let ticket = office.ticket();
        assert_eq!((ticket.title.as_str(), ticket.hook.as_str()), ("Deploy?", "deploy"));
        assert!(ticket.expires > ticket.at);
        assert!(matches!(
            office.answer_by_token(&token(&receiver), "approve"),
            AnswerResult::Recorded(_)
        ));
        let outcome = waiting.join().unwrap();
        assert_eq!(outcome.end, End::Answered);
        assert!(outcome.is_success());
        assert_eq!(outcome.stdout.text(), "posted");
        let expected = json!({
            "action": "approve", "message": "because", "body": "{}",
            "by": "bearer of the link", "ticket": ticket.id,
        });
        assert_eq!(outcome.answer, Some(expected));
    });
    let ticket = office.ticket();
    assert!(ticket.taken.is_some() && !ticket.spent, "spent when the firing ends");
    office.ledger.spend_answers().unwrap();
    assert!(office.ticket().spent);
    assert_eq!(office.listening.load(Ordering::SeqCst), 0);
    let got = receiver.got().remove(0);
    let link = format!("http://localhost:8765/callback/{}", token(&receiver));
    assert_eq!(got.header("x-link").unwrap(), link);
    let quoted = link.replace(':', "%3A").replace('/', "%2F");
    assert_eq!(got.line, format!("POST /in?back={quoted} HTTP/1.1"));
    assert_eq!(got.header("webhook-id").unwrap(), format!("msg_{}", office.ticket().id));
}

#[test]
fn nobody_answers() {
    let (office, receiver) = (Office::new(), fine());
    let outcome = asked(&office, &question(&receiver), 300, None);
    assert_eq!((outcome.end.clone(), outcome.answer.clone()), (End::TimedOut, None));
    assert!(outcome.elapsed >= Duration::from_millis(290), "{:?}", outcome.elapsed);
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    assert!(office.ticket().spent);
    assert_eq!(office.answer_by_token(&token(&receiver), "approve"), AnswerResult::Expired);
}

#[test]
fn the_host_gives_up_and_comes_back() {
    let dir = tempfile::Builder::new().prefix("a ledger ").tempdir().unwrap();
    let open = || Arc::new(LocalLedger::open(dir.path().to_owned(), Redactor::default()));
    let (first, receiver) = (Office::over(open()), fine());
    let outcome = asked(&first, &question(&receiver), 30_000, Some(2000));
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(4), "{:?}", outcome.elapsed);
    let ticket = first.ticket();
    assert_eq!(outcome.answer, Some(json!({ "pending": ticket.id })));
    assert!(!ticket.spent && ticket.sent);

    // Another process: the same ticket, no second message.
    let second = Office::over(open());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asked(&second, &question(&receiver), 30_000, None));
        eventually("somebody who listens", || second.listening.load(Ordering::SeqCst) == 1);
        assert!(matches!(
            second.answer_by_token(&token(&receiver), "reject"),
            AnswerResult::Recorded(_)
        ));
        let outcome = waiting.join().unwrap();
        assert_eq!(outcome.end, End::Answered);
        assert_eq!(outcome.answer.unwrap()["action"], "reject");
        assert_eq!(outcome.attempts, 0);
    });
    assert_eq!(receiver.got().len(), 1);
    assert!(second.ticket().taken.is_some());
}

#[test]
fn answered_while_nobody_waited() {
    let (office, receiver) = (Office::new(), fine());
    let outcome = asked(&office, &question(&receiver), 30_000, Some(2000));
    assert_eq!(outcome.end, End::TimedOut);
    office.answer_by_token(&token(&receiver), "approve");
    let outcome = asked(&office, &question(&receiver), 30_000, None);
    assert_eq!(outcome.answer.unwrap()["action"], "approve");
    assert_eq!((receiver.got().len(), office.listening.load(Ordering::SeqCst)), (1, 0));
    // Spent: the same question is a new one now.
    let outcome = asked(&office, &question(&receiver), 30_000, Some(2000));
    assert_eq!((outcome.end, receiver.got().len()), (End::TimedOut, 2));
}

#[test]
fn a_second_wait_gets_no_more_time() {
    let (office, receiver) = (Office::new(), fine());
    assert_eq!(asked(&office, &question(&receiver), 5000, Some(2500)).end, End::TimedOut);
    let outcome = asked(&office, &question(&receiver), 5000, None);
    assert_eq!((outcome.end, outcome.answer), (End::TimedOut, None));
    assert!(outcome.elapsed < Duration::from_millis(4500), "{:?}", outcome.elapsed);
    assert_eq!(receiver.got().len(), 1);
}

#[test]
fn a_message_that_does_not_arrive_asks_nobody() {
    let office = Office::new();
    let receiver = Receiver::new(|_, stream| answer(stream, "404 Not Found", "", "no"));
    let outcome = asked(&office, &question(&receiver), 15_000, None);
    assert_eq!(outcome.failure.as_deref(), Some("HTTP 404 Not Found"));
    assert!(office.ticket().spent);
    let port = 1;
    let request = question(&receiver);
    let ask =
        request.ask.clone().map(|ask| ApprovalRequest { port, key: "other".to_owned(), ..ask });
    let outcome = asked(&office, &WebhookRequest { ask, ..request }, 15_000, None);
    assert_eq!(unstarted(&outcome), "port 1 is not ours");
    assert!(office.ticket().spent);
    assert_eq!(receiver.got().len(), 1);
    let alone = WebhookAction::new(WebSettings::default());
    let outcome = run(&alone, &call(&question(&receiver)));
    assert_eq!(unstarted(&outcome), "nobody can listen for the answer here");
}

#[test]
fn whose_link_is_out_can_be_answered_without_a_listener() {
    let (office, receiver) = (Office::new(), fine());
    assert_eq!(asked(&office, &question(&receiver), 30_000, Some(2000)).end, End::TimedOut);
    let ticket = office.ticket();
    assert!(ticket.port > 0, "its link's port is kept");
    office.ledger.update_ticket(&ticket.id, &mut |ticket| ticket.port = 1).unwrap();
    let outcome = asked(&office, &question(&receiver), 30_000, Some(300));
    assert_eq!(outcome.remarks, ["callback: port 1 is not ours"]);
    assert_eq!(outcome.answer, Some(json!({ "pending": office.ticket().id })));
}
