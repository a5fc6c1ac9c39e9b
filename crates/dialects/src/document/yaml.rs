//! YAML through `granit-parser`'s events: aliases within a budget, merge keys, duplicate keys as
//! complaints, and a depth limit, so that no file can exhaust memory or stack.

use std::collections::{HashMap, HashSet};

use gambrel_model::Complaint;
use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::node::{Content, Document, Node};

/// Nodes that one document may have once its aliases are written out.
const NODES: usize = 200_000;
/// What aliases of one document may add to it once they are written out.
const MAX_ALIAS_BYTES: usize = 16 * 1024 * 1024;
/// How deep lists and maps may nest.
const DEPTH: usize = 64;

/// The tree of the first document of a YAML text; an empty text is an empty map.
pub fn read(document: &mut Document<'_>) -> Result<Node, Complaint> {
    let text = document.text;
    let mut builder = Builder {
        document,
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        alias_bytes: 0,
        root: None,
    };
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(0);
            let info = error.info().to_string();
            let why = match info.trim() {
                "" => "the text ends before it is complete",
                why => why,
            };
            builder.complain(at, at, format!("not valid YAML: {why}"))
        })?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.take(event, span)?;
    }
    let root = builder.root.take().filter(|node| !node.is_null());
    Ok(root.unwrap_or_else(Node::empty))
}

struct Builder<'d, 't> {
    document: &'d mut Document<'t>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    alias_bytes: usize,
    root: Option<Node>,
}

/// A list or map that is being read.
struct Open {
    start: usize,
    anchor: usize,
    items: Vec<Node>,
    is_map: bool,
}

impl Builder<'_, '_> {
    fn complain(&self, start: usize, end: usize, message: String) -> Complaint {
        let complaint = Complaint::error(self.document.spot(start, end), message.as_str());
        if message.contains("tab") {
            return complaint.with_help("indent with spaces");
        }
        complaint
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Complaint> {
        let (start, end) = span.byte_range().map_or((0, 0), |range| (range.start, range.end));
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let bare = style == ScalarStyle::Plain;
                let content = Content::Scalar { text: text.into_owned(), bare };
                self.put(Node { start, end, content }, anchor, 1)
            }
            Event::SequenceStart(_, anchor, _) => self.enter(start, anchor, false),
            Event::MappingStart(_, anchor, _) => self.enter(start, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.leave(end),
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned();
                let node =
                    node.ok_or_else(|| self.complain(start, end, "alias of itself".into()))?;
                let size = size(&node);
                self.alias_bytes += byte_size(&node);
                if self.alias_bytes > MAX_ALIAS_BYTES {
                    let message = format!("aliases add more than {MAX_ALIAS_BYTES} bytes");
                    return Err(self.complain(start, end, message));
                }
                self.put(node, 0, size)
            }
            _ => Ok(()),
        }
    }

    fn enter(&mut self, start: usize, anchor: usize, is_map: bool) -> Result<(), Complaint> {
        if self.open.len() >= DEPTH {
            return Err(self.complain(start, start, format!("nested deeper than {DEPTH}")));
        }
        self.open.push(Open { start, anchor, items: Vec::new(), is_map });
        Ok(())
    }

    fn leave(&mut self, end: usize) -> Result<(), Complaint> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let content = match open.is_map {
            true => Content::Map(self.pairs(open.items)),
            false => Content::List(open.items),
        };
        self.put(Node { start: open.start, end: end.max(open.start), content }, open.anchor, 1)
    }

    fn put(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), Complaint> {
        self.nodes += size;
        if self.nodes > NODES {
            let message = format!("more than {NODES} nodes: too many aliases?");
            return Err(self.complain(node.start, node.end, message));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.items.push(node),
            None => self.root = Some(node),
        }
        Ok(())
    }

    /// Keys and values in turn become entries; `<<` brings what is not written beside it.
    fn pairs(&mut self, items: Vec<Node>) -> Vec<(Node, Node)> {
        let mut entries: Vec<(Node, Node)> = Vec::with_capacity(items.len() / 2);
        let mut merged: Vec<(Node, Node)> = Vec::new();
        let mut items = items.into_iter();
        let mut seen = HashSet::new();
        let mut is_new = |key: &Node| key.text().is_none_or(|text| seen.insert(text.to_owned()));
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            if key.text() == Some("<<") {
                merged.extend(merge_sources(value));
            } else if !is_new(&key) {
                let name = key.text().unwrap_or("this key");
                let message = format!("`{name}` is written twice; the first one counts");
                let complaint = self.complain(key.start, key.end, message);
                self.document.complaints.push(complaint);
            } else {
                entries.push((key, value));
            }
        }
        for (key, value) in merged {
            if is_new(&key) {
                entries.push((key, value));
            }
        }
        entries
    }
}

fn merge_sources(value: Node) -> Vec<(Node, Node)> {
    match value.content {
        Content::Map(entries) => entries,
        Content::List(items) => items.into_iter().flat_map(merge_sources).collect(),
        Content::Scalar { .. } => Vec::new(),
    }
}

/// How many nodes an alias brings.
fn size(node: &Node) -> usize {
    match &node.content {
        Content::Scalar { .. } => 1,
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Map(entries) => 1 + entries.iter().map(|(_, v)| 1 + size(v)).sum::<usize>(),
    }
}

/// How much memory an alias takes.
fn byte_size(node: &Node) -> usize {
    let own = std::mem::size_of::<Node>();
    own + match &node.content {
        Content::Scalar { text, .. } => text.len(),
        Content::List(items) => items.iter().map(byte_size).sum(),
        Content::Map(entries) => entries.iter().map(|(k, v)| byte_size(k) + byte_size(v)).sum(),
    }
}
