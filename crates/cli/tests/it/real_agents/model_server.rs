//! A scripted model on loopback. It speaks two protocols: chat completions as OpenAI has them, and
//! `streamGenerateContent` as Gemini has it. It keeps every request, so that a test can see what
//! reached the model.

use serde_json::{Value, json};

use crate::http_server::{HttpServer, Received, write_response};

/// A tool call of the model: the tool's name and its arguments.
pub type ModelCall = (&'static str, Value);

/// The calls of conversations that contain a text. The model makes one after the other, then ends
/// with a text.
pub type ModelScript = Vec<(&'static str, Vec<ModelCall>)>;

/// Listens until the test process ends.
pub struct ModelServer {
    server: HttpServer,
}

impl ModelServer {
    pub fn start(script: ModelScript) -> Self {
        let answer = move |request: &Received| {
            let path = request.path();
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let call = next_call(&script, &body);
            let (kind, body) = match path.rsplit(['/', ':']).next().unwrap_or_default() {
                "completions" => ("text/event-stream", write_completion(call)),
                "streamGenerateContent" => {
                    ("text/event-stream", format!("data: {}\n\n", write_candidate(call)))
                }
                _ => ("application/json", json!({"totalTokens": 1}).to_string()),
            };
            Some(write_response(200, kind, &body))
        };
        Self { server: HttpServer::with_response(answer) }
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The conversations so far, one per request. Requests without tools are not part of one:
    /// agents ask for titles and the like.
    pub fn requests(&self) -> Vec<Value> {
        let bodies = self.server.received().into_iter();
        let bodies = bodies.filter_map(|request| serde_json::from_slice(&request.body).ok());
        bodies.filter(has_tools).collect()
    }
}

fn has_tools(body: &Value) -> bool {
    body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

/// What the user and the tools said in a conversation, oldest first.
pub fn read_messages(body: &Value) -> Vec<String> {
    let lists = [&body["messages"], &body["contents"]];
    let messages = lists.into_iter().filter_map(Value::as_array).flatten();
    let received =
        messages.filter(|message| message["role"] == "user" || message["role"] == "tool");
    received
        .map(|message| join_texts(message.get("content").unwrap_or(&message["parts"])))
        .collect()
}

/// The texts of a message's parts. A result of a tool is JSON.
fn join_texts(content: &Value) -> String {
    let part = |part: &Value| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => part.to_string(),
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The results of tools in a conversation, oldest first.
pub fn tool_results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let results = messages.filter(|message| message["role"] == "tool");
    let results = results.map(|message| join_texts(&message["content"]));
    let contents = body["contents"].as_array().into_iter().flatten();
    let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
    let responses = parts.filter_map(|part| part.get("functionResponse"));
    results.chain(responses.map(|response| response["response"].to_string())).collect()
}

/// The call that follows the results so far, with its number.
fn next_call<'s>(script: &'s ModelScript, body: &Value) -> Option<(usize, &'s ModelCall)> {
    if !has_tools(body) {
        return None;
    }
    let received = read_messages(body).join("\n");
    let (_, calls) = script.iter().find(|(words, _)| received.contains(words))?;
    let at = tool_results(body).len();
    Some((at, calls.get(at)?))
}

/// A stream of chat completions: a tool call, or a text that ends the turn.
fn write_completion(call: Option<(usize, &ModelCall)>) -> String {
    let (delta, reason) = match call {
        Some((at, (tool, input))) => {
            let function = json!({"name": tool, "arguments": input.to_string()});
            let call = json!({
                "index": 0, "id": format!("call_{at}"), "type": "function", "function": function,
            });
            (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
        }
        None => (json!({"role": "assistant", "content": "done"}), "stop"),
    };
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "m1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        })
    };
    let (first, last) = (chunk(delta, Value::Null), chunk(json!({}), json!(reason)));
    format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

/// A complete answer of Gemini: a tool call, or a text that ends the turn.
fn write_candidate(call: Option<(usize, &ModelCall)>) -> Value {
    let part = match call {
        Some((_, (tool, input))) => json!({"functionCall": {"name": tool, "args": input}}),
        None => json!({"text": "done"}),
    };
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    })
}
