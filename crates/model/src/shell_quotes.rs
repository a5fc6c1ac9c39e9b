//! Reads shell text character by character, and says which quotes each one is in. It knows quotes
//! and backslashes only; what the characters mean to a shell is up to the caller.

use std::str::CharIndices;

/// One step through a shell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellChar {
    /// Where it begins in the text.
    pub at: usize,
    /// The quotes around it.
    pub quote: Option<char>,
    /// What stands there.
    pub sign: ShellSign,
}

/// What stands at one place of a shell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellSign {
    /// A quote that opens.
    Open,
    /// The quote that closes it.
    Close,
    /// A character as written.
    Plain(char),
    /// A character that a backslash makes literal. The backslash is not part of the text.
    Escaped(char),
    /// A character after a backslash that double quotes leave in the text.
    Backslashed(char),
}

/// Steps through a shell text.
pub struct QuoteReader<'t> {
    chars: CharIndices<'t>,
    quote: Option<char>,
}

impl<'t> QuoteReader<'t> {
    /// Reads a text that begins outside quotes.
    pub fn new(text: &'t str) -> Self {
        Self::with_quote(text, None)
    }

    /// Reads a text that begins inside these quotes.
    pub fn with_quote(text: &'t str, quote: Option<char>) -> Self {
        Self { chars: text.char_indices(), quote }
    }

    /// The quotes around what comes next.
    pub fn quote(&self) -> Option<char> {
        self.quote
    }

    /// The text that comes next.
    pub fn rest(&self) -> &'t str {
        self.chars.as_str()
    }
}

impl Iterator for QuoteReader<'_> {
    type Item = ShellChar;

    fn next(&mut self) -> Option<ShellChar> {
        let (at, c) = self.chars.next()?;
        let quote = self.quote;
        let sign = match (quote, c) {
            (Some(open), _) if c == open => {
                self.quote = None;
                ShellSign::Close
            }
            (Some('\''), _) => ShellSign::Plain(c),
            (None, '\'' | '"') => {
                self.quote = Some(c);
                ShellSign::Open
            }
            (None, '\\') => ShellSign::Escaped(self.chars.next()?.1),
            (_, '\\') => match self.chars.next()?.1 {
                c @ ('$' | '`' | '"' | '\\' | '\n') => ShellSign::Escaped(c),
                c => ShellSign::Backslashed(c),
            },
            _ => ShellSign::Plain(c),
        };
        Some(ShellChar { at, quote, sign })
    }
}

#[cfg(test)]
mod tests {
    use super::{QuoteReader, ShellSign};

    #[test]
    fn says_what_quotes_do() {
        use ShellSign::{Backslashed, Close, Escaped, Open, Plain};
        let signs = |text| QuoteReader::new(text).map(|c| c.sign).collect::<Vec<_>>();
        assert_eq!(signs(r"a\'"), [Plain('a'), Escaped('\'')]);
        assert_eq!(signs(r"'\'"), [Open, Plain('\\'), Close]);
        assert_eq!(signs(r#""\"\)""#), [Open, Escaped('"'), Backslashed(')'), Close]);
        assert_eq!(signs("a\\"), [Plain('a')]);
        let mut reader = QuoteReader::with_quote("a'b\"", Some('\''));
        assert_eq!(reader.by_ref().map(|c| c.quote).last(), Some(None));
        assert_eq!((reader.quote(), reader.rest()), (Some('"'), ""));
    }
}
