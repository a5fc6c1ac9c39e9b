//! Reads a shell command just far enough to say in which quotes each variable stands. It reads what
//! POSIX shells and bash agree on; at anything else it says `odd`, and nobody guesses.

use super::Style;
use super::heredoc::{self, Heredoc};
use super::scan::{is_name_byte, variable_at};
use super::words::CommandWords;

const MAX_NESTING: usize = 64;

/// What surrounds a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Context {
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
pub(super) struct Place<'t> {
    pub(super) name: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) context: Context,
    /// Delimiters of the here-documents around it, which no line of a value may equal.
    pub(super) documents: Vec<String>,
}

/// All variables of a command.
pub(super) struct Survey<'t> {
    pub(super) places: Vec<Place<'t>>,
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

struct Reader<'t> {
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
    survey: Survey<'t>,
}

/// Finds every variable of a shell command and its context.
pub(super) fn survey(text: &str, style: Style) -> Survey<'_> {
    let root = Frame::Command { inner: false, depth: 0, words: CommandWords::from(0) };
    Reader::new(text, 0..text.len(), style, root, 0, text.contains("esac")).read()
}

impl<'t> Reader<'t> {
    fn new(
        text: &'t str,
        range: std::ops::Range<usize>,
        style: Style,
        root: Frame,
        nesting: usize,
        has_esac: bool,
    ) -> Self {
        let survey = Survey { places: Vec::new(), odd: nesting > MAX_NESTING, braces: false };
        Self {
            text,
            end: range.end,
            style,
            at: range.start,
            stack: vec![root],
            waiting: Vec::new(),
            word_starts: true,
            nesting,
            has_esac,
            survey,
        }
    }

    fn read(mut self) -> Survey<'t> {
        while self.at < self.end && !self.survey.odd {
            self.step();
        }
        if self.stack.last() == Some(&Frame::Comment) {
            self.stack.pop();
        }
        if self.stack.len() != 1 || !self.waiting.is_empty() || self.at > self.end {
            self.survey.odd = true;
        }
        self.survey
    }

    fn step(&mut self) {
        let Some(frame) = self.stack.last().copied() else { return self.odd() };
        if let Some((name, end)) = variable_at(&self.text[..self.end], self.at, self.style) {
            let (start, context) = (self.at, frame.context());
            self.survey.places.push(Place { name, start, end, context, documents: Vec::new() });
            self.word_starts = false;
            self.at = end;
            return;
        }
        let Some(byte) = self.peek(0) else { return self.odd() };
        match frame {
            Frame::Command { .. } => self.command(byte),
            Frame::Double { .. } | Frame::Document => self.expanding(frame, byte),
            Frame::Single { .. } => self.until(byte, b'\''),
            Frame::DollarSingle if byte == b'\\' => self.odd(),
            Frame::DollarSingle => self.until(byte, b'\''),
            Frame::Comment if byte == b'\n' => {
                self.stack.pop();
            }
            Frame::Comment => self.at += 1,
            Frame::Backtick if byte == b'\\' => self.at += 2,
            Frame::Backtick => self.until(byte, b'`'),
            Frame::Parameter { .. } => self.parameter(byte),
            Frame::Arithmetic { depth } => self.arithmetic(byte, depth),
        }
    }

    fn command(&mut self, byte: u8) {
        match byte {
            b'\\' => {
                self.word_starts &= self.peek(1) == Some(b'\n');
                self.at += 2;
            }
            b'\'' => {
                let script = self.in_script();
                self.open(Frame::Single { script }, 1);
            }
            b'"' => {
                let script = self.in_script();
                self.open(Frame::Double { script }, 1);
            }
            b'`' => self.open(Frame::Backtick, 1),
            b'$' if self.peek(1) == Some(b'\'') => self.open(Frame::DollarSingle, 2),
            b'$' => self.dollar(),
            b'#' if self.word_starts => self.open(Frame::Comment, 1),
            b'(' => self.parenthesis(),
            b')' => self.close_parenthesis(),
            b'<' if self.peek(1) == Some(b'<') => self.here(),
            b'\n' => self.newline(),
            b';' | b'&' | b'|' => self.separate(),
            b' ' | b'\t' | b'<' | b'>' => self.space(),
            _ => {
                self.survey.braces |= byte == b'{';
                self.word_starts = false;
                self.at += 1;
            }
        }
    }

    /// Text in which `$` and backticks work: double quotes and here-documents.
    fn expanding(&mut self, frame: Frame, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'"' if frame != Frame::Document => self.close(1),
            b'`' => self.open(Frame::Backtick, 1),
            b'$' => self.dollar(),
            _ => self.at += 1,
        }
    }

    fn dollar(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some(b'('), Some(b'(')) => self.open(Frame::Arithmetic { depth: 2 }, 3),
            (Some(b'('), _) if self.has_esac => self.odd(),
            (Some(b'('), _) => {
                let words = CommandWords::from(self.at + 2);
                self.open(Frame::Command { inner: true, depth: 0, words }, 2);
                self.word_starts = true;
            }
            (Some(b'{'), _) => {
                let number = self.computes_parameter();
                self.open(Frame::Parameter { number }, 2);
            }
            (Some(b'['), _) => self.odd(),
            (Some(b'$' | b'?' | b'!' | b'#' | b'*' | b'@' | b'-' | b'0'..=b'9'), _) => self.skip(2),
            _ => self.skip(1),
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

    fn parameter(&mut self, byte: u8) {
        match byte {
            b'}' => self.close(1),
            b'\'' | b'"' | b'\\' | b'`' => self.odd(),
            b'$' if self.peek(1) == Some(b'(') => self.odd(),
            b'$' => self.dollar(),
            _ => self.at += 1,
        }
    }

    fn arithmetic(&mut self, byte: u8, depth: usize) {
        match byte {
            b'(' => self.replace(Frame::Arithmetic { depth: depth + 1 }),
            b')' if depth > 2 => self.replace(Frame::Arithmetic { depth: depth - 1 }),
            b')' if self.peek(1) == Some(b')') => self.close(2),
            b')' | b'\'' | b'"' | b'\\' | b'`' => self.odd(),
            b'$' if self.peek(1) == Some(b'(') => self.odd(),
            b'$' => self.dollar(),
            _ => self.at += 1,
        }
    }

    fn parenthesis(&mut self) {
        if self.peek(1) == Some(b'(') && self.word_starts {
            return self.open(Frame::Arithmetic { depth: 2 }, 2);
        }
        if let Some(Frame::Command { depth, .. }) = self.stack.last_mut() {
            *depth += 1;
        }
        self.separate();
    }

    fn close_parenthesis(&mut self) {
        match self.stack.last_mut() {
            Some(Frame::Command { depth, .. }) if *depth > 0 => {
                *depth -= 1;
                self.separate();
            }
            Some(Frame::Command { inner: true, .. }) if self.waiting.is_empty() => self.close(1),
            // `case x in a) …`: the only `)` that closes nothing.
            Some(Frame::Command { inner: false, .. }) if self.has_esac => {
                self.separate();
            }
            _ => self.odd(),
        }
    }

    fn here(&mut self) {
        if self.peek(2) == Some(b'<') {
            self.at += 2;
            return self.space();
        }
        match heredoc::opening(&self.text[..self.end], self.at) {
            Some((document, end)) => {
                self.waiting.push(document);
                self.at = end;
                self.word_starts = false;
            }
            None => self.odd(),
        }
    }

    fn newline(&mut self) {
        self.separate();
        for document in std::mem::take(&mut self.waiting) {
            let Some((body, after)) = document.body(&self.text[..self.end], self.at) else {
                return self.odd();
            };
            match document.quoted {
                true => self.verbatim(body, &document.delimiter),
                false => self.document(body, document.delimiter),
            }
            self.at = after;
        }
    }

    fn document(&mut self, body: std::ops::Range<usize>, delimiter: String) {
        let nesting = self.nesting + 1;
        let inner =
            Self::new(self.text, body, self.style, Frame::Document, nesting, self.has_esac).read();
        self.survey.odd |= inner.odd;
        self.survey.braces |= inner.braces;
        for mut place in inner.places {
            place.documents.push(delimiter.clone());
            self.survey.places.push(place);
        }
    }

    fn verbatim(&mut self, body: std::ops::Range<usize>, delimiter: &str) {
        let mut at = body.start;
        while at < body.end {
            let Some((name, end)) = variable_at(&self.text[..body.end], at, self.style) else {
                at += 1;
                continue;
            };
            let context = Context::Verbatim(delimiter.to_owned());
            self.survey.places.push(Place { name, start: at, end, context, documents: Vec::new() });
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

    fn separate(&mut self) {
        self.space();
        let here = self.at;
        if let Some(Frame::Command { words, .. }) = self.stack.last_mut() {
            *words = CommandWords::from(here);
        }
    }

    fn space(&mut self) {
        self.word_starts = true;
        self.at += 1;
        let here = self.at;
        if let Some(Frame::Command { words, .. }) = self.stack.last_mut() {
            words.end = here;
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.word_starts = false;
        self.at += bytes;
    }

    fn until(&mut self, byte: u8, closing: u8) {
        if byte == closing { self.close(1) } else { self.at += 1 }
    }

    fn open(&mut self, frame: Frame, bytes: usize) {
        if self.stack.len() >= MAX_NESTING {
            return self.odd();
        }
        self.stack.push(frame);
        self.skip(bytes);
    }

    fn close(&mut self, bytes: usize) {
        self.stack.pop();
        self.skip(bytes);
    }

    fn replace(&mut self, frame: Frame) {
        self.stack.pop();
        self.stack.push(frame);
        self.at += 1;
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(self.at + ahead).copied()
    }

    fn odd(&mut self) {
        self.survey.odd = true;
    }
}

impl Frame {
    fn context(self) -> Context {
        match self {
            Self::Command { .. } => Context::Bare,
            Self::Double { script: true } => Context::Script(true),
            Self::Single { script: true } => Context::Script(false),
            Self::Double { .. } => Context::Double,
            Self::Single { .. } => Context::Single,
            Self::Comment => Context::Comment,
            Self::Arithmetic { .. } | Self::Parameter { number: true } => Context::Number,
            Self::DollarSingle | Self::Backtick | Self::Parameter { .. } | Self::Document => {
                Context::Reference
            }
        }
    }
}
