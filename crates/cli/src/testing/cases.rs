//! `gambrel test`: runs cases for hooks and shows what differs from what they expect.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use gambrel::Setup;
use serde_json::{Value, json};

use super::case_file::{CaseFile, CaseStep, HookCase, read_case_file};
use super::case_folder::CaseFolder;
use super::case_run::{files_of_hooks, run_step};
use super::compare::find_differences;
use super::report::{CaseEnd, CaseResult, FailedStep, format_counts};
use crate::args::USAGE_EXIT_CODE;
use crate::printer::{self, diagnostic};
use crate::{args::UsageError, open};

/// The end of the names of files with cases.
const CASE_ENDING: &str = ".case.yaml";
/// The folder of a project's own cases.
const DEFAULT_FOLDER: &str = ".gambrel/tests";

/// Arguments of `test`.
#[derive(Debug, Args)]
#[command(after_help = "A case names an event and the decision that is expected:
  cases:
    - name: denies a recursive rm
      fire: {from: claude, event: PreToolUse, with: {tool_input: {command: rm -rf build}}}
      expect: {ruling: deny, reasons: [\"no recursive rm\"]}

Each case runs in folders of its own, with copies of the project's hooks and with no
other hooks of yours. `test` runs these hooks, trusted or not. docs/testing-hooks.md
describes every key.")]
pub struct TestArgs {
    /// Run these files, or all *.case.yaml in these folders [default: .gambrel/tests].
    pub files: Vec<PathBuf>,
    /// Run only cases whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Give up on a firing after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs all cases. Exits 1 if one fails.
pub fn run(folder: Option<PathBuf>, args: &TestArgs) -> anyhow::Result<u8> {
    let setup = open::build_setup(folder, None)?;
    let files = find_files(&setup, &args.files)?;
    let mut results = Vec::new();
    let mut json = Vec::new();
    for path in &files {
        let shown = path.strip_prefix(setup.working_dir()).unwrap_or(path).display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| shown.clone())?;
        let file = match read_case_file(path, &text) {
            Ok(file) => file,
            Err(complaints) => {
                for complaint in &complaints {
                    printer::print_stderr(&diagnostic::draw_snippet(complaint));
                }
                return Ok(USAGE_EXIT_CODE);
            }
        };
        let own = run_file(&setup, path, &file, args)?;
        if !args.json && !own.is_empty() {
            printer::print(&format!("{}\n", printer::single_line(&shown)));
        }
        for result in own {
            match args.json {
                true => json.push(result.to_json(&shown)),
                false => printer::print(&result.format()),
            }
            results.push(result);
        }
    }
    if results.is_empty() {
        bail!(UsageError(no_cases(args)));
    }
    print_end(&results, json, args.json);
    Ok(u8::from(results.iter().any(|result| matches!(result.end, CaseEnd::Failed(_)))))
}

fn no_cases(args: &TestArgs) -> String {
    match &args.case {
        Some(text) => format!("no case has `{text}` in its name"),
        None => "these files have no cases: see docs/testing-hooks.md".to_owned(),
    }
}

fn print_end(results: &[CaseResult], list: Vec<Value>, as_json: bool) {
    if !as_json {
        return printer::print(&format_counts(results));
    }
    let count = |word: &str| list.iter().filter(|result| result["status"] == word).count();
    printer::print_json(&json!({
        "passed": count("passed"), "failed": count("failed"), "skipped": count("skipped"),
        "cases": list,
    }));
}

/// The files that the user names; of a folder all files with cases in it.
fn find_files(setup: &Setup, named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    if named.is_empty() {
        let folder = open::project_folder(setup).join(DEFAULT_FOLDER);
        if !folder.is_dir() {
            let message = format!("name a file with cases, or put them into {DEFAULT_FOLDER}");
            bail!(UsageError(message));
        }
        return Ok(case_files_in(&folder));
    }
    let mut files = Vec::new();
    for path in named {
        let path = setup.working_dir().join(path);
        match path.is_dir() {
            true => files.extend(case_files_in(&path)),
            false if path.is_file() => files.push(path),
            false => bail!(UsageError(format!("{}: no such file", path.display()))),
        }
    }
    Ok(files)
}

fn case_files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(CASE_ENDING));
    files.sort();
    files
}

fn run_file(
    setup: &Setup,
    path: &Path,
    file: &CaseFile,
    args: &TestArgs,
) -> anyhow::Result<Vec<CaseResult>> {
    let near = path.parent().unwrap_or(Path::new("/"));
    let project = match &file.project {
        Some(named) => near.join(named),
        None => Setup { folder: Some(near.to_owned()), ..setup.clone() }.search_roots(None).project,
    };
    let project = std::fs::canonicalize(&project)
        .with_context(|| format!("`project`: {}", project.display()))?;
    let is_chosen =
        |case: &&HookCase| args.case.as_ref().is_none_or(|text| case.name.contains(text));
    let chosen: Vec<&HookCase> = file.cases.iter().filter(is_chosen).collect();
    let uses_project = chosen.iter().any(|case| case.skip.is_none() && case.files.is_none());
    let of_hooks = if uses_project { files_of_hooks(&project) } else { Vec::new() };
    let run = |case: &&HookCase| CaseResult {
        name: case.name.clone(),
        end: run_case(case, &project, &of_hooks, Duration::from_secs(args.timeout)),
    };
    Ok(chosen.iter().map(run).collect())
}

fn run_case(case: &HookCase, project: &Path, of_hooks: &[PathBuf], timeout: Duration) -> CaseEnd {
    if let Some(why) = &case.skip {
        return CaseEnd::Skipped(why.clone());
    }
    let folder = CaseFolder::create().and_then(|folder| {
        folder.write_case(case, project, of_hooks)?;
        Ok(folder)
    });
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => return CaseEnd::Failed(vec![failed_step(0, "", Some(&error))]),
    };
    let mut failed = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let event = event_name(step);
        match run_step(case, step, &folder, timeout) {
            Err(error) => failed.push(failed_step(index + 1, &event, Some(&error))),
            Ok(observed) => {
                let differences = find_differences(&step.expect, &observed, &folder);
                if !differences.is_empty() {
                    let trail = show_trail(&observed.decision);
                    let step = failed_step(index + 1, &event, None);
                    failed.push(FailedStep { differences, trail, ..step });
                }
            }
        }
    }
    if failed.is_empty() { CaseEnd::Passed } else { CaseEnd::Failed(failed) }
}

fn failed_step(number: usize, event: &str, error: Option<&anyhow::Error>) -> FailedStep {
    let error = error.map(|error| format!("{error:#}"));
    FailedStep {
        number,
        event: event.to_owned(),
        error,
        differences: Vec::new(),
        trail: Vec::new(),
    }
}

/// The event of a step in a few words.
fn event_name(step: &CaseStep) -> String {
    let name = match &step.event {
        Value::String(name) => Some(name.as_str()),
        event => {
            let keys = gambrel::DIALECTS.iter().flat_map(|dialect| dialect.properties.event_keys);
            let mut names = keys.filter_map(|key| event.get(*key)?.as_str());
            names.next()
        }
    };
    format!("{} from {}", name.unwrap_or("an event"), step.from)
}

/// One line for each hook that was considered.
fn show_trail(decision: &Value) -> Vec<String> {
    let part = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let line = |step: &Value| {
        let code = step["code"].as_i64().map(|code| format!(" {code}")).unwrap_or_default();
        let verdict = if step["ran"] == true { part(step, "verdict") } else { String::new() };
        let again = if step["recheck"] == true { " (again)" } else { "" };
        let parts = [
            part(step, "title") + again,
            part(step, "outcome") + &code,
            verdict,
            part(step, "why"),
            part(step, "stderr").trim().to_owned(),
        ];
        let mut shown: Vec<String> = parts.into_iter().filter(|text| !text.is_empty()).collect();
        shown.dedup();
        shown.join(" · ")
    };
    decision["trail"].as_array().into_iter().flatten().map(line).collect()
}
