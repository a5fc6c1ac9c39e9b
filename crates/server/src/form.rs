//! Parses the name-value pairs of links and forms. Users append `?action=approve` to a link that
//! already has a query, so `?` separates pairs as `&` does.

/// The decoded pairs of a query.
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    parse_form(&query.replace('?', "&"))
}

/// The decoded pairs of a form.
pub(crate) fn parse_form(form: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

/// The first value of a name.
pub(crate) fn first_value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
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
