//! A request with a question: its ticket, its link and its answer. Also without an answer, after a
//! restart, and when the message does not arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gambrel_actions::{ApprovalChannel, ListenerHandle, WebSettings, WebhookAction};
use gambrel_ledger::{MemoryLedger, open_state_dir};
use gambrel_model::request::CALLBACK_MARKER;
use gambrel_model::{
    Answer, AnswerResult, ApprovalRequest, Call, End, Ledger, Limits, Outcome, Ticket,
    WebhookRequest,
};
use serde_json::{Value, json};

use crate::hook_fixture::{start_failure, wait_until};
use crate::http_receiver::{Receiver, post_request, run_call, send_response, webhook_call};

type SharedLedger = Arc<dyn Ledger>;

/// An approval channel that only counts its listeners.
struct TestChannel {
    ledger: SharedLedger,
    listening: Arc<AtomicUsize>,
}

struct CountGuard(Arc<AtomicUsize>);

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TestChannel {
    fn new() -> Self {
        Self::with_ledger(Arc::new(MemoryLedger::new()))
    }

    fn with_ledger(ledger: SharedLedger) -> Self {
        Self { ledger, listening: Arc::default() }
    }

    fn action(&self) -> WebhookAction {
        let count = Arc::clone(&self.listening);
        let listen = Arc::new(move |port: u16| {
            if port == 1 {
                return Err("port 1 is not ours".into());
            }
            count.fetch_add(1, Ordering::SeqCst);
            let keep = Box::new(CountGuard(Arc::clone(&count)));
            Ok(ListenerHandle { base: format!("http://localhost:{port}"), guard: keep })
        });
        let approvals = Some(ApprovalChannel {
            ledger: Arc::clone(&self.ledger),
            listen,
            add_facts: Arc::new(|_, _| {}),
            on_wait: Arc::new(|_| {}),
            is_served: Arc::new(|| false),
        });
        WebhookAction::new(WebSettings { approvals, ..WebSettings::default() })
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
        self.ledger.list_tickets().unwrap().remove(0)
    }
}

fn new_question(receiver: &Receiver) -> WebhookRequest {
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
        ..post_request(&receiver.url(&format!("/in?back={CALLBACK_MARKER}")))
    }
}

fn ask_question(
    channel: &TestChannel,
    request: &WebhookRequest,
    timeout: u64,
    budget: Option<u64>,
) -> Outcome {
    let call = webhook_call(request);
    let limits = Limits {
        timeout: Duration::from_millis(timeout),
        budget: budget.map(Duration::from_millis),
        ..call.limits.clone()
    };
    run_call(&channel.action(), &Call { limits, ..call })
}

fn accepting_receiver() -> Receiver {
    Receiver::new(|_, stream| send_response(stream, "200 OK", "", "posted"))
}

/// The token of the link in a received message.
fn link_token(receiver: &Receiver) -> String {
    let body: Value = serde_json::from_str(&receiver.got()[0].body).unwrap();
    let link = body["blocks"][0]["url"].as_str().unwrap().to_owned();
    let rest = link.strip_prefix("http://localhost:8765/callback/").unwrap();
    rest.strip_suffix("?action=approve").unwrap().to_owned()
}

#[test]
fn the_link_in_the_message_answers_the_question() {
    let (channel, receiver) = (TestChannel::new(), accepting_receiver());
    thread::scope(|scope| {
        let waiting =
            scope.spawn(|| ask_question(&channel, &new_question(&receiver), 15_000, None));
        wait_until("the message", || {
            channel.ledger.list_tickets().unwrap().first().is_some_and(|ticket| ticket.sent)
        });
        assert_eq!(channel.listening.load(Ordering::SeqCst), 1);
        let ticket = channel.ticket();
        assert_eq!((ticket.title.as_str(), ticket.hook.as_str()), ("Deploy?", "deploy"));
        assert!(ticket.expires > ticket.at);
        assert!(matches!(
            channel.answer_by_token(&link_token(&receiver), "approve"),
            AnswerResult::Recorded(_)
        ));
        let outcome = waiting.join().unwrap();
        assert_eq!(outcome.end, End::Answered);
        assert!(outcome.is_success());
        assert_eq!(outcome.stdout.to_text(), "posted");
        let expected = json!({
            "action": "approve", "message": "because", "body": "{}",
            "by": "bearer of the link", "ticket": ticket.id,
        });
        assert_eq!(outcome.answer, Some(expected));
    });
    let ticket = channel.ticket();
    assert!(ticket.taken.is_some() && !ticket.spent, "spent when the firing ends");
    channel.ledger.spend_answers().unwrap();
    assert!(channel.ticket().spent);
    assert_eq!(channel.listening.load(Ordering::SeqCst), 0);
    let got = receiver.got().remove(0);
    let link = format!("http://localhost:8765/callback/{}", link_token(&receiver));
    assert_eq!(got.header("x-link").unwrap(), link);
    let quoted = link.replace(':', "%3A").replace('/', "%2F");
    assert_eq!(got.line, format!("POST /in?back={quoted} HTTP/1.1"));
    assert_eq!(got.header("webhook-id").unwrap(), format!("msg_{}", channel.ticket().id));
}

#[test]
fn expires_without_an_answer() {
    let (channel, receiver) = (TestChannel::new(), accepting_receiver());
    let outcome = ask_question(&channel, &new_question(&receiver), 300, None);
    assert_eq!((outcome.end.clone(), outcome.answer.clone()), (End::TimedOut, None));
    assert!(outcome.elapsed >= Duration::from_millis(290), "{:?}", outcome.elapsed);
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    assert!(channel.ticket().spent);
    assert_eq!(channel.answer_by_token(&link_token(&receiver), "approve"), AnswerResult::Expired);
}

#[test]
fn finds_the_open_ticket_after_a_restart() {
    let dir = tempfile::Builder::new().prefix("a ledger ").tempdir().unwrap();
    let open = || open_state_dir(dir.path().to_owned());
    let (first, receiver) = (TestChannel::with_ledger(open()), accepting_receiver());
    let outcome = ask_question(&first, &new_question(&receiver), 30_000, Some(2000));
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(4), "{:?}", outcome.elapsed);
    let ticket = first.ticket();
    assert_eq!(outcome.answer, Some(json!({ "pending": ticket.id, "served": false })));
    assert!(!ticket.spent && ticket.sent);

    // Another process finds the same ticket and sends no second message.
    let second = TestChannel::with_ledger(open());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ask_question(&second, &new_question(&receiver), 30_000, None));
        wait_until("a listener", || second.listening.load(Ordering::SeqCst) == 1);
        assert!(matches!(
            second.answer_by_token(&link_token(&receiver), "reject"),
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
fn uses_an_answer_given_between_two_waits() {
    let (channel, receiver) = (TestChannel::new(), accepting_receiver());
    let outcome = ask_question(&channel, &new_question(&receiver), 30_000, Some(2000));
    assert_eq!(outcome.end, End::TimedOut);
    channel.answer_by_token(&link_token(&receiver), "approve");
    let outcome = ask_question(&channel, &new_question(&receiver), 30_000, None);
    assert_eq!(outcome.answer.unwrap()["action"], "approve");
    assert_eq!((receiver.got().len(), channel.listening.load(Ordering::SeqCst)), (1, 0));
    // The ticket is spent: the same question opens a new one.
    let outcome = ask_question(&channel, &new_question(&receiver), 30_000, Some(2000));
    assert_eq!((outcome.end, receiver.got().len()), (End::TimedOut, 2));
}

#[test]
fn a_second_wait_gets_only_the_remaining_time() {
    let (channel, receiver) = (TestChannel::new(), accepting_receiver());
    assert_eq!(
        ask_question(&channel, &new_question(&receiver), 5000, Some(2500)).end,
        End::TimedOut
    );
    let outcome = ask_question(&channel, &new_question(&receiver), 5000, None);
    assert_eq!((outcome.end, outcome.answer), (End::TimedOut, None));
    assert!(outcome.elapsed < Duration::from_millis(4500), "{:?}", outcome.elapsed);
    assert_eq!(receiver.got().len(), 1);
}

#[test]
fn closes_the_ticket_of_an_unsent_message() {
    let channel = TestChannel::new();
    let receiver = Receiver::new(|_, stream| send_response(stream, "404 Not Found", "", "no"));
    let outcome = ask_question(&channel, &new_question(&receiver), 15_000, None);
    assert_eq!(outcome.failure.as_deref(), Some("HTTP 404 Not Found"));
    assert!(channel.ticket().spent);
    let port = 1;
    let request = new_question(&receiver);
    let ask =
        request.ask.clone().map(|ask| ApprovalRequest { port, key: "other".to_owned(), ..ask });
    let outcome = ask_question(&channel, &WebhookRequest { ask, ..request }, 15_000, None);
    assert_eq!(start_failure(&outcome), "port 1 is not ours");
    assert!(channel.ticket().spent);
    assert_eq!(receiver.got().len(), 1);
    let alone = WebhookAction::new(WebSettings::default());
    let outcome = run_call(&alone, &webhook_call(&new_question(&receiver)));
    assert_eq!(start_failure(&outcome), "this host cannot listen for answers");
}

#[test]
fn waits_without_a_listener_after_the_link_was_sent() {
    let (channel, receiver) = (TestChannel::new(), accepting_receiver());
    assert_eq!(
        ask_question(&channel, &new_question(&receiver), 30_000, Some(2000)).end,
        End::TimedOut
    );
    let ticket = channel.ticket();
    assert!(!ticket.base_url.is_empty(), "its link's port is kept");
    channel
        .ledger
        .update_ticket(&ticket.id, &mut |ticket| ticket.base_url = "http://localhost:1".into())
        .unwrap();
    let outcome = ask_question(&channel, &new_question(&receiver), 30_000, Some(300));
    assert_eq!(outcome.remarks, ["callback: port 1 is not ours"]);
    assert_eq!(outcome.answer, Some(json!({ "pending": channel.ticket().id, "served": false })));
}
