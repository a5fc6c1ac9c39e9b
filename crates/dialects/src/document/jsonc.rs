//! JSON with comments, through `jsonc-parser`. Stricter than that crate's default: what the
//! installed base would refuse, we refuse, with the place.

use gambrel_model::{Complaint, lossy_json};
use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast,
};

use super::node::{Content, Document, Node};

const OPTIONS: ParseOptions = ParseOptions {
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

const COLLECT: CollectOptions =
    CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };

/// The tree of a JSON text; an empty text is an empty map.
pub fn read(document: &mut Document<'_>) -> Result<Node, Complaint> {
    let text = document.text;
    match parse_to_ast(text, &COLLECT, &OPTIONS) {
        Ok(parsed) => Ok(tree(parsed, document)),
        Err(error) => {
            // Half of a character costs that character, as it does everywhere.
            if let Some(mended) = lossy_json::replace_lone_surrogates(text)
                && let Ok(parsed) = parse_to_ast(&mended, &COLLECT, &OPTIONS)
            {
                return Ok(tree(parsed, document));
            }
            let range = error.range();
            let spot = document.spot(range.start, range.end);
            let complaint = Complaint::error(spot, format!("not valid JSON: {}", error.kind()));
            Err(complaint
                .with_help("comments and trailing commas are fine; everything else is JSON"))
        }
    }
}

fn tree(parsed: ParseResult<'_>, document: &mut Document<'_>) -> Node {
    parsed.value.map_or_else(Node::empty, |value| convert(value, document))
}

fn convert(value: Ast<'_>, document: &mut Document<'_>) -> Node {
    let range = value.range();
    let bare = |text: &str| Content::Scalar { text: text.to_owned(), bare: true };
    let content = match value {
        Ast::StringLit(lit) => Content::Scalar { text: lit.value.into_owned(), bare: false },
        Ast::NumberLit(lit) => bare(lit.value),
        Ast::BooleanLit(lit) => bare(if lit.value { "true" } else { "false" }),
        Ast::NullKeyword(_) => bare("null"),
        Ast::Array(array) => {
            Content::List(array.elements.into_iter().map(|v| convert(v, document)).collect())
        }
        Ast::Object(object) => {
            let mut entries: Vec<(Node, Node)> = Vec::with_capacity(object.properties.len());
            let mut seen = std::collections::HashMap::new();
            for property in object.properties {
                let range = property.name.range();
                let name = property.name.into_string();
                let value = convert(property.value, document);
                let content = Content::Scalar { text: name.clone(), bare: false };
                let key = Node { start: range.start, end: range.end, content };
                match seen.get(&name) {
                    // JSON.parse keeps the last one; so do we, and say so.
                    Some(first) => {
                        let spot = document.spot(range.start, range.end);
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
            Content::Map(entries)
        }
    };
    Node { start: range.start, end: range.end, content }
}
