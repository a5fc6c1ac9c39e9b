//! Text functions that all crates share: cutting a text, cleaning foreign text before it is shown,
//! and quoting a value for a shell or a URL.

/// A text of at most `max` characters as it is; of a longer one the beginning, then `mark`.
pub fn truncate_chars(text: &str, max: usize, mark: &str) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}{mark}", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text of at most `max` bytes as it is; of a longer one the beginning, then `mark`.
pub fn truncate_bytes(text: &str, max: usize, mark: &str) -> String {
    match text.len() > max {
        true => format!("{}{mark}", &text[..text.floor_char_boundary(max)]),
        false => text.to_owned(),
    }
}

/// How much of an input that cannot be used is shown.
pub const MAX_SHOWN_INPUT_CHARS: usize = 500;

/// How far `cut_at_word` looks for the beginning of the word at the cut.
const MAX_CUT_WORD_BYTES: usize = 512;

/// The beginning of a text, at most `max` bytes. It ends before the word at the cut, so that no part
/// of a secret is left that would not be recognised.
pub fn cut_at_word(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = text.floor_char_boundary(max);
    let from = text.floor_char_boundary(end.saturating_sub(MAX_CUT_WORD_BYTES));
    let ends_word = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';');
    let word = text[from..end].rfind(ends_word);
    text[..word.map_or(end, |at| from + at)].trim_end()
}

/// Whether a character must not reach a terminal or a page: it controls a terminal, has no width
/// or changes the direction of the text. Line breaks, tabs and joiners may.
pub fn is_display_control(c: char) -> bool {
    let misleads = matches!(c,
        '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' |
        '\u{2060}'..='\u{206f}' | '\u{feff}');
    misleads || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Puts a visible sign in place of each of these characters.
pub fn replace_controls(text: &str) -> String {
    text.chars().map(|c| if is_display_control(c) { '\u{fffd}' } else { c }).collect()
}

/// Removes these characters.
pub fn remove_controls(text: &str) -> String {
    text.chars().filter(|c| !is_display_control(*c)).collect()
}

/// Puts a text on one line, with one blank between words.
pub fn join_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a text, which blanks separate.
pub fn split_words(words: &str) -> Vec<&str> {
    words.split_ascii_whitespace().collect()
}

/// Splits text into runs of letters and digits, and single other characters.
pub fn split_tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (token, after) = rest.split_at(word.max(first.len_utf8()));
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Whether a word is one of `words`, which blanks separate.
pub fn contains_word(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a text can be the name of a variable.
pub fn is_variable_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// The signs that no part of a URL needs encoded.
pub const UNRESERVED: &[u8] = b"-._~";

/// Percent-encodes all bytes but letters, digits and those in `plain`.
pub fn percent_encode(bytes: &[u8], plain: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte.is_ascii_alphanumeric() || plain.contains(byte) {
            true => encoded.push(char::from(*byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A word in single quotes, for every shell.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Replaces every character outside `[a-zA-Z0-9_-]` by `-`, so that a name leads to no other folder.
pub fn sanitize_name(name: &str) -> String {
    sanitize_name_with(name, '-')
}

/// The same with another replacement.
pub fn sanitize_name_with(name: &str, replacement: char) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_safe(c) { c } else { replacement }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(truncate_chars("éàü", 2, "…"), "éà…");
        assert_eq!(truncate_chars("éàü", 3, "…"), "éàü");
        assert_eq!(truncate_bytes("éàü", 3, "…"), "é…");
        assert_eq!(truncate_bytes("éàü", 6, "…"), "éàü");
    }

    #[test]
    fn cuts_before_the_word_at_the_cut() {
        assert_eq!(cut_at_word("one two three", 9), "one two");
        assert_eq!(cut_at_word("one two three", 13), "one two three");
        assert_eq!(cut_at_word(r#"{"key":"sk-1234"}"#, 12), r#"{"key":"#);
        assert_eq!(cut_at_word(&"x".repeat(2_000), 1_000).len(), 1_000);
        assert_eq!(cut_at_word("ééé é", 3), "é");
    }

    #[test]
    fn finds_control_and_direction_characters() {
        let text = "a\u{1b}[31mb\u{202e}c\u{200b}\r\n\td\u{9b}";
        assert_eq!(remove_controls(text), "a[31mbc\n\td");
        assert_eq!(replace_controls(text), "a�[31mb�c��\n\td�");
        assert_eq!(replace_controls("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    #[test]
    fn encodes_all_but_plain_bytes() {
        assert_eq!(percent_encode("a/é b".as_bytes(), b"/"), "a/%C3%A9%20b");
    }

    #[test]
    fn quotes_quotes() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
