//! A server reached over HTTP: answers as one message or as events, with the address checks of
//! every other request.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gambrel_actions::{McpAction, WebSettings};
use gambrel_model::request::to_body;
use gambrel_model::{Call, End, Limits, Outcome, ToolRequest};
use serde_json::{Value, json};

use crate::hook_fixture::start_failure;
use crate::http_receiver::{
    ReceivedRequest, Receiver, assert_no_secrets, hold_open, run_call, send_response,
};

fn call_tool(url: &str, tool: &str) -> Outcome {
    let request = ToolRequest {
        server: "far".to_owned(),
        url: Some(url.to_owned()),
        headers: vec![("Authorization".to_owned(), "Bearer t0k".to_owned())],
        tool: tool.to_owned(),
        input: json!({ "a": 1 }),
        ..ToolRequest::default()
    };
    let limits = Limits { timeout: Duration::from_secs(3), ..Limits::default() };
    let call = Call { body: to_body(&request), limits, ..Call::default() };
    let outcome = run_call(&McpAction::new(WebSettings::default()), &call);
    assert_no_secrets(&outcome, &["s3cret", "t0k"]);
    assert!(outcome.elapsed < Duration::from_secs(5), "{:?}", outcome.elapsed);
    outcome
}

fn reply_to(asked: &Value) -> Option<Value> {
    let mut reply = match asked["method"].as_str()? {
        "initialize" => json!({ "result": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "serverInfo": { "name": "far", "version": "1" },
        } }),
        "tools/call" if asked["params"]["name"] == "sum" => json!({ "result": {
            "content": [{ "type": "text", "text": asked["params"]["arguments"].to_string() }],
        } }),
        "tools/call" => json!({ "error": { "code": -32602, "message": "Unknown tool" } }),
        _ => return None,
    };
    reply["jsonrpc"] = "2.0".into();
    reply["id"] = asked["id"].clone();
    Some(reply)
}

fn answer_as_json(got: &ReceivedRequest, stream: &mut TcpStream) {
    match serde_json::from_str(&got.body).ok().as_ref().and_then(reply_to) {
        Some(reply) => {
            let head = "content-type: application/json\r\nmcp-session-id: abc\r\n";
            send_response(stream, "200 OK", head, &reply.to_string());
        }
        None => send_response(stream, "202 Accepted", "", ""),
    }
}

fn answer_as_events(got: &ReceivedRequest, stream: &mut TcpStream) {
    let Some(reply) = serde_json::from_str(&got.body).ok().as_ref().and_then(reply_to) else {
        return send_response(stream, "202 Accepted", "", "");
    };
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let text = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
        : hello\n\ndata: {note}\n\nid: 1\r\ndata: {reply}\r\n\r\n"
    );
    let _ = stream.write_all(text.as_bytes());
    // Some servers keep the stream open after the answer.
    hold_open(stream);
}

#[test]
fn reads_answers_as_one_message_or_as_events() {
    for receiver in [Receiver::new(answer_as_json), Receiver::new(answer_as_events)] {
        let outcome = call_tool(&receiver.url("/s3cret"), "sum");
        assert_eq!(outcome.end, End::Answered, "{outcome:?}");
        assert_eq!(outcome.stdout.to_text(), r#"{"a":1}"#);
        assert_eq!(outcome.command[1], "sum");
        let got = receiver.got();
        assert!(got.iter().all(|one| one.header("authorization").unwrap() == "Bearer t0k"));
        assert!(got[0].header("accept").unwrap().contains("text/event-stream"));
        assert_eq!(got[2].header("mcp-protocol-version").unwrap(), "2025-06-18");
    }
}

#[test]
fn keeps_and_ends_the_session() {
    let receiver = Receiver::new(answer_as_json);
    assert!(call_tool(&receiver.url("/"), "sum").is_success());
    // The client does not wait long for the answer to its last request, which may arrive later.
    let is_ended = || receiver.got().last().unwrap().line.starts_with("DELETE / ");
    let end = Instant::now() + Duration::from_secs(20);
    while !is_ended() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let got = receiver.got();
    assert_eq!(got[0].header("mcp-session-id"), None);
    assert!(got[1..].iter().all(|one| one.header("mcp-session-id").unwrap() == "abc"));
    assert!(got.last().unwrap().line.starts_with("DELETE / "), "{got:?}");
}

#[test]
fn reports_an_unknown_tool() {
    let receiver = Receiver::new(answer_as_json);
    let outcome = call_tool(&receiver.url("/"), "nothing");
    assert_eq!(outcome.end, End::Answered);
    assert!(outcome.failure.unwrap().contains("Unknown tool"));
}

#[test]
fn reports_servers_that_do_not_speak_mcp() {
    let cases: [(Receiver, &str); 4] = [
        (Receiver::new(|_, s| send_response(s, "404 Not Found", "", "s3cret")), "HTTP 404"),
        (
            Receiver::new(|_, s| send_response(s, "302 Found", "location: /\r\n", "")),
            "not followed",
        ),
        (
            Receiver::new(|_, s| send_response(s, "200 OK", "content-type: text/html\r\n", "<p>")),
            "hand",
        ),
        (Receiver::new(|_, _| {}), "no answer"),
    ];
    for (receiver, words) in cases {
        let outcome = call_tool(&receiver.url("/s3cret"), "sum");
        assert!(start_failure(&outcome).contains(words), "{words}: {outcome:?}");
    }
    for url in ["https://10.0.0.1/s3cret", "http://example.test/s3cret", "https://u:p@localhost/"] {
        assert!(start_failure(&call_tool(url, "sum")).contains("refused: "), "{url}");
    }
}

#[test]
fn times_out_without_an_answer() {
    let silent = Receiver::new(|_, stream| hold_open(stream));
    assert_eq!(call_tool(&silent.url("/"), "sum").end, End::TimedOut);
    let endless = Receiver::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
        while stream.write_all(&[b' '; 65536]).is_ok() {}
    });
    // Too long for a message, so its end is not awaited.
    assert!(start_failure(&call_tool(&endless.url("/"), "sum")).contains("handshake"));
}
