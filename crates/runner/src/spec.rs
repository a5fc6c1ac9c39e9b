//! Spec files: a Markdown file is one stage whose agent works through the task board until it says
//! that the session is complete.

use std::path::{Path, PathBuf};

use gambrel_document::{Document, DocumentLanguage, DocumentNode};
use gambrel_engine::read_text;
use gambrel_model::ledger::{BoardNote, NoteKind, Task};
use gambrel_model::template::{Style, expand_plain};
use gambrel_model::{Complaint, SourceSpan};

use crate::board_tools::{note_word, tool_id, tool_status};
use crate::plan::SpecText;

/// The template of the project.
const TEMPLATE_FILE: &str = ".iteratr.template";
/// The settings of iteratr in the project.
const SETTINGS_FILE: &str = "iteratr.yml";
/// The prompt where the project has no template.
const DEFAULT_TEMPLATE: &str = "\
You are working in session {{session}}. This is iteration {{iteration}}.

# Spec
{{spec}}

# Tasks
{{tasks}}

# Notes
{{notes}}

# Earlier iterations
{{history}}

# How to work
- The tools task-add, task-update, task-list, task-next, note-add, note-list, iteration-summary and
  session-complete belong to the task board of this project.
- If the board has no tasks, add one task for each step of the spec, and start none of them yet.
- Otherwise take the task of task-next, set it to in_progress, do it and nothing else, check your work,
  and set it to completed. If a hook refuses, mend what it names and try again.
- Write down what a later iteration must know with note-add.
- At the end call iteration-summary once. If no task is left, call session-complete.
{{extra}}";

/// The template and the number of iterations that a project sets; 0 iterations are no limit.
#[derive(Debug, Default)]
pub struct SpecSettings {
    /// The file of the template, if there is one.
    pub template_path: Option<PathBuf>,
    /// The template.
    pub template: String,
    /// The most iterations.
    pub iterations: u32,
}

/// Reads the template and settings of a project.
pub fn read_spec_settings(project: &Path) -> Result<SpecSettings, Complaint> {
    let path = project.join(SETTINGS_FILE);
    let text = read_text(&path)?.unwrap_or_default();
    let document = Document::parse(&path, &text, DocumentLanguage::Yaml)?;
    let field = |name: &str| document.root.get(name).and_then(DocumentNode::text);
    let fail = |why: String| Complaint::error(SourceSpan::of_file(&path), why);
    let iterations = match field("iterations") {
        Some(written) => written
            .trim()
            .parse()
            .map_err(|_| fail(format!("`iterations` is a number, not `{written}`")))?,
        None => 0,
    };
    let own = project.join(TEMPLATE_FILE);
    if let Some(template) = read_text(&own)? {
        return Ok(SpecSettings { template_path: Some(own), template, iterations });
    }
    if let Some(named) = field("template").map(str::trim).filter(|named| !named.is_empty()) {
        let file = project.join(named);
        let template = read_text(&file)?
            .ok_or_else(|| fail(format!("`template`: {} is missing", file.display())))?;
        return Ok(SpecSettings { template_path: Some(file), template, iterations });
    }
    let template = DEFAULT_TEMPLATE.to_owned();
    Ok(SpecSettings { template_path: None, template, iterations })
}

/// What a prompt of a spec is filled with.
pub struct SpecFacts<'f> {
    /// The session's name.
    pub session: &'f str,
    /// The iteration.
    pub iteration: u32,
    /// The tasks of the board.
    pub tasks: &'f [Task],
    /// The notes of the board.
    pub notes: &'f [BoardNote],
}

/// The prompt of an iteration. An unknown variable stays as written.
pub fn build_spec_prompt(template: &str, spec: &SpecText, facts: &SpecFacts<'_>) -> String {
    let lookup = |name: &str| match name {
        "session" => Some(facts.session.to_owned()),
        "iteration" => Some(facts.iteration.to_string()),
        "spec" => Some(spec.text.trim_end().to_owned()),
        "extra" => Some(spec.extra.clone()),
        "tasks" => Some(list_tasks(facts.tasks)),
        "notes" => Some(list_notes(facts.notes)),
        "history" => Some(list_summaries(facts)),
        _ => None,
    };
    expand_plain(template, Style::Braces, &lookup)
}

fn list_tasks(tasks: &[Task]) -> String {
    let line = |task: &Task| {
        let (id, status) = (tool_id(task), tool_status(task.status));
        format!("- {id} [{status}] priority {}: {}", task.priority, task.subject)
    };
    join_lines(tasks.iter().map(line), "There are no tasks.")
}

fn list_notes(notes: &[BoardNote]) -> String {
    let line =
        |note: &BoardNote| note_word(note.kind).map(|word| format!("- {word}: {}", note.text));
    join_lines(notes.iter().filter_map(line), "There are no notes.")
}

fn list_summaries(facts: &SpecFacts<'_>) -> String {
    let is_own =
        |note: &&BoardNote| note.kind == NoteKind::Summary && note.session == facts.session;
    let line = |note: &BoardNote| {
        let iteration = note.iteration.map(|number| number.to_string()).unwrap_or_default();
        format!("- iteration {iteration}: {}", note.text)
    };
    join_lines(facts.notes.iter().filter(is_own).map(line), "This is the first one.")
}

fn join_lines(lines: impl Iterator<Item = String>, none: &str) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
}
