//! A scripted model on loopback. It answers `POST /v1/messages` with server-sent events and keeps
//! every request, so that a test can see what reached the model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any request takes, so that a hanging connection ends.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Makes its tool calls one after the other, then ends the turn with a text.
pub struct ScriptedModel {
    pub port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl ScriptedModel {
    /// Listens until the test process ends. A call is the name of a tool and its input.
    pub fn start(calls: Vec<(&'static str, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, calls) = (Arc::new(Mutex::new(Vec::new())), Arc::new(calls));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, calls) = (Arc::clone(&kept), Arc::clone(&calls));
                std::thread::spawn(move || drop(serve_request(stream, &kept, &calls)));
            }
        });
        Self { port, requests }
    }

    /// The bodies of all requests so far that offered tools: those of the conversation itself.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve_request(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Value>>,
    calls: &[(&'static str, Value)],
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut body = vec![0; read_content_length(&mut reader)?];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !first.starts_with("POST /v1/messages") || first.contains("count_tokens") {
        return respond(&mut stream, "application/json", "{}");
    }
    // Claude Code requests titles and the like without tools.
    let call = match has_tools(&request) {
        true => {
            kept.lock().unwrap().push(request.clone());
            calls.get(tool_results(&request).len())
        }
        false => None,
    };
    let at = tool_results(&request).len();
    respond(&mut stream, "text/event-stream", &write_events(&request["model"], at, call))
}

fn read_content_length(reader: &mut impl BufRead) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { return Ok(length) };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

fn respond(stream: &mut TcpStream, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n");
    write!(stream, "{head}connection: close\r\n\r\n{body}")
}

fn has_tools(request: &Value) -> bool {
    request["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

/// Every result of a tool in a request, oldest first.
pub fn tool_results(request: &Value) -> Vec<&Value> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    blocks.filter(|block| block["type"] == "tool_result").collect()
}

/// A complete response: a tool call, or a text that ends the turn.
fn write_events(model: &Value, at: usize, call: Option<&(&'static str, Value)>) -> String {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let message = json!({
        "id": format!("msg_{at}"), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let (block, delta, stop) = match call {
        Some((tool, input)) => (
            json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": "done"}),
            "end_turn",
        ),
    };
    let stop = json!({"stop_reason": stop, "stop_sequence": null});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let write = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(write).collect()
}
