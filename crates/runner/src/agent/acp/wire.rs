//! Messages of JSON-RPC, one per line. It must not know what a method is for.

use gambrel_model::text::truncate_chars;
use serde_json::{Map, Value, json};

/// The error of a method that the client does not have.
const METHOD_NOT_FOUND: i64 = -32601;
/// The error of parameters that cannot be used.
const INVALID_PARAMS: i64 = -32602;
/// The most characters of an unreadable line in an error.
const MAX_SHOWN_CHARS: usize = 120;

/// A line of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentLine {
    /// The answer to a request.
    Response {
        /// The request.
        id: u64,
        /// The answer, or the agent's error.
        result: Result<Value, RpcError>,
    },
    /// A request to the client.
    Request {
        /// Its id, which the answer repeats.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// Text that is no message, such as a line of a log.
    Noise(String),
}

/// An error that the agent answered with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// What the agent says.
    pub message: String,
}

/// A line that looks like a message and is none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the agent sent a message that cannot be read ({why}): {line}")]
pub struct UnreadableLine {
    why: String,
    line: String,
}

/// Parses a line.
pub fn parse_line(line: &[u8]) -> Result<AgentLine, UnreadableLine> {
    let line = line.trim_ascii();
    let shown = || truncate_chars(&String::from_utf8_lossy(line), MAX_SHOWN_CHARS, "…");
    if line.first() != Some(&b'{') {
        return Ok(AgentLine::Noise(shown()));
    }
    let fail = |why: String| UnreadableLine { why, line: shown() };
    let message: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| fail(error.to_string()))?;
    parse_object(message).ok_or_else(|| fail("it is neither a request nor an answer".to_owned()))
}

fn parse_object(mut message: Map<String, Value>) -> Option<AgentLine> {
    let id = message.remove("id").filter(|id| !id.is_null());
    let mut take = |key: &str| message.remove(key);
    if let Some(Value::String(method)) = take("method") {
        let params = take("params").unwrap_or_default();
        return Some(match id {
            Some(id) => AgentLine::Request { id, method, params },
            None => AgentLine::Notification { method, params },
        });
    }
    let error = take("error").map(|error| RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: read_message(&error),
    });
    let result = match error {
        Some(error) => Err(error),
        None => Ok(take("result")?),
    };
    Some(AgentLine::Response { id: id?.as_u64()?, result })
}

/// The message of an error, with the details that some agents put beside it.
fn read_message(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("an error without a message");
    let data = &error["data"];
    let details = data["details"].as_str().or_else(|| data.as_str());
    details.map_or_else(|| message.to_owned(), |details| format!("{message}: {details}"))
}

/// A request of the client.
pub fn build_request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification of the client.
pub fn build_notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The answer to a request of the agent.
pub fn build_answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a request for a method that the client does not have.
pub fn refuse_method(id: &Value, method: &str) -> Value {
    let message = format!("the client has no method `{method}`");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": message}})
}

/// The answer to a request whose parameters cannot be used.
pub fn refuse_params(id: &Value, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": INVALID_PARAMS, "message": why}})
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AgentLine, RpcError, parse_line};

    fn parse(line: &Value) -> Option<AgentLine> {
        parse_line(line.to_string().as_bytes()).ok()
    }

    #[test]
    fn tells_messages_apart() {
        let (id, method) = (json!("a"), "m".to_owned());
        let request = AgentLine::Request { id, method: method.clone(), params: json!([1]) };
        assert_eq!(parse(&json!({"id": "a", "method": "m", "params": [1]})), Some(request));
        let notification = AgentLine::Notification { method, params: Value::Null };
        assert_eq!(parse(&json!({"method": "m"})), Some(notification));
        let response = AgentLine::Response { id: 3, result: Ok(Value::Null) };
        assert_eq!(parse(&json!({"id": 3, "result": null})), Some(response));
        let error = RpcError { code: -32000, message: "login: first".to_owned() };
        let response = AgentLine::Response { id: 3, result: Err(error) };
        let written = json!({"code": -32000, "message": "login", "data": {"details": "first"}});
        assert_eq!(parse(&json!({"id": 3, "error": written})), Some(response));
    }

    #[test]
    fn tells_noise_from_broken_messages() {
        assert_eq!(parse_line(b"Loaded.\n"), Ok(AgentLine::Noise("Loaded.".to_owned())));
        for broken in ["{", "{\"id\": 3", "{}", "{\"id\": [], \"result\": 1}", "{\"id\": 1}"] {
            let error = parse_line(broken.as_bytes()).unwrap_err().to_string();
            assert!(error.ends_with(broken), "{error}");
        }
    }

    #[test]
    fn never_panics() {
        for length in 0..64 {
            let bytes: Vec<u8> = (0..length).map(|n| b"{}[]\":,1\xffn"[n * 7 % 10]).collect();
            let _any = parse_line(&bytes);
        }
    }
}
