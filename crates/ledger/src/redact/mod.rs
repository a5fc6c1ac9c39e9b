//! Redacts secrets in text before it is written. Finds the values of secret variables, and texts
//! with a known format of secrets.

mod byte_marks;
mod env_heuristics;
mod needle;
mod pattern;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use byte_marks::ByteMarks;
use needle::Needles;
pub(crate) use write::{redact_state, write_record};

/// Maximum number of passes over a text. A replacement next to other text may form another secret.
const MAX_PASS_COUNT: usize = 4;
/// Shorter values of environment variables are not secrets.
const MIN_ENV_SECRET_BYTES: usize = 6;
/// Shorter values would redact too many common words.
const MIN_NAMED_SECRET_BYTES: usize = 4;

/// Replaces known secrets, and texts in the format of a secret, by `[redacted:NAME]`.
#[derive(Default)]
pub struct Redactor {
    known: Vec<(String, String)>,
    search: OnceLock<SecretSearch>,
}

/// What a search for secrets needs.
struct SecretSearch {
    needles: Needles,
    marks: ByteMarks,
}

impl fmt::Debug for Redactor {
    /// Prints the names, not the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.known.iter().map(|(name, _)| name)).finish()
    }
}

impl Redactor {
    /// Collects the values of all `secrets`, and of variables in `env` that look like secrets.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        env: impl Iterator<Item = (N, V)>,
        secrets: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let from_env = env
            .filter(|(_, value)| value.as_ref().len() >= MIN_ENV_SECRET_BYTES)
            .filter(|(name, value)| env_heuristics::is_secret(name.as_ref(), value.as_ref()))
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()));
        let named = secrets.filter(|(_, value)| value.len() >= MIN_NAMED_SECRET_BYTES);
        Self { known: named.chain(from_env).collect(), search: OnceLock::new() }
    }

    /// The text without its secrets; borrowed if it has none.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for _ in 0..MAX_PASS_COUNT {
            match self.redact_once(&clean) {
                Some(next) => clean = Cow::Owned(next),
                None => return clean,
            }
        }
        // The replacement itself contains a secret, so the whole text is dropped.
        if self.contains_known(clean.as_bytes()) { Cow::Borrowed("") } else { clean }
    }

    /// Redacts every string, key and secret number inside `value`.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact_text(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                let digits = number.to_string();
                if self.contains_known(digits.as_bytes()) {
                    *value = Value::String(self.redact_text(&digits).into_owned());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => self.redact_fields(fields),
            Value::Null | Value::Bool(_) => {}
        }
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

    /// Whether a known secret is in the text. Formats do not apply to numbers.
    fn contains_known(&self, text: &[u8]) -> bool {
        let needles = &self.search().needles;
        (0..text.len()).any(|at| needles.starting_at(text, at).is_some())
    }

    fn search(&self) -> &SecretSearch {
        self.search.get_or_init(|| {
            let needles = Needles::new(&self.known);
            SecretSearch { marks: ByteMarks::new(&needles), needles }
        })
    }

    fn redact_once(&self, text: &str) -> Option<String> {
        let found = self.find_secrets(text);
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

    /// Finds all secrets in a text. Overlapping ones are joined and get the name of the first.
    fn find_secrets(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let search = self.search();
        let bytes = text.as_bytes();
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        let mut from = 0;
        while let Some(at) = search.marks.find_secret(bytes, from) {
            for (range, name) in search.secrets_at(bytes, at) {
                join_match(&mut found, range, name);
            }
            from = at + 1;
        }
        found
    }
}

impl SecretSearch {
    /// The known value and the format that begin at an offset, with their names.
    fn secrets_at(&self, text: &[u8], at: usize) -> impl Iterator<Item = (Range<usize>, &str)> {
        let known = self.needles.starting_at(text, at).map(|(end, name)| (at..end, name));
        known.into_iter().chain(pattern::starting_at(text, at))
    }
}

fn join_match<'n>(found: &mut Vec<(Range<usize>, &'n str)>, range: Range<usize>, name: &'n str) {
    let mut range = range;
    let mut name = name;
    // A pattern may begin after its prefix, so it may overlap with earlier matches.
    while let Some((last, last_name)) = found.last()
        && range.start < last.end
    {
        range = range.start.min(last.start)..range.end.max(last.end);
        name = last_name;
        found.pop();
    }
    found.push((range, name));
}
