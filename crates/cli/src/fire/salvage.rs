//! What can still be answered when an event cannot be read: for whoever is strict, a gate that could
//! not be asked is refused, in the caller's own words.

use gambrel::model::{Kind, Reply, Ruling, Verdict};
use gambrel::{Decision, Gambrel};
use serde_json::{Map, Value};

/// How much of the bytes is looked at for names.
const HEAD: usize = 64 * 1024;
/// A name is not longer than this.
const NAME: usize = 200;

/// The refusal of an event of which only short texts could be made out; `None` when not even its
/// name could, or when it is no gate.
pub fn refusal(gambrel: &Gambrel, from: &str, bytes: &[u8], why: &str) -> Option<Reply> {
    let fields = short_texts(&bytes[..bytes.len().min(HEAD)]);
    let native = Value::Object(fields).to_string();
    let event = gambrel.receive(from, native.as_bytes()).ok()?;
    if event.kind() != Kind::Gate || event.row.name.is_empty() {
        return None;
    }
    let meant = Verdict::ruled(Ruling::Deny, format!("strict: {why}")).by("gambrel");
    let said = meant.clone().said_by(event.row);
    let decision = Decision { meant, said: said.said, ..Decision::default() };
    Some(event.from.reply(&event, &decision))
}

/// `"key": "value"` pairs in order, the first of each name.
fn short_texts(bytes: &[u8]) -> Map<String, Value> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Map::new();
    let parts: Vec<&str> = text.split('"').collect();
    for window in parts.windows(4) {
        if let [_, key, colon, value] = window {
            let named = colon.trim() == ":" && key.len() < NAME && value.len() < NAME;
            if named && !value.ends_with('\\') && !found.contains_key(*key) {
                found.insert((*key).to_owned(), Value::from(*value));
            }
        }
    }
    found
}
