//! Expands the words of a shell text as far as the text shows their values.

use gambrel_model::text::is_variable_name;
use rable::{Node, NodeKind};

use super::parse::parse_shell;
use super::shell::ShellReader;
use super::state::{INHERITED_PATH, MAX_ALTERNATIVES};
use super::substitution;
use super::value::{Fields, Text};
use super::word::{MAX_WORD_DEPTH, Segment, split_segments};

const PROJECT_VAR: &str = "GAMBREL_PROJECT_DIR";

/// A word that is being put together.
#[derive(Clone, Default)]
struct Built {
    done: Fields,
    current: Text,
    /// Whether there is a current word, even an empty one.
    begun: bool,
}

impl Built {
    fn append_fields(&mut self, fields: &[Text], quoted: bool) {
        let Some((first, rest)) = fields.split_first() else {
            self.begun |= quoted;
            return;
        };
        self.current.append(first);
        self.begun = true;
        for field in rest {
            self.done.push(std::mem::replace(&mut self.current, field.clone()));
        }
    }

    fn into_fields(mut self) -> Fields {
        if self.begun {
            self.done.push(self.current);
        }
        self.done
    }
}

impl ShellReader<'_, '_> {
    /// What a word of the parser's may become.
    pub fn expand_node(&mut self, node: &Node) -> Vec<Fields> {
        match &node.kind {
            NodeKind::Word { value, .. } => self.expand_word(value),
            _ => vec![vec![Text::unknown()]],
        }
    }

    /// What a written word may become: for each possibility, its words.
    pub fn expand_word(&mut self, word: &str) -> Vec<Fields> {
        self.expand_within(word, 0)
    }

    fn expand_within(&mut self, word: &str, depth: usize) -> Vec<Fields> {
        if depth > MAX_WORD_DEPTH {
            return vec![vec![Text::unknown()]];
        }
        let mut all = vec![Built::default()];
        for segment in split_segments(word) {
            let (values, quoted) = self.values_of(&segment, depth);
            if all.len().saturating_mul(values.len()) > MAX_ALTERNATIVES {
                all.iter_mut().for_each(|built| built.append_fields(&[Text::unknown()], true));
                continue;
            }
            all = all
                .iter()
                .flat_map(|built| {
                    values.iter().map(move |value| {
                        let mut built = built.clone();
                        built.append_fields(value, quoted);
                        built
                    })
                })
                .collect();
        }
        all.into_iter().map(Built::into_fields).collect()
    }

    fn values_of(&mut self, segment: &Segment, depth: usize) -> (Vec<Fields>, bool) {
        let one = |text: Text| vec![vec![text]];
        match segment {
            Segment::Text { text, quoted } => (one(Text::literal(text)), *quoted),
            Segment::Glob(glob) => {
                let mut text = Text::default();
                text.push_glob(glob);
                (one(text), false)
            }
            Segment::Choice(texts) => {
                let each = |text: &String| self.expand_within(text, depth + 1);
                (texts.iter().flat_map(each).collect(), false)
            }
            Segment::Home => {
                let home = self.collector.around.home.as_ref();
                let home = home.map(|home| Text::literal(&home.display().to_string()));
                (one(home.unwrap_or_else(Text::unknown)), true)
            }
            Segment::Parameter { body, quoted } => {
                let values = self.expand_parameter(body, depth);
                (as_used(values, *quoted), *quoted)
            }
            Segment::Command { text, quoted } => {
                let values = self.expand_substitution(text);
                (as_used(values, *quoted), *quoted)
            }
            Segment::Process(text) => {
                self.in_subshell(text);
                (one(Text::unknown()), true)
            }
            Segment::Unknown => (one(Text::unknown()), true),
        }
    }

    /// The output of a substituted command, as far as its text shows it.
    fn expand_substitution(&mut self, text: &str) -> Vec<Fields> {
        if let Some(nodes) = parse_shell(text) {
            let before = self.state.clone();
            let output = substitution::command_output(self, &nodes);
            self.state = before;
            if let Some(values) = output {
                return values.into_iter().map(|value| vec![value]).collect();
            }
        }
        self.in_subshell(text);
        vec![vec![Text::unknown()]]
    }

    fn in_subshell(&mut self, text: &str) {
        if !self.collector.may_step() {
            return;
        }
        let before = self.state.clone();
        self.read_text(text);
        self.state = before;
    }

    /// The possible values of `${…}`, each a list of words for what has several.
    fn expand_parameter(&mut self, body: &str, depth: usize) -> Vec<Fields> {
        let unknown = || vec![vec![Text::unknown()]];
        let (name, rest) = split_name(body);
        if name.is_empty() || body.starts_with('!') || (body.starts_with('#') && body.len() > 1) {
            return unknown();
        }
        let (index, operator) = match rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            Some((index, after)) => (Some(index), after),
            None => (None, rest),
        };
        let value = self.variable_values(name, index);
        let sign = operator.trim_start_matches(':');
        let argument = sign.get(1..).unwrap_or_default();
        match sign.chars().next() {
            None => value.unwrap_or_else(unknown),
            Some('-' | '=') => {
                let known = value.as_ref().is_some_and(|v| v.iter().all(|f| !is_empty(f)));
                if let Some(value) = value.clone().filter(|_| known) {
                    return value;
                }
                let mut values = value.unwrap_or_else(unknown);
                values.retain(|fields| !is_empty(fields));
                values.extend(self.expand_within(argument, depth + 1));
                if sign.starts_with('=') {
                    self.state.set_variable(name, values.clone());
                }
                values
            }
            Some('+') => {
                let mut values = self.expand_within(argument, depth + 1);
                values.push(vec![Text::default()]);
                values
            }
            Some('?') => value.unwrap_or_else(unknown),
            Some('%' | '#') => match value {
                Some(values) => values.iter().map(|value| trim_fields(value, sign)).collect(),
                None => unknown(),
            },
            Some(_) => {
                // What the argument runs counts, whatever becomes of it.
                drop(self.expand_within(argument, depth + 1));
                unknown()
            }
        }
    }

    /// The possible values of a variable; `None` for one of the environment.
    fn variable_values(&self, name: &str, index: Option<&str>) -> Option<Vec<Fields>> {
        let around = self.collector.around;
        let path = |path: &std::path::Path| vec![vec![Text::literal(&path.display().to_string())]];
        let state = &self.state;
        if let Some(values) = state.vars.get(name) {
            return Some(index_values(values, index));
        }
        match name {
            "0" => state.script.as_deref().map(path),
            "BASH_SOURCE" => state.source.as_deref().map(path),
            "@" | "*" => state.args.clone().map(|args| vec![args]),
            "PWD" if state.folder_known => {
                Some(state.folders.iter().flat_map(|f| path(f)).collect())
            }
            "PATH" => Some(vec![vec![Text::literal(INHERITED_PATH)]]),
            "HOME" => around.home.as_deref().map(path),
            PROJECT_VAR => Some(path(&around.project)),
            _ if around.variables.0.contains(&name) => Some(path(&around.project)),
            _ if around.variables.1.contains(&name) => Some(path(&around.plugin)),
            _ => {
                let at: usize = name.parse().ok().filter(|at| *at > 0)?;
                let args = state.args.as_ref()?;
                Some(vec![vec![args.get(at - 1).cloned().unwrap_or_default()]])
            }
        }
    }

    /// `X=value`, `X+=value` or `X=(a b)`.
    pub fn assign_node(&mut self, node: &Node) {
        if let NodeKind::Word { value, .. } = &node.kind {
            self.assign_variable(value);
        }
    }

    pub fn assign_variable(&mut self, written: &str) {
        let Some((name, value)) = written.split_once('=') else { return };
        let (name, adds) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (name, is_element) = match name.split_once('[') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        if !is_variable_name(name) {
            return;
        }
        let values = match value.strip_prefix('(').and_then(|v| v.strip_suffix(')')) {
            Some(items) => vec![self.parse_array(items)],
            None => self.expand_word(value).into_iter().map(join_fields).collect(),
        };
        if !adds && !is_element {
            return self.state.set_variable(name, values);
        }
        let old = self.state.vars.get(name).cloned();
        let old =
            old.unwrap_or_else(|| vec![if is_element { vec![] } else { vec![Text::unknown()] }]);
        let is_array = is_element || value.starts_with('(');
        let mut all = Vec::new();
        for head in &old {
            for tail in &values {
                all.push(if is_array {
                    [head.as_slice(), tail].concat()
                } else {
                    concat_fields(head, tail)
                });
            }
        }
        self.state.set_variable(name, all);
    }

    fn parse_array(&mut self, items: &str) -> Fields {
        let Some(nodes) = parse_shell(&format!(": {items}")) else { return vec![Text::unknown()] };
        let [Node { kind: NodeKind::Command { words, .. }, .. }] = nodes.as_slice() else {
            return vec![Text::unknown()];
        };
        words[1..].iter().flat_map(|word| self.expand_node(word)).flatten().collect()
    }

    /// Programs see what is assigned here.
    pub fn export_assigned(&mut self, node: &Node) {
        if let NodeKind::Word { value, .. } = &node.kind {
            let name = value.split(['=', '+', '[']).next().unwrap_or_default();
            self.state.exported.insert(name.to_owned());
            self.add_value(name);
        }
    }
}

/// The variable of `${…}`, and what follows its name.
fn split_name(body: &str) -> (&str, &str) {
    let special = body.starts_with(['@', '*', '#', '?', '$', '!', '-']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = if special { 1 } else { body.find(|c| !is_name(c)).unwrap_or(body.len()) };
    body.split_at(end)
}

fn is_empty(fields: &Fields) -> bool {
    fields.iter().all(Text::is_empty)
}

/// Of a list the whole, or any one of its items.
fn index_values(values: &[Fields], index: Option<&str>) -> Vec<Fields> {
    match index {
        Some("@" | "*") => values.to_vec(),
        Some(_) => values.iter().flatten().map(|item| vec![item.clone()]).collect(),
        None => values.iter().map(|value| value.first().cloned().into_iter().collect()).collect(),
    }
}

/// A value in one word: what an assignment keeps.
fn join_fields(fields: Fields) -> Fields {
    let mut text = Text::default();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            text.push_text(" ");
        }
        text.append(field);
    }
    vec![text]
}

fn concat_fields(head: &Fields, tail: &Fields) -> Fields {
    let mut text = Text::default();
    head.iter().chain(tail).for_each(|part| text.append(part));
    vec![text]
}

/// Without quotes a value is split into words, and its glob signs count.
fn as_used(values: Vec<Fields>, quoted: bool) -> Vec<Fields> {
    if quoted {
        return values;
    }
    let split = |fields: Fields| fields.iter().flat_map(|f| f.with_globs().split_words()).collect();
    values.into_iter().map(split).collect()
}

/// `${X%/*}`, `${X##*/}` and the like.
fn trim_fields(fields: &Fields, sign: &str) -> Fields {
    let trim = |text: &Text| match text.as_known() {
        Some(known) => Text::literal(trim_match(known, sign)),
        None => Text::unknown(),
    };
    fields.iter().map(trim).collect()
}

fn trim_match<'t>(text: &'t str, sign: &str) -> &'t str {
    use gambrel_model::glob::glob_matches;
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    cuts.push(text.len());
    let greedy = sign.starts_with("%%") || sign.starts_with("##");
    let pattern = sign.trim_start_matches(['%', '#']).trim_matches('"');
    if sign.starts_with('%') {
        let fits = |at: &&usize| glob_matches(pattern, &text[**at..]);
        let found = if greedy { cuts.iter().find(fits) } else { cuts.iter().rev().find(fits) };
        return found.map_or(text, |at| &text[..*at]);
    }
    let fits = |at: &&usize| glob_matches(pattern, &text[..**at]);
    let found = if greedy { cuts.iter().rev().find(fits) } else { cuts.iter().find(fits) };
    found.map_or(text, |at| &text[*at..])
}
