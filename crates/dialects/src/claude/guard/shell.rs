//! A shell line as the commands that it would start, by a parser and not by looking at its text.
//! What cannot be told for sure is said to be doubtful, never left out.

use rable::{ListItem, Node, NodeKind};

use super::wild::Cell;
use super::word::{Inside, Word, literal, substitutes, word};
use super::wrapper::{program, started};
use gambrel_model::shell_bound::{MAX_PARSE_STEPS, is_bounded, parse_steps};

/// Texts in texts: scripts of `bash -c`, and substitutions too deep for one pass of the parser.
const DEPTH: usize = 8;
const TEXTS: usize = 200;

/// One command without its redirections.
#[derive(Debug)]
pub struct Command {
    assignments: Vec<Word>,
    words: Vec<Word>,
}

/// What a line would start.
#[derive(Debug, Default)]
pub struct Script {
    /// Every command in it, wherever it stands.
    pub commands: Vec<Command>,
    /// Whether it may start more than these.
    pub doubtful: bool,
    /// Whether a substitution is part of it.
    pub woven: bool,
    /// Whether a here-document is part of it.
    pub fed: bool,
}

impl Script {
    /// Reads a line.
    pub fn read(line: &str) -> Self {
        let mut script = Self::default();
        let mut todo = vec![(line.to_owned(), 0)];
        let (mut read, mut steps) = (0, 0_u64);
        while let Some((text, depth)) = todo.pop() {
            read += 1;
            steps = steps.saturating_add(parse_steps(&text));
            let few = depth <= DEPTH && read <= TEXTS && steps <= MAX_PARSE_STEPS;
            let nodes = match few && is_bounded(&text) {
                true => parsed(&text),
                false => None,
            };
            let Some(nodes) = nodes else {
                script.doubtful = true;
                return script;
            };
            let mut walk =
                Walk { script: &mut script, nodes: nodes.iter().collect(), texts: vec![] };
            walk.all();
            todo.extend(walk.texts.into_iter().map(|text| (text, depth + 1)));
        }
        script
    }
}

/// A fault of the parser is a text that it cannot read.
fn parsed(text: &str) -> Option<Vec<Node>> {
    std::panic::catch_unwind(|| rable::parse(text, false)).ok()?.ok()
}

struct Walk<'w, 'n> {
    script: &'w mut Script,
    nodes: Vec<&'n Node>,
    texts: Vec<String>,
}

impl<'n> Walk<'_, 'n> {
    /// By a list of what is left, for a long line is a deep tree.
    fn all(&mut self) {
        while let Some(node) = self.nodes.pop() {
            match &node.kind {
                NodeKind::Command { assignments, words, redirects } => {
                    self.nodes.extend(redirects);
                    self.simple(assignments, words);
                }
                NodeKind::Word { .. } => drop(self.word(node)),
                NodeKind::HereDoc { content, quoted, complete, .. } => {
                    self.script.fed = true;
                    self.script.doubtful |= !complete || (!quoted && substitutes(content));
                }
                NodeKind::CondTerm { value, .. } if substitutes(value) => {
                    self.texts.push(format!(": {value}"));
                }
                NodeKind::ArithmeticCommand { raw_content, redirects, expression } => {
                    self.script.doubtful |= expression.is_none() || substitutes(raw_content);
                    self.nodes.extend(redirects);
                }
                kind => self.compound(kind),
            }
        }
    }

    fn compound(&mut self, kind: &'n NodeKind) {
        match kind {
            NodeKind::Pipeline { commands, .. } => self.nodes.extend(commands),
            NodeKind::List { items } => self.nodes.extend(items.iter().map(command_of)),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.nodes.extend([&**condition, &**then_body]);
                self.nodes.extend(else_body.as_deref());
                self.nodes.extend(redirects);
            }
            NodeKind::While { condition, body, redirects }
            | NodeKind::Until { condition, body, redirects } => {
                self.nodes.extend([&**condition, &**body]);
                self.nodes.extend(redirects);
            }
            NodeKind::For { words, body, redirects, .. }
            | NodeKind::Select { words, body, redirects, .. } => {
                self.nodes.extend(words.iter().flatten().chain(redirects));
                self.nodes.push(body);
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.script.doubtful |= [init, cond, incr].iter().any(|text| substitutes(text));
                self.nodes.extend(redirects);
                self.nodes.push(body);
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.nodes.push(word);
                self.nodes.extend(redirects);
                for pattern in patterns {
                    self.nodes.extend(pattern.patterns.iter().chain(&pattern.body));
                }
            }
            kind => self.nested(kind),
        }
    }

    fn nested(&mut self, kind: &'n NodeKind) {
        match kind {
            NodeKind::Subshell { body, redirects }
            | NodeKind::BraceGroup { body, redirects }
            | NodeKind::ConditionalExpr { body, redirects } => {
                self.nodes.extend(redirects);
                self.nodes.push(body);
            }
            NodeKind::Function { body: inner, .. }
            | NodeKind::Coproc { command: inner, .. }
            | NodeKind::Redirect { target: inner, .. }
            | NodeKind::CommandSubstitution { command: inner, .. }
            | NodeKind::ProcessSubstitution { command: inner, .. }
            | NodeKind::Negation { pipeline: inner }
            | NodeKind::Time { pipeline: inner, .. }
            | NodeKind::UnaryTest { operand: inner, .. }
            | NodeKind::CondNot { operand: inner }
            | NodeKind::CondParen { inner } => self.nodes.push(inner),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => self.nodes.extend([&**left, &**right]),
            NodeKind::Array { elements } => self.nodes.extend(elements),
            NodeKind::Empty | NodeKind::Comment { .. } | NodeKind::CondTerm { .. } => {}
            // Nothing else stands where a command may.
            _ => self.script.doubtful = true,
        }
    }

    fn simple(&mut self, assignments: &'n [Node], words: &'n [Node]) {
        let assignments: Vec<Word> = assignments.iter().map(|node| self.word(node)).collect();
        let words: Vec<Word> = words.iter().map(|node| self.word(node)).collect();
        let started = started(&words);
        for script in started.scripts {
            match script {
                Some(text) => self.texts.push(text),
                None => self.script.doubtful = true,
            }
        }
        for at in started.at {
            let first = at == 0;
            let assignments = if first { assignments.clone() } else { Vec::new() };
            let mut words = words.get(at..).unwrap_or_default().to_vec();
            if started.fed && !first {
                fill(&mut words);
            }
            if !words.is_empty() {
                self.script.commands.push(Command { assignments, words });
            }
        }
    }

    fn word(&mut self, node: &'n Node) -> Word {
        let mut inside = Inside::default();
        let word = word(node, &mut inside);
        self.script.woven |= !inside.commands.is_empty() || !inside.texts.is_empty();
        self.script.doubtful |= inside.doubtful;
        self.nodes.append(&mut inside.commands);
        self.texts.append(&mut inside.texts);
        word
    }
}

fn command_of(item: &ListItem) -> &Node {
    &item.command
}

/// Words that are not written: at the end, and wherever `{}` stands for them.
fn fill(words: &mut Vec<Word>) {
    let unknown = || Word { cells: vec![Cell::Any], raw: String::new() };
    for word in words.iter_mut().filter(|word| word.raw.contains("{}")) {
        *word = unknown();
    }
    words.push(unknown());
}

impl Command {
    /// The texts under which a rule may know it: as the shell will see it, as it is written, with
    /// its assignments, and without the folder of its program.
    pub fn spellings(&self) -> Vec<Vec<Cell>> {
        let meant = joined(&self.words);
        let raw = |words: &[Word]| {
            let raw: Vec<&str> = words.iter().map(|word| word.raw.as_str()).collect();
            literal(&raw.join(" "))
        };
        let mut all = vec![meant, raw(&self.words)];
        if !self.assignments.is_empty() {
            all.push([raw(&self.assignments), vec![Cell::Char(' ')], raw(&self.words)].concat());
        }
        let (first, rest) = (self.words.first(), self.words.get(1..).unwrap_or_default());
        if let Some(name) = first.and_then(program) {
            let plain = Word { cells: literal(&name), raw: name };
            all.push(joined(&[&[plain], rest].concat()));
        }
        all
    }
}

/// With one space between words. A word that is all unknown may also be none, or several.
fn joined(words: &[Word]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for word in words {
        let open = word.cells == [Cell::Any] || cells.as_slice().ends_with(&[Cell::Any]);
        if !cells.is_empty() && !open {
            cells.push(Cell::Char(' '));
        }
        cells.extend(&word.cells);
    }
    cells
}
