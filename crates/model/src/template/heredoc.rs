//! Here-documents: where one is announced, and which lines are its body. Only plain delimiters are
//! understood; the rest is for the caller to treat as odd.

use std::ops::Range;

/// A here-document that was announced and whose body comes after the line.
pub(super) struct Heredoc {
    pub(super) delimiter: String,
    /// A quoted delimiter: the shell expands nothing in the body.
    pub(super) quoted: bool,
    strips_tabs: bool,
}

/// Reads `<<WORD` at `at`; gives the document and where its delimiter ends.
pub(super) fn parse_heredoc_start(text: &str, at: usize) -> Option<(Heredoc, usize)> {
    let rest = &text[at + 2..];
    let (strips_tabs, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    let length = rest.find([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')'])?;
    let word = &rest[..length];
    let bare = [("'", "'"), ("\"", "\""), ("\\", "")]
        .iter()
        .find_map(|(open, close)| word.strip_prefix(open)?.strip_suffix(close));
    let delimiter = bare.unwrap_or(word);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let sound = !delimiter.is_empty() && delimiter.bytes().all(plain);
    let document = Heredoc { delimiter: delimiter.to_owned(), quoted: bare.is_some(), strips_tabs };
    sound.then_some((document, start + length))
}

impl Heredoc {
    /// The body that begins at `from`, and where the text goes on after the closing line.
    pub(super) fn find_body(&self, text: &str, from: usize) -> Option<(Range<usize>, usize)> {
        let mut start = from;
        for line in text.get(from..)?.split_inclusive('\n') {
            let end = start + line.len();
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let bare = if self.strips_tabs { bare.trim_start_matches('\t') } else { bare };
            if bare == self.delimiter {
                return Some((from..start, end));
            }
            start = end;
        }
        None
    }
}
