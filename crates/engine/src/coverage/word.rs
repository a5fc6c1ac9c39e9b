//! The stretches of a shell word as it is written: quoted text, globs, expansions. It takes a text
//! apart and expands nothing.

use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};

use super::value::glob_length;

/// Words are taken apart inside of each other so deep.
pub(super) const MAX_WORD_DEPTH: usize = 8;

/// A stretch of a written word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Text without its quotes.
    Text { text: String, quoted: bool },
    /// A glob sign outside of quotes.
    Glob(String),
    /// `$X` or the inside of `${…}`.
    Parameter { body: String, quoted: bool },
    /// The inside of `$(…)` or of backticks.
    Command { text: String, quoted: bool },
    /// The inside of `<(…)` or `>(…)`.
    Process(String),
    /// `{a,b}`.
    Choice(Vec<String>),
    /// `~`.
    Home,
    /// What only the shell knows, such as a sum.
    Unknown,
}

/// Takes a word apart.
pub(super) fn split_segments(word: &str) -> Vec<Segment> {
    let mut lexer = Lexer { rest: word, quoted: false, made: Vec::new() };
    if let Some(rest) = word.strip_prefix('~').filter(|r| r.is_empty() || r.starts_with('/')) {
        lexer.made.push(Segment::Home);
        lexer.rest = rest;
    }
    while !lexer.rest.is_empty() {
        lexer.read_next();
    }
    lexer.made
}

struct Lexer<'t> {
    rest: &'t str,
    quoted: bool,
    made: Vec<Segment>,
}

impl<'t> Lexer<'t> {
    fn read_next(&mut self) {
        let Some(c) = self.rest.chars().next() else { return };
        let after = &self.rest[c.len_utf8()..];
        match c {
            '"' => {
                self.quoted = !self.quoted;
                // Empty quotes still make a word.
                self.push_literal("", true);
                self.rest = after;
            }
            '\'' if !self.quoted => {
                let (text, rest) = after.split_once('\'').unwrap_or((after, ""));
                self.push_literal(text, true);
                self.rest = rest;
            }
            '\\' => self.read_escape(after),
            '$' => self.read_dollar(after),
            '`' => {
                let (text, rest) = read_backticks(after);
                let quoted = self.quoted;
                self.made.push(Segment::Command { text, quoted });
                self.rest = rest;
            }
            '<' | '>' if !self.quoted && after.starts_with('(') => {
                let (text, rest) = split_balanced(&after[1..], '(', ')');
                self.made.push(Segment::Process(text.to_owned()));
                self.rest = rest;
            }
            '{' if !self.quoted => self.read_brace(after),
            '*' | '?' | '[' if !self.quoted => {
                let length = glob_length(self.rest);
                match length {
                    0 => self.push_literal("[", false),
                    _ => self.made.push(Segment::Glob(self.rest[..length].to_owned())),
                }
                self.rest = &self.rest[length.max(1)..];
            }
            _ => {
                let end = after.find(['"', '\'', '\\', '$', '`', '<', '>', '{', '*', '?', '[']);
                let length = c.len_utf8() + end.unwrap_or(after.len());
                let (text, rest) = self.rest.split_at(length);
                self.push_literal(text, self.quoted);
                self.rest = rest;
            }
        }
    }

    fn push_literal(&mut self, text: &str, quoted: bool) {
        if let Some(Segment::Text { text: last, quoted: same }) = self.made.last_mut()
            && *same == quoted
        {
            return last.push_str(text);
        }
        self.made.push(Segment::Text { text: text.to_owned(), quoted });
    }

    fn read_escape(&mut self, after: &'t str) {
        let Some(next) = after.chars().next() else {
            self.rest = after;
            return self.push_literal("\\", true);
        };
        let escapes = !self.quoted || matches!(next, '$' | '`' | '"' | '\\' | '\n');
        match (escapes, next) {
            (true, '\n') => {}
            (true, _) => self.push_literal(&next.to_string(), true),
            (false, _) => self.push_literal(&format!("\\{next}"), true),
        }
        self.rest = &after[next.len_utf8()..];
    }

    fn read_dollar(&mut self, after: &'t str) {
        let quoted = self.quoted;
        if let Some(sum) = after.strip_prefix("((") {
            let (inner, rest) = split_balanced(sum, '(', ')');
            if let Some(rest) = rest.strip_prefix(')') {
                // A sum may hold substitutions of its own.
                self.made.extend(segments_of_sum(inner));
                self.made.push(Segment::Unknown);
                self.rest = rest;
                return;
            }
        }
        if let Some(body) = after.strip_prefix('(') {
            let (text, rest) = split_balanced(body, '(', ')');
            self.made.push(Segment::Command { text: text.to_owned(), quoted });
            self.rest = rest;
        } else if let Some(body) = after.strip_prefix('{') {
            let (body, rest) = split_balanced(body, '{', '}');
            self.made.push(Segment::Parameter { body: body.to_owned(), quoted });
            self.rest = rest;
        } else if let Some(body) = after.strip_prefix('\'').filter(|_| !quoted) {
            self.read_ansi_quotes(body);
        } else if after.starts_with('"') && !quoted {
            self.rest = after;
        } else {
            let end = name_length(after);
            match end {
                0 => self.push_literal("$", true),
                _ => self.made.push(Segment::Parameter { body: after[..end].to_owned(), quoted }),
            }
            self.rest = &after[end..];
        }
    }

    /// `$'…'`; of its escapes only the plain ones are read.
    fn read_ansi_quotes(&mut self, body: &'t str) {
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => {
                    self.push_literal(&text, true);
                    self.rest = &body[at + 1..];
                    return;
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => text.push(c),
                    _ => {
                        self.push_literal(&text, true);
                        text.clear();
                        self.made.push(Segment::Unknown);
                    }
                },
                c => text.push(c),
            }
        }
        self.rest = "";
    }

    fn read_brace(&mut self, after: &'t str) {
        let (inner, rest) = split_balanced(after, '{', '}');
        let closed = after.len() > inner.len();
        if closed && inner.contains(',') && !inner.contains(['{', '"', '\'']) {
            self.made.push(Segment::Choice(inner.split(',').map(str::to_owned).collect()));
            self.rest = rest;
        } else if closed && (inner.contains("..") || inner.contains(',')) {
            self.made.push(Segment::Unknown);
            self.rest = rest;
        } else {
            self.push_literal("{", false);
            self.rest = after;
        }
    }
}

/// Only what a sum runs matters.
fn segments_of_sum(text: &str) -> Vec<Segment> {
    let all =
        if text.contains("$(") || text.contains('`') { split_segments(text) } else { Vec::new() };
    all.into_iter().filter(|segment| matches!(segment, Segment::Command { .. })).collect()
}

/// The length of the variable's name that a text begins with.
fn name_length(text: &str) -> usize {
    match text.chars().next() {
        Some('@' | '*' | '#' | '?' | '$' | '!' | '-' | '0'..='9') => 1,
        _ => text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()),
    }
}

/// A command between backticks, without the escapes that belong to them, and what follows it.
fn read_backticks(text: &str) -> (String, &str) {
    let mut inner = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => return (inner, &text[at + 1..]),
            '\\' => match chars.peek().copied() {
                Some((_, next @ ('`' | '$' | '\\'))) => {
                    inner.push(next);
                    chars.next();
                }
                _ => inner.push(c),
            },
            _ => inner.push(c),
        }
    }
    (inner, "")
}

/// What stands before the bracket that closes, and what after it. Brackets in quotes count for
/// nothing; without a closing one all of it is inside.
pub(super) fn split_balanced(text: &str, open: char, close: char) -> (&str, &str) {
    let mut depth = 1_usize;
    for ShellChar { at, quote, sign } in QuoteReader::new(text) {
        match sign {
            ShellSign::Plain(_) if quote == Some('\'') => {}
            // Inside of double quotes an expansion begins anew; its brackets come in pairs.
            ShellSign::Plain(c) if c == open => depth += 1,
            ShellSign::Plain(c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return (&text[..at], &text[at + close.len_utf8()..]);
                }
            }
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_words_apart() {
        let command = |text: &str| Segment::Command { text: text.into(), quoted: true };
        let text = |text: &str, quoted| Segment::Text { text: text.into(), quoted };
        assert_eq!(
            split_segments("\"$(cd \"$(dirname \"$0\")\" && pwd)/x\""),
            [text("", true), command("cd \"$(dirname \"$0\")\" && pwd"), text("/x", true)]
        );
        assert_eq!(split_segments("'a b'\\ c"), [text("a b ", true), text("c", false)]);
        assert_eq!(split_segments("lib*.sh").len(), 3);
        assert_eq!(
            split_segments("{a,b}.sh"),
            [Segment::Choice(vec!["a".into(), "b".into()]), text(".sh", false)]
        );
    }

    #[test]
    fn never_panics_on_odd_text() {
        for text in ["${", "$(", "`", "$", "\\", "${${${", "$((", "ü$é`ß", "{", "$'", "[", "<("]
        {
            split_segments(text);
        }
    }
}
