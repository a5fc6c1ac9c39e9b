//! Reads a shell command just far enough to say in which quotes each variable stands. It reads what
//! POSIX shells and bash agree on; at anything else it says `odd`, and nobody guesses.

use std::ops::Range;

use super::Style;
use super::heredoc::{self, Heredoc};
use super::scan::{is_name_byte, variable_at};
use super::words::CommandWords;

const MAX_NESTING: usize = 64;

/// What surrounds a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QuoteContext {
    Bare,
    Double,
    Single,
    /// In a `#` comment, where nothing is needed.
    Comment,
    /// Where text cannot be quoted, but the shell can fetch the value itself.
    Reference,
    /// In arithmetic, where bash would evaluate whatever it is given.
    Number,
    /// In a here-document with a quoted delimiter.
    Verbatim(String),
    /// In the text of a second shell (`sh -c '…'`, `eval "…"`); `true` inside double quotes.
    Script(bool),
}

/// One variable, where it stands, and what surrounds it.
pub(super) struct QuotedPlace<'t> {
    pub(super) name: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) context: QuoteContext,
    /// Delimiters of the here-documents around it, which no line of a value may equal.
    pub(super) documents: Vec<String>,
}

impl<'t> QuotedPlace<'t> {
    /// A place outside of documents.
    pub(super) fn new(name: &'t str, range: Range<usize>, context: QuoteContext) -> Self {
        Self { name, start: range.start, end: range.end, context, documents: Vec::new() }
    }
}

/// All variables of a command.
pub(super) struct TemplateSurvey<'t> {
    pub(super) places: Vec<QuotedPlace<'t>>,
    /// Something was not understood: no context here can be relied on.
    pub(super) odd: bool,
    /// A literal `{` stands outside quotes: bash may expand commas.
    pub(super) braces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// Command text; `inner` for `$(…)`. `words` are those of the current simple command.
    Command {
        inner: bool,
        depth: usize,
        words: CommandWords,
    },
    Double {
        script: bool,
    },
    Single {
        script: bool,
    },
    DollarSingle,
    Comment,
    Backtick,
    Parameter {
        number: bool,
    },
    Arithmetic {
        depth: usize,
    },
    Document,
}

struct TemplateReader<'t> {
    text: &'t str,
    end: usize,
    style: Style,
    at: usize,
    stack: Vec<Frame>,
    waiting: Vec<Heredoc>,
    word_starts: bool,
    nesting: usize,
    /// Looked for once: `)` means something else in a text with a `case`.
    has_esac: bool,
    survey: TemplateSurvey<'t>,
}

/// Finds every variable of a shell command and its context.
pub(super) fn survey_template(text: &str, style: Style) -> TemplateSurvey<'_> {
    let root = Frame::Command { inner: false, depth: 0, words: CommandWords::from(0) };
    let mut reader = TemplateReader::new(text, 0..text.len(), style, root, 0);
    reader.has_esac = text.contains("esac");
    reader.read_template()
}

impl<'t> TemplateReader<'t> {
    fn new(text: &'t str, range: Range<usize>, style: Style, root: Frame, nesting: usize) -> Self {
        let survey =
            TemplateSurvey { places: Vec::new(), odd: nesting > MAX_NESTING, braces: false };
        Self {
            text,
            end: range.end,
            style,
            at: range.start,
            stack: vec![root],
            waiting: Vec::new(),
            word_starts: true,
            nesting,
            has_esac: false,
            survey,
        }
    }

    fn read_template(mut self) -> TemplateSurvey<'t> {
        while self.at < self.end && !self.survey.odd {
            self.read_next();
        }
        if self.stack.last() == Some(&Frame::Comment) {
            self.stack.pop();
        }
        if self.stack.len() != 1 || !self.waiting.is_empty() || self.at > self.end {
            self.survey.odd = true;
        }
        self.survey
    }

    fn read_next(&mut self) {
        let Some(frame) = self.stack.last().copied() else { return self.mark_unclear() };
        if let Some((name, end)) = variable_at(&self.text[..self.end], self.at, self.style) {
            let place = QuotedPlace::new(name, self.at..end, frame.quote_context());
            self.survey.places.push(place);
            self.word_starts = false;
            self.at = end;
            return;
        }
        let Some(byte) = self.peek_byte(0) else { return self.mark_unclear() };
        match frame {
            Frame::Command { .. } => self.read_command(byte),
            Frame::Double { .. } | Frame::Document => self.read_expanding(frame, byte),
            Frame::Single { .. } => self.read_until(byte, b'\''),
            Frame::DollarSingle if byte == b'\\' => self.mark_unclear(),
            Frame::DollarSingle => self.read_until(byte, b'\''),
            Frame::Comment if byte == b'\n' => {
                self.stack.pop();
            }
            Frame::Comment => self.at += 1,
            Frame::Backtick if byte == b'\\' => self.at += 2,
            Frame::Backtick => self.read_until(byte, b'`'),
            Frame::Parameter { .. } => self.read_parameter(byte),
            Frame::Arithmetic { depth } => self.read_arithmetic(byte, depth),
        }
    }

    fn read_command(&mut self, byte: u8) {
        match byte {
            b'\\' => {
                self.word_starts &= self.peek_byte(1) == Some(b'\n');
                self.at += 2;
            }
            b'\'' => {
                let script = self.in_script();
                self.push_frame(Frame::Single { script }, 1);
            }
            b'"' => {
                let script = self.in_script();
                self.push_frame(Frame::Double { script }, 1);
            }
            b'`' => self.push_frame(Frame::Backtick, 1),
            b'$' if self.peek_byte(1) == Some(b'\'') => self.push_frame(Frame::DollarSingle, 2),
            b'$' => self.read_dollar(),
            b'#' if self.word_starts => self.push_frame(Frame::Comment, 1),
            b'(' => self.open_parenthesis(),
            b')' => self.close_parenthesis(),
            b'<' if self.peek_byte(1) == Some(b'<') => self.read_heredoc_start(),
            b'\n' => self.read_newline(),
            b';' | b'&' | b'|' => self.end_command(),
            b' ' | b'\t' | b'<' | b'>' => self.end_word(),
            _ => {
                self.survey.braces |= byte == b'{';
                self.word_starts = false;
                self.at += 1;
            }
        }
    }

    /// Text in which `$` and backticks work: double quotes and here-documents.
    fn read_expanding(&mut self, frame: Frame, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'"' if frame != Frame::Document => self.pop_frame(1),
            b'`' => self.push_frame(Frame::Backtick, 1),
            b'$' => self.read_dollar(),
            _ => self.at += 1,
        }
    }

    fn read_dollar(&mut self) {
        match (self.peek_byte(1), self.peek_byte(2)) {
            (Some(b'('), Some(b'(')) => self.push_frame(Frame::Arithmetic { depth: 2 }, 3),
            (Some(b'('), _) if self.has_esac => self.mark_unclear(),
            (Some(b'('), _) => {
                let words = CommandWords::from(self.at + 2);
                self.push_frame(Frame::Command { inner: true, depth: 0, words }, 2);
                self.word_starts = true;
            }
            (Some(b'{'), _) => {
                let number = self.computes_parameter();
                self.push_frame(Frame::Parameter { number }, 2);
            }
            (Some(b'['), _) => self.mark_unclear(),
            (Some(b'$' | b'?' | b'!' | b'#' | b'*' | b'@' | b'-' | b'0'..=b'9'), _) => {
                self.skip_bytes(2)
            }
            _ => self.skip_bytes(1),
        }
    }

    /// `${a[…]}` and `${a:…}` evaluate what stands there; `${a:-…}` and its kin do not.
    fn computes_parameter(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at + 2..self.end];
        let name = rest.iter().take_while(|b| is_name_byte(**b) || b"#!@*".contains(b)).count();
        match (rest.get(name), rest.get(name + 1)) {
            (Some(b'['), _) => true,
            (Some(b':'), Some(next)) => !b"-=?+".contains(next),
            _ => false,
        }
    }

    fn read_parameter(&mut self, byte: u8) {
        match byte {
            b'}' => self.pop_frame(1),
            b'\'' | b'"' | b'\\' | b'`' => self.mark_unclear(),
            b'$' if self.peek_byte(1) == Some(b'(') => self.mark_unclear(),
            b'$' => self.read_dollar(),
            _ => self.at += 1,
        }
    }

    fn read_arithmetic(&mut self, byte: u8, depth: usize) {
        match byte {
            b'(' => self.replace_frame(Frame::Arithmetic { depth: depth + 1 }),
            b')' if depth > 2 => self.replace_frame(Frame::Arithmetic { depth: depth - 1 }),
            b')' if self.peek_byte(1) == Some(b')') => self.pop_frame(2),
            b')' | b'\'' | b'"' | b'\\' | b'`' => self.mark_unclear(),
            b'$' if self.peek_byte(1) == Some(b'(') => self.mark_unclear(),
            b'$' => self.read_dollar(),
            _ => self.at += 1,
        }
    }

    fn open_parenthesis(&mut self) {
        if self.peek_byte(1) == Some(b'(') && self.word_starts {
            return self.push_frame(Frame::Arithmetic { depth: 2 }, 2);
        }
        if let Some(Frame::Command { depth, .. }) = self.stack.last_mut() {
            *depth += 1;
        }
        self.end_command();
    }

    fn close_parenthesis(&mut self) {
        match self.stack.last_mut() {
            Some(Frame::Command { depth, .. }) if *depth > 0 => {
                *depth -= 1;
                self.end_command();
            }
            Some(Frame::Command { inner: true, .. }) if self.waiting.is_empty() => {
                self.pop_frame(1)
            }
            // `case x in a) …`: the only `)` that closes nothing.
            Some(Frame::Command { inner: false, .. }) if self.has_esac => {
                self.end_command();
            }
            _ => self.mark_unclear(),
        }
    }

    fn read_heredoc_start(&mut self) {
        if self.peek_byte(2) == Some(b'<') {
            self.at += 2;
            return self.end_word();
        }
        match heredoc::parse_heredoc_start(&self.text[..self.end], self.at) {
            Some((document, end)) => {
                self.waiting.push(document);
                self.at = end;
                self.word_starts = false;
            }
            None => self.mark_unclear(),
        }
    }

    fn read_newline(&mut self) {
        self.end_command();
        for document in std::mem::take(&mut self.waiting) {
            let Some((body, after)) = document.find_body(&self.text[..self.end], self.at) else {
                return self.mark_unclear();
            };
            match document.quoted {
                true => self.read_verbatim(body, &document.delimiter),
                false => self.read_document(body, document.delimiter),
            }
            self.at = after;
        }
    }

    fn read_document(&mut self, body: Range<usize>, delimiter: String) {
        let nesting = self.nesting + 1;
        let mut reader = Self::new(self.text, body, self.style, Frame::Document, nesting);
        reader.has_esac = self.has_esac;
        let inner = reader.read_template();
        self.survey.odd |= inner.odd;
        self.survey.braces |= inner.braces;
        for mut place in inner.places {
            place.documents.push(delimiter.clone());
            self.survey.places.push(place);
        }
    }

    fn read_verbatim(&mut self, body: Range<usize>, delimiter: &str) {
        let mut at = body.start;
        while at < body.end {
            let Some((name, end)) = variable_at(&self.text[..body.end], at, self.style) else {
                at += 1;
                continue;
            };
            let context = QuoteContext::Verbatim(delimiter.to_owned());
            self.survey.places.push(QuotedPlace::new(name, at..end, context));
            at = end;
        }
    }

    /// Whether the word in which a quote opens here is the text of a second shell.
    fn in_script(&mut self) -> bool {
        match self.stack.last_mut() {
            Some(Frame::Command { words, .. }) => words.take_script(self.text),
            _ => false,
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let here = self.at;
        if let Some(Frame::Command { words, .. }) = self.stack.last_mut() {
            *words = CommandWords::from(here);
        }
    }

    fn end_word(&mut self) {
        self.word_starts = true;
        self.at += 1;
        let here = self.at;
        if let Some(Frame::Command { words, .. }) = self.stack.last_mut() {
            words.end = here;
        }
    }

    fn skip_bytes(&mut self, bytes: usize) {
        self.word_starts = false;
        self.at += bytes;
    }

    fn read_until(&mut self, byte: u8, closing: u8) {
        if byte == closing { self.pop_frame(1) } else { self.at += 1 }
    }

    fn push_frame(&mut self, frame: Frame, bytes: usize) {
        if self.stack.len() >= MAX_NESTING {
            return self.mark_unclear();
        }
        self.stack.push(frame);
        self.skip_bytes(bytes);
    }

    fn pop_frame(&mut self, bytes: usize) {
        self.stack.pop();
        self.skip_bytes(bytes);
    }

    fn replace_frame(&mut self, frame: Frame) {
        self.stack.pop();
        self.stack.push(frame);
        self.at += 1;
    }

    fn peek_byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(self.at + ahead).copied()
    }

    fn mark_unclear(&mut self) {
        self.survey.odd = true;
    }
}

impl Frame {
    fn quote_context(self) -> QuoteContext {
        match self {
            Self::Command { .. } => QuoteContext::Bare,
            Self::Double { script: true } => QuoteContext::Script(true),
            Self::Single { script: true } => QuoteContext::Script(false),
            Self::Double { .. } => QuoteContext::Double,
            Self::Single { .. } => QuoteContext::Single,
            Self::Comment => QuoteContext::Comment,
            Self::Arithmetic { .. } | Self::Parameter { number: true } => QuoteContext::Number,
            Self::DollarSingle | Self::Backtick | Self::Parameter { .. } | Self::Document => {
                QuoteContext::Reference
            }
        }
    }
}
