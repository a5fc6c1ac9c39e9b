//! Files that are no code: what they say is their default export, and each field of it one by its
//! name. Knows no disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::loader;
use crate::positions::Positions;
use crate::scan::Needs;
use crate::transpile::{Point, Refusal, Unit};

/// A file that is no code, as a module; nothing if it is code. `as_text` is what its importer says
/// of it, where its name says nothing.
pub fn read(path: &Path, text: &str, as_text: bool) -> Option<Result<Unit, Refusal>> {
    match path.extension().and_then(|ending| ending.to_str()) {
        _ if as_text => Some(Ok(plain(text))),
        Some("txt" | "md") => Some(Ok(plain(text))),
        Some("json") => Some(json(text)),
        Some("jsonc") => Some(json(&uncommented(text))),
        Some("toml") => {
            let message = "TOML cannot be imported here; with { type: \"text\" } its text can";
            Some(Err(Refusal { message: message.into(), at: None }))
        }
        _ => None,
    }
}

fn plain(text: &str) -> Unit {
    unit(&serde_json::Value::from(text))
}

fn json(text: &str) -> Result<Unit, Refusal> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|e| Refusal { message: e.to_string(), at: Some(at(&e)) })?;
    Ok(unit(&value))
}

fn at(error: &serde_json::Error) -> Point {
    let counted = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Point { line: counted(error.line()), column: counted(error.column()) }
}

fn unit(value: &serde_json::Value) -> Unit {
    let fields = value.as_object();
    let names: BTreeSet<String> = fields.into_iter().flat_map(|all| all.keys().cloned()).collect();
    let code = loader::face(format!("const m = {value};\nexport default m;\n"), &names);
    let (positions, needs) = (Positions::default(), Needs::default());
    Unit { code, positions, needs, imported_at: BTreeMap::new() }
}

/// JSON without its comments and without commas that nothing follows. No line moves.
pub fn uncommented(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // The comma after which nothing but blanks has come.
    let mut comma = None;
    while let Some(next) = rest.chars().next() {
        let length = piece(rest);
        let (piece, after) = rest.split_at(length);
        rest = after;
        if piece.starts_with("//") || piece.starts_with("/*") {
            kept.extend(piece.chars().filter(|c| *c == '\n'));
            continue;
        }
        if let (']' | '}', Some(at)) = (next, comma) {
            kept.replace_range(at..=at, " ");
        }
        if !next.is_whitespace() {
            comma = (next == ',').then_some(kept.len());
        }
        kept.push_str(piece);
    }
    kept
}

/// How long the text, comment or character is that a document begins with.
fn piece(text: &str) -> usize {
    let up_to = |end: Option<usize>| end.unwrap_or(text.len());
    match text.as_bytes() {
        [b'/', b'/', ..] => up_to(text.find('\n')),
        [b'/', b'*', ..] => up_to(text.find("*/").map(|at| at + 2)),
        [b'"', inner @ ..] => {
            let mut escaped = false;
            let closes = inner.iter().position(|byte| {
                let closes = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                closes
            });
            up_to(closes.map(|at| at + 2))
        }
        _ => text.chars().next().map_or(0, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_texts_stay() {
        let text = "{ // one\n \"a//\": [1, /* two\n */ 2, ], \"b\\\"/*\": \",]\", /* , */ }";
        let read: serde_json::Value = serde_json::from_str(&uncommented(text)).unwrap();
        assert_eq!(read, serde_json::json!({"a//": [1, 2], "b\"/*": ",]"}));
        assert_eq!(uncommented(text).lines().count(), text.lines().count());
    }
}
