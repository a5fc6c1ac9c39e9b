//! `run --detach`: starts the same run in a process of its own, and waits until it has begun.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use gambrel::Gambrel;
use gambrel_runner::{RunFolder, read_state};
use serde_json::json;

use super::{RunArgs, status};
use crate::printer;

/// How long the run may take to begin before this command returns.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const START_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How many of the last lines of a failed start are printed.
const MAX_LOG_LINES: usize = 20;

/// Starts the run in the background.
pub fn start_in_background(
    gambrel: &Gambrel,
    folder: Option<PathBuf>,
    args: &RunArgs,
    (session, run_folder): (&str, &RunFolder),
) -> anyhow::Result<u8> {
    let mut log_path = run_folder.path.clone().into_os_string();
    log_path.push(".log");
    let log_path = PathBuf::from(log_path);
    if let Some(parent) = log_path.parent() {
        std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    }
    let log = File::create(&log_path).with_context(|| log_path.display().to_string())?;
    let program = gambrel.setup().supervisor.clone().unwrap_or_else(|| "gambrel".into());
    let mut command = Command::new(program);
    command.args(background_words(folder, args, session));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    if std::env::var_os("GAMBREL_UI").is_none() {
        // Nobody looks at a terminal, but somebody may look at the page of questions.
        command.env("GAMBREL_UI", "page");
    }
    let mut child = command.spawn()?;

    let pid = child.id();
    match wait_for_start(gambrel, &mut child, run_folder)? {
        StartResult::Ended(0) | StartResult::Running => {}
        StartResult::Ended(code) => {
            printer::print_stderr(&printer::replace_controls(&last_lines(&log_path)));
            return Ok(u8::try_from(code).unwrap_or(1));
        }
    }
    if args.json {
        let (folder, log) = (&run_folder.path, &log_path);
        printer::print_json(&json!({"session": session, "pid": pid, "folder": folder, "log": log}));
        return Ok(0);
    }
    printer::print(&format!("{session}\n"));
    printer::warn(&format!(
        "the run `{session}` works in the background, process {pid}\n  \
         gambrel tail -f {session}     follow what the agent writes\n  \
         gambrel status {session}      show its state\n  \
         gambrel stop {session}        end it"
    ));
    Ok(0)
}

/// What became of the process.
enum StartResult {
    /// It runs the session, or takes long to begin.
    Running,
    /// It has ended.
    Ended(i32),
}

fn wait_for_start(
    gambrel: &Gambrel,
    child: &mut Child,
    run_folder: &RunFolder,
) -> anyhow::Result<StartResult> {
    let end = Instant::now() + START_TIMEOUT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(StartResult::Ended(status.code().unwrap_or(1)));
        }
        let owner = status::find_owner(gambrel, &run_folder.path);
        if owner.is_some_and(|owner| owner.pid == child.id()) {
            let state = read_state(gambrel.ledger(), &run_folder.path).ok().flatten();
            if state.is_some_and(|(_, state)| state.line_count > 0) {
                return Ok(StartResult::Running);
            }
        }
        std::thread::sleep(START_CHECK_INTERVAL);
    }
    Ok(StartResult::Running)
}

/// The arguments of the process in the background: the same run, by the name of its session.
fn background_words(folder: Option<PathBuf>, args: &RunArgs, session: &str) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(folder.into_iter().flat_map(|path| ["-C".to_owned(), path.display().to_string()]));
    words.extend(["run", "--background", "--session", session].map(str::to_owned));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let values = [
        ("--agent", args.agent.clone()),
        ("--model", args.model.clone()),
        ("--max", args.max.map(|max| max.to_string())),
        ("--prompt", args.prompt.clone()),
        ("--context", args.context.clone()),
        ("--extra", args.extra.clone()),
        ("--session-dir", path(&args.session_dir)),
        ("--inputs", path(&args.inputs)),
    ];
    let inputs = args.input.iter().map(|input| ("--input", Some(input.clone())));
    for (name, value) in values.into_iter().chain(inputs) {
        // Joined, so that a value may begin with a dash.
        words.extend(value.map(|value| format!("{name}={value}")));
    }
    let flags = [("--resume", args.resume), ("--fresh", args.fresh), ("--strict", args.strict)];
    words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()));
    words.extend(args.target.iter().flat_map(|target| ["--".to_owned(), target.clone()]));
    words
}

fn last_lines(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(MAX_LOG_LINES);
    lines.iter().skip(first).map(|line| format!("{line}\n")).collect()
}
