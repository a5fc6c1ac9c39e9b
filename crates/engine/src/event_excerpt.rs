//! What the journal keeps of an event: its payload, so that it can be fired again. Long texts are
//! cut, and fields that hold what a hook rewrote are left out. It must not know any payload.

use gambrel_model::ledger::CWD_KEY;
use gambrel_model::text::cut_at_word;
use gambrel_model::{Event, Slot};
use serde_json::{Map, Value};

/// Maximum size of the payload of a firing that ran hooks.
const MAX_EVENT_BYTES: usize = 16 * 1024;
/// Maximum length of one text in it, so that one long text does not displace the others.
const MAX_EVENT_TEXT_BYTES: usize = 8 * 1024;
/// Maximum size of the payload of a firing without hooks. There are many, so their records stay
/// small.
const MAX_UNMET_EVENT_BYTES: usize = 176;
/// Maximum length of one text in it.
const MAX_UNMET_EVENT_TEXT_BYTES: usize = 120;
/// Maximum number of reported paths, with hooks and without.
const MAX_PATH_COUNT: usize = 8;
const MAX_UNMET_PATH_COUNT: usize = 1;
/// Size of a value that is not a text, and of the punctuation around each value.
const SCALAR_BYTES: usize = 6;

/// An excerpt of a payload.
#[derive(Debug, Default)]
pub(crate) struct EventExcerpt {
    /// The payload without the fields that the record has anyway.
    pub native: Value,
    /// JSON pointers of texts that were cut, and of values that were dropped.
    pub cut: Vec<String>,
    /// JSON pointers of fields that hold what a hook rewrote.
    pub left_out: Vec<String>,
}

/// The excerpt of an event that hooks received. `rewritten` lists the pointers to leave out.
pub(crate) fn excerpt_event(event: &Event, rewritten: &[&str]) -> EventExcerpt {
    let mut reader = ExcerptReader::new(MAX_EVENT_BYTES, MAX_EVENT_TEXT_BYTES);
    reader.max_paths = MAX_PATH_COUNT;
    read_payload(event, &[], rewritten, reader)
}

/// The short excerpt of an event without a hook. The output of a tool is not in it.
pub(crate) fn excerpt_unmet_event(event: &Event) -> EventExcerpt {
    let properties = &event.dialect.properties;
    let has_result = event.facts.tool.as_ref().is_some_and(|tool| tool.result.is_some());
    let outputs: Vec<&str> = match has_result {
        true => properties.pointers_of(&Slot::Output).collect(),
        false => Vec::new(),
    };
    let reader = ExcerptReader::new(MAX_UNMET_EVENT_BYTES, MAX_UNMET_EVENT_TEXT_BYTES);
    read_payload(event, properties.incidental_keys, &outputs, reader)
}

fn read_payload(
    event: &Event,
    incidental: &[&str],
    rewritten: &[&str],
    mut reader: ExcerptReader,
) -> EventExcerpt {
    let Value::Object(fields) = &event.native else { return EventExcerpt::default() };
    let own = fields.iter().filter(|(key, value)| {
        !incidental.contains(&key.as_str()) && !is_known_field(event, key, value)
    });
    let native = reader.read_fields(own, rewritten);
    EventExcerpt { native: Value::Object(native), cut: reader.cut, left_out: reader.left_out }
}

/// Whether the record has a field of the payload anyway.
fn is_known_field(event: &Event, key: &str, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let properties = &event.dialect.properties;
    (properties.event_keys.first() == Some(&key) && text == event.name)
        || (properties.session_keys.first() == Some(&key) && text == event.session)
        || (key == CWD_KEY && event.cwd.as_os_str() == text)
}

/// Copies values until its budget is spent.
struct ExcerptReader {
    budget: usize,
    max_text: usize,
    max_paths: usize,
    path: String,
    cut: Vec<String>,
    left_out: Vec<String>,
}

impl ExcerptReader {
    fn new(budget: usize, max_text: usize) -> Self {
        Self {
            budget,
            max_text,
            max_paths: MAX_UNMET_PATH_COUNT,
            path: String::new(),
            cut: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn read_fields<'v>(
        &mut self,
        fields: impl Iterator<Item = (&'v String, &'v Value)>,
        rewritten: &[&str],
    ) -> Map<String, Value> {
        let mut copy = Map::new();
        for (key, value) in fields {
            let parent = self.path.len();
            self.path.push('/');
            self.path.push_str(key);
            if rewritten.contains(&self.path.as_str()) {
                self.left_out.push(self.path.clone());
            } else if self.spend(key.len()) {
                copy.extend(self.read_value(value, rewritten).map(|value| (key.clone(), value)));
            }
            self.path.truncate(parent);
        }
        copy
    }

    fn read_items(&mut self, items: &[Value], rewritten: &[&str]) -> Vec<Value> {
        let mut copy = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let parent = self.path.len();
            self.path.push_str(&format!("/{index}"));
            let kept = self.read_value(item, rewritten);
            self.path.truncate(parent);
            match kept {
                Some(value) => copy.push(value),
                None => break,
            }
        }
        copy
    }

    /// A value without the texts that are too long; `None` if the budget is spent.
    fn read_value(&mut self, value: &Value, rewritten: &[&str]) -> Option<Value> {
        if !self.spend(SCALAR_BYTES) {
            return None;
        }
        Some(match value {
            Value::String(text) => Value::String(self.read_text(text)),
            Value::Array(items) => Value::Array(self.read_items(items, rewritten)),
            Value::Object(fields) => Value::Object(self.read_fields(fields.iter(), rewritten)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    fn read_text(&mut self, text: &str) -> String {
        let max = self.max_text.min(self.budget);
        if text.len() > max {
            self.mark_cut();
        }
        let kept = cut_at_word(text, max);
        self.budget = self.budget.saturating_sub(kept.len());
        kept.to_owned()
    }

    /// Whether so many bytes are left. Marks the current value as cut if not.
    fn spend(&mut self, bytes: usize) -> bool {
        let is_left = self.budget > bytes;
        if is_left {
            self.budget -= bytes;
        } else {
            self.mark_cut();
        }
        is_left
    }

    fn mark_cut(&mut self) {
        if self.cut.len() < self.max_paths {
            self.cut.push(self.path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ExcerptReader;

    fn reader(budget: usize, max_text: usize) -> ExcerptReader {
        ExcerptReader { max_paths: 8, ..ExcerptReader::new(budget, max_text) }
    }

    #[test]
    fn keeps_short_values_and_names_cut_ones() {
        let value = json!({"a": "word ".repeat(100), "b": [1, {"c": "x".repeat(90)}], "d": true});
        let mut reader = reader(300, 60);
        let copy = reader.read_value(&value, &["/d"]).unwrap();
        assert_eq!(copy["a"], "word ".repeat(12).trim_end());
        assert_eq!(copy["b"], json!([1, {"c": "x".repeat(60)}]));
        assert_eq!(copy.get("d"), None);
        assert_eq!(reader.cut, ["/a", "/b/1/c"]);
        assert_eq!(reader.left_out, ["/d"]);
    }

    #[test]
    fn stays_within_its_budget() {
        let many: Vec<u32> = (0..100_000).collect();
        let value = json!({"first": many, "second": "x"});
        let mut reader = reader(1_000, 100);
        let copy = reader.read_value(&value, &[]).unwrap();
        assert!(copy.to_string().len() <= 1_000, "{copy}");
        let kept = copy["first"].as_array().map_or(0, Vec::len);
        assert_eq!(reader.cut, [format!("/first/{kept}"), "/second".to_owned()]);
        assert_eq!(copy["second"], Value::Null);
    }
}
