//! Finds the commands that a shell line would start, with a shell parser. Anything that cannot be
//! determined marks the script as doubtful.

use rable::{Node, NodeKind};

use super::wildcard::TextCell;
use super::word::{ShellWord, Substitutions, evaluate_word, literal_cells, may_substitute};
use super::wrapper::{find_started_commands, program_name};
use gambrel_model::shell_bound::{MAX_PARSE_STEPS, is_bounded, parse_steps};

/// Maximum nesting of texts: scripts of `bash -c`, and substitutions that the parser leaves as
/// text.
const MAX_TEXT_DEPTH: usize = 8;
/// Maximum number of texts to parse.
const MAX_TEXT_COUNT: usize = 200;

/// One command without its redirections.
#[derive(Debug)]
pub struct ShellCommand {
    assignments: Vec<ShellWord>,
    words: Vec<ShellWord>,
}

/// The commands of a line.
#[derive(Debug, Default)]
pub struct ShellScript {
    /// All commands, including nested ones.
    pub commands: Vec<ShellCommand>,
    /// Whether the line may start other commands too.
    pub doubtful: bool,
    /// Whether it contains a substitution.
    pub has_substitution: bool,
    /// Whether it contains a here-document.
    pub has_here_document: bool,
}

impl ShellScript {
    /// Parses a line.
    pub fn parse_line(line: &str) -> Self {
        let mut script = Self::default();
        let mut todo = vec![(line.to_owned(), 0)];
        let (mut read, mut steps) = (0, 0_u64);
        while let Some((text, depth)) = todo.pop() {
            read += 1;
            steps = steps.saturating_add(parse_steps(&text));
            let few = depth <= MAX_TEXT_DEPTH && read <= MAX_TEXT_COUNT && steps <= MAX_PARSE_STEPS;
            let nodes = if few && is_bounded(&text) { parse_text(&text) } else { None };
            let Some(nodes) = nodes else {
                script.doubtful = true;
                return script;
            };
            let mut walk =
                NodeWalk { script: &mut script, nodes: nodes.iter().collect(), texts: vec![] };
            walk.visit_all();
            todo.extend(walk.texts.into_iter().map(|text| (text, depth + 1)));
        }
        script
    }
}

/// Parses a text; `None` if the parser fails or panics.
fn parse_text(text: &str) -> Option<Vec<Node>> {
    std::panic::catch_unwind(|| rable::parse(text, false)).ok()?.ok()
}

struct NodeWalk<'w, 'n> {
    script: &'w mut ShellScript,
    nodes: Vec<&'n Node>,
    texts: Vec<String>,
}

impl<'n> NodeWalk<'_, 'n> {
    /// Visits all nodes. It uses a list instead of recursion, because a long line is a deep tree.
    fn visit_all(&mut self) {
        while let Some(node) = self.nodes.pop() {
            match &node.kind {
                NodeKind::Command { assignments, words, redirects } => {
                    self.nodes.extend(redirects);
                    self.visit_simple(assignments, words);
                }
                NodeKind::Word { .. } => drop(self.visit_word(node)),
                NodeKind::HereDoc { content, quoted, complete, .. } => {
                    self.script.has_here_document = true;
                    self.script.doubtful |= !complete || (!quoted && may_substitute(content));
                }
                NodeKind::CondTerm { value, .. } if may_substitute(value) => {
                    self.texts.push(format!(": {value}"));
                }
                NodeKind::ArithmeticCommand { raw_content, redirects, expression } => {
                    self.script.doubtful |= expression.is_none() || may_substitute(raw_content);
                    self.nodes.extend(redirects);
                }
                kind => self.visit_compound(kind),
            }
        }
    }

    fn visit_compound(&mut self, kind: &'n NodeKind) {
        match kind {
            NodeKind::Pipeline { commands, .. } => self.nodes.extend(commands),
            NodeKind::List { items } => self.nodes.extend(items.iter().map(|item| &item.command)),
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
                self.script.doubtful |= [init, cond, incr].iter().any(|text| may_substitute(text));
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
            kind => self.visit_nested(kind),
        }
    }

    fn visit_nested(&mut self, kind: &'n NodeKind) {
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
            // No other node can be in the place of a command.
            _ => self.script.doubtful = true,
        }
    }

    fn visit_simple(&mut self, assignments: &'n [Node], words: &'n [Node]) {
        let assignments: Vec<ShellWord> =
            assignments.iter().map(|node| self.visit_word(node)).collect();
        let words: Vec<ShellWord> = words.iter().map(|node| self.visit_word(node)).collect();
        let started = find_started_commands(&words);
        for script in started.scripts {
            match script {
                Some(text) => self.texts.push(text),
                None => self.script.doubtful = true,
            }
        }

        for at in started.starts {
            let first = at == 0;
            let assignments = if first { assignments.clone() } else { Vec::new() };
            let mut words = words.get(at..).unwrap_or_default().to_vec();
            if started.has_added_words && !first {
                add_unknown_words(&mut words);
            }
            if !words.is_empty() {
                self.script.commands.push(ShellCommand { assignments, words });
            }
        }
    }

    fn visit_word(&mut self, node: &'n Node) -> ShellWord {
        let mut inside = Substitutions::default();
        let word = evaluate_word(node, &mut inside);
        self.script.has_substitution |= !inside.commands.is_empty() || !inside.texts.is_empty();
        self.script.doubtful |= inside.doubtful;
        self.nodes.append(&mut inside.commands);
        self.texts.append(&mut inside.texts);
        word
    }
}

/// Adds unknown words: at the end, and in place of every word with `{}`.
fn add_unknown_words(words: &mut Vec<ShellWord>) {
    let unknown = || ShellWord { cells: vec![TextCell::Any], raw: String::new() };
    for word in words.iter_mut().filter(|word| word.raw.contains("{}")) {
        *word = unknown();
    }
    words.push(unknown());
}

impl ShellCommand {
    /// The texts that a rule is compared with: as the shell reads it, as written, with its
    /// assignments, and without the folder of its program.
    pub fn texts_to_match(&self) -> Vec<Vec<TextCell>> {
        let expanded = join_words(&self.words);
        let raw = |words: &[ShellWord]| {
            let raw: Vec<&str> = words.iter().map(|word| word.raw.as_str()).collect();
            literal_cells(&raw.join(" "))
        };
        let mut all = vec![expanded, raw(&self.words)];
        if !self.assignments.is_empty() {
            all.push(
                [raw(&self.assignments), vec![TextCell::Char(' ')], raw(&self.words)].concat(),
            );
        }
        let (first, rest) = (self.words.first(), self.words.get(1..).unwrap_or_default());
        if let Some(name) = first.and_then(program_name) {
            let plain = ShellWord { cells: literal_cells(&name), raw: name };
            all.push(join_words(&[&[plain], rest].concat()));
        }
        all
    }
}

/// Joins words with one space. A completely unknown word may also be none, or several.
fn join_words(words: &[ShellWord]) -> Vec<TextCell> {
    let mut cells: Vec<TextCell> = Vec::new();
    for word in words {
        let open = word.cells == [TextCell::Any] || cells.as_slice().ends_with(&[TextCell::Any]);
        if !cells.is_empty() && !open {
            cells.push(TextCell::Char(' '));
        }
        cells.extend(&word.cells);
    }
    cells
}
