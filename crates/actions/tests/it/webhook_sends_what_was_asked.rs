//! Method, headers and body arrive as they were given, what cannot be sent is refused with words,
//! and the record holds no path.

use std::io::Write;
use std::net::TcpListener;

use gambrel_actions::{Settings, WebSettings, WebhookAction};
use gambrel_model::request::{CALLBACK_MARKER, to_body};
use gambrel_model::{ApprovalRequest, Call, End, Limits, WebhookRequest};
use serde_json::{Value, json};

use crate::receiver::{Receiver, answer, call, keeps_secret, post, run, send};
use crate::stand::{eventually, unstarted};

fn fine() -> Receiver {
    Receiver::new(|_, stream| {
        answer(stream, "200 OK", "content-type: text/plain\r\nset-cookie: a=b\r\n", "héllo");
    })
}

#[test]
fn method_headers_and_body() {
    let receiver = fine();
    let body = json!({ "text": "quote \" newline \n and ü", "list": [1, null, true] });
    let request = WebhookRequest {
        method: "put".to_owned(),
        headers: vec![
            ("Authorization".to_owned(), "Bearer t0k".to_owned()),
            ("X-Two".to_owned(), "one".to_owned()),
            ("x-two".to_owned(), "twö".to_owned()),
        ],
        body: body.clone(),
        ..post(&receiver.url("/s3cret/path?key=s3cret"))
    };
    let outcome = send(&request);
    assert_eq!(outcome.end, End::Answered);
    assert_eq!((outcome.stdout.text().as_str(), outcome.attempts), ("héllo", 1));
    assert!(outcome.is_success() && outcome.remarks.is_empty(), "{outcome:?}");
    let length = "héllo".len().to_string();
    let headers = json!({ "content-type": "text/plain", "content-length": length });
    assert_eq!(outcome.answer, Some(json!({ "status": 200, "headers": headers })));
    let shown = format!("http://127.0.0.1:{}/…", receiver.address.port());
    assert_eq!(outcome.command, ["PUT".to_owned(), shown]);
    keeps_secret(&outcome, &["s3cret", "t0k"]);

    let got = receiver.got().remove(0);
    assert_eq!(got.line, "PUT /s3cret/path?key=s3cret HTTP/1.1");
    assert_eq!(serde_json::from_str::<Value>(&got.body).unwrap(), body);
    assert_eq!(got.header("authorization").unwrap(), "Bearer t0k");
    assert_eq!(got.header("x-two").unwrap(), "one, twö");
    assert_eq!(got.header("content-type").unwrap(), "application/json");
    assert!(got.header("user-agent").unwrap().starts_with("gambrel/"));
    assert!(got.header("webhook-id").unwrap().starts_with("msg_"));
    assert_eq!(got.header("webhook-signature"), None);
}

#[test]
fn without_a_body_nothing_is_said_of_one() {
    let receiver = fine();
    let url = receiver.url("/");
    let request = WebhookRequest { method: "GET".to_owned(), body: Value::Null, ..post(&url) };
    assert!(send(&request).is_success());
    let got = receiver.got().remove(0);
    assert_eq!((got.line.as_str(), got.body.as_str()), ("GET / HTTP/1.1", ""));
    assert_eq!(got.header("content-type"), None);
    let own = vec![("content-type".to_owned(), "text/x".to_owned())];
    assert!(send(&WebhookRequest { headers: own, ..post(&url) }).is_success());
    assert_eq!(receiver.got()[1].header("content-type").unwrap(), "text/x");
}

#[test]
fn what_would_change_the_message_is_refused() {
    let receiver = fine();
    let url = receiver.url("/s3cret");
    let cases = [
        ("X-A", "b\r\nX-Evil: 1"),
        ("X-A", "b\nc"),
        ("X-A", "b\0c"),
        ("X A", "b"),
        ("X-A\r\nX-Evil", "b"),
        ("", "b"),
        ("Content-Length", "1"),
        ("Transfer-Encoding", "chunked"),
    ];
    for (name, value) in cases {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let outcome = send(&WebhookRequest { headers, ..post(&url) });
        assert!(unstarted(&outcome).contains("header"), "{name:?}: {outcome:?}");
        assert_eq!(outcome.attempts, 0);
    }
    for method in ["CONNECT", "GE T", "GET\r\n", "TRACE"] {
        let outcome = send(&WebhookRequest { method: method.to_owned(), ..post(&url) });
        assert!(unstarted(&outcome).contains("method"), "{outcome:?}");
    }
    assert!(receiver.got().is_empty());
    let call = Call { body: json!({ "url": 5 }), ..Call::default() };
    let outcome = run(&WebhookAction::new(WebSettings::default()), &call);
    assert!(unstarted(&outcome).contains("not understood"), "{outcome:?}");
}

#[test]
fn a_connection_that_fails_says_how() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    // Another test may have got the port in between; then this is answered.
    let outcome = send(&post(&format!("http://127.0.0.1:{port}/s3cret?s3cret")));
    if let End::FailedToStart(why) = &outcome.end {
        assert_eq!(*why, format!("connection refused: 127.0.0.1:{port}"));
    }
    keeps_secret(&outcome, &["s3cret"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reset = std::thread::spawn(move || {
        // Closed with bytes that nobody read: the other side is told so.
        let _ = listener.accept().unwrap().0.peek(&mut [0]);
    });
    let outcome = send(&post(&format!("http://127.0.0.1:{port}/s3cret")));
    reset.join().unwrap();
    assert!(unstarted(&outcome).contains(&format!("127.0.0.1:{port}")), "{outcome:?}");
    keeps_secret(&outcome, &["s3cret"]);
    let half = Receiver::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    });
    let outcome = send(&post(&half.url("/s3cret")));
    assert!(unstarted(&outcome).contains("broke off"), "{outcome:?}");
    keeps_secret(&outcome, &["s3cret"]);
    let noise = Receiver::new(|_, stream| {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
    });
    let outcome = send(&post(&noise.url("/s3cret")));
    assert!(unstarted(&outcome).contains("no answer"), "{outcome:?}");
}

#[test]
fn what_nobody_waits_for_is_sent_all_the_same_and_asks_nothing() {
    let receiver = fine();
    let ask = Some(ApprovalRequest { key: "k".to_owned(), ..ApprovalRequest::default() });
    let body = json!({ "link": format!("<{CALLBACK_MARKER}>") });
    let request = WebhookRequest { ask, body, ..post(&receiver.url("/")) };
    let pace = Limits { blocking: false, ..call(&request).limits };
    let call = Call { limits: pace, body: to_body(&request), ..Call::default() };
    let settings = WebSettings { settings: Settings::default(), ..WebSettings::default() };
    let outcome = run(&WebhookAction::new(settings), &call);
    assert_eq!(outcome.end, End::Detached);
    eventually("the request", || !receiver.got().is_empty());
    assert_eq!(receiver.got()[0].body, r#"{"link":"<>"}"#);
}

#[test]
fn a_host_with_a_runtime_of_its_own_may_call_it() {
    let receiver = fine();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(async { send(&post(&receiver.url("/"))) });
    assert_eq!(outcome.stdout.text(), "héllo");
}
