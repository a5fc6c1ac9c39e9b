//! Where variables stand in a text. Only the exact form counts; `$NAME`, `${NAME:-x}` and
//! `{{ name }}` are text. Knows nothing of what the text is for.

use std::collections::BTreeSet;

use super::Style;

/// A stretch of text, or one variable as it was written.
pub(super) struct TemplatePiece<'t> {
    pub(super) text: &'t str,
    pub(super) name: Option<&'t str>,
}

/// The names of the variables in a text, each once, in order of appearance.
pub fn variable_names(text: &str, style: Style) -> Vec<String> {
    if !text.contains(style.delimiters().0) {
        return Vec::new();
    }
    let mut known = BTreeSet::new();
    let names = split_template(text, style).into_iter().filter_map(|piece| piece.name);
    names.filter(|name| known.insert(*name)).map(str::to_owned).collect()
}

pub(super) fn split_template(text: &str, style: Style) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    let first = style.delimiters().0.as_bytes()[0];
    // Most texts have no variable: only where one may begin, the text is looked at.
    while let Some(next) = text.as_bytes()[at..].iter().position(|byte| *byte == first) {
        at += next;
        let Some((name, end)) = variable_at(text, at, style) else {
            at += 1;
            continue;
        };
        if from < at {
            pieces.push(TemplatePiece { text: &text[from..at], name: None });
        }
        pieces.push(TemplatePiece { text: &text[at..end], name: Some(name) });
        (from, at) = (end, end);
    }
    if from < text.len() {
        pieces.push(TemplatePiece { text: &text[from..], name: None });
    }
    pieces
}

/// The variable that begins exactly here, and where it ends.
pub(super) fn variable_at(text: &str, at: usize, style: Style) -> Option<(&str, usize)> {
    let (open, close) = style.delimiters();
    let bytes = text.as_bytes();
    if !bytes.get(at..)?.starts_with(open.as_bytes()) {
        return None;
    }
    let start = at + open.len();
    let length = bytes[start..].iter().take_while(|b| is_name_byte(**b)).count();
    let end = start + length;
    let sound = length > 0 && !bytes[start].is_ascii_digit();
    (sound && bytes[end..].starts_with(close.as_bytes()))
        .then(|| (&text[start..end], end + close.len()))
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
