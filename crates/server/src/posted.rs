//! What somebody said by posting: JSON, a form, or a word in the link.

use axum::http::StatusCode;
use gambrel_model::ticket::Answer;
use serde_json::{Map, Value};

use crate::pairs;
use crate::reply::Reply;
use crate::room::now;

const WORD_CHARS: usize = 64;
const HELP: &str = "say what you decide: post {\"action\":\"approve\",\"message\":\"…\"} as JSON, \
    or the form fields action and message, or append ?action=approve to the link";

/// Reads an answer; `asked` is the action that the link itself names.
pub(crate) fn answer(body: &[u8], asked: Option<&str>, by: &str) -> Result<Answer, Reply> {
    let text = std::str::from_utf8(body).map_err(|_| missing("the answer is not UTF-8"))?;
    let fields = fields(text)?;
    let word = match fields.get("action") {
        Some(Value::String(word)) => Some(word.as_str()),
        Some(_) => return Err(missing("action must be text")),
        None => asked,
    };
    let word = word.map(str::trim).filter(|word| !word.is_empty());
    let word = word.ok_or_else(|| missing("no action is given"))?;
    if word.chars().count() > WORD_CHARS || word.contains(char::is_control) {
        return Err(missing("action must be one short word"));
    }
    let message = fields.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = if is_json(text) { text.to_owned() } else { normal(fields.clone(), word) };
    Ok(Answer { action: word.to_owned(), message, body, by: by.to_owned(), at: now() })
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Senders often name the wrong content type, so the text itself is asked.
fn fields(text: &str) -> Result<Map<String, Value>, Reply> {
    if is_json(text) {
        return serde_json::from_str(text)
            .map_err(|error| missing(&format!("the answer is not JSON: {error}")));
    }
    // Browsers send the lines of a text in the way of letters; everybody else breaks them by one.
    let value = |text: String| Value::String(text.replace("\r\n", "\n"));
    let pairs = pairs::of_form(text.trim());
    Ok(pairs.into_iter().rev().map(|(name, text)| (name, value(text))).collect())
}

/// A form as the JSON that it stands for.
fn normal(mut fields: Map<String, Value>, word: &str) -> String {
    let mut whole = Map::new();
    whole.insert("action".into(), word.into());
    if let Some(message) = fields.remove("message") {
        whole.insert("message".into(), message);
    }
    fields.remove("action");
    whole.extend(fields);
    Value::Object(whole).to_string()
}

fn missing(why: &str) -> Reply {
    Reply::refused(StatusCode::BAD_REQUEST, why, HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, asked: Option<&str>) -> Option<(String, String, String)> {
        let answer = answer(body.as_bytes(), asked, "x").ok()?;
        Some((answer.action, answer.message, answer.body))
    }

    fn said(action: &str, message: &str, body: &str) -> Option<(String, String, String)> {
        Some((action.to_owned(), message.to_owned(), body.to_owned()))
    }

    #[test]
    fn json_is_kept_as_it_came() {
        let body = " {\"action\": \"approve\", \"message\":\"ok\", \"more\":[1]}\n";
        assert_eq!(read(body, Some("reject")), said("approve", "ok", body));
        assert_eq!(read("{\"x\":1}", Some("go on")), said("go on", "", "{\"x\":1}"));
    }

    #[test]
    fn a_form_becomes_json() {
        let normal = r#"{"action":"reject","message":"no\n\"way\"","x":"1"}"#;
        let form = "x=1&message=no%0A%22way%22&action=reject";
        assert_eq!(read(form, None), said("reject", "no\n\"way\"", normal));
        assert_eq!(read("", Some("approve")), said("approve", "", r#"{"action":"approve"}"#));
    }

    #[test]
    fn what_says_nothing_is_refused() {
        let long = "x".repeat(65);
        let bad = ["", "{", "{\"action\":1}", "{\"action\":\" \"}", "message=hello", "[1]"];
        for body in bad {
            assert_eq!(read(body, None), None, "{body}");
        }
        assert_eq!(read("", Some(&long)), None);
        assert_eq!(read("", Some("a\u{1b}[2J")), None);
        assert!(answer(b"action=\xff", None, "x").is_err());
    }
}
