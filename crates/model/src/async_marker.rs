//! Detects the request of a running hook to continue in the background: a flag in the JSON object
//! on its first line. The dialect names the fields.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum length of a first line with such a request.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The field names of such a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsyncMarker {
    /// The field that is true.
    pub flag: String,
    /// The field with the milliseconds that the hook may still run.
    pub millis: String,
}

/// The request found in the output so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncRequest {
    /// Its first line is not complete.
    Incomplete,
    /// No request: gambrel waits for the hook.
    No,
    /// The hook continues in the background, for this time or for its own timeout.
    Yes(Option<Duration>),
}

impl AsyncMarker {
    /// Looks for a request in the output so far.
    pub fn read_marker(&self, printed: &[u8]) -> AsyncRequest {
        let text = printed.strip_prefix("\u{feff}".as_bytes()).unwrap_or(printed);
        let text = text.trim_ascii_start();
        match text.first() {
            None => return AsyncRequest::Incomplete,
            Some(b'{') => {}
            Some(_) => return AsyncRequest::No,
        }
        let (line, whole) = match text.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&text[..end], true),
            None => (text, text.len() > MAX_LINE_BYTES),
        };
        if line.len() > MAX_LINE_BYTES {
            return AsyncRequest::No;
        }
        match serde_json::from_slice(line) {
            Ok(fields) => self.read_fields(&fields),
            Err(_) if whole => AsyncRequest::No,
            Err(_) => AsyncRequest::Incomplete,
        }
    }

    /// The output after the first line.
    pub fn text_after_marker<'t>(&self, printed: &'t str) -> Option<&'t str> {
        let text = printed.trim_start();
        let leaves = matches!(self.read_marker(text.as_bytes()), AsyncRequest::Yes(_));
        leaves.then(|| text.split_once('\n').map_or("", |(_, rest)| rest))
    }

    /// Reads the fields of the object. A time that is not a number makes the request invalid.
    pub fn read_fields(&self, fields: &Map<String, Value>) -> AsyncRequest {
        let millis = fields.get(&self.millis);
        let leaves = fields.get(&self.flag) == Some(&Value::Bool(true));
        match leaves && millis.is_none_or(Value::is_number) {
            true => AsyncRequest::Yes(millis.and_then(Value::as_u64).map(Duration::from_millis)),
            false => AsyncRequest::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AsyncMarker, AsyncRequest};

    fn marker() -> AsyncMarker {
        AsyncMarker { flag: "later".into(), millis: "within".into() }
    }

    #[test]
    fn only_a_complete_first_line_with_the_flag_leaves() {
        let heard = |text: &str| marker().read_marker(text.as_bytes());
        assert_eq!(heard(" \n"), AsyncRequest::Incomplete);
        assert_eq!(heard("{\"later\":tr"), AsyncRequest::Incomplete);
        assert_eq!(heard("{\"later\":true}"), AsyncRequest::Yes(None));
        let timed = AsyncRequest::Yes(Some(Duration::from_millis(50)));
        assert_eq!(heard("\n{\"later\":true,\"within\":50}\nmore"), timed);
        assert_eq!(heard("\u{feff}{\"later\":true,\"within\":-1}\n"), AsyncRequest::Yes(None));
        assert_eq!(heard("{\"later\":true,\"within\":\"x\"}\n"), AsyncRequest::No);
        for stays in ["text\n{\"later\":true}", "{\"later\":1}", "{\"later\"\n", "{}"] {
            assert_eq!(heard(stays), AsyncRequest::No, "{stays}");
        }
        assert_eq!(heard(&format!("{{\"a\":\"{}", "x".repeat(5000))), AsyncRequest::No);
    }

    #[test]
    fn what_follows_is_what_it_says_later() {
        assert_eq!(marker().text_after_marker("{\"later\":true}\nand\nthen"), Some("and\nthen"));
        assert_eq!(marker().text_after_marker("{\"later\":true}"), Some(""));
        assert_eq!(marker().text_after_marker("and then"), None);
    }
}
