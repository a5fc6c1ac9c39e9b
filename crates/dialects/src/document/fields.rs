//! Reading typed fields off a map, collecting a complaint for each that is not what it should be.
//! One wrong field never costs the reader the others.

use std::time::Duration;

use gambrel_model::complaint::nearest_word;
use gambrel_model::{Complaint, SpannedText};

use super::node::{Content, Document, Language, Node};

const IN_SECONDS: &str = "timeout is in seconds, written as a number: 30";

/// The fields of one map.
pub struct Fields<'d> {
    document: &'d Document<'d>,
    node: &'d Node,
    /// What was wrong so far.
    pub complaints: Vec<Complaint>,
}

impl<'d> Fields<'d> {
    /// The fields of a map.
    pub fn of(document: &'d Document<'d>, node: &'d Node) -> Self {
        Self { document, node, complaints: Vec::new() }
    }

    /// The value under a key, unless it is null.
    pub fn node(&self, key: &str) -> Option<&'d Node> {
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// Whether a key is there at all.
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// A text, with its place.
    pub fn quoted(&mut self, key: &str) -> Option<SpannedText> {
        let node = self.node(key)?;
        let typed = self.document.language == Language::Jsonc;
        match &node.content {
            Content::Scalar { bare, .. } if !(typed && *bare) => self.document.quoted(node),
            _ => {
                let help = unquoted_braces(self.document, node)
                    .then(|| format!("quote it: {key}: \"{{{{…}}}}\""));
                self.wrong(node, key, "a text", help)
            }
        }
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> Option<String> {
        self.quoted(key).map(|quoted| quoted.text)
    }

    /// One of a few words.
    pub fn word(&mut self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let quoted = self.quoted(key)?;
        let found = words.iter().find(|word| **word == quoted.text);
        if found.is_none() {
            let message = format!("`{key}` is one of {}, not `{}`", words.join(", "), quoted.text);
            let complaint = Complaint::error(quoted.spot, message);
            self.complaints.push(match nearest_word(&quoted.text, words.iter().copied()) {
                Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
                None => complaint,
            });
        }
        found.copied()
    }

    /// A boolean.
    pub fn flag(&mut self, key: &str) -> Option<bool> {
        let node = self.node(key)?;
        match node.to_value().as_bool() {
            Some(flag) => Some(flag),
            None => self.wrong(node, key, "true or false", None),
        }
    }

    /// A whole number that is not negative.
    pub fn count(&mut self, key: &str) -> Option<u64> {
        let node = self.node(key)?;
        match node.to_value().as_u64() {
            Some(count) => Some(count),
            None => self.wrong(node, key, "a whole number", None),
        }
    }

    /// A whole number.
    pub fn whole(&mut self, key: &str) -> Option<i64> {
        let node = self.node(key)?;
        match node.to_value().as_i64() {
            Some(whole) => Some(whole),
            None => {
                let help = (key == "timeout").then(|| IN_SECONDS.to_owned());
                self.wrong(node, key, "a whole number", help)
            }
        }
    }

    /// A duration, written as a number of seconds.
    pub fn seconds(&mut self, key: &str) -> Option<Duration> {
        let node = self.node(key)?;
        let number = node.to_value().as_f64().filter(|n| *n >= 0.0 && *n < 1e9);
        match number {
            Some(number) => {
                if key == "timeout" && number >= 10_000.0 && number % 1_000.0 == 0.0 {
                    let message = format!("`{key}` is in seconds: this waits {number} seconds");
                    let help = format!("write {} for that many milliseconds", number / 1_000.0);
                    let spot = self.document.spot_of(node);
                    self.complaints.push(Complaint::warning(spot, message).with_help(help));
                }
                Some(Duration::from_secs_f64(number))
            }
            None => self.no_seconds(node, key),
        }
    }

    fn no_seconds<T>(&mut self, node: &Node, key: &str) -> Option<T> {
        let written = node.to_value();
        if let Some(number) = written.as_f64() {
            let wrong = if number < 0.0 { "negative" } else { "so long" };
            let help = "leave it out for the default";
            self.complain(key, format!("`{key}` cannot be {wrong}: {written}"), help);
            return None;
        }
        let number = written.as_str().map(str::trim).filter(|text| text.parse::<f64>().is_ok());
        let help = number.map_or_else(
            || IN_SECONDS.replace("timeout", key),
            |number| format!("write {number} without quotes"),
        );
        self.wrong(node, key, "a number of seconds", Some(help))
    }

    /// A list of texts.
    pub fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let texts = node.items().map(|items| {
            items.iter().map(|item| item.text().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(Some(texts)) => Some(texts),
            _ => self.wrong(node, key, "a list of texts", None),
        }
    }

    /// Complains of keys that nobody reads, naming the nearest that somebody does.
    pub fn only(&mut self, known: &[&str]) {
        for (key, _) in self.node.entries() {
            let name = key.text().unwrap_or_default();
            if !known.contains(&name) {
                let spot = self.document.spot_of(key);
                let complaint = Complaint::warning(spot, format!("unknown field `{name}`"));
                self.complaints.push(match nearest_word(name, known.iter().copied()) {
                    Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
                    None => complaint.with_help(format!("known here: {}", known.join(", "))),
                });
            }
        }
    }

    /// Where a value stands.
    pub fn spot(&self, node: &Node) -> gambrel_model::SourceSpan {
        self.document.spot_of(node)
    }

    /// Records a mistake at a field, or at the map itself.
    pub fn complain(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let node = self.node.get(key).unwrap_or(self.node);
        let spot = self.document.spot_of(node);
        self.complaints.push(Complaint::error(spot, message).with_help(help));
    }

    fn wrong<T>(
        &mut self,
        node: &Node,
        key: &str,
        wanted: &str,
        help: Option<String>,
    ) -> Option<T> {
        let message = format!("`{key}` should be {wanted}, but is {}", node.kind());
        let complaint = Complaint::error(self.document.spot_of(node), message);
        self.complaints.push(match help {
            Some(help) => complaint.with_help(help),
            None => complaint,
        });
        None
    }
}

/// `command: {{session}}` without quotes is a map in YAML, and never what its author meant.
fn unquoted_braces(document: &Document<'_>, node: &Node) -> bool {
    document
        .text
        .get(node.start..)
        .is_some_and(|rest| rest.starts_with("{{") || rest.starts_with("{ {"))
}
