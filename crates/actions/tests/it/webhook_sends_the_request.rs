//! Method, headers and body arrive as given, invalid requests are refused with a reason, and the
//! record holds no path.

use std::io::Write;
use std::net::TcpListener;

use gambrel_actions::{Settings, WebSettings, WebhookAction};
use gambrel_model::request::{CALLBACK_MARKER, to_body};
use gambrel_model::{ApprovalRequest, Call, End, Limits, WebhookRequest};
use serde_json::{Value, json};

use crate::hook_fixture::{start_failure, wait_until};
use crate::http_receiver::{
    Receiver, assert_no_secrets, post_request, run_call, send_request, send_response, webhook_call,
};

fn accepting_receiver() -> Receiver {
    Receiver::new(|_, stream| {
        send_response(stream, "200 OK", "content-type: text/plain\r\nset-cookie: a=b\r\n", "héllo");
    })
}

#[test]
fn sends_method_headers_and_body() {
    let receiver = accepting_receiver();
    let body = json!({ "text": "quote \" newline \n and ü", "list": [1, null, true] });
    let request = WebhookRequest {
        method: "put".to_owned(),
        headers: vec![
            ("Authorization".to_owned(), "Bearer t0k".to_owned()),
            ("X-Two".to_owned(), "one".to_owned()),
            ("x-two".to_owned(), "twö".to_owned()),
        ],
        body: body.clone(),
        ..post_request(&receiver.url("/s3cret/path?key=s3cret"))
    };
    let outcome = send_request(&request);
    assert_eq!(outcome.end, End::Answered);
    assert_eq!((outcome.stdout.to_text().as_str(), outcome.attempts), ("héllo", 1));
    assert!(outcome.is_success() && outcome.remarks.is_empty(), "{outcome:?}");
    let length = "héllo".len().to_string();
    let headers = json!({ "content-type": "text/plain", "content-length": length });
    assert_eq!(outcome.answer, Some(json!({ "status": 200, "headers": headers })));
    let shown = format!("http://127.0.0.1:{}/…", receiver.address.port());
    assert_eq!(outcome.command, ["PUT".to_owned(), shown]);
    assert_no_secrets(&outcome, &["s3cret", "t0k"]);

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
fn sends_no_content_type_without_a_body() {
    let receiver = accepting_receiver();
    let url = receiver.url("/");
    let request =
        WebhookRequest { method: "GET".to_owned(), body: Value::Null, ..post_request(&url) };
    assert!(send_request(&request).is_success());
    let got = receiver.got().remove(0);
    assert_eq!((got.line.as_str(), got.body.as_str()), ("GET / HTTP/1.1", ""));
    assert_eq!(got.header("content-type"), None);
    let own = vec![("content-type".to_owned(), "text/x".to_owned())];
    assert!(send_request(&WebhookRequest { headers: own, ..post_request(&url) }).is_success());
    assert_eq!(receiver.got()[1].header("content-type").unwrap(), "text/x");
}

#[test]
fn refuses_invalid_headers_and_methods() {
    let receiver = accepting_receiver();
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
        let outcome = send_request(&WebhookRequest { headers, ..post_request(&url) });
        assert!(start_failure(&outcome).contains("header"), "{name:?}: {outcome:?}");
        assert_eq!(outcome.attempts, 0);
    }
    for method in ["CONNECT", "GE T", "GET\r\n", "TRACE"] {
        let outcome =
            send_request(&WebhookRequest { method: method.to_owned(), ..post_request(&url) });
        assert!(start_failure(&outcome).contains("method"), "{outcome:?}");
    }
    assert!(receiver.got().is_empty());
    let call = Call { body: json!({ "url": 5 }), ..Call::default() };
    let outcome = run_call(&WebhookAction::new(WebSettings::default()), &call);
    assert!(start_failure(&outcome).contains("not understood"), "{outcome:?}");
}

#[test]
fn reports_how_a_connection_failed() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    // Another test may have taken the port meanwhile; then this request is answered.
    let outcome = send_request(&post_request(&format!("http://127.0.0.1:{port}/s3cret?s3cret")));
    if let End::FailedToStart(why) = &outcome.end {
        assert_eq!(*why, format!("connection refused: `127.0.0.1:{port}`"));
    }
    assert_no_secrets(&outcome, &["s3cret"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reset = std::thread::spawn(move || {
        // Closing with unread bytes sends a reset.
        let _ = listener.accept().unwrap().0.peek(&mut [0]);
    });
    let outcome = send_request(&post_request(&format!("http://127.0.0.1:{port}/s3cret")));
    reset.join().unwrap();
    assert!(start_failure(&outcome).contains(&format!("127.0.0.1:{port}")), "{outcome:?}");
    assert_no_secrets(&outcome, &["s3cret"]);
    let half = Receiver::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    });
    let outcome = send_request(&post_request(&half.url("/s3cret")));
    assert!(start_failure(&outcome).contains("broke off"), "{outcome:?}");
    assert_no_secrets(&outcome, &["s3cret"]);
    let noise = Receiver::new(|_, stream| {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
    });
    let outcome = send_request(&post_request(&noise.url("/s3cret")));
    assert!(start_failure(&outcome).contains("no answer"), "{outcome:?}");
}

#[test]
fn sends_detached_requests_without_a_question() {
    let receiver = accepting_receiver();
    let ask = Some(ApprovalRequest { key: "k".to_owned(), ..ApprovalRequest::default() });
    let body = json!({ "link": format!("<{CALLBACK_MARKER}>") });
    let request = WebhookRequest { ask, body, ..post_request(&receiver.url("/")) };
    let limits = Limits { blocking: false, ..webhook_call(&request).limits };
    let call = Call { limits, body: to_body(&request), ..Call::default() };
    let settings = WebSettings { settings: Settings::default(), ..WebSettings::default() };
    let outcome = run_call(&WebhookAction::new(settings), &call);
    assert_eq!(outcome.end, End::Detached);
    wait_until("the request", || !receiver.got().is_empty());
    assert_eq!(receiver.got()[0].body, r#"{"link":"<>"}"#);
}

#[test]
fn runs_inside_an_async_runtime() {
    let receiver = accepting_receiver();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(async { send_request(&post_request(&receiver.url("/"))) });
    assert_eq!(outcome.stdout.to_text(), "héllo");
}
