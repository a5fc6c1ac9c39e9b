//! Evaluates a word of a command as the shell would, as far as this is possible without running it.

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
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            match (self.quote, c) {
                (Some(open), _) if c == open => self.quote = None,
                (Some('\''), _) => self.cells.push(TextCell::Char(c)),
                (None, '\'' | '"') => self.quote = Some(c),
                (quote, '\\') => {
                    let escapes = quote.is_none()
                        || next.is_some_and(|c| matches!(c, '$' | '`' | '"' | '\\' | '\n'));
                    let kept = if escapes { chars.next() } else { Some(c) };
                    self.cells.extend(kept.filter(|c| *c != '\n').map(TextCell::Char));
                }
                (_, '`') => self.inside.doubtful = true,
                (_, '$') if next == Some('(') => self.inside.doubtful = true,
                (None, '<' | '>') if next == Some('(') => self.inside.doubtful = true,
                (None, '*' | '?' | '[') => self.cells.push(TextCell::Any),
                _ => self.cells.push(TextCell::Char(c)),
            }
        }
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
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (_, '`') => return chars.as_str().contains('\\'),
            (None, '\'' | '"') => quote = Some(c),
            (Some('"'), '"') => quote = None,
            _ => {}
        }
    }
    // Quotes inside a substitution are independent of the outer ones, which this loop ignores.
    may_substitute(&word.replace('`', ""))
}
