//! Goes over README.md and docs/: runs the commands in a fresh root and compares what they print,
//! writes the files, and checks all other code by its language. `docs/README.md` describes the
//! markers.

mod blocks;
mod cargo_lines;
mod container;
mod cookbook;
mod environment;
mod exceptions;
mod expected;
mod fresh_root;
mod languages;
mod serve_line;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use blocks::{CodeBlock, Marker, read_blocks};
use cargo_lines::repository;
use container::is_allowed;
use exceptions::{EXCEPTIONS, Exception};
use fresh_root::{FreshRoot, read_repository_file};

use crate::offline::{run_offline, test_name};

/// README.md and every Markdown file in docs.
fn documents() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec![Path::new("docs").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(repository().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if repository().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// What a walk over one document finds.
struct DocumentRun<'d> {
    document: &'d str,
    root: FreshRoot,
    wrong: Vec<String>,
    /// Exceptions that were needed, by line.
    used: BTreeSet<&'static str>,
    /// A program that the document needs is not installed, and the rest was left out.
    is_cut_short: bool,
}

impl<'d> DocumentRun<'d> {
    fn start(document: &'d str) -> Self {
        let (wrong, used) = (Vec::new(), BTreeSet::new());
        Self { document, root: FreshRoot::new(), wrong, used, is_cut_short: false }
    }

    fn run(mut self, blocks: &[CodeBlock]) -> Self {
        for block in blocks {
            if block.markers.contains(&Marker::NewProject) {
                self.finish_project(block.line);
                self.root = FreshRoot::new();
            }
            if !self.prepare_model(block) {
                eprintln!("SKIP {}:{} and all after it", self.document, block.line);
                self.is_cut_short = true;
                return self;
            }
            if let Err(why) = self.run_block(block) {
                self.wrong.push(format!("{}:{}: {why}", self.document, block.line));
            }
        }
        self.finish_project(0);
        self
    }

    /// The hooks and plans that the document wrote into its project have no mistakes.
    fn finish_project(&mut self, line: usize) {
        if let Err(why) = languages::check_project(&self.root) {
            self.wrong.push(format!("{}: the project before line {line}: {why}", self.document));
        }
    }

    fn prepare_model(&mut self, block: &CodeBlock) -> bool {
        let commands = block.markers.iter().filter_map(|marker| match marker {
            Marker::Model(command) => Some(command.as_str()),
            _ => None,
        });
        let commands: Vec<&str> = commands.collect();
        commands.is_empty() || self.root.install_claude_code(&commands)
    }

    fn run_block(&mut self, block: &CodeBlock) -> Result<(), String> {
        if let Some(path) = block.file() {
            self.root.write_file(path, &block.text);
            return match block.language.as_str() {
                "" => Err("the block names no language".to_owned()),
                "json" | "ts" | "js" => {
                    languages::check_code(self.document, &block.language, &block.text)
                }
                "yaml" => languages::parse_yaml(&block.text).map(drop),
                _ => Ok(()),
            };
        }
        match block.language.as_str() {
            "console" => self.run_transcript(&block.text),
            "sh" => self.run_script(&block.text),
            language => {
                let first = block.text.lines().next().unwrap_or_default();
                if self.is_excepted(first) {
                    return Ok(());
                }
                languages::check_code(self.document, language, &block.text)
            }
        }
    }

    /// Lines that begin with `$ ` are run; `> ` continues one. The text after a line is compared
    /// with what it prints.
    fn run_transcript(&mut self, text: &str) -> Result<(), String> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), String::new()));
            } else if let Some((command, shown)) = commands.last_mut() {
                match line.strip_prefix("> ").filter(|_| shown.is_empty()) {
                    Some(more) => *command += &format!("\n{more}"),
                    None => *shown += &format!("{line}\n"),
                }
            } else {
                return Err("the block begins with no `$ ` line".to_owned());
            }
        }
        for (command, shown) in commands {
            if self.is_excepted(&command) {
                continue;
            }
            let printed = self.root.run_line(&command)?;
            if !expected::is_match(&shown, &printed) {
                return Err(format!("`{command}` printed:\n{printed}\nthe document has:\n{shown}"));
            }
        }
        Ok(())
    }

    /// Runs each line; a backslash at the end continues it.
    fn run_script(&mut self, text: &str) -> Result<(), String> {
        for line in text.replace("\\\n", " ").lines() {
            let command = line.split(" # ").next().unwrap_or_default().trim();
            if command.is_empty() || command.starts_with('#') || self.is_excepted(command) {
                continue;
            }
            self.root.run_line(command)?;
        }
        Ok(())
    }

    fn is_excepted(&mut self, line: &str) -> bool {
        let mut entries = EXCEPTIONS.iter().filter(|entry| entry.document == self.document);
        let found = entries.find(|entry| entry.line == line);
        self.used.extend(found.map(|entry| entry.line));
        found.is_some()
    }
}

/// One test for each document, so that the name of a failed one says where to look.
macro_rules! document_tests {
    ($(#[$test:meta] fn $name:ident() runs $document:literal;)*) => {
        const TESTED_DOCUMENTS: &[&str] = &[$($document),*];
        $(#[$test]
        fn $name() {
            let test = || test_document($document);
            run_alone(test_name_of(&test), $document, test);
        })*
    };
}

document_tests! {
    #[test] fn runs_readme() runs "README.md";
    #[test] fn runs_docs_index() runs "docs/README.md";
    #[test] fn runs_agent_pipelines() runs "docs/agents/agent-pipelines.md";
    #[test] fn runs_claude_code() runs "docs/agents/claude-code.md";
    #[test] fn runs_iteratr() runs "docs/agents/iteratr.md";
    #[test] fn runs_oh_my_pi() runs "docs/agents/oh-my-pi.md";
    #[test] fn runs_other_programs() runs "docs/agents/other-programs.md";
    #[test] fn runs_pi_teams() runs "docs/agents/pi-teams.md";
    #[test] fn runs_approvals() runs "docs/approvals.md";
    #[test] fn runs_authoring() runs "docs/authoring.md";
    #[test] fn runs_benchmarks() runs "docs/benchmarks.md";
    #[test] fn runs_configuration() runs "docs/configuration.md";
    #[test] fn runs_cookbook() runs "docs/cookbook.md";
    #[test] fn runs_environment() runs "docs/environment.md";
    #[test] fn runs_glossary() runs "docs/glossary.md";
    #[test] fn runs_guide() runs "docs/guide.md";
    #[test] fn runs_hooks_yaml() runs "docs/hooks-yaml.md";
    #[test] fn runs_library() runs "docs/library.md";
    #[test] fn runs_published_build() runs "docs/published-build.md";
    #[test] fn runs_reliability() runs "docs/reliability.md";
    #[test] fn runs_runs() runs "docs/runs.md";
    #[test] fn runs_tasks() runs "docs/tasks.md";
    #[test] fn runs_testing_hooks() runs "docs/testing-hooks.md";
    #[test] fn runs_trust() runs "docs/trust.md";
    #[test] fn runs_typescript_modules() runs "docs/typescript-modules.md";
}

#[test]
fn every_document_has_a_test() {
    let mut tested = TESTED_DOCUMENTS.to_vec();
    tested.sort_unstable();
    assert_eq!(tested, documents());
}

fn run_alone(name: &str, document: &str, test: fn()) {
    if !is_allowed() {
        return;
    }
    if std::env::var_os("GAMBREL_TEST_IS_OFFLINE").is_none() {
        cargo_lines::build_before(&read_repository_file(document));
    }
    run_offline(name, test);
}

fn test_document(document: &str) {
    let wrong = run_document(document);
    assert!(wrong.is_empty(), "{} mistakes\n\n{}", wrong.len(), wrong.join("\n\n"));
}

fn test_name_of<T>(_: &T) -> &'static str {
    test_name::<T>()
}

/// The mistakes of a document, and exceptions that it does not need.
fn run_document(document: &str) -> Vec<String> {
    let blocks = match read_blocks(&read_repository_file(document)) {
        Ok(blocks) => blocks,
        Err(why) => return vec![format!("{document}: {why}")],
    };
    let run = DocumentRun::start(document).run(&blocks);
    let entries = EXCEPTIONS.iter().filter(|entry| entry.document == document);
    let unused = entries.filter(|entry| !run.is_cut_short && !run.used.contains(entry.line));
    let unused = unused.map(|Exception { line, because, .. }| {
        format!("{document}: needs no exception for `{line}` ({because})")
    });
    run.wrong.iter().cloned().chain(unused).collect()
}

#[test]
fn exceptions_name_documents() {
    let documents = documents();
    assert!(documents.len() > 10, "{documents:?}");
    for entry in EXCEPTIONS {
        assert!(documents.iter().any(|name| name == entry.document), "{}", entry.document);
    }
}

/// A walk that reports what is wrong: the test of documents can fail.
#[test]
fn finds_what_is_wrong_in_a_document() {
    if !is_allowed() {
        return;
    }
    for (text, part) in [
        ("```console\n$ echo a\nb\n```\n", "printed:\na\n"),
        ("```console\n$ exit 3\n```\n", "ended with Some(3)"),
        ("```sh\nls /nowhere\n```\n", "`ls /nowhere` ended with Some(2)"),
        ("```\nno language\n```\n", "names no language"),
        ("```toml\na = 1\n```\n", "nothing checks `toml`"),
        (
            "<!-- file: .gambrel/hooks.yaml -->\n```yaml\nhooks: {on_eror: []}\n```\n",
            "did you mean `on_error`",
        ),
    ] {
        let run = DocumentRun::start("docs/README.md").run(&read_blocks(text).unwrap());
        assert_eq!(run.wrong.len(), 1, "{text}: {:?}", run.wrong);
        assert!(run.wrong[0].contains(part), "{text}: {}", run.wrong[0]);
    }
    let good = "<!-- file: a/b.txt -->\n```text\nhello\n```\n```console\n$ cd a; X=1; export X\n\
                $ cat b.txt; echo \"$X\"\nhel[..]\n1\n$ printf 'a\\nb\\nc\\n'\n...\nc\n```\n\
                <!-- new project -->\n```console\n$ ls\n```\n";
    let run = DocumentRun::start("docs/README.md").run(&read_blocks(good).unwrap());
    assert_eq!(run.wrong, Vec::<String>::new());
}
