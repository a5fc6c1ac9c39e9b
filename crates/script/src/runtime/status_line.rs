//! Status line texts of modules: the last text of each key, on one line, without control sequences,
//! cut to the line's width.

use std::collections::BTreeMap;

use gambrel_model::text::is_display_control;
use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The most columns of a text.
const MAX_STATUS_COLUMNS: usize = 80;

/// Texts by key since they were last taken; `None` clears a key.
#[derive(Debug, Default)]
pub struct Statuses(BTreeMap<String, Option<String>>);

impl Statuses {
    /// Records an effect of the status line. False for other effects.
    pub fn record_effect(&mut self, effect: &Value) -> bool {
        let is_status = effect["type"] == "setStatus";
        if let Some(key) = effect["key"].as_str().filter(|_| is_status) {
            let text = cut_to_width(&clean_line(effect["text"].as_str().unwrap_or_default()));
            self.0.insert(key.to_owned(), Some(text).filter(|text| !text.is_empty()));
        }
        is_status
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes all texts, as one effect a key, sorted by key.
    pub fn drain_effects(&mut self) -> impl Iterator<Item = Value> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.map(|(key, text)| json!({"type": "setStatus", "key": key, "text": text}))
    }
}

/// One line without escape sequences, control characters and repeated spaces.
fn clean_line(text: &str) -> String {
    let plain = strip_escape_sequences(text);
    let parts = plain.split(|c: char| c == ' ' || c.is_control() || is_display_control(c));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn strip_escape_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let begun = match c {
            '\u{1b}' => rest.next(),
            '\u{9b}' => Some('['),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => Some(']'),
            _ => {
                plain.push(c);
                continue;
            }
        };
        match begun {
            // Parameters up to the final byte.
            Some('[') => while rest.next().is_some_and(|c| !matches!(c, '@'..='~')) {},
            // A string up to its terminator. Without one, the rest is dropped.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(c) = rest.next() {
                    let ended = c == '\u{1b}' && rest.next_if_eq(&'\\').is_some();
                    if ended || matches!(c, '\u{7}' | '\u{9c}') {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    plain
}

fn cut_to_width(text: &str) -> String {
    if text.width() <= MAX_STATUS_COLUMNS {
        return text.to_owned();
    }

    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < MAX_STATUS_COLUMNS
    };

    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}
