//! How a settings file was before gambrel's entries were added, told in terms of how it is after:
//! which parts of it are kept, and the blanks and brackets between them. Nothing that the file says
//! is stored, so nothing secret is.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// What turns the text after into the text before. `None` when words were removed.
pub fn record(before: &str, after: &str) -> Option<Value> {
    let (old, new) = (tokens(before), tokens(after));
    let offsets = offsets(&new);
    let mut parts = Vec::new();
    for step in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match step {
            DiffOp::Equal { new_index, len, .. } => {
                parts.push(json!([offsets[new_index], offsets[new_index + len]]));
            }
            DiffOp::Insert { .. } => {}
            DiffOp::Delete { old_index, old_len, .. }
            | DiffOp::Replace { old_index, old_len, .. } => {
                let removed = old[old_index..old_index + old_len].concat();
                if !removed.chars().all(|c| c.is_whitespace() || "{}[],".contains(c)) {
                    return None;
                }
                parts.push(json!(removed));
            }
        }
    }
    Some(json!({"after": digest(after), "parts": parts}))
}

/// The text before, if the file is still as it was left.
pub fn undo(record: &Value, now: &str) -> Option<String> {
    if record["after"].as_str()? != digest(now) {
        return None;
    }
    let mut before = String::new();
    for part in record["parts"].as_array()? {
        match part {
            Value::String(text) => before.push_str(text),
            range => {
                let at = |index: usize| usize::try_from(range[index].as_u64()?).ok();
                before.push_str(now.get(at(0)?..at(1)?)?);
            }
        }
    }
    Some(before)
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs of letters and digits, and everything else character by character.
fn tokens(text: &str) -> Vec<&str> {
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

/// Where each token begins, and where the last one ends.
fn offsets(tokens: &[&str]) -> Vec<usize> {
    let ends = tokens.iter().scan(0, |end, token| {
        *end += token.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}
