//! Parses a posted answer: JSON, a form, or the action in the link.

use axum::http::StatusCode;
use gambrel_model::ticket::Answer;
use serde_json::{Map, Value};

use crate::form;
use crate::response::CallbackResponse;
use crate::state::now_ms;

const MAX_ACTION_CHARS: usize = 64;
const HELP: &str = "say what you decide: post {\"action\":\"approve\",\"message\":\"…\"} as JSON, \
    or the form fields action and message, or append ?action=approve to the link";

/// Parses an answer; `link_action` is the action that the link itself names.
pub(crate) fn parse_answer(
    body: &[u8],
    link_action: Option<&str>,
    by: &str,
) -> Result<Answer, CallbackResponse> {
    let text = std::str::from_utf8(body).map_err(|_| invalid_answer("the answer is not UTF-8"))?;
    let fields = parse_fields(text)?;
    let action = match fields.get("action") {
        Some(Value::String(word)) => Some(word.as_str()),
        Some(_) => return Err(invalid_answer("action must be text")),
        None => link_action,
    };
    let word = action.map(str::trim).filter(|word| !word.is_empty());
    let word = word.ok_or_else(|| invalid_answer("no action is given"))?;
    if word.chars().count() > MAX_ACTION_CHARS || word.contains(char::is_control) {
        return Err(invalid_answer("action must be one short word"));
    }

    let message = fields.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = if is_json(text) { text.to_owned() } else { form_to_json(fields.clone(), word) };
    Ok(Answer { action: word.to_owned(), message, body, by: by.to_owned(), at: now_ms() })
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The fields of an answer. Senders often name the wrong content type, so the text itself decides.
fn parse_fields(text: &str) -> Result<Map<String, Value>, CallbackResponse> {
    if is_json(text) {
        return serde_json::from_str(text)
            .map_err(|error| invalid_answer(&format!("the answer is not JSON: {error}")));
    }
    // Browsers separate lines by CRLF; all other senders use LF.
    let value = |text: String| Value::String(text.replace("\r\n", "\n"));
    let pairs = form::parse_form(text.trim());
    Ok(pairs.into_iter().rev().map(|(name, text)| (name, value(text))).collect())
}

/// The JSON form of a posted form.
fn form_to_json(mut fields: Map<String, Value>, word: &str) -> String {
    let mut whole = Map::new();
    whole.insert("action".into(), word.into());
    if let Some(message) = fields.remove("message") {
        whole.insert("message".into(), message);
    }
    fields.remove("action");
    whole.extend(fields);
    Value::Object(whole).to_string()
}

fn invalid_answer(why: &str) -> CallbackResponse {
    CallbackResponse::refusal(StatusCode::BAD_REQUEST, why, HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str, asked: Option<&str>) -> Option<(String, String, String)> {
        let answer = parse_answer(body.as_bytes(), asked, "x").ok()?;
        Some((answer.action, answer.message, answer.body))
    }

    fn expected(action: &str, message: &str, body: &str) -> Option<(String, String, String)> {
        Some((action.to_owned(), message.to_owned(), body.to_owned()))
    }

    #[test]
    fn keeps_json_unchanged() {
        let body = " {\"action\": \"approve\", \"message\":\"ok\", \"more\":[1]}\n";
        assert_eq!(parse(body, Some("reject")), expected("approve", "ok", body));
        assert_eq!(parse("{\"x\":1}", Some("go on")), expected("go on", "", "{\"x\":1}"));
    }

    #[test]
    fn converts_forms_to_json() {
        let normal = r#"{"action":"reject","message":"no\n\"way\"","x":"1"}"#;
        let form = "x=1&message=no%0A%22way%22&action=reject";
        assert_eq!(parse(form, None), expected("reject", "no\n\"way\"", normal));
        assert_eq!(parse("", Some("approve")), expected("approve", "", r#"{"action":"approve"}"#));
    }

    #[test]
    fn rejects_answers_without_an_action() {
        let long = "x".repeat(65);
        let bad = ["", "{", "{\"action\":1}", "{\"action\":\" \"}", "message=hello", "[1]"];
        for body in bad {
            assert_eq!(parse(body, None), None, "{body}");
        }
        assert_eq!(parse("", Some(&long)), None);
        assert_eq!(parse("", Some("a\u{1b}[2J")), None);
        assert!(parse_answer(b"action=\xff", None, "x").is_err());
    }
}
