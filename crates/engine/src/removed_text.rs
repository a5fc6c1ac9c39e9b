//! What hooks took out of texts. A hook that removes a text does not want it stored, so the journal
//! hides every removed word, also where another hook repeats it.

use std::collections::{BTreeSet, HashSet};

use gambrel_model::json_texts::edit_texts;
use gambrel_model::ledger::{REMOVED_MARK, RecordedFiring};
use gambrel_model::{Event, Patch, Slot, Verdict};
use serde_json::Value;

/// Shorter words are not hidden: they are part of too many others.
const MIN_WORD_BYTES: usize = 4;
/// Above this number, texts that may repeat a word are left out as a whole.
const MAX_WORD_COUNT: usize = 2_000;
/// Longer texts are not compared word by word.
const MAX_COMPARED_BYTES: usize = 1 << 20;
/// Keys of the journal whose texts come from hooks.
const HOOK_TEXT_KEYS: [&str; 7] =
    ["text", "why", "stdout", "stderr", "command", "troubles", "message"];
/// The slots whose removed texts can be found with the record of a firing.
const RECORDED_SLOTS: [Slot; 3] = [Slot::Output, Slot::Prompt, Slot::ChatMessages];
/// What a hook writes in place of a secret, in lower case.
const MASKS: [&str; 8] = ["redact", "***", "xxxx", "•••", "remove", "mask", "hidden", "secret"];

/// The words that hooks removed from the texts of one event.
#[derive(Debug, Default)]
pub(crate) struct RemovedText {
    words: BTreeSet<String>,
    too_many: bool,
    slots: BTreeSet<Slot>,
}

impl RemovedText {
    /// Adds what one hook removes, also if its rewrite does not count in the end.
    pub fn add_rewrites(&mut self, event: &Event, patch: &Patch) {
        for (slot, after) in patch {
            let before = texts_before(event, slot);
            if before.is_empty() {
                continue;
            }
            let after = strings_of(after);
            if *slot != Slot::Input || is_masked(&before, &after) {
                self.slots.insert(slot.clone());
                self.add_words(&before, &after);
            }
        }
    }

    /// What the other hooks of a firing removed, for a hook that ended after the firing or beside it.
    /// As long as the firing has not ended, every word of a text counts as removed.
    pub fn from_recorded(event: &Event, firing: Option<&RecordedFiring<'_>>) -> Self {
        let mut removed = Self::default();
        let ended = firing.filter(|firing| !firing.field("ruling").is_null());
        for slot in RECORDED_SLOTS {
            let before = texts_before(event, &slot);
            let left_out = |pointer: &str| {
                ended.is_none_or(|firing| firing.list("left_out").iter().any(|at| *at == *pointer))
            };
            if !before.is_empty() && event.dialect.properties.pointers_of(&slot).any(left_out) {
                let word = String::from(slot.clone());
                let after = ended.and_then(|it| it.field("rewrites")[&word]["after"].as_str());
                removed.slots.insert(slot);
                removed.add_words(&before, &Vec::from_iter(after));
            }
        }
        removed
    }

    /// Whether an event has texts that [`Self::from_recorded`] looks at.
    pub fn can_be_of(event: &Event) -> bool {
        RECORDED_SLOTS.iter().any(|slot| !texts_before(event, slot).is_empty())
    }

    /// Whether a hook removed something.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the text of a slot before the rewrite must not be stored.
    pub fn covers(&self, slot: &Slot) -> bool {
        self.slots.contains(slot)
    }

    /// The slots whose text before the rewrite must not be stored.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    /// Hides removed words in all texts of a value.
    pub fn hide_in(&self, value: &mut Value) {
        edit_texts(value, &|text| self.hide_words(text));
    }

    /// Hides removed words where a record holds texts of hooks. If there are too many words, leaves
    /// out these texts.
    pub fn hide_in_hook_texts(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_hook_texts(item)),
            Value::Object(fields) => {
                for (key, field) in fields {
                    match HOOK_TEXT_KEYS.contains(&key.as_str()) {
                        true if self.too_many => edit_texts(field, &leave_out),
                        true => self.hide_in(field),
                        false => self.hide_in_hook_texts(field),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Hides removed words in a text, or leaves out all of it if there are too many.
    pub fn hide_in_text(&self, text: &mut String) {
        if self.too_many { leave_out(text) } else { self.hide_words(text) }
    }

    /// Hides removed words in reasons and messages.
    pub fn hide_in_verdict(&self, verdict: &mut Verdict) {
        let reasons = verdict.reasons.iter_mut().map(|reason| &mut reason.text);
        let messages = verdict.messages.iter_mut().map(|message| &mut message.text);
        reasons.chain(messages).for_each(|text| self.hide_in_text(text));
    }

    fn hide_words(&self, text: &mut String) {
        for word in self.words.iter().take(MAX_WORD_COUNT) {
            if text.contains(word.as_str()) {
                *text = text.replace(word.as_str(), REMOVED_MARK);
            }
        }
    }

    fn add_words(&mut self, before: &[&str], after: &[&str]) {
        let size: usize = before.iter().chain(after).map(|text| text.len()).sum();
        if size > MAX_COMPARED_BYTES {
            self.too_many = true;
            return;
        }
        let kept: HashSet<&str> = after.iter().flat_map(|text| words_of(text)).collect();
        let removed = before.iter().flat_map(|text| words_of(text));
        let removed = removed.filter(|word| word.len() >= MIN_WORD_BYTES && !kept.contains(word));
        self.words.extend(removed.map(str::to_owned));
        self.too_many |= self.words.len() > MAX_WORD_COUNT;
    }
}

fn leave_out(text: &mut String) {
    if !text.is_empty() {
        *text = format!("[{} bytes left out: a hook removed much of the text]", text.len());
    }
}

/// The texts of a slot before any hook.
pub(crate) fn texts_before<'e>(event: &'e Event, slot: &Slot) -> Vec<&'e str> {
    let facts = &event.facts;
    let tool = facts.tool.as_ref();
    match slot {
        Slot::Input => tool.map(|tool| strings_of(&tool.args)).unwrap_or_default(),
        Slot::Output => {
            let Some(result) = tool.and_then(|tool| tool.result.as_ref()) else {
                return Vec::new();
            };
            let blocks: Vec<&str> = result.content.iter().flat_map(strings_of).collect();
            if blocks.is_empty() { strings_of(&result.native) } else { blocks }
        }
        Slot::Prompt => facts.prompt.as_deref().into_iter().collect(),
        Slot::ChatMessages => facts.chat_messages.as_ref().map(strings_of).unwrap_or_default(),
        Slot::InjectedMessage => Vec::new(),
        Slot::Native(_) | Slot::List(_) => {
            let pointers = event.dialect.properties.pointers_of(slot);
            pointers.filter_map(|at| event.native.pointer(at)).flat_map(strings_of).collect()
        }
    }
}

/// The texts after a rewrite of a slot.
pub(crate) fn texts_after(rewrite: &Value) -> Vec<&str> {
    let blocks = rewrite.get("content").map(strings_of).filter(|texts| !texts.is_empty());
    blocks.unwrap_or_else(|| strings_of(rewrite))
}

/// All texts in a value.
pub(crate) fn strings_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings_of).collect(),
        // The type of a block is no text of the agent.
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "type")
            .flat_map(|(_, v)| strings_of(v))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Whether a rewrite of an input puts a mask in place of a word.
fn is_masked(before: &[&str], after: &[&str]) -> bool {
    let has = |texts: &[&str], mask: &str| texts.iter().any(|t| t.to_lowercase().contains(mask));
    MASKS.iter().any(|mask| has(after, mask) && !has(before, mask))
}

/// The words of a text. Signs that may join a secret with its name end a word.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{RemovedText, is_masked, strings_of};
    use serde_json::json;

    fn removed(before: &str, after: &str) -> RemovedText {
        let mut removed = RemovedText::default();
        removed.add_words(&[before], &[after]);
        removed
    }

    #[test]
    fn hides_removed_words_in_texts_of_hooks() {
        let removed = removed("TOKEN=canary-1 and on", "TOKEN=*** and on");
        let mut body = json!({
            "reasons": [{"hook": "canary-1", "text": "saw canary-1"}],
            "trail": [{"stdout": "{\"out\":\"TOKEN=canary-1\\n\"}", "command": ["sh", "canary-1"]}],
        });
        removed.hide_in_hook_texts(&mut body);
        assert_eq!(body["reasons"][0]["text"], "saw [removed]");
        assert_eq!(body["reasons"][0]["hook"], "canary-1", "ids stay");
        assert_eq!(body["trail"][0]["stdout"], "{\"out\":\"TOKEN=[removed]\\n\"}");
        assert_eq!(body["trail"][0]["command"][1], "[removed]");
    }

    #[test]
    fn leaves_out_texts_when_very_much_was_removed() {
        let long: String = (0..3_000).map(|n| format!("word{n} ")).collect();
        let mut body = json!({"trail": [{"hook": "word7", "stdout": "word7 again"}]});
        removed(&long, "").hide_in_hook_texts(&mut body);
        assert_eq!(body["trail"][0]["hook"], "word7");
        let text = body["trail"][0]["stdout"].as_str().unwrap();
        assert!(text.contains("left out"), "{text}");
    }

    #[test]
    fn tells_a_mask_from_a_correction() {
        assert!(is_masked(&["curl -H sk-1"], &["curl -H [REDACTED]"]));
        assert!(!is_masked(&["git push --force"], &["git push"]));
        assert!(!is_masked(&["rm secret.txt"], &["rm -i secret.txt"]));
    }

    #[test]
    fn reads_the_texts_of_blocks() {
        let value = json!({"content": [{"type": "text", "text": "a"}], "native": {"stdout": "b"}});
        assert_eq!(strings_of(&value), ["a", "b"]);
    }
}
