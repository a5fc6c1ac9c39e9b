//! Parses the name-value pairs of links and forms. Users append `?action=approve` to a link that
//! already has a query, so `?` separates pairs as `&` does.

/// The decoded pairs of a query.
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    split_pairs(query, &['?', '&'])
}

/// The decoded pairs of a form.
pub(crate) fn parse_form(form: &str) -> Vec<(String, String)> {
    split_pairs(form, &['&'])
}

/// The first value of a name.
pub(crate) fn first_value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn split_pairs(text: &str, separators: &[char]) -> Vec<(String, String)> {
    let pairs = text.split(separators).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_percent(name), decode_percent(value))
        })
        .collect()
}

fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(parse_hex);
        out.push(match (escaped, byte) {
            (Some(value), _) => value,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn parse_hex(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn splits_queries_at_both_separators() {
        let expected = vec![pair("token", "abc"), pair("action", "approve")];
        assert_eq!(parse_query("token=abc?action=approve"), expected);
        assert_eq!(parse_query("token=abc&action=approve&"), expected);
    }

    #[test]
    fn keeps_question_marks_in_forms() {
        assert_eq!(parse_form("message=why?+%C3%A9%26%2b"), vec![pair("message", "why? é&+")]);
    }

    #[test]
    fn keeps_invalid_escapes() {
        for text in ["%", "%4", "%zz", "%+1", "a%2"] {
            assert_eq!(parse_form(text), vec![pair(&text.replace('+', " "), "")]);
        }
        assert_eq!(parse_form("a=%ff"), vec![pair("a", "\u{fffd}")]);
    }
}
