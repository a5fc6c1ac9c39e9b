//! The tree itself, and the way from a node to its place in the text.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use gambrel_model::{Complaint, SourceSpan, SpannedText};
use serde_json::{Map, Number, Value};

/// What a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// YAML 1.2.
    Yaml,
    /// JSON, with comments and trailing commas.
    Jsonc,
}

/// A parsed file.
#[derive(Debug)]
pub struct Document<'t> {
    /// Where it was read.
    pub path: PathBuf,
    /// Its text.
    pub text: &'t str,
    /// What it is written in.
    pub language: Language,
    /// Its tree.
    pub root: Node,
    /// Mistakes that did not stop the reading: duplicate keys.
    pub complaints: Vec<Complaint>,
    lines: Vec<usize>,
    /// How many characters stand before each block of the text.
    blocks: OnceCell<Vec<usize>>,
}

/// One value and its range of bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it is.
    pub content: Content,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text; `bare` when it was not quoted, so that it may be a number or a word like `true`.
    Scalar {
        /// The text as meant.
        text: String,
        /// Whether it stood without quotes.
        bare: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// Keys and values, in order, each key once.
    Map(Vec<(Node, Node)>),
}

impl<'t> Document<'t> {
    /// Reads a text. One complaint, with its place, if it is not what it should be.
    pub fn parse(path: &Path, text: &'t str, language: Language) -> Result<Self, Complaint> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let root = Node::empty();
        let lines = lines.collect();
        let blocks = OnceCell::new();
        let mut document =
            Self { path: path.into(), text, language, root, complaints: Vec::new(), lines, blocks };
        document.root = match language {
            Language::Yaml => super::yaml::read(&mut document)?,
            Language::Jsonc => super::jsonc::read(&mut document)?,
        };
        Ok(document)
    }

    /// The place of a range of bytes.
    pub fn spot(&self, start: usize, end: usize) -> SourceSpan {
        let line = self.lines.partition_point(|at| *at <= start).max(1);
        let line_start = self.lines[line - 1];
        SourceSpan {
            path: self.path.clone(),
            line,
            column: self.characters_between(line_start, start) + 1,
            start,
            end: end.min(self.text.len()),
        }
    }

    /// How many characters stand between two places. Counts blocks of the text once, so that a
    /// file of one long line costs no more than others.
    fn characters_between(&self, from: usize, to: usize) -> usize {
        let bytes = self.text.as_bytes();
        let to = to.min(bytes.len());
        if to < from + BLOCK_BYTES {
            return count_characters(bytes.get(from..to).unwrap_or_default());
        }
        let blocks = self.blocks.get_or_init(|| {
            let counts = bytes.chunks(BLOCK_BYTES).scan(0, |sum, block| {
                *sum += count_characters(block);
                Some(*sum)
            });
            std::iter::once(0).chain(counts).collect()
        });
        let before = |at: usize| {
            let block = at / BLOCK_BYTES;
            blocks[block] + count_characters(&bytes[block * BLOCK_BYTES..at])
        };
        before(to) - before(from)
    }

    /// The place of a node.
    pub fn spot_of(&self, node: &Node) -> SourceSpan {
        self.spot(node.start, node.end)
    }

    /// A scalar with the way from every byte of its meaning to its place.
    pub fn quoted(&self, node: &Node) -> Option<SpannedText> {
        let Content::Scalar { text, .. } = &node.content else { return None };
        let spot = self.spot_of(node);
        let raw = self.text.get(node.start..node.end).unwrap_or_default();
        let skip = u32::from(raw.starts_with(['"', '\'']));
        if raw.get(skip as usize..).is_some_and(|rest| rest.starts_with(text.as_str())) {
            return Some(SpannedText::from_source(text, spot, skip));
        }
        Some(SpannedText { text: text.clone(), steps: steps(text, raw), spot })
    }
}

/// How much of a text is counted at once.
const BLOCK_BYTES: usize = 256;

/// A character has one byte that does not continue another.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// For text that was escaped or folded: each meant character is looked for in the raw text from
/// where the last one was found. Good enough to point at the right word.
fn steps(text: &str, raw: &str) -> Vec<u32> {
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

impl Node {
    /// A map without keys.
    pub fn empty() -> Self {
        Self { start: 0, end: 0, content: Content::Map(Vec::new()) }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(k, _)| k.text() == Some(key)).map(|(_, value)| value)
    }

    /// Keys and values, if it has any.
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The elements, if it is a list.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether nothing is meant: empty, `~` or `null` without quotes.
    pub fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar { text, bare: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it is, for "expected a list, found a map".
    pub fn kind(&self) -> &'static str {
        match &self.content {
            _ if self.is_null() => "nothing",
            Content::Scalar { bare: true, .. } => match self.to_value() {
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => "a text",
            },
            Content::Scalar { .. } => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// The value, typed by JSON's words: `yes` and `on` stay text.
    pub fn to_value(&self) -> Value {
        match &self.content {
            _ if self.is_null() => Value::Null,
            Content::Scalar { text, bare: true } => match text.as_str() {
                "true" | "True" | "TRUE" => Value::Bool(true),
                "false" | "False" | "FALSE" => Value::Bool(false),
                _ => number(text).map_or_else(|| Value::from(text.as_str()), Value::Number),
            },
            Content::Scalar { text, .. } => Value::from(text.as_str()),
            Content::List(items) => items.iter().map(Node::to_value).collect(),
            Content::Map(entries) => {
                let pair = |(key, value): &(Node, Node)| {
                    (key.text().unwrap_or_default().to_owned(), value.to_value())
                };
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }
}

fn number(text: &str) -> Option<Number> {
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
