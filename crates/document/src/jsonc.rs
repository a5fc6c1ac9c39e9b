//! JSON with comments, parsed by `jsonc-parser`. Stricter than that crate's default, because the
//! products' own parsers are stricter too.

use std::collections::BTreeMap;

use gambrel_model::{Complaint, lossy_json};
use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast,
};

use crate::node::{Document, DocumentNode, NodeContent};

const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const COLLECT_OPTIONS: CollectOptions =
    CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };

/// Up to this number of keys a search is faster than a hash table.
const MAX_SEARCHED_KEYS: usize = 16;

/// Parses a JSON text. An empty text is an empty map.
pub fn parse_jsonc(document: &mut Document<'_>) -> Result<DocumentNode, Complaint> {
    let text = document.text;
    match parse_to_ast(text, &COLLECT_OPTIONS, &PARSE_OPTIONS) {
        Ok(parsed) => Ok(to_tree(parsed, document)),
        Err(error) => {
            // A lone surrogate is replaced by U+FFFD, as for all JSON that gambrel reads.
            if let Some(repaired) = lossy_json::replace_lone_surrogates(text)
                && let Ok(parsed) = parse_to_ast(&repaired, &COLLECT_OPTIONS, &PARSE_OPTIONS)
            {
                return Ok(to_tree(parsed, document));
            }

            let range = error.range();
            let spot = document.span_at(range.start, range.end);
            let complaint = Complaint::error(spot, format!("not valid JSON: {}", error.kind()));
            Err(complaint
                .with_help("comments and trailing commas are fine; everything else is JSON"))
        }
    }
}

fn to_tree(parsed: ParseResult<'_>, document: &mut Document<'_>) -> DocumentNode {
    parsed.value.map_or_else(DocumentNode::empty_map, |value| convert_value(value, document))
}

fn convert_value(value: Ast<'_>, document: &mut Document<'_>) -> DocumentNode {
    let range = value.range();
    let bare = |text: &str| NodeContent::Scalar { text: text.to_owned(), bare: true };
    let content = match value {
        Ast::StringLit(lit) => NodeContent::Scalar { text: lit.value.into_owned(), bare: false },
        Ast::NumberLit(lit) => bare(lit.value),
        Ast::BooleanLit(lit) => bare(if lit.value { "true" } else { "false" }),
        Ast::NullKeyword(_) => bare("null"),
        Ast::Array(array) => NodeContent::List(
            array.elements.into_iter().map(|v| convert_value(v, document)).collect(),
        ),
        Ast::Object(object) => {
            let count = object.properties.len();
            let mut entries: Vec<(DocumentNode, DocumentNode)> = Vec::with_capacity(count);
            let mut seen = (count > MAX_SEARCHED_KEYS).then(BTreeMap::new);
            for property in object.properties {
                let range = property.name.range();
                let name = property.name.into_string();
                let value = convert_value(property.value, document);
                let first = match &mut seen {
                    Some(seen) => known_place(seen, &name, entries.len()),
                    None => entries.iter().position(|(key, _)| key.text() == Some(&name)),
                };
                match first {
                    // The last one counts, as in JSON.parse.
                    Some(first) => {
                        let spot = document.span_at(range.start, range.end);
                        let message = format!("`{name}` is written twice; only this one counts");
                        document.complaints.push(Complaint::error(spot, message));
                        entries[first] = (key_node(range, name), value);
                    }
                    None => entries.push((key_node(range, name), value)),
                }
            }
            NodeContent::Map(entries)
        }
    };
    DocumentNode { start: range.start, end: range.end, content }
}

fn key_node(range: Range, name: String) -> DocumentNode {
    let content = NodeContent::Scalar { text: name, bare: false };
    DocumentNode { start: range.start, end: range.end, content }
}

/// The place of an earlier key with this name. Without one, `place` becomes its place.
fn known_place(seen: &mut BTreeMap<String, usize>, name: &str, place: usize) -> Option<usize> {
    if let Some(first) = seen.get(name) {
        return Some(*first);
    }
    seen.insert(name.to_owned(), place);
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::MAX_SEARCHED_KEYS;
    use crate::node::{Document, DocumentLanguage};

    #[test]
    fn the_last_of_equal_keys_counts_in_objects_of_every_size() {
        for others in [0, 1, MAX_SEARCHED_KEYS - 2, MAX_SEARCHED_KEYS - 1, 4 * MAX_SEARCHED_KEYS] {
            let middle: String = (0..others).map(|n| format!(r#""k{n}": {n}, "#)).collect();
            let text = format!(r#"{{"a": 1, {middle}"a": 2}}"#);
            let document =
                Document::parse(Path::new("x.json"), &text, DocumentLanguage::Jsonc).unwrap();
            let value = document.root.to_value();
            assert_eq!(value["a"], 2, "{others}");
            assert_eq!(value.as_object().unwrap().keys().next().unwrap(), "a", "{others}");
            assert_eq!(value.as_object().unwrap().len(), others + 1);
            let complaints: Vec<&str> =
                document.complaints.iter().map(|c| c.message.as_str()).collect();
            assert_eq!(complaints, ["`a` is written twice; only this one counts"], "{others}");
        }
    }
}
