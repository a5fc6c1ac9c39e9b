//! YAML, parsed from the events of `granit-parser`. Supports aliases and merge keys; duplicate keys
//! are complaints. Limits on nodes, alias bytes and depth keep every file within memory and stack.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gambrel_model::Complaint;
use granit_parser::{Event, Parser, ScalarStyle, Span};

use crate::node::{Document, DocumentNode, MapEntry, NodeContent};

/// Maximum number of nodes of a document with its aliases expanded.
const MAX_NODE_COUNT: usize = 200_000;
/// Maximum number of bytes that the expanded aliases of a document may add.
const MAX_ALIAS_BYTES: usize = 16 * 1024 * 1024;
/// Up to this number of keys a search is faster than a table.
const MAX_SEARCHED_KEYS: usize = 16;
/// Maximum nesting depth of lists and maps.
const MAX_DEPTH: usize = 64;

/// Parses the first document of a YAML text. An empty text is an empty map.
pub fn parse_yaml<'t>(document: &mut Document<'t>) -> Result<DocumentNode<'t>, Complaint> {
    let text = document.text;
    let mut builder = TreeBuilder {
        document,
        open: Vec::new(),
        anchors: BTreeMap::new(),
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
            builder.error_at(at, at, format!("not valid YAML: {why}"))
        })?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.handle_event(event, span)?;
    }

    let root = builder.root.take().filter(|node| !node.is_null());
    Ok(root.unwrap_or_else(DocumentNode::empty_map))
}

struct TreeBuilder<'d, 't> {
    document: &'d mut Document<'t>,
    open: Vec<OpenCollection<'t>>,
    anchors: BTreeMap<usize, DocumentNode<'t>>,
    nodes: usize,
    alias_bytes: usize,
    root: Option<DocumentNode<'t>>,
}

/// A list or map whose end the parser has not reached.
struct OpenCollection<'t> {
    start: usize,
    anchor: usize,
    items: Vec<DocumentNode<'t>>,
    is_map: bool,
}

impl<'t> TreeBuilder<'_, 't> {
    fn error_at(&self, start: usize, end: usize, message: String) -> Complaint {
        let complaint = Complaint::error(self.document.span_at(start, end), message.as_str());
        if message.contains("tab") {
            return complaint.with_help("indent with spaces");
        }
        complaint
    }

    fn handle_event(&mut self, event: Event<'t>, span: Span) -> Result<(), Complaint> {
        let (start, end) = span.byte_range().map_or((0, 0), |range| (range.start, range.end));
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let bare = style == ScalarStyle::Plain;
                let content = NodeContent::Scalar { text, bare };
                self.add_node(DocumentNode { start, end, content }, anchor, 1)
            }
            Event::SequenceStart(_, anchor, _) => self.open_collection(start, anchor, false),
            Event::MappingStart(_, anchor, _) => self.open_collection(start, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(end),
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned();
                let node =
                    node.ok_or_else(|| self.error_at(start, end, "alias of itself".into()))?;
                let size = count_nodes(&node);
                self.alias_bytes += memory_bytes(&node);
                if self.alias_bytes > MAX_ALIAS_BYTES {
                    let message = format!("aliases add more than {MAX_ALIAS_BYTES} bytes");
                    return Err(self.error_at(start, end, message));
                }
                self.add_node(node, 0, size)
            }
            _ => Ok(()),
        }
    }

    fn open_collection(
        &mut self,
        start: usize,
        anchor: usize,
        is_map: bool,
    ) -> Result<(), Complaint> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error_at(start, start, format!("nested deeper than {MAX_DEPTH}")));
        }
        self.open.push(OpenCollection { start, anchor, items: Vec::new(), is_map });
        Ok(())
    }

    fn close_collection(&mut self, end: usize) -> Result<(), Complaint> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let content = match open.is_map {
            true => NodeContent::Map(self.merge_entries(open.items)),
            false => NodeContent::List(open.items),
        };
        self.add_node(
            DocumentNode { start: open.start, end: end.max(open.start), content },
            open.anchor,
            1,
        )
    }

    fn add_node(
        &mut self,
        node: DocumentNode<'t>,
        anchor: usize,
        size: usize,
    ) -> Result<(), Complaint> {
        self.nodes += size;
        if self.nodes > MAX_NODE_COUNT {
            let message = format!("more than {MAX_NODE_COUNT} nodes: too many aliases?");
            return Err(self.error_at(node.start, node.end, message));
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

    /// Turns alternating keys and values into entries. `<<` adds the keys that are not written
    /// explicitly.
    fn merge_entries(&mut self, items: Vec<DocumentNode<'t>>) -> Vec<MapEntry<'t>> {
        let mut entries: Vec<MapEntry<'t>> = Vec::with_capacity(items.len() / 2);
        let mut merged: Vec<MapEntry<'t>> = Vec::new();
        let mut items = items.into_iter();
        let mut seen = SeenKeys::default();

        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            if key.text() == Some("<<") {
                merged.extend(merge_sources(value));
            } else if !seen.is_new(&entries, &key) {
                let name = key.text().unwrap_or("this key");
                let message = format!("`{name}` is written twice; the first one counts");
                let complaint = self.error_at(key.start, key.end, message);
                self.document.complaints.push(complaint);
            } else {
                entries.push((key, value));
            }
        }

        for (key, value) in merged {
            if seen.is_new(&entries, &key) {
                entries.push((key, value));
            }
        }
        entries
    }
}

/// The keys of a map so far. Few keys are compared; many are in a table.
#[derive(Default)]
struct SeenKeys<'t>(BTreeSet<Cow<'t, str>>);

impl<'t> SeenKeys<'t> {
    /// Whether a key is not among the entries yet. A key that is no scalar is always new.
    fn is_new(&mut self, entries: &[MapEntry<'t>], key: &DocumentNode<'t>) -> bool {
        let NodeContent::Scalar { text, .. } = &key.content else { return true };
        if entries.len() < MAX_SEARCHED_KEYS {
            return entries.iter().all(|(known, _)| known.text() != Some(&**text));
        }
        if self.0.is_empty() {
            let known = entries.iter().filter_map(|(key, _)| match &key.content {
                NodeContent::Scalar { text, .. } => Some(text.clone()),
                _ => None,
            });
            self.0.extend(known);
        }
        self.0.insert(text.clone())
    }
}

fn merge_sources(value: DocumentNode<'_>) -> Vec<MapEntry<'_>> {
    match value.content {
        NodeContent::Map(entries) => entries,
        NodeContent::List(items) => items.into_iter().flat_map(merge_sources).collect(),
        NodeContent::Scalar { .. } => Vec::new(),
    }
}

/// The number of nodes that an alias adds.
fn count_nodes(node: &DocumentNode<'_>) -> usize {
    match &node.content {
        NodeContent::Scalar { .. } => 1,
        NodeContent::List(items) => 1 + items.iter().map(count_nodes).sum::<usize>(),
        NodeContent::Map(entries) => {
            1 + entries.iter().map(|(_, v)| 1 + count_nodes(v)).sum::<usize>()
        }
    }
}

/// The memory that an alias takes.
fn memory_bytes(node: &DocumentNode<'_>) -> usize {
    let own = std::mem::size_of::<DocumentNode>();
    own + match &node.content {
        NodeContent::Scalar { text, .. } => text.len(),
        NodeContent::List(items) => items.iter().map(memory_bytes).sum(),
        NodeContent::Map(entries) => {
            entries.iter().map(|(k, v)| memory_bytes(k) + memory_bytes(v)).sum()
        }
    }
}
