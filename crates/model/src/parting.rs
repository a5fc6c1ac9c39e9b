//! How a running process says that nobody should wait for it any longer: with a flag in the JSON
//! object on its first line. Knows the form only; which words it has is the dialect's to say.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No first line that asks for this is longer.
const LONGEST: usize = 4 * 1024;

/// The words of such a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parting {
    /// The field that is true.
    pub flag: String,
    /// The field with the milliseconds that it may run from then on.
    pub millis: String,
}

/// What the output so far says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    /// Its first line is not complete.
    Unclear,
    /// It is waited for.
    Stays,
    /// It goes on alone: for so long, or for as long as its own terms say.
    Leaves(Option<Duration>),
}

impl Parting {
    /// Looks at everything that was printed so far.
    pub fn heard(&self, printed: &[u8]) -> Parted {
        let text = printed.strip_prefix("\u{feff}".as_bytes()).unwrap_or(printed);
        let text = text.trim_ascii_start();
        match text.first() {
            None => return Parted::Unclear,
            Some(b'{') => {}
            Some(_) => return Parted::Stays,
        }
        let (line, whole) = match text.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&text[..end], true),
            None => (text, text.len() > LONGEST),
        };
        if line.len() > LONGEST {
            return Parted::Stays;
        }
        match serde_json::from_slice(line) {
            Ok(fields) => self.said(&fields),
            Err(_) if whole => Parted::Stays,
            Err(_) => Parted::Unclear,
        }
    }

    /// What follows the line, if it is there.
    pub fn after<'t>(&self, printed: &'t str) -> Option<&'t str> {
        let text = printed.trim_start();
        let leaves = matches!(self.heard(text.as_bytes()), Parted::Leaves(_));
        leaves.then(|| text.split_once('\n').map_or("", |(_, rest)| rest))
    }

    /// What the fields of such an object say. A time that is no number makes no sense of it.
    pub fn said(&self, fields: &Map<String, Value>) -> Parted {
        let millis = fields.get(&self.millis);
        let leaves = fields.get(&self.flag) == Some(&Value::Bool(true));
        match leaves && millis.is_none_or(Value::is_number) {
            true => Parted::Leaves(millis.and_then(Value::as_u64).map(Duration::from_millis)),
            false => Parted::Stays,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Parted, Parting};

    fn words() -> Parting {
        Parting { flag: "later".into(), millis: "within".into() }
    }

    #[test]
    fn only_a_complete_first_line_with_the_flag_leaves() {
        let heard = |text: &str| words().heard(text.as_bytes());
        assert_eq!(heard(" \n"), Parted::Unclear);
        assert_eq!(heard("{\"later\":tr"), Parted::Unclear);
        assert_eq!(heard("{\"later\":true}"), Parted::Leaves(None));
        let timed = Parted::Leaves(Some(Duration::from_millis(50)));
        assert_eq!(heard("\n{\"later\":true,\"within\":50}\nmore"), timed);
        assert_eq!(heard("\u{feff}{\"later\":true,\"within\":-1}\n"), Parted::Leaves(None));
        assert_eq!(heard("{\"later\":true,\"within\":\"x\"}\n"), Parted::Stays);
        for stays in ["text\n{\"later\":true}", "{\"later\":1}", "{\"later\"\n", "{}"] {
            assert_eq!(heard(stays), Parted::Stays, "{stays}");
        }
        assert_eq!(heard(&format!("{{\"a\":\"{}", "x".repeat(5000))), Parted::Stays);
    }

    #[test]
    fn what_follows_is_what_it_says_later() {
        assert_eq!(words().after("{\"later\":true}\nand\nthen"), Some("and\nthen"));
        assert_eq!(words().after("{\"later\":true}"), Some(""));
        assert_eq!(words().after("and then"), None);
    }
}
