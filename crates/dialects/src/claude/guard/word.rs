//! A word of a command: what the shell will make of it, as far as that can be known before.

use rable::{Node, NodeKind};

use super::wild::Cell;

/// One word.
#[derive(Debug, Clone)]
pub struct Word {
    /// Without quotes; what the shell fills in is `Cell::Any`.
    pub cells: Vec<Cell>,
    /// As written.
    pub raw: String,
}

impl Word {
    /// The text, when all of it is known.
    pub fn known(&self) -> Option<String> {
        let char = |cell: &Cell| match cell {
            Cell::Char(c) => Some(*c),
            Cell::Any => None,
        };
        self.cells.iter().map(char).collect()
    }
}

/// A text without unknowns.
pub fn literal(text: &str) -> Vec<Cell> {
    text.chars().map(Cell::Char).collect()
}

/// What was found in a word beside its text.
#[derive(Debug, Default)]
pub struct Inside<'n> {
    /// Commands whose output it takes.
    pub commands: Vec<&'n Node>,
    /// Such commands as text, where the parser left them.
    pub texts: Vec<String>,
    /// Whether there is something that was not looked into.
    pub doubtful: bool,
}

/// Reads a word of the parser's.
pub fn word<'n>(node: &'n Node, inside: &mut Inside<'n>) -> Word {
    let NodeKind::Word { value, parts, .. } = &node.kind else {
        inside.doubtful = true;
        return Word { cells: vec![Cell::Any], raw: String::new() };
    };
    inside.doubtful |= escapes_in_ticks(value);
    let mut reading = Reading { cells: Vec::new(), quote: None, inside };
    for part in parts {
        reading.part(part, value);
    }
    Word { cells: reading.cells, raw: value.clone() }
}

struct Reading<'r, 'n> {
    cells: Vec<Cell>,
    quote: Option<char>,
    inside: &'r mut Inside<'n>,
}

impl<'n> Reading<'_, 'n> {
    fn part(&mut self, part: &'n Node, value: &str) {
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => self.cells.extend(literal(decoded)),
            NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } => {
                self.inside.commands.push(command);
                self.cells.push(Cell::Any);
            }
            NodeKind::ParamExpansion { op: None, param, .. } if !substitutes(param) => {
                self.cells.push(Cell::Any);
            }
            // Not a sum after all: then the shell takes `$((a) …)` for a command.
            NodeKind::ArithmeticExpansion { expression: None } => {
                self.inside.doubtful = true;
                self.cells.push(Cell::Any);
            }
            // Their inner parts are not all given by the parser.
            _ => {
                self.inside.doubtful |= substitutes(&value.replace("$((", ""));
                self.cells.push(Cell::Any);
            }
        }
    }

    fn literal(&mut self, text: &str) {
        let whole = |open: &str| text.strip_prefix(open)?.strip_suffix(')');
        let left = ["$(", "<(", ">("].iter().find_map(|open| whole(open));
        if let Some(inner) = left.filter(|_| self.quote != Some('\'')) {
            self.inside.texts.push(inner.to_owned());
            return self.cells.push(Cell::Any);
        }
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            match (self.quote, c) {
                (Some(open), _) if c == open => self.quote = None,
                (Some('\''), _) => self.cells.push(Cell::Char(c)),
                (None, '\'' | '"') => self.quote = Some(c),
                (quote, '\\') => {
                    let escapes = quote.is_none()
                        || next.is_some_and(|c| matches!(c, '$' | '`' | '"' | '\\' | '\n'));
                    let kept = if escapes { chars.next() } else { Some(c) };
                    self.cells.extend(kept.filter(|c| *c != '\n').map(Cell::Char));
                }
                (_, '`') => self.inside.doubtful = true,
                (_, '$') if next == Some('(') => self.inside.doubtful = true,
                (None, '<' | '>') if next == Some('(') => self.inside.doubtful = true,
                (None, '*' | '?' | '[') => self.cells.push(Cell::Any),
                _ => self.cells.push(Cell::Char(c)),
            }
        }
    }
}

/// Whether a text that the shell expands can start a command.
pub fn substitutes(text: &str) -> bool {
    ["$(", "`", "<(", ">("].iter().any(|sign| text.contains(sign))
}

/// Inside backticks a backslash is read twice, which the parser does not do.
fn escapes_in_ticks(word: &str) -> bool {
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
    // Quotes inside a substitution begin anew, which is more than was looked at here.
    substitutes(&word.replace('`', ""))
}
