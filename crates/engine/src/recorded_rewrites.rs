//! What the journal keeps of rewrites: of an input before and after, of a text only what is left,
//! how many places changed, and size and hash of the text before.

use std::time::{Duration, Instant};

use gambrel_model::text::{cut_at_word, split_tokens};
use gambrel_model::{Event, Patch, Slot, sha256, to_hex};
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use crate::removed_text::{RemovedText, texts_after, texts_before};

/// Maximum size of each recorded value.
const MAX_REWRITE_BYTES: usize = 16 * 1024;
/// Longer texts are compared by line.
const MAX_COMPARED_BY_WORD_BYTES: usize = 64 * 1024;
/// Maximum time for counting the changed places.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(50);

/// The rewrites that count, by slot.
pub(crate) fn record_rewrites(event: &Event, patch: &Patch, removed: &RemovedText) -> Value {
    let record = |(slot, value): (&Slot, &Value)| {
        let recorded = match slot {
            Slot::Input => record_input(event, value, removed),
            _ => record_text(event, slot, value, removed),
        };
        (String::from(slot.clone()), recorded)
    };
    Value::Object(patch.iter().map(record).collect())
}

fn record_input(event: &Event, after: &Value, removed: &RemovedText) -> Value {
    let before = event.facts.tool.as_ref().map(|tool| &tool.args).unwrap_or(&Value::Null);
    let mut before = cut_value(before);
    if removed.covers(&Slot::Input) {
        removed.hide_in(&mut before);
    }
    json!({"before": before, "after": cut_value(after)})
}

fn record_text(event: &Event, slot: &Slot, rewrite: &Value, removed: &RemovedText) -> Value {
    let before = texts_before(event, slot).join("\n");
    let after = texts_after(rewrite).join("\n");
    let mut kept = json!(cut_at_word(&after, MAX_REWRITE_BYTES));
    // A rewrite that replaced another one may bring back what the other had removed.
    removed.hide_in(&mut kept);
    let mut fields = Map::new();
    fields.insert("after".into(), kept);
    if after.len() > MAX_REWRITE_BYTES {
        fields.insert("after_bytes".into(), json!(after.len()));
    }
    if !before.is_empty() {
        fields.insert("places".into(), json!(count_changed_places(&before, &after)));
        fields.insert("before_bytes".into(), json!(before.len()));
        fields.insert("before_sha256".into(), json!(to_hex(&sha256(&before))));
    }
    Value::Object(fields)
}

/// A value if it is small enough; else as one text, cut.
fn cut_value(value: &Value) -> Value {
    let text = value.to_string();
    match text.len() > MAX_REWRITE_BYTES {
        true => json!(cut_at_word(&text, MAX_REWRITE_BYTES)),
        false => value.clone(),
    }
}

/// How many places of a text differ.
fn count_changed_places(before: &str, after: &str) -> usize {
    let by_line = before.len().max(after.len()) > MAX_COMPARED_BY_WORD_BYTES;
    let split = if by_line { split_lines } else { split_tokens };
    let deadline = Instant::now().checked_add(COMPARE_TIMEOUT);
    let operations =
        capture_diff_slices_deadline(Algorithm::Myers, &split(before), &split(after), deadline);
    let changed: Vec<bool> = operations.iter().map(|op| op.tag() != DiffTag::Equal).collect();
    changed.chunk_by(|one, other| one == other).filter(|run| run[0]).count()
}

fn split_lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[cfg(test)]
mod tests {
    use super::count_changed_places;

    #[test]
    fn counts_the_places_that_differ() {
        assert_eq!(count_changed_places("same", "same"), 0);
        assert_eq!(count_changed_places("a=one, b=two, c=3", "a=***, b=***, c=3"), 2);
        assert_eq!(count_changed_places("keep this\nnot that\n", "keep this\n"), 1);
    }
}
