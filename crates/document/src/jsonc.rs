//! JSON with comments. The tokens and the texts of errors come from `jsonc-parser`, with stricter
//! options than its default, because the products' own parsers are stricter too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gambrel_model::{Complaint, lossy_json};
use jsonc_parser::common::Range;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use crate::jsonc_tokens::JsonTokens;
use crate::node::{Document, DocumentNode, MapEntry, NodeContent};

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

/// Up to this number of keys a search is faster than a table.
const MAX_SEARCHED_KEYS: usize = 16;

/// Deeper texts are refused.
const MAX_DEPTH: usize = 512;

/// Parses a JSON text. An empty text is an empty map.
pub fn parse_jsonc<'t>(document: &mut Document<'t>) -> Result<DocumentNode<'t>, Complaint> {
    let text = document.text;
    if let Some(root) = build_tree(text, document) {
        return Ok(root);
    }
    // A lone surrogate is replaced by U+FFFD, as for all JSON that gambrel reads.
    if let Some(repaired) = lossy_json::replace_lone_surrogates(text)
        && let Some(root) = build_tree(&repaired, document)
    {
        return Ok(root.into_owned());
    }
    Err(explain_error(text, document))
}

/// Where and why a text is not JSON.
fn explain_error(text: &str, document: &Document<'_>) -> Complaint {
    let error = parse_to_ast(text, &COLLECT_OPTIONS, &PARSE_OPTIONS).err();
    let (range, why) = match &error {
        Some(error) => (error.range(), error.kind().to_string()),
        None => (Range { start: 0, end: text.len() }, "nested too deeply".to_owned()),
    };
    let spot = document.span_at(range.start, range.end);
    Complaint::error(spot, format!("not valid JSON: {why}"))
        .with_help("comments and trailing commas are fine; everything else is JSON")
}

/// The tree of a whole text; `None` if it is not valid.
fn build_tree<'t>(text: &'t str, document: &mut Document<'_>) -> Option<DocumentNode<'t>> {
    let known = document.complaints.len();
    let mut builder = TreeBuilder { tokens: JsonTokens::new(text), document, depth: 0 };
    let root = builder.build_root();
    if root.is_none() {
        document.complaints.truncate(known);
    }
    root
}

/// Builds the tree from the tokens of a text.
struct TreeBuilder<'b, 'd, 't> {
    tokens: JsonTokens<'t>,
    document: &'b mut Document<'d>,
    depth: usize,
}

impl<'t> TreeBuilder<'_, '_, 't> {
    fn build_root(&mut self) -> Option<DocumentNode<'t>> {
        let root = match self.tokens.next_token()? {
            Some(token) => self.build_value(token)?,
            None => return Some(DocumentNode::empty_map()),
        };
        self.tokens.next_token()?.is_none().then_some(root)
    }

    fn build_value(&mut self, token: Token<'t>) -> Option<DocumentNode<'t>> {
        let start = self.tokens.token_start();
        let bare = |text: &'t str| NodeContent::Scalar { text: Cow::Borrowed(text), bare: true };
        let content = match token {
            Token::String(text) => NodeContent::Scalar { text, bare: false },
            Token::Number(text) => bare(text),
            Token::Boolean(flag) => bare(if flag { "true" } else { "false" }),
            Token::Null => bare("null"),
            Token::OpenBracket => self.build_nested(Self::build_list)?,
            Token::OpenBrace => self.build_nested(Self::build_map)?,
            _ => return None,
        };
        Some(DocumentNode { start, end: self.tokens.token_end(), content })
    }

    fn build_nested(
        &mut self,
        build: fn(&mut Self) -> Option<NodeContent<'t>>,
    ) -> Option<NodeContent<'t>> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let content = build(self);
        self.depth -= 1;
        content
    }

    fn build_list(&mut self) -> Option<NodeContent<'t>> {
        let mut items = Vec::new();
        loop {
            match self.tokens.next_token()?? {
                Token::CloseBracket => return Some(NodeContent::List(items)),
                token => items.push(self.build_value(token)?),
            }
            match self.tokens.next_token()?? {
                Token::Comma => {}
                Token::CloseBracket => return Some(NodeContent::List(items)),
                _ => return None,
            }
        }
    }

    fn build_map(&mut self) -> Option<NodeContent<'t>> {
        let mut entries = Vec::new();
        // A table of the keys, once there are many.
        let mut places = BTreeMap::new();
        loop {
            let name = match self.tokens.next_token()?? {
                Token::CloseBrace => return Some(NodeContent::Map(entries)),
                Token::String(name) => name,
                _ => return None,
            };
            let (start, end) = (self.tokens.token_start(), self.tokens.token_end());
            let content = NodeContent::Scalar { text: name, bare: false };
            let key = DocumentNode { start, end, content };
            if self.tokens.next_token()?? != Token::Colon {
                return None;
            }
            let token = self.tokens.next_token()??;
            let value = self.build_value(token)?;
            self.add_entry(&mut entries, &mut places, (key, value));
            match self.tokens.next_token()?? {
                Token::Comma => {}
                Token::CloseBrace => return Some(NodeContent::Map(entries)),
                _ => return None,
            }
        }
    }

    /// Adds a key and its value. Of equal keys the last one counts, as in JSON.parse.
    fn add_entry(
        &mut self,
        entries: &mut Vec<MapEntry<'t>>,
        places: &mut BTreeMap<String, usize>,
        (key, value): MapEntry<'t>,
    ) {
        let name = key.text().unwrap_or_default();
        if entries.len() == MAX_SEARCHED_KEYS {
            let known = entries
                .iter()
                .zip(0..)
                .filter_map(|((key, _), place)| Some((key.text()?.to_owned(), place)));
            places.extend(known);
        }
        let first = match entries.len() < MAX_SEARCHED_KEYS {
            true => entries.iter().position(|(known, _)| known.text() == Some(name)),
            false => places.get(name).copied(),
        };
        if let Some(first) = first {
            let spot = self.document.span_at(key.start, key.end);
            let message = format!("`{name}` is written twice; only this one counts");
            self.document.complaints.push(Complaint::error(spot, message));
            entries[first] = (key, value);
            return;
        }
        if entries.len() >= MAX_SEARCHED_KEYS {
            places.insert(name.to_owned(), entries.len());
        }
        entries.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jsonc_parser::parse_to_ast;
    use proptest::prelude::*;

    use super::{COLLECT_OPTIONS, MAX_SEARCHED_KEYS, PARSE_OPTIONS};
    use crate::node::{Document, DocumentLanguage};

    proptest! {
        /// The error of a text that the tree refuses comes from the parser.
        #[test]
        fn accepts_what_the_parser_accepts(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\\n\"", "1", "-2.5e3", "true", "null",
                    " ", "\n", "// c\n", "/* c */", "word", "'", "\"\\ud800\"", "\"open",
                ]),
                0..12,
            ),
        ) {
            let text = parts.concat();
            let parsed = Document::parse(Path::new("x.json"), &text, DocumentLanguage::Jsonc);
            let repaired = gambrel_model::lossy_json::replace_lone_surrogates(&text);
            let text = repaired.unwrap_or_else(|| text.clone());
            let accepted = parse_to_ast(&text, &COLLECT_OPTIONS, &PARSE_OPTIONS).is_ok();
            prop_assert_eq!(parsed.is_ok(), accepted, "{}", text);
        }
    }

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
