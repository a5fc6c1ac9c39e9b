//! JSON with comments, parsed by `jsonc-parser`. Stricter than that crate's default, because the
//! products' own parsers are stricter too.

use gambrel_model::{Complaint, lossy_json};
use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
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
            let mut entries: Vec<(DocumentNode, DocumentNode)> =
                Vec::with_capacity(object.properties.len());
            let mut seen = std::collections::HashMap::new();
            for property in object.properties {
                let range = property.name.range();
                let name = property.name.into_string();
                let value = convert_value(property.value, document);
                let content = NodeContent::Scalar { text: name.clone(), bare: false };
                let key = DocumentNode { start: range.start, end: range.end, content };
                match seen.get(&name) {
                    // The last one counts, as in JSON.parse.
                    Some(first) => {
                        let spot = document.span_at(range.start, range.end);
                        let message = format!("`{name}` is written twice; only this one counts");
                        document.complaints.push(Complaint::error(spot, message));
                        let first: usize = *first;
                        entries[first] = (key, value);
                    }
                    None => {
                        seen.insert(name, entries.len());
                        entries.push((key, value));
                    }
                }
            }
            NodeContent::Map(entries)
        }
    };
    DocumentNode { start: range.start, end: range.end, content }
}
