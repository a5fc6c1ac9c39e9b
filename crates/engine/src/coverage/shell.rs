//! Walks a shell text in the order in which a shell would, and takes note of what it runs. It
//! starts nothing.

use std::path::PathBuf;
use std::rc::Rc;

use rable::{CasePattern, Node, NodeKind};

use super::collector::{Collector, Naming};
use super::parse::{Listed, flatten_list, parse_shell};
use super::state::{MAX_ALTERNATIVES, ShellState};
use super::value::{Fields, Text, combine_choices};

/// Bodies of loops inside of each other are read twice down to here, then once.
const MAX_TWICE_READ_DEPTH: usize = 2;

/// What a command reads.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// The event of the hook, or whatever its script reads.
    Inherited,
    /// This text.
    Text(String),
    /// The bytes of these files, one after the other.
    Files(Fields),
    /// The output of another command.
    Pipe(String),
}

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub words: Fields,
    pub input: Input,
    /// As it is written, for messages.
    pub raw: String,
    /// Whether its output is read by another command.
    pub is_piped: bool,
}

/// Reads shell texts.
pub(super) struct ShellReader<'r, 's> {
    pub collector: &'r mut Collector<'s>,
    pub state: ShellState,
    loop_depth: usize,
    /// What the next simple command reads, and whether its output is read.
    input: Input,
    is_piped: bool,
}

impl<'r, 's> ShellReader<'r, 's> {
    pub fn new(collector: &'r mut Collector<'s>, state: ShellState) -> Self {
        Self { collector, state, loop_depth: 0, input: Input::Inherited, is_piped: false }
    }

    /// Reads a text in this shell.
    pub fn read_text(&mut self, text: &str) {
        let Some(nodes) = parse_shell(text) else {
            self.collector.cannot_see("a shell text that is too long, too deep or not well-formed");
            return self.guess_files(text);
        };
        for node in &nodes {
            self.walk_node(node);
        }
    }

    /// Takes the words of a text that cannot be read for names of files.
    fn guess_files(&mut self, text: &str) {
        let parts = |c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c);
        for word in text.split(parts).filter(|word| !word.is_empty()).take(10_000) {
            self.add_named(&Text::literal(word), Naming::Guess);
        }
    }

    fn walk_node(&mut self, node: &Node) {
        if !self.collector.may_step() {
            return;
        }
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.walk_simple_command(assignments, words, redirects);
            }
            NodeKind::Pipeline { commands, .. } => self.walk_pipeline(commands),
            NodeKind::List { items } => {
                flatten_list(items).iter().for_each(|item| self.walk_list_item(item))
            }
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.follow_redirects(redirects);
                self.walk_node(condition);
                let before = self.state.clone();
                self.walk_node(then_body);
                let after = std::mem::replace(&mut self.state, before);
                if let Some(body) = else_body {
                    self.walk_node(body);
                }
                self.state.merge_state(after);
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.follow_redirects(redirects);
                self.expand_node(word);
                self.walk_case(patterns);
            }
            NodeKind::Function { name, body } => {
                self.state.functions.insert(name.clone(), Rc::new((**body).clone()));
            }
            kind => self.walk_loop(kind),
        }
    }

    fn walk_loop(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::While { condition, body, redirects }
            | NodeKind::Until { condition, body, redirects } => {
                self.follow_redirects(redirects);
                self.walk_repeated(&[&**condition, &**body]);
            }
            NodeKind::For { var, words, body, redirects }
            | NodeKind::Select { var, words, body, redirects } => {
                self.follow_redirects(redirects);
                let values = match words {
                    Some(words) => self.expand_all(words),
                    None => self.state.args.clone().unwrap_or_else(|| vec![Text::unknown()]),
                };
                self.state.set_variable(var, values.into_iter().map(|value| vec![value]).collect());
                self.walk_repeated(&[&**body]);
            }
            NodeKind::ForArith { body, redirects, .. } => {
                self.follow_redirects(redirects);
                self.walk_repeated(&[&**body]);
            }
            kind => self.walk_nested(kind),
        }
    }

    fn walk_nested(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::Subshell { body, redirects } => {
                self.follow_redirects(redirects);
                let before = self.state.clone();
                self.walk_node(body);
                self.state = before;
            }
            NodeKind::BraceGroup { body, redirects }
            | NodeKind::ConditionalExpr { body, redirects } => {
                self.follow_redirects(redirects);
                self.walk_node(body);
            }
            NodeKind::Coproc { command: inner, .. }
            | NodeKind::Negation { pipeline: inner }
            | NodeKind::Time { pipeline: inner, .. }
            | NodeKind::UnaryTest { operand: inner, .. }
            | NodeKind::CondNot { operand: inner }
            | NodeKind::CondParen { inner } => self.walk_node(inner),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                self.walk_node(left);
                self.walk_node(right);
            }
            NodeKind::CondTerm { value, .. } => drop(self.expand_word(value)),
            NodeKind::Word { value, .. } => drop(self.expand_word(value)),
            NodeKind::ArithmeticCommand { raw_content, redirects, .. } => {
                self.follow_redirects(redirects);
                drop(self.expand_word(&format!("\"{raw_content}\"")));
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.collector.cannot_see("a shell construct that gambrel does not know"),
        }
    }

    fn walk_list_item(&mut self, item: &Listed<'_>) {
        if !item.is_conditional && !item.in_background {
            return self.walk_node(item.node);
        }
        let before = self.state.clone();
        self.walk_node(item.node);
        if item.in_background {
            self.state = before;
        } else {
            self.state.merge_state(before);
        }
    }

    /// A body that runs any number of times. What one round leaves, the next one finds.
    fn walk_repeated(&mut self, body: &[&Node]) {
        self.loop_depth += 1;
        let rounds = if self.loop_depth <= MAX_TWICE_READ_DEPTH { 2 } else { 1 };
        for _ in 0..rounds {
            let before = self.state.clone();
            body.iter().for_each(|node| self.walk_node(node));
            self.state.merge_state(before);
        }
        self.loop_depth -= 1;
    }

    fn walk_case(&mut self, patterns: &[CasePattern]) {
        let before = self.state.clone();
        let mut after = before.clone();
        for pattern in patterns {
            self.state = before.clone();
            if let Some(body) = &pattern.body {
                self.walk_node(body);
            }
            let state = std::mem::take(&mut self.state);
            after.merge_state(state);
        }
        self.state = after;
    }

    fn walk_pipeline(&mut self, commands: &[Node]) {
        let outer = std::mem::replace(&mut self.input, Input::Inherited);
        let mut input = outer.clone();
        for (at, command) in commands.iter().enumerate() {
            let before = self.state.clone();
            self.is_piped = at + 1 < commands.len();
            self.input = input;
            self.walk_node(command);
            input = self.output_of(command);
            self.state = before;
        }
        (self.input, self.is_piped) = (outer, false);
    }

    /// What a command of a pipeline hands to the next one.
    fn output_of(&mut self, node: &Node) -> Input {
        let unknown = || Input::Pipe(raw_words(node));
        let NodeKind::Command { words, .. } = &node.kind else { return unknown() };
        let Some(words) = self.expand_single(words) else { return unknown() };
        let Some((name, rest)) = words.split_first() else { return unknown() };
        let plain =
            rest.iter().all(|word| !word.literal_head().starts_with('-') && !word.has_unknown());
        match name.as_known() {
            Some("cat") if plain && !rest.is_empty() => Input::Files(rest.to_vec()),
            Some("echo") if plain => {
                let known: Option<Vec<&str>> = rest.iter().map(Text::as_known).collect();
                known.map_or_else(unknown, |words| Input::Text(words.join(" ")))
            }
            _ => unknown(),
        }
    }

    /// The words of a command, when the text leaves only one possibility.
    fn expand_single(&mut self, words: &[Node]) -> Option<Fields> {
        let lists = words.iter().map(|word| self.expand_node(word)).collect();
        let mut all = combine_choices(lists, 1)?;
        all.pop()
    }

    /// Every word of a list, whichever of them it will be.
    fn expand_all(&mut self, words: &[Node]) -> Fields {
        words.iter().flat_map(|word| self.expand_node(word)).flatten().collect()
    }

    fn walk_simple_command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        let input = std::mem::replace(&mut self.input, Input::Inherited);
        let is_piped = std::mem::take(&mut self.is_piped);
        let input = self.follow_redirects(redirects).unwrap_or(input);
        if words.is_empty() {
            return assignments.iter().for_each(|node| self.assign_node(node));
        }
        let raw = raw_of(words);
        let lists: Vec<Vec<Fields>> = words.iter().map(|word| self.expand_node(word)).collect();
        let Some(commands) = combine_choices(lists, MAX_ALTERNATIVES) else {
            return self.collector.cannot_see(&format!("`{raw}`: too many possibilities"));
        };
        // Variables before a command are seen by it alone.
        let before = (!assignments.is_empty()).then(|| self.state.clone());
        for node in assignments {
            self.assign_node(node);
            self.export_assigned(node);
        }
        for words in commands.into_iter().filter(|words| !words.is_empty()) {
            let command = Command { words, input: input.clone(), raw: raw.clone(), is_piped };
            self.run(&command);
        }
        if let Some(before) = before {
            self.state = before;
        }
    }

    /// Follows redirections. Returns what the command reads, if one says so.
    fn follow_redirects(&mut self, redirects: &[Node]) -> Option<Input> {
        let mut input = None;
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, .. } => {
                    input = Some(self.here_document(content, *quoted));
                }
                NodeKind::Redirect { op, target, .. } => {
                    let words = self.expand_node(target);
                    // What is written to is no part of the hook: else its log would revoke it.
                    input = self.follow_redirect(op, words).or(input);
                }
                _ => {}
            }
        }
        input
    }

    fn follow_redirect(&mut self, op: &str, alternatives: Vec<Fields>) -> Option<Input> {
        let words: Fields = alternatives.into_iter().flatten().collect();
        match op {
            "<<<" => Some(match words.iter().map(Text::as_known).collect::<Option<Vec<_>>>() {
                Some(known) => Input::Text(known.join(" ")),
                None => Input::Pipe("<<<".to_owned()),
            }),
            "<" | "<>" => {
                for word in &words {
                    self.add_argument(word);
                }
                Some(Input::Files(words))
            }
            _ => None,
        }
    }

    /// The text of a here-document, when it has no expansions or all of them are known.
    fn here_document(&mut self, content: &str, quoted: bool) -> Input {
        if quoted || !content.contains(['$', '`']) {
            return Input::Text(content.to_owned());
        }
        let escaped = content.replace('"', "\\\"");
        match self.expand_word(&format!("\"{escaped}\"")).as_slice() {
            [fields] => match fields.as_slice() {
                [text] if text.as_known().is_some() => {
                    Input::Text(text.as_known().unwrap_or_default().to_owned())
                }
                _ => Input::Pipe("a here-document".to_owned()),
            },
            _ => Input::Pipe("a here-document".to_owned()),
        }
    }

    /// Calls a function that the text has defined.
    pub fn call_function(&mut self, name: &str, args: &[Text]) -> bool {
        let Some(body) = self.state.functions.get(name).cloned() else { return false };
        if self.state.call_depth >= super::collector::MAX_SCRIPT_DEPTH {
            return true;
        }
        let outer = self.state.args.replace(args.to_vec());
        self.state.call_depth += 1;
        self.walk_node(&body);
        self.state.call_depth -= 1;
        self.state.args = outer;
        true
    }

    /// Takes a word for the name of a file, from every folder that the shell may stand in.
    /// Returns the files that are there.
    pub fn add_named(&mut self, word: &Text, naming: Naming) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if let Some(pattern) = word.to_pattern() {
            let relative = !pattern.starts_with('/');
            if relative && naming == Naming::Code && !self.state.folder_known {
                self.collector.cannot_see(&format!("`{pattern}` of a folder that is computed"));
            }
            for folder in self.state.folders.clone() {
                match word.as_known() {
                    Some("") => {}
                    Some(known) => {
                        found.extend(self.collector.add_file(
                            &folder.join(known),
                            relative,
                            naming,
                        ));
                    }
                    None => found.extend(self.collector.add_glob(&pattern, &folder, relative)),
                }
            }
        } else if let Some(tail) = word.tail_path() {
            // Behind something unknown: the project's folder is the best guess.
            for folder in self.collector.around.unknown.clone() {
                found.extend(self.collector.add_file(&folder.join(tail), true, Naming::Guess));
            }
        }
        found
    }

    /// Takes a word that is handed to a program.
    pub fn add_argument(&mut self, word: &Text) -> Vec<PathBuf> {
        let text = word.with_marks('*');
        let value = text.split_once('=').map(|(_, value)| value.to_owned());
        let naming = if text.contains('/') { Naming::Argument } else { Naming::Guess };
        let mut found = self.add_named(word, naming);
        // `--config=x.json`
        if let Some(value) = value.filter(|_| !word.has_unknown()) {
            found.extend(self.add_named(&Text::literal(&value), naming));
        }
        found
    }
}

fn raw_of(words: &[Node]) -> String {
    let raw = |node: &Node| match &node.kind {
        NodeKind::Word { value, .. } => value.clone(),
        _ => String::new(),
    };
    words.iter().map(raw).collect::<Vec<_>>().join(" ")
}

fn raw_words(node: &Node) -> String {
    match &node.kind {
        NodeKind::Command { words, .. } => raw_of(words),
        _ => "a command".to_owned(),
    }
}
