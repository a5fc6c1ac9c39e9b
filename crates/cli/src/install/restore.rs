//! Describes the text of a settings file before `install` by ranges of the text after it, and by
//! the blanks and brackets between them. No other text is stored, so no secret is.

use gambrel_model::text::split_tokens;
use gambrel_model::to_hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Computes the record that turns `after` into `before`. `None` if words were removed.
pub fn describe_original(before: &str, after: &str) -> Option<Value> {
    let (old, new) = (split_tokens(before), split_tokens(after));
    let offsets = token_offsets(&new);
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
    Some(json!({"after": hash_text(after), "parts": parts}))
}

/// The text before `install`, if `now` is the text after it.
pub fn restore_text(record: &Value, now: &str) -> Option<String> {
    if record["after"].as_str()? != hash_text(now) {
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

fn hash_text(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes()))
}

/// The start of each token, and the end of the last one.
fn token_offsets(tokens: &[&str]) -> Vec<usize> {
    let ends = tokens.iter().scan(0, |end, token| {
        *end += token.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}
