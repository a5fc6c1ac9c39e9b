//! Tools in one vocabulary. A dialect names its tools and their arguments in a table of words;
//! here are the neutral kinds and the translation both ways. Renaming is one-to-one, and what has
//! no neutral name keeps its own, so that there and back again loses nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a tool is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the word of the vocabulary")]
pub enum ToolKind {
    Shell,
    Read,
    Write,
    Edit,
    Search,
    Fetch,
    Task,
    Mcp,
    #[default]
    Other,
}

impl ToolKind {
    /// The kind of a word of the vocabulary, or of a word that others use for it.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "shell" | "bash" | "sh" | "execute" | "exec" => Self::Shell,
            "read" => Self::Read,
            "write" => Self::Write,
            "edit" | "multiedit" | "delete" | "move" => Self::Edit,
            "search" | "grep" | "glob" | "find" => Self::Search,
            "fetch" | "webfetch" | "web_fetch" => Self::Fetch,
            "task" | "agent" => Self::Task,
            "mcp" => Self::Mcp,
            "other" => Self::Other,
            _ => return None,
        })
    }
}

/// A native tool name of one dialect, and its arguments as `(neutral, native)`.
#[derive(Debug)]
pub struct ToolWord {
    /// The neutral kind.
    pub kind: ToolKind,
    /// Tells apart tools of one kind: words of different dialects with the same shape are the
    /// same tool.
    pub shape: &'static str,
    /// The native name.
    pub name: &'static str,
    /// Arguments that are called differently. `edits[].old` names a field of every element of a
    /// list; when the native side is flat, the list has one element.
    pub fields: &'static [(&'static str, &'static str)],
}

impl ToolWord {
    /// A row of a table of tools.
    pub const fn new(
        kind: ToolKind,
        shape: &'static str,
        name: &'static str,
        fields: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { kind, shape, name, fields }
    }
}

/// A tool that is about to run, or has run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tool {
    /// The neutral kind.
    pub kind: ToolKind,
    /// The shape, where a word of the caller's dialect gave one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shape: String,
    /// The name as the caller wrote it.
    pub name: String,
    /// The arguments in neutral names.
    pub args: Value,
    /// The caller's id of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it gave, once it has run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

/// A tool's result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// Content blocks: `{"type":"text","text":…}`.
    pub content: Vec<Value>,
    /// As the caller's dialect has it.
    pub native: Value,
    /// The error text of a tool that failed.
    pub error: Option<String>,
}

impl ToolResult {
    /// The text of all text blocks.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> =
            self.content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        texts.join("\n")
    }
}

/// One text block.
pub fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// How the name of every tool of an MCP server begins.
const MCP_PREFIX: &str = "mcp__";

/// The name of a tool of an MCP server.
pub fn mcp_tool_name(server: &str, tool: &str) -> String {
    format!("{MCP_PREFIX}{server}__{tool}")
}

/// The tool that the MCP server calls so; `None` if it is no tool of this server.
pub fn strip_mcp_server<'n>(name: &'n str, server: &str) -> Option<&'n str> {
    name.strip_prefix(MCP_PREFIX)?.strip_prefix(server)?.strip_prefix("__")
}

impl Tool {
    /// The tool that a dialect calls `name`, with its arguments in neutral names.
    pub fn from_native(words: &[ToolWord], name: &str, input: &Value) -> Self {
        let word = words.iter().find(|w| w.name == name);
        let unknown = if name.starts_with(MCP_PREFIX) { ToolKind::Mcp } else { ToolKind::Other };
        Self {
            kind: word.map_or(unknown, |w| w.kind),
            shape: word.map_or_else(String::new, |w| w.shape.to_owned()),
            name: name.to_owned(),
            args: word.map_or_else(|| input.clone(), |w| neutral_args(w, input)),
            id: None,
            result: None,
        }
    }

    /// The words of another dialect for this tool: those of the same shape, else of the same kind.
    pub fn words_in<'w>(&self, words: &'w [ToolWord]) -> Vec<&'w ToolWord> {
        let shaped: Vec<_> = words.iter().filter(|w| w.shape == self.shape).collect();
        if !shaped.is_empty() {
            return shaped;
        }
        let known = !matches!(self.kind, ToolKind::Other | ToolKind::Mcp);
        words.iter().filter(|w| known && w.kind == self.kind).collect()
    }

    /// Name and arguments in the words of a dialect.
    pub fn to_native(&self, words: &[ToolWord]) -> (String, Value) {
        if let Some(own) = words.iter().find(|w| w.name == self.name && w.kind == self.kind) {
            return (self.name.clone(), native_args(own, &self.args));
        }
        let candidates = self.words_in(words);
        let fits = candidates.iter().find(|w| matches_shape(w, &self.args)).or(candidates.first());
        match fits {
            Some(word) => (word.name.to_owned(), native_args(word, &self.args)),
            None => (self.name.clone(), self.args.clone()),
        }
    }
}

/// A flat word cannot hold a list of several elements.
fn matches_shape(word: &ToolWord, args: &Value) -> bool {
    word.fields.iter().all(|(neutral, native)| match (list_of(neutral), list_of(native)) {
        (Some((list, _)), None) => {
            args.get(list).and_then(Value::as_array).is_none_or(|items| items.len() <= 1)
        }
        _ => true,
    })
}

/// `edits[].old` → (`edits`, `old`).
fn list_of(path: &str) -> Option<(&str, &str)> {
    path.split_once("[].")
}

/// A renamed field wins over an unknown one of that name: a decoy must not hide from a guard what
/// the tool will really be given.
fn neutral_args(word: &ToolWord, input: &Value) -> Value {
    let Some(object) = input.as_object() else { return input.clone() };
    let mut out = Map::new();
    let mut flat: Map<String, Value> = Map::new();
    let taken = |key: &str| {
        let renames = |(neutral, native): &(&str, &str)| *neutral == key && *native != key;
        word.fields.iter().any(|field| renames(field) && object.contains_key(field.1))
    };
    for (key, value) in object {
        if let Some((neutral, _)) = word.fields.iter().find(|(_, native)| native == key) {
            match list_of(neutral) {
                Some((list, field)) => put_in(&mut flat, list, field, value.clone()),
                None => drop(out.insert((*neutral).to_owned(), value.clone())),
            }
        } else if let Some(items) =
            convert_list(word, key, value, |(neutral, native)| (native, neutral))
        {
            out.insert(key.clone(), items);
        } else if !taken(key) {
            out.insert(key.clone(), value.clone());
        }
    }
    for (list, element) in flat {
        match out.get_mut(&list).and_then(Value::as_array_mut) {
            Some(items) => items.insert(0, element),
            None => drop(out.insert(list, Value::Array(vec![element]))),
        }
    }
    Value::Object(out)
}

fn native_args(word: &ToolWord, args: &Value) -> Value {
    let Some(object) = args.as_object() else { return args.clone() };
    let mut out = Map::new();
    let taken = |key: &str| {
        let renames = |(neutral, native): &(&str, &str)| {
            let source = list_of(neutral).map_or(*neutral, |(list, _)| list);
            *native == key && source != key && object.contains_key(source)
        };
        word.fields.iter().any(renames)
    };
    for (key, value) in object {
        if let Some((_, native)) = word.fields.iter().find(|(neutral, _)| neutral == key) {
            out.insert((*native).to_owned(), value.clone());
        } else if flatten_first(word, key, value, &mut out) {
            continue;
        } else if let Some(items) = convert_list(word, key, value, |names| names) {
            out.insert(key.clone(), items);
        } else if !taken(key) {
            out.insert(key.clone(), value.clone());
        }
    }
    Value::Object(out)
}

/// The name of a field before and after a conversion.
type FieldNames = (&'static str, &'static str);

/// A list whose elements are renamed on both sides of the table. `orient` gives the names in the
/// order of the conversion.
fn convert_list(
    word: &ToolWord,
    key: &str,
    value: &Value,
    orient: fn(FieldNames) -> FieldNames,
) -> Option<Value> {
    let names = word.fields.iter().filter_map(|(neutral, native)| {
        let ((list, neutral), (other, native)) = (list_of(neutral)?, list_of(native)?);
        (list == key && other == key).then(|| orient((neutral, native)))
    });
    let names: Vec<FieldNames> = names.collect();
    if names.is_empty() {
        return None;
    }
    let rename = |name: &str| {
        let found = names.iter().find(|(before, _)| *before == name);
        found.map_or(name, |(_, after)| after).to_owned()
    };
    let items = value.as_array()?.iter().map(|item| match item.as_object() {
        Some(fields) => fields.iter().map(|(k, v)| (rename(k), v.clone())).collect(),
        None => item.clone(),
    });
    Some(Value::Array(items.collect()))
}

fn put_in(lists: &mut Map<String, Value>, list: &str, field: &str, value: Value) {
    let element = lists.entry(list).or_insert_with(|| json!({}));
    if let Some(element) = element.as_object_mut() {
        element.insert(field.to_owned(), value);
    }
}

/// A one-element list back to flat fields; false when this word keeps no such list flat.
fn flatten_first(word: &ToolWord, key: &str, value: &Value, out: &mut Map<String, Value>) -> bool {
    let flats = || word.fields.iter().filter(|(_, native)| list_of(native).is_none());
    let flat = |neutral: &str| {
        let wanted = |(n, _): &&(&str, &str)| list_of(n) == Some((key, neutral));
        flats().find(wanted).map(|(_, native)| (*native).to_owned())
    };
    let any = flats().any(|(n, _)| list_of(n).is_some_and(|(list, _)| list == key));
    let items = value.as_array().map(Vec::as_slice);
    match (any, items) {
        (true, Some([Value::Object(first)])) => {
            for (name, value) in first {
                out.insert(flat(name).unwrap_or_else(|| name.clone()), value.clone());
            }
            true
        }
        _ => false,
    }
}
