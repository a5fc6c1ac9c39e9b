//! Evaluates a word of a command as the shell would, as far as this is possible without running it.

use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};
use rable::{Node, NodeKind};

use super::wildcard::TextCell;

/// One word.
#[derive(Debug, Clone)]
pub struct ShellWord {
    /// The text without quotes. Expansions are `Cell::Any`.
    pub cells: Vec<TextCell>,
    /// The text as written.
    pub raw: String,
}

impl ShellWord {
    /// The text, if all of it is known.
    pub fn known_text(&self) -> Option<String> {
        let char = |cell: &TextCell| match cell {
            TextCell::Char(c) => Some(*c),
            TextCell::Any => None,
        };
        self.cells.iter().map(char).collect()
    }
}

/// A text without unknowns.
pub fn literal_cells(text: &str) -> Vec<TextCell> {
    text.chars().map(TextCell::Char).collect()
}

/// Commands found inside a word.
#[derive(Debug, Default)]
pub struct Substitutions<'n> {
    /// Parsed commands of substitutions.
    pub commands: Vec<&'n Node>,
    /// Commands of substitutions that the parser left as text.
    pub texts: Vec<String>,
    /// Whether the word may contain other commands.
    pub doubtful: bool,
}

/// Evaluates a word node of the parser.
pub fn evaluate_word<'n>(node: &'n Node, inside: &mut Substitutions<'n>) -> ShellWord {
    let NodeKind::Word { value, parts, .. } = &node.kind else {
        inside.doubtful = true;
        return ShellWord { cells: vec![TextCell::Any], raw: String::new() };
    };
    inside.doubtful |= has_escapes_in_backticks(value);
    let mut reading = WordReader { cells: Vec::new(), quote: None, inside };
    for part in parts {
        reading.read_part(part, value);
    }
    ShellWord { cells: reading.cells, raw: value.clone() }
}

struct WordReader<'r, 'n> {
    cells: Vec<TextCell>,
    quote: Option<char>,
    inside: &'r mut Substitutions<'n>,
}

impl<'n> WordReader<'_, 'n> {
    fn read_part(&mut self, part: &'n Node, value: &str) {
        match &part.kind {
            NodeKind::WordLiteral { value } => self.read_literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => self.cells.extend(literal_cells(decoded)),
            NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } => {
                self.inside.commands.push(command);
                self.cells.push(TextCell::Any);
            }
            NodeKind::ParamExpansion { op: None, param, .. } if !may_substitute(param) => {
                self.cells.push(TextCell::Any);
            }
            // Without an expression, the shell reads `$((a) …)` as a command.
            NodeKind::ArithmeticExpansion { expression: None } => {
                self.inside.doubtful = true;
                self.cells.push(TextCell::Any);
            }
            // The parser does not give all inner parts of other expansions.
            _ => {
                self.inside.doubtful |= may_substitute(&value.replace("$((", ""));
                self.cells.push(TextCell::Any);
            }
        }
    }

    fn read_literal(&mut self, text: &str) {
        let whole = |open: &str| text.strip_prefix(open)?.strip_suffix(')');
        let left = ["$(", "<(", ">("].iter().find_map(|open| whole(open));
        if let Some(inner) = left.filter(|_| self.quote != Some('\'')) {
            self.inside.texts.push(inner.to_owned());
            return self.cells.push(TextCell::Any);
        }
        let mut reader = QuoteReader::with_quote(text, self.quote);
        while let Some(ShellChar { quote, sign, .. }) = reader.next() {
            let opens = reader.rest().starts_with('(');
            match (quote, sign) {
                (_, ShellSign::Open | ShellSign::Close | ShellSign::Escaped('\n')) => {}
                (_, ShellSign::Escaped(c)) | (Some('\''), ShellSign::Plain(c)) => {
                    self.cells.push(TextCell::Char(c));
                }
                (_, ShellSign::Backslashed(c)) => self.cells.extend(['\\', c].map(TextCell::Char)),
                (_, ShellSign::Plain('`')) => self.inside.doubtful = true,
                (_, ShellSign::Plain('$')) if opens => self.inside.doubtful = true,
                (None, ShellSign::Plain('<' | '>')) if opens => self.inside.doubtful = true,
                (None, ShellSign::Plain('*' | '?' | '[')) => self.cells.push(TextCell::Any),
                (_, ShellSign::Plain(c)) => self.cells.push(TextCell::Char(c)),
            }
        }
        self.quote = reader.quote();
    }
}

/// Whether the shell may start a command when it expands a text.
pub fn may_substitute(text: &str) -> bool {
    ["$(", "`", "<(", ">("].iter().any(|sign| text.contains(sign))
}

/// Whether a word has backslashes inside backticks. The shell reads them twice, but the parser
/// does not.
fn has_escapes_in_backticks(word: &str) -> bool {
    if !word.contains('`') || !word.contains('\\') {
        return false;
    }
    let mut reader = QuoteReader::new(word);
    let is_tick = |c: &ShellChar| c.quote != Some('\'') && c.sign == ShellSign::Plain('`');
    if reader.by_ref().any(|c| is_tick(&c)) {
        return reader.rest().contains('\\');
    }
    // Quotes inside a substitution are independent of the outer ones, which this loop ignores.
    may_substitute(&word.replace('`', ""))
}
