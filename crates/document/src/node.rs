//! The document tree, and the mapping from a node to its source span.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gambrel_model::{Complaint, SourceSpan, SpannedText};
use serde_json::{Map, Number, Value};

use crate::line_index::LineIndex;

/// The language of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentLanguage {
    /// YAML 1.2.
    Yaml,
    /// JSON with comments and trailing commas.
    Jsonc,
}

/// A parsed file.
#[derive(Debug)]
pub struct Document<'t> {
    /// The path of the file.
    pub path: PathBuf,
    /// The text without a byte order mark.
    pub text: &'t str,
    /// The language of the text.
    pub language: DocumentLanguage,
    /// The root of the tree.
    pub root: DocumentNode<'t>,
    /// Mistakes that did not stop the parser: duplicate keys.
    pub complaints: Vec<Complaint>,
    lines: LineIndex,
}

/// One value and its byte range.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentNode<'t> {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// The value.
    pub content: NodeContent<'t>,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeContent<'t> {
    /// A scalar. Without quotes it may be a number or a word like `true`.
    Scalar {
        /// The text without quotes and escapes; borrowed where it stands so in the source.
        text: Cow<'t, str>,
        /// Whether it has no quotes.
        bare: bool,
    },
    /// A list.
    List(Vec<DocumentNode<'t>>),
    /// Keys and values, in order, each key once.
    Map(Vec<MapEntry<'t>>),
}

/// A key of a map, and its value.
pub type MapEntry<'t> = (DocumentNode<'t>, DocumentNode<'t>);

impl<'t> Document<'t> {
    /// Parses a text. The error is one complaint with its span.
    pub fn parse(
        path: &Path,
        text: &'t str,
        language: DocumentLanguage,
    ) -> Result<Self, Complaint> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut document = Self {
            path: path.into(),
            text,
            language,
            root: DocumentNode::empty_map(),
            complaints: Vec::new(),
            lines: LineIndex::default(),
        };

        document.root = match language {
            DocumentLanguage::Yaml => crate::yaml::parse_yaml(&mut document)?,
            DocumentLanguage::Jsonc => crate::jsonc::parse_jsonc(&mut document)?,
        };
        Ok(document)
    }

    /// Parses a text, and adds its mistakes to `complaints`. `None` if it cannot be parsed.
    pub fn parse_into(
        path: &Path,
        text: &'t str,
        language: DocumentLanguage,
        complaints: &mut Vec<Complaint>,
    ) -> Option<Self> {
        match Self::parse(path, text, language) {
            Ok(mut document) => {
                complaints.append(&mut document.complaints);
                Some(document)
            }
            Err(complaint) => {
                complaints.push(complaint);
                None
            }
        }
    }

    /// The source span of a byte range.
    pub fn span_at(&self, start: usize, end: usize) -> SourceSpan {
        let (line, column) = self.lines.position_of(self.text, start);
        let end = end.min(self.text.len());
        SourceSpan { path: self.path.clone(), line, column, start, end }
    }

    /// The source span of a node.
    pub fn span_of(&self, node: &DocumentNode<'_>) -> SourceSpan {
        self.span_at(node.start, node.end)
    }

    /// The text of a scalar, with the source position of each of its bytes.
    pub fn spanned_text(&self, node: &DocumentNode<'_>) -> Option<SpannedText> {
        let NodeContent::Scalar { text, .. } = &node.content else { return None };

        let spot = self.span_of(node);
        let raw = self.text.get(node.start..node.end).unwrap_or_default();
        let skip = u32::from(raw.starts_with(['"', '\'']));
        if raw.get(skip as usize..).is_some_and(|rest| rest.starts_with(&**text)) {
            return Some(SpannedText::from_source(text, spot, skip));
        }
        let steps = source_offsets(text, raw);
        Some(SpannedText { text: text.to_string(), spot, skip: None, steps })
    }
}

/// Source offsets for text that was escaped or folded. Each character is searched in the raw text
/// after the previous match, which is exact enough to point at the right word.
fn source_offsets(text: &str, raw: &str) -> Vec<u32> {
    let mut at = 0;
    let mut steps = Vec::with_capacity(text.len());
    for c in text.chars() {
        if let Some(found) = raw.get(at..).and_then(|rest| rest.find(c)) {
            at += found;
        }
        let step = u32::try_from(at).unwrap_or(u32::MAX);
        steps.extend(std::iter::repeat_n(step, c.len_utf8()));
        at = (at + c.len_utf8()).min(raw.len());
    }
    steps
}

impl<'t> DocumentNode<'t> {
    /// A map without keys.
    pub fn empty_map() -> Self {
        Self { start: 0, end: 0, content: NodeContent::Map(Vec::new()) }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&DocumentNode<'t>> {
        self.entries().iter().find(|(k, _)| k.text() == Some(key)).map(|(_, value)| value)
    }

    /// The keys and values of a map; empty for any other value.
    pub fn entries(&self) -> &[MapEntry<'t>] {
        match &self.content {
            NodeContent::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list.
    pub fn items(&self) -> Option<&[DocumentNode<'t>]> {
        match &self.content {
            NodeContent::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            NodeContent::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether it is empty, `~` or `null` without quotes.
    pub fn is_null(&self) -> bool {
        matches!(&self.content, NodeContent::Scalar { text, bare: true }
            if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.content, NodeContent::Map(_))
    }

    /// The name of its type, for complaints.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            _ if self.is_null() => "nothing",
            NodeContent::Scalar { bare: true, .. } => match self.to_value() {
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => "a text",
            },
            NodeContent::Scalar { .. } => "a text",
            NodeContent::List(_) => "a list",
            NodeContent::Map(_) => "a map",
        }
    }

    /// The same tree with texts of its own.
    pub fn into_owned(self) -> DocumentNode<'static> {
        let Self { start, end, content } = self;
        let content = match content {
            NodeContent::Scalar { text, bare } => {
                NodeContent::Scalar { text: Cow::Owned(text.into_owned()), bare }
            }
            NodeContent::List(items) => {
                NodeContent::List(items.into_iter().map(DocumentNode::into_owned).collect())
            }
            NodeContent::Map(entries) => {
                let entries = entries.into_iter();
                NodeContent::Map(entries.map(|(k, v)| (k.into_owned(), v.into_owned())).collect())
            }
        };
        DocumentNode { start, end, content }
    }

    /// The value as JSON. Only JSON's own words have types: `yes` and `on` stay text.
    pub fn to_value(&self) -> Value {
        match &self.content {
            _ if self.is_null() => Value::Null,
            NodeContent::Scalar { text, bare: true } => match &**text {
                "true" | "True" | "TRUE" => Value::Bool(true),
                "false" | "False" | "FALSE" => Value::Bool(false),
                _ => parse_number(text).map_or_else(|| Value::from(&**text), Value::Number),
            },
            NodeContent::Scalar { text, .. } => Value::from(&**text),
            NodeContent::List(items) => items.iter().map(DocumentNode::to_value).collect(),
            NodeContent::Map(entries) => {
                let pair = |(key, value): &MapEntry<'_>| {
                    (key.text().unwrap_or_default().to_owned(), value.to_value())
                };
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.starts_with("0x") {
        return None;
    }
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return None;
    }
    if let Ok(whole) = text.trim_start_matches('+').parse::<i64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().filter(|f| f.is_finite()).and_then(Number::from_f64)
}
