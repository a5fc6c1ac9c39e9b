//! Names and values as links and forms carry them. People append `?action=approve` to a link that
//! has a query already, so `?` separates pairs as `&` does.

/// The pairs of a query, decoded.
pub(crate) fn of_query(query: &str) -> Vec<(String, String)> {
    split(query, &['?', '&'])
}

/// The pairs of a form, decoded.
pub(crate) fn of_form(form: &str) -> Vec<(String, String)> {
    split(form, &['&'])
}

/// The first value of a name.
pub(crate) fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn split(text: &str, separators: &[char]) -> Vec<(String, String)> {
    let pairs = text.split(separators).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(hex);
        out.push(match (escaped, byte) {
            (Some(value), _) => value,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    let sound = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn either_separator_in_a_query() {
        let expected = vec![pair("token", "abc"), pair("action", "approve")];
        assert_eq!(of_query("token=abc?action=approve"), expected);
        assert_eq!(of_query("token=abc&action=approve&"), expected);
    }

    #[test]
    fn a_question_mark_in_a_form_is_text() {
        assert_eq!(of_form("message=why?+%C3%A9%26%2b"), vec![pair("message", "why? é&+")]);
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        for text in ["%", "%4", "%zz", "%+1", "a%2"] {
            assert_eq!(of_form(text), vec![pair(&text.replace('+', " "), "")]);
        }
        assert_eq!(of_form("a=%ff"), vec![pair("a", "\u{fffd}")]);
    }
}
