//! Takes secrets out of text before it is written. Knows names that smell of secrets and shapes
//! that secrets have; knows nothing of where the text goes.

mod needle;
mod pattern;
mod smell;
mod veil;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use needle::Needles;
pub(crate) use veil::{VeiledRecord, veil_state};

/// Passes over one text: a replacement may, joined to its neighbour, spell another secret.
const PASSES: usize = 4;
const SHORTEST_FROM_ENV: usize = 6;
/// Shorter than this and every other word of a log would be taken out.
const SHORTEST_NAMED: usize = 4;

/// Replaces known secrets, and what looks like one, by `[redacted:NAME]`.
#[derive(Default)]
pub struct Redactor {
    known: Vec<(String, String)>,
    needles: OnceLock<Needles>,
}

impl fmt::Debug for Redactor {
    /// Names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.known.iter().map(|(name, _)| name)).finish()
    }
}

impl Redactor {
    /// Learns the values of secret-looking variables of `env`, and of all of `secrets`.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        env: impl Iterator<Item = (N, V)>,
        secrets: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let from_env = env
            .filter(|(_, value)| value.as_ref().len() >= SHORTEST_FROM_ENV)
            .filter(|(name, value)| smell::is_secret(name.as_ref(), value.as_ref()))
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()));
        let named = secrets.filter(|(_, value)| value.len() >= SHORTEST_NAMED);
        Self { known: named.chain(from_env).collect(), needles: OnceLock::new() }
    }

    /// The text without its secrets; borrowed when there were none.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..PASSES {
            match self.pass(&clean) {
                Some(next) => clean = Cow::Owned(next),
                None => return clean,
            }
        }
        // The mark itself spells a secret: better to say nothing at all.
        if self.knows(&clean) { Cow::Borrowed("") } else { clean }
    }

    /// Redacts every string, key and telling number inside `value`.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact_text(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if let Some(mark) = self.redact_number(&number.to_string()) {
                    *value = Value::String(mark);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => self.redact_fields(fields),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// A number that is, or holds, a known secret; shapes do not apply to numbers.
    pub(crate) fn redact_number(&self, digits: &str) -> Option<String> {
        self.knows(digits).then(|| self.redact_text(digits).into_owned())
    }

    fn redact_fields(&self, fields: &mut Map<String, Value>) {
        fields.values_mut().for_each(|field| self.redact_value(field));
        if fields.keys().any(|key| matches!(self.redact_text(key), Cow::Owned(_))) {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, field)| (self.redact_text(&key).into_owned(), field))
                .collect();
        }
    }

    fn knows(&self, text: &str) -> bool {
        let needles = self.needles();
        (0..text.len()).any(|at| needles.starting_at(text.as_bytes(), at).is_some())
    }

    fn needles(&self) -> &Needles {
        self.needles.get_or_init(|| Needles::new(&self.known))
    }

    fn pass(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for (range, name) in found {
            clean.push_str(text.get(from..range.start).unwrap_or_default());
            clean.push_str("[redacted:");
            clean.push_str(name);
            clean.push(']');
            from = range.end;
        }
        clean.push_str(text.get(from..).unwrap_or_default());
        Some(clean)
    }

    /// Every secret in the text; those that overlap are one, named after the first.
    fn find(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let needles = self.needles();
        let bytes = text.as_bytes();
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            if needles.may_start(*byte)
                && let Some((end, name)) = needles.starting_at(bytes, at)
            {
                join(&mut found, at..end, name);
            }
            if pattern::may_start(*byte)
                && let Some((range, name)) = pattern::starting_at(bytes, at)
            {
                join(&mut found, range, name);
            }
        }
        found
    }
}

fn join<'n>(found: &mut Vec<(Range<usize>, &'n str)>, range: Range<usize>, name: &'n str) {
    let mut range = range;
    let mut name = name;
    // A pattern may begin after its trigger, hence possibly behind or before the last find.
    while let Some((last, last_name)) = found.last()
        && range.start < last.end
    {
        range = range.start.min(last.start)..range.end.max(last.end);
        name = last_name;
        found.pop();
    }
    found.push((range, name));
}
