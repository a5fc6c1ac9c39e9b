//! Imports of JSON and text files. The content is the default export, and each field of an object
//! is a named export. Reads no files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::module_text;
use super::scan::Needs;
use super::source_map::SourceMap;
use super::transpile::{CompileError, CompiledUnit, SourcePoint};

/// A data file as a module; `None` if the file is code. `as_text` is true if the importer asks for
/// the text.
pub fn parse_data_module(
    path: &Path,
    text: &str,
    as_text: bool,
) -> Option<Result<CompiledUnit, CompileError>> {
    match path.extension().and_then(|ending| ending.to_str()) {
        _ if as_text => Some(Ok(text_unit(text))),
        Some("txt" | "md") => Some(Ok(text_unit(text))),
        Some("json") => Some(json_unit(text)),
        Some("jsonc") => Some(json_unit(&strip_json_comments(text))),
        Some("toml") => {
            let message =
                "TOML imports are not supported; add `with { type: \"text\" }` to import the text";
            Some(Err(CompileError { message: message.into(), at: None }))
        }
        _ => None,
    }
}

fn text_unit(text: &str) -> CompiledUnit {
    build_unit(&serde_json::Value::from(text))
}

fn json_unit(text: &str) -> Result<CompiledUnit, CompileError> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|e| CompileError { message: e.to_string(), at: Some(error_point(&e)) })?;
    Ok(build_unit(&value))
}

fn error_point(error: &serde_json::Error) -> SourcePoint {
    let counted = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    SourcePoint { line: counted(error.line()), column: counted(error.column()) }
}

fn build_unit(value: &serde_json::Value) -> CompiledUnit {
    let fields = value.as_object();
    let names: BTreeSet<String> = fields.into_iter().flat_map(|all| all.keys().cloned()).collect();
    let code =
        module_text::export_fields(format!("const m = {value};\nexport default m;\n"), &names);
    let (source_map, needs) = (SourceMap::default(), Needs::default());
    CompiledUnit { code, source_map, needs, imported_at: BTreeMap::new() }
}

/// Removes comments and trailing commas from JSON. Line numbers stay.
pub fn strip_json_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // Position of the last comma, while only blanks have followed it.
    let mut comma = None;

    while let Some(next) = rest.chars().next() {
        let length = token_length(rest);

        let (token, after) = rest.split_at(length);
        rest = after;
        if token.starts_with("//") || token.starts_with("/*") {
            kept.extend(token.chars().filter(|c| *c == '\n'));
            continue;
        }

        if let (']' | '}', Some(at)) = (next, comma) {
            kept.replace_range(at..=at, " ");
        }

        if !next.is_whitespace() {
            comma = (next == ',').then_some(kept.len());
        }
        kept.push_str(token);
    }
    kept
}

/// The length of the string, comment or character at the start of the text.
fn token_length(text: &str) -> usize {
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
    fn strips_comments_but_keeps_strings() {
        let text = "{ // one\n \"a//\": [1, /* two\n */ 2, ], \"b\\\"/*\": \",]\", /* , */ }";
        let read: serde_json::Value = serde_json::from_str(&strip_json_comments(text)).unwrap();
        assert_eq!(read, serde_json::json!({"a//": [1, 2], "b\"/*": ",]"}));
        assert_eq!(strip_json_comments(text).lines().count(), text.lines().count());
    }
}
