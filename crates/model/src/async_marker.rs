//! How a running process says that nobody should wait for it any longer: with a flag in the JSON
//! object on its first line. Knows the form only; which words it has is the dialect's to say.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No first line that asks for this is longer.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The words of such a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsyncMarker {
    /// The field that is true.
    pub flag: String,
    /// The field with the milliseconds that it may run from then on.
    pub millis: String,
}

/// What the output so far says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncRequest {
    /// Its first line is not complete.
    Incomplete,
    /// It is waited for.
    No,
    /// It goes on alone: for so long, or for as long as its own terms say.
    Yes(Option<Duration>),
}

impl AsyncMarker {
    /// Looks at everything that was printed so far.
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

    /// What follows the line, if it is there.
    pub fn text_after_marker<'t>(&self, printed: &'t str) -> Option<&'t str> {
        let text = printed.trim_start();
        let leaves = matches!(self.read_marker(text.as_bytes()), AsyncRequest::Yes(_));
        leaves.then(|| text.split_once('\n').map_or("", |(_, rest)| rest))
    }

    /// What the fields of such an object say. A time that is no number makes no sense of it.
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

    fn words() -> AsyncMarker {
        AsyncMarker { flag: "later".into(), millis: "within".into() }
    }

    #[test]
    fn only_a_complete_first_line_with_the_flag_leaves() {
        let heard = |text: &str| words().read_marker(text.as_bytes());
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
        assert_eq!(words().text_after_marker("{\"later\":true}\nand\nthen"), Some("and\nthen"));
        assert_eq!(words().text_after_marker("{\"later\":true}"), Some(""));
        assert_eq!(words().text_after_marker("and then"), None);
    }
}
