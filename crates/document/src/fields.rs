//! Reads typed fields of a map. Every field with a wrong type adds a complaint; the other fields
//! are still read.

use std::path::Path;
use std::time::Duration;

use gambrel_model::complaint::{Severity, nearest_word};
use gambrel_model::{Complaint, SpannedText};

use crate::node::{Document, DocumentLanguage, DocumentNode, NodeContent};

const SECONDS_HELP: &str = "timeout is in seconds, written as a number: 30";

/// The fields of one map.
pub struct DocumentFields<'d> {
    document: &'d Document<'d>,
    node: &'d DocumentNode<'d>,
    /// The complaints so far.
    pub complaints: Vec<Complaint>,
}

impl<'d> DocumentFields<'d> {
    /// The fields of a map.
    pub fn new(document: &'d Document<'d>, node: &'d DocumentNode<'d>) -> Self {
        Self { document, node, complaints: Vec::new() }
    }

    /// The value under a key, unless it is null.
    pub fn node(&self, key: &str) -> Option<&'d DocumentNode<'d>> {
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// Whether a key has a value that is not null.
    pub fn has_key(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// A text with its span.
    pub fn read_spanned(&mut self, key: &str) -> Option<SpannedText> {
        let node = self.read_text_node(key)?;
        self.document.spanned_text(node)
    }

    /// A text.
    pub fn read_text(&mut self, key: &str) -> Option<String> {
        self.read_str(key).map(str::to_owned)
    }

    /// A text, as a part of the document.
    pub fn read_str(&mut self, key: &str) -> Option<&'d str> {
        self.read_text_node(key).and_then(DocumentNode::text)
    }

    fn read_text_node(&mut self, key: &str) -> Option<&'d DocumentNode<'d>> {
        let node = self.node(key)?;
        let typed = self.document.language == DocumentLanguage::Jsonc;
        match &node.content {
            NodeContent::Scalar { bare, .. } if !(typed && *bare) => Some(node),
            _ => {
                let help = has_unquoted_braces(self.document, node)
                    .then(|| format!("quote it: {key}: \"{{{{…}}}}\""));
                self.report_wrong_type(node, key, "a text", help)
            }
        }
    }

    /// One of the given words.
    pub fn read_word(&mut self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let node = self.read_text_node(key)?;
        let text = node.text()?;
        let found = words.iter().find(|word| **word == text);
        if found.is_none() {
            let message = format!("`{key}` is one of {}, not `{text}`", words.join(", "));
            let complaint = Complaint::error(self.document.span_of(node), message);
            self.complaints.push(match nearest_word(text, words.iter().copied()) {
                Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
                None => complaint,
            });
        }
        found.copied()
    }

    /// A boolean.
    pub fn read_flag(&mut self, key: &str) -> Option<bool> {
        let node = self.node(key)?;
        match node.to_value().as_bool() {
            Some(flag) => Some(flag),
            None => self.report_wrong_type(node, key, "true or false", None),
        }
    }

    /// A non-negative integer.
    pub fn read_count(&mut self, key: &str) -> Option<u64> {
        let node = self.node(key)?;
        match node.to_value().as_u64() {
            Some(count) => Some(count),
            None => self.report_wrong_type(node, key, "a whole number", None),
        }
    }

    /// An integer.
    pub fn read_integer(&mut self, key: &str) -> Option<i64> {
        let node = self.node(key)?;
        match node.to_value().as_i64() {
            Some(whole) => Some(whole),
            None => {
                let help = (key == "timeout").then(|| SECONDS_HELP.to_owned());
                self.report_wrong_type(node, key, "a whole number", help)
            }
        }
    }

    /// A duration in seconds.
    pub fn read_seconds(&mut self, key: &str) -> Option<Duration> {
        let node = self.node(key)?;
        let number = node.to_value().as_f64().filter(|n| *n >= 0.0 && *n < 1e9);
        match number {
            Some(number) => {
                if key == "timeout" && number >= 10_000.0 && number % 1_000.0 == 0.0 {
                    let message = format!("`{key}` is in seconds: this waits {number} seconds");
                    let help = format!("write {} for that many milliseconds", number / 1_000.0);
                    let spot = self.document.span_of(node);
                    self.complaints.push(Complaint::warning(spot, message).with_help(help));
                }
                Some(Duration::from_secs_f64(number))
            }
            None => self.report_bad_seconds(node, key),
        }
    }

    fn report_bad_seconds<T>(&mut self, node: &DocumentNode<'_>, key: &str) -> Option<T> {
        let written = node.to_value();
        if let Some(number) = written.as_f64() {
            let wrong = if number < 0.0 { "negative" } else { "so long" };
            let help = "leave it out for the default";
            self.add_error(key, format!("`{key}` cannot be {wrong}: {written}"), help);
            return None;
        }

        let number = written.as_str().map(str::trim).filter(|text| text.parse::<f64>().is_ok());
        let help = number.map_or_else(
            || SECONDS_HELP.replace("timeout", key),
            |number| format!("write {number} without quotes"),
        );
        self.report_wrong_type(node, key, "a number of seconds", Some(help))
    }

    /// A list of texts.
    pub fn read_texts(&mut self, key: &str) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let texts = node.items().map(|items| {
            items.iter().map(|item| item.text().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(Some(texts)) => Some(texts),
            _ => self.report_wrong_type(node, key, "a list of texts", None),
        }
    }

    /// Reads a map.
    pub fn read_map(&mut self, key: &str, help: &str) -> Option<&'d DocumentNode<'d>> {
        let node = self.node(key)?;
        if node.is_map() {
            return Some(node);
        }
        self.report_wrong_type(node, key, "a map", Some(help.to_owned()))
    }

    /// Reads a map whose values are texts.
    pub fn read_text_map(&mut self, key: &str, help: &str) {
        let entries = self.read_map(key, help).map(DocumentNode::entries).unwrap_or_default();
        for (name, value) in entries.iter().filter(|(_, value)| value.text().is_none()) {
            let name = format!("{key}.{}", name.text().unwrap_or_default());
            let _: Option<()> = self.report_wrong_type(value, &name, "a text", Some(help.into()));
        }
    }

    /// Reads the fields of a map inside this one.
    pub fn read_inner<T>(
        &mut self,
        node: &'d DocumentNode<'d>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mut inner = Self::new(self.document, node);
        let value = read(&mut inner);
        self.complaints.append(&mut inner.complaints);
        value
    }

    /// Warns of unknown keys and suggests the nearest known one.
    pub fn warn_unknown_keys(&mut self, known: &[&str]) {
        for (key, _) in self.node.entries() {
            let name = key.text().unwrap_or_default();
            if !known.contains(&name) {
                let spot = self.document.span_of(key);
                let complaint = Complaint::warning(spot, format!("unknown field `{name}`"));
                self.complaints.push(match nearest_word(name, known.iter().copied()) {
                    Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
                    None => complaint.with_help(format!("known here: {}", known.join(", "))),
                });
            }
        }
    }

    /// The source span of a value.
    pub fn span_of(&self, node: &DocumentNode<'_>) -> gambrel_model::SourceSpan {
        self.document.span_of(node)
    }

    /// Adds an error at a field, or at the map if the field is absent.
    pub fn add_error(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let node = self.node.get(key).unwrap_or(self.node);
        let spot = self.document.span_of(node);
        self.complaints.push(Complaint::error(spot, message).with_help(help));
    }

    /// Adds a warning at the value of a key, or at the map without one.
    pub fn add_warning(&mut self, key: &str, message: &str, help: &str) {
        self.add_error(key, message, help);
        if let Some(added) = self.complaints.last_mut() {
            added.severity = Severity::Warning;
        }
    }

    fn report_wrong_type<T>(
        &mut self,
        node: &DocumentNode<'_>,
        key: &str,
        wanted: &str,
        help: Option<String>,
    ) -> Option<T> {
        let message = format!("`{key}` should be {wanted}, but is {}", node.kind());
        let complaint = Complaint::error(self.document.span_of(node), message);
        self.complaints.push(match help {
            Some(help) => complaint.with_help(help),
            None => complaint,
        });
        None
    }
}

/// Reads a YAML file whose root is a map. Any other file has a complaint and nothing else.
pub fn read_yaml_map<T: Default>(
    path: &Path,
    text: &str,
    (what, help): (&str, &str),
    read: impl FnOnce(&mut DocumentFields<'_>) -> T,
) -> (T, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let parsed = Document::parse_into(path, text, DocumentLanguage::Yaml, &mut complaints);
    let Some(document) = parsed else { return (T::default(), complaints) };
    let root = &document.root;
    if !root.is_map() {
        let message = format!("the {what} is {}, not a map", root.kind());
        complaints.push(Complaint::error(document.span_of(root), message).with_help(help));
        return (T::default(), complaints);
    }
    let mut fields = DocumentFields::new(&document, root);
    let value = read(&mut fields);
    complaints.append(&mut fields.complaints);
    (value, complaints)
}

/// `command: {{session}}` without quotes is a map in YAML, which no author wants.
fn has_unquoted_braces(document: &Document<'_>, node: &DocumentNode<'_>) -> bool {
    document
        .text
        .get(node.start..)
        .is_some_and(|rest| rest.starts_with("{{") || rest.starts_with("{ {"))
}
