//! A step of a case that runs a command of the built program, and what it must leave: the exit
//! code, the lines that hooks and agents traced, and the files of the run's folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use super::case::Case;
use super::check::{Observed, check_pattern};
use super::real::CaseProject;
use crate::test_project::{text, wait_until};

/// A command of the built program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandStep {
    /// Its arguments: `[run, work]`, `[resume]`, `[trust, --all, --yes]` …
    pub args: Vec<String>,
    /// Set on top of the case's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that are written before it starts. A text `null` removes the file.
    #[serde(default)]
    pub files: BTreeMap<String, Option<String>>,
    /// How it is ended before it ends by itself.
    #[serde(default)]
    pub end: Option<CommandEnd>,
}

/// A signal for a command that runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEnd {
    /// The signal, as `kill` names it.
    pub signal: String,
    /// It is sent when the file `trace` has this line.
    pub when: String,
}

/// What a command must leave. A field that is not set is not checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedRun {
    /// The exit code; always checked. A command that a signal killed has none.
    pub exit: Option<i32>,
    /// Parts of stderr.
    pub stderr: Vec<String>,
    /// Parts that stderr must not have.
    pub no_stderr: Vec<String>,
    /// Parts of stdout.
    pub stdout: Vec<String>,
    /// Exactly the lines of the file `trace`, from all steps so far.
    pub trace: Option<Vec<String>>,
    /// The run folder, from the project's folder, for the fields below.
    pub folder: String,
    /// Patterns of values in JSON files, by file and JSON pointer. `null`: not there.
    pub json: BTreeMap<String, BTreeMap<String, Value>>,
    /// The whole text of files.
    pub texts: BTreeMap<String, String>,
    /// Files and folders that must not be there.
    pub absent: Vec<String>,
    /// Exactly the types of the lines of `events.jsonl`.
    pub events: Option<Vec<String>>,
}

impl Default for ExpectedRun {
    fn default() -> Self {
        Self {
            exit: Some(0),
            stderr: Vec::new(),
            no_stderr: Vec::new(),
            stdout: Vec::new(),
            trace: None,
            folder: ".gambrel/runs/work".to_owned(),
            json: BTreeMap::new(),
            texts: BTreeMap::new(),
            absent: Vec::new(),
            events: None,
        }
    }
}

/// Runs the command to its end.
pub fn run_command(project: &CaseProject, case: &Case, step: &CommandStep) -> Observed {
    for (path, text) in &step.files {
        match text {
            Some(text) => project.write(path, &project.substitute(text)),
            None => std::fs::remove_file(project.path(path)).unwrap(),
        }
    }
    let mut command = Command::new(crate::test_project::program());
    command.args(step.args.iter().map(|word| project.substitute(word)));
    command.env_clear().env("GAMBREL_TRUST", "all").envs(project.env(case));
    command.envs(step.env.iter().map(|(name, value)| (name, project.substitute(value))));
    command.current_dir(&project.root).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Some(end) = &step.end {
        wait_until(&end.when, || read_trace(&project.root).contains(&end.when));
        send_signal(&child, &end.signal);
    }
    let output = child.wait_with_output().unwrap();
    Observed {
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        exit: output.status.code().unwrap_or(-1),
        ..Observed::default()
    }
}

fn send_signal(child: &Child, signal: &str) {
    let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(kill.unwrap().success(), "kill -s {signal}");
}

fn read_trace(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join("trace")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Every difference, as text.
pub fn differences(
    project: &CaseProject,
    expected: &ExpectedRun,
    observed: &Observed,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if observed.exit != expected.exit.unwrap_or(-1) {
        let stderr = &observed.stderr;
        wrong.push(format!("exit: expected {:?}, saw {}: {stderr}", expected.exit, observed.exit));
    }
    let part_of = |parts: &[String], printed: &str, is_wanted: bool| -> Vec<String> {
        let parts = parts.iter().map(|part| project.substitute(part));
        parts.filter(|part| printed.contains(part.as_str()) != is_wanted).collect()
    };
    for part in part_of(&expected.stderr, &observed.stderr, true) {
        wrong.push(format!("stderr: no {part:?} in {}", observed.stderr));
    }
    for part in part_of(&expected.no_stderr, &observed.stderr, false) {
        wrong.push(format!("stderr: {part:?} is in {}", observed.stderr));
    }
    for part in part_of(&expected.stdout, &observed.stdout, true) {
        wrong.push(format!("stdout: no {part:?} in {}", observed.stdout));
    }
    let trace = read_trace(&project.root);
    if let Some(lines) = expected.trace.as_ref().filter(|lines| **lines != trace) {
        wrong.push(format!("trace: expected {lines:?}, saw {trace:?}"));
    }
    let folder = project.root.join(&expected.folder);
    check_json(&mut wrong, project, expected, &folder);
    check_texts(&mut wrong, project, expected, &folder);
    if let Some(types) = &expected.events {
        let seen = read_event_types(&folder);
        if *types != seen {
            wrong.push(format!("events: expected {types:?}, saw {seen:?}"));
        }
    }
    wrong
}

fn check_json(
    wrong: &mut Vec<String>,
    project: &CaseProject,
    expected: &ExpectedRun,
    folder: &Path,
) {
    for (file, values) in &expected.json {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        let Ok(whole) = serde_json::from_str::<Value>(&text) else {
            wrong.push(format!("{file}: no JSON: {text:?}"));
            continue;
        };
        for (pointer, pattern) in values {
            let value = whole.pointer(pointer).unwrap_or(&Value::Null);
            let pattern = project.substitute_json(pattern);
            check_pattern(wrong, &format!("{file}{pointer}"), &pattern, value);
        }
    }
}

fn check_texts(
    wrong: &mut Vec<String>,
    project: &CaseProject,
    expected: &ExpectedRun,
    folder: &Path,
) {
    for (file, text) in &expected.texts {
        let seen = std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| e.to_string());
        let text = project.substitute(text);
        if seen != text {
            wrong.push(format!("{file}: expected {text:?}, saw {seen:?}"));
        }
    }
    let there = expected.absent.iter().filter(|file| folder.join(file).exists());
    wrong.extend(there.map(|file| format!("{file} is there")));
}

fn read_event_types(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let kind = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        line["type"].as_str().unwrap_or("not JSON").to_owned()
    };
    text.lines().map(kind).collect()
}
