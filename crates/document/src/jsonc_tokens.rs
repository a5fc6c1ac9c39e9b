//! The tokens of a JSON text with comments. The usual ones are found here; everything else (escapes,
//! numbers, words, comments, mistakes) is left to the scanner of `jsonc-parser`, token by token.

use std::borrow::Cow;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

const SCANNER_OPTIONS: ScannerOptions = ScannerOptions {
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The indentation that is skipped at once.
const INDENT: [u8; 8] = [b' '; 8];

/// Finds the tokens of a text, one after another.
pub struct JsonTokens<'t> {
    text: &'t str,
    token_start: usize,
    token_end: usize,
}

impl<'t> JsonTokens<'t> {
    /// Begins at the first token.
    pub fn new(text: &'t str) -> Self {
        Self { text, token_start: 0, token_end: 0 }
    }

    /// The first byte of the last token.
    pub fn token_start(&self) -> usize {
        self.token_start
    }

    /// The byte after the last token.
    pub fn token_end(&self) -> usize {
        self.token_end
    }

    /// The next token that is no comment. The outer `None` is an invalid token, the inner one the
    /// end.
    pub fn next_token(&mut self) -> Option<Option<Token<'t>>> {
        self.skip_blanks();
        self.token_start = self.token_end;
        let token = match self.text.as_bytes().get(self.token_start) {
            None => return Some(None),
            Some(b'{') => Token::OpenBrace,
            Some(b'}') => Token::CloseBrace,
            Some(b'[') => Token::OpenBracket,
            Some(b']') => Token::CloseBracket,
            Some(b',') => Token::Comma,
            Some(b':') => Token::Colon,
            Some(b'"') => match self.plain_string() {
                Some(text) => {
                    self.token_end += text.len() + 2;
                    return Some(Some(Token::String(Cow::Borrowed(text))));
                }
                None => return self.scan_token(),
            },
            Some(_) => return self.scan_token(),
        };
        self.token_end += 1;
        Some(Some(token))
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.token_end;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' ' if bytes[at..].starts_with(&INDENT) => at += INDENT.len(),
                b' ' | b'\n' | b'\t' | b'\r' => at += 1,
                _ => break,
            }
        }
        self.token_end = at;
    }

    /// The string that begins here, if it ends and has no escapes.
    fn plain_string(&self) -> Option<&'t str> {
        let inner = self.token_start + 1;
        let rest = self.text.as_bytes().get(inner..)?;
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        (rest[length] == b'"').then(|| &self.text[inner..inner + length])
    }

    fn scan_token(&mut self) -> Option<Option<Token<'t>>> {
        loop {
            let base = self.token_end;
            let mut scanner = Scanner::new(&self.text[base..], &SCANNER_OPTIONS);
            let token = scanner.scan().ok()?;
            self.token_start = base + scanner.token_start();
            self.token_end = base + scanner.token_end();
            match token {
                Some(Token::CommentLine(_) | Token::CommentBlock(_)) => {}
                token => return Some(token),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every token with its place, up to the first mistake.
    fn list_tokens(text: &str) -> (Vec<(usize, usize, String)>, bool) {
        let mut tokens = JsonTokens::new(text);
        let mut listed = Vec::new();
        loop {
            match tokens.next_token() {
                Some(Some(token)) => {
                    let place = (tokens.token_start(), tokens.token_end());
                    listed.push((place.0, place.1, format!("{token:?}")));
                }
                ended => return (listed, ended.is_some()),
            }
        }
    }

    fn list_scanned(text: &str) -> (Vec<(usize, usize, String)>, bool) {
        let mut scanner = Scanner::new(text, &SCANNER_OPTIONS);
        let mut listed = Vec::new();
        loop {
            match scanner.scan() {
                Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {}
                Ok(Some(token)) => {
                    let place = (scanner.token_start(), scanner.token_end());
                    listed.push((place.0, place.1, format!("{token:?}")));
                }
                ended => return (listed, ended.is_ok()),
            }
        }
    }

    proptest! {
        #[test]
        fn finds_the_same_tokens_as_the_scanner(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\\n\"", "\"\\\"", "\"\u{e4}\"", "\"\\u00e4\"",
                    "1", "-2.5e3", "+1", "true", "nullx", "false", " ", "          ", "\n", "\r", "\t",
                    "\u{b}", "\u{a0}", "\u{1}", "// c\n", "/* c */", "/*", "word", "'", "\"open", "\u{feff}",
                ]),
                0..16,
            ),
        ) {
            let text = parts.concat();
            prop_assert_eq!(list_tokens(&text), list_scanned(&text), "{:?}", text);
        }
    }
}
