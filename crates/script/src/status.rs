//! What modules show in a host's status line: the last text of each key, on one line, without
//! anything that a terminal obeys, no wider than a line. Knows no host.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// As many columns a text may have.
const WIDTH: usize = 80;

/// Texts by key since they were last taken; `None` clears a key.
#[derive(Debug, Default)]
pub struct Statuses(BTreeMap<String, Option<String>>);

impl Statuses {
    /// Takes an effect in if it is about the status line.
    pub fn take(&mut self, effect: &Value) -> bool {
        let told = effect["type"] == "setStatus";
        if let Some(key) = effect["key"].as_str().filter(|_| told) {
            let text = cut(&clean(effect["text"].as_str().unwrap_or_default()));
            self.0.insert(key.to_owned(), Some(text).filter(|text| !text.is_empty()));
        }
        told
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One effect a key, sorted by key; nothing is left.
    pub fn give(&mut self) -> impl Iterator<Item = Value> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.map(|(key, text)| json!({"type": "setStatus", "key": key, "text": text}))
    }
}

/// One line: no terminal sequences, no control characters, no runs of spaces.
fn clean(text: &str) -> String {
    let plain = without_sequences(text);
    let hidden = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let parts = plain.split(|c: char| c == ' ' || c.is_control() || hidden(c));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn without_sequences(text: &str) -> String {
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
            // Parameters up to a letter.
            Some('[') => while rest.next().is_some_and(|c| !matches!(c, '@'..='~')) {},
            // A string up to its terminator; whatever is not ended hides the rest.
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

fn cut(text: &str) -> String {
    if text.width() <= WIDTH {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < WIDTH
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}
