//! `make TARGET`: the Makefile, what it includes, and what the recipes of the target run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::collector::Naming;
use super::shell::{Command, ShellReader};
use super::value::Text;

/// In the order in which they are looked for.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const MAX_INCLUDE_COUNT: usize = 16;

#[derive(Default)]
struct Rules {
    /// Target to what it depends on and its recipe.
    rules: BTreeMap<String, (Vec<String>, Vec<String>)>,
    first: Option<String>,
    variables: BTreeMap<String, String>,
    includes: Vec<String>,
    is_computed: bool,
}

/// Takes note of what `make` runs. False for any other program.
pub(super) fn run(shell: &mut ShellReader<'_, '_>, name: &str, command: &Command) -> bool {
    if !matches!(name, "make" | "gmake") {
        return false;
    }
    shell.look_up(name);
    let before = shell.state.clone();
    let (files, targets) = parse_arguments(shell, command);
    // `make` may start itself again.
    if !files.first().is_some_and(|file| shell.collector.enter_script(file)) {
        shell.state = before;
        return true;
    }
    let mut rules = Rules::default();
    for file in &files {
        read_file(shell, file, &mut rules);
    }
    let mut included = 0;
    while let Some(name) = rules.includes.pop() {
        included += 1;
        if included > MAX_INCLUDE_COUNT {
            break;
        }
        for file in shell.add_named(&Text::literal(&name), Naming::Code) {
            read_file(shell, &file, &mut rules);
        }
    }
    if rules.is_computed {
        shell
            .collector
            .cannot_see(&format!("`{}`: the Makefile computes what it runs", command.raw));
    }
    follow_recipes(shell, &rules, targets);
    shell.collector.leave_script();
    shell.state = before;
    true
}

/// The Makefiles and the targets that a command names.
fn parse_arguments(
    shell: &mut ShellReader<'_, '_>,
    command: &Command,
) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut targets) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    let mut words = command.words[1..].iter();
    while let Some(word) = words.next() {
        let Some(text) = word.as_known() else {
            shell.collector.cannot_see(&format!("`{}`: the target is computed", command.raw));
            continue;
        };
        match text {
            "-C" | "--directory" => {
                let folder = words.next().cloned().unwrap_or_default();
                shell.state.change_folder(&[folder]);
            }
            "-f" | "--file" | "--makefile" => names.extend(words.next().cloned()),
            "-j" | "-l" | "-o" | "-W" | "-I" => drop(words.next()),
            _ if text.starts_with('-') || text.contains('=') => {}
            _ => targets.push(text.to_owned()),
        }
    }
    for name in &names {
        files.extend(shell.add_named(name, Naming::Code));
    }
    if names.is_empty() {
        // One that is looked for first counts also where it is missing.
        let add = |name: &&str| shell.add_named(&Text::literal(name), Naming::Code);
        files.extend(NAMES.iter().map(add).find(|found| !found.is_empty()).unwrap_or_default());
    }
    (files, targets)
}

fn read_file(shell: &ShellReader<'_, '_>, file: &Path, rules: &mut Rules) {
    let Some(part) = shell.collector.find_part(file) else { return };
    let text = part.to_text().unwrap_or_default().replace("\\\n", " ");
    let mut current: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            for target in &current {
                if let Some((_, lines)) = rules.rules.get_mut(target) {
                    lines.push(recipe.to_owned());
                }
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        current = rules.take_line(line);
    }
}

impl Rules {
    /// A line that is no recipe. Returns the targets that it begins.
    fn take_line(&mut self, line: &str) -> Vec<String> {
        let word = line.split_whitespace().next().unwrap_or_default();
        self.is_computed |=
            ["$(shell", "$(eval", "$(call", "define "].iter().any(|w| line.contains(w));
        if matches!(word, "include" | "-include" | "sinclude") {
            let names = line[word.len()..].split_whitespace().map(|name| self.fill_variables(name));
            let names: Vec<String> = names.collect();
            self.is_computed |= names.iter().any(|name| name.contains('\u{e000}'));
            self.includes.extend(names);
            return Vec::new();
        }
        let assigned = [":=", "?=", "+=", "="].iter().find_map(|sign| line.split_once(sign));
        let is_rule = line.find(':').is_some_and(|at| !line[at..].starts_with(":="));
        if let Some((name, value)) = assigned.filter(|(name, _)| !name.contains(':')) {
            let value = self.fill_variables(value.trim());
            let name = name.trim().trim_start_matches("export ").trim_end_matches(':');
            self.variables.insert(name.trim().to_owned(), value);
            return Vec::new();
        }
        let Some((targets, after)) = line.split_once(':').filter(|_| is_rule) else {
            return Vec::new();
        };
        let (needs, recipe) = after.split_once(';').unwrap_or((after, ""));
        let names = |text: &str| -> Vec<String> {
            text.split_whitespace().map(|name| self.fill_variables(name)).collect()
        };
        let (targets, needs) = (names(targets), names(needs.trim_start_matches(':')));
        for target in &targets {
            self.is_computed |= target.contains(['%', '\u{e000}']);
            if !target.starts_with('.') {
                self.first.get_or_insert_with(|| target.clone());
            }
            let rule = self.rules.entry(target.clone()).or_default();
            rule.0.extend(needs.iter().cloned());
            rule.1.extend((!recipe.trim().is_empty()).then(|| recipe.trim().to_owned()));
        }
        targets
    }

    /// A text with the values of variables; a mark where one is not known.
    fn fill_variables(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let close = match rest.chars().next() {
                Some('(') => ')',
                Some('{') => '}',
                Some('$') => {
                    filled.push('$');
                    rest = &rest[1..];
                    continue;
                }
                Some(c) => {
                    filled.push('\u{e000}');
                    rest = &rest[c.len_utf8()..];
                    continue;
                }
                None => break,
            };
            let (name, after) = rest[1..].split_once(close).unwrap_or((&rest[1..], ""));
            match (name, self.variables.get(name)) {
                ("CURDIR", _) => filled.push('.'),
                ("MAKE", _) => filled.push_str("make"),
                ("SHELL", None) => filled.push_str("sh"),
                (_, Some(value)) => filled.push_str(value),
                _ => filled.push('\u{e000}'),
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

/// Reads the recipes of the targets, and of what they depend on.
fn follow_recipes(shell: &mut ShellReader<'_, '_>, rules: &Rules, targets: Vec<String>) {
    let mut todo = if targets.is_empty() { rules.first.iter().cloned().collect() } else { targets };
    let mut done = BTreeSet::new();
    while let Some(target) = todo.pop() {
        let Some((needs, lines)) = rules.rules.get(&target) else { continue };
        if !done.insert(target) {
            continue;
        }
        todo.extend(needs.iter().cloned());
        for line in lines {
            // What is not known becomes a variable that nobody has set.
            let text = rules.fill_variables(line.trim_start_matches(['@', '-', '+', ' ']));
            let before = shell.state.clone();
            shell.read_text(&text.replace('\u{e000}', "\"$GAMBREL_UNKNOWN\""));
            shell.state = before;
        }
    }
}
