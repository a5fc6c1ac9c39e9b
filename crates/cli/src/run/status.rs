//! `gambrel status`, `runs` and `stop`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use gambrel::{Gambrel, now_ms, real_path};
use gambrel_engine::queue_messages;
#[cfg(feature = "http")]
use gambrel_model::RunSummary;
use gambrel_model::complaint::nearest_name;
use gambrel_model::event::run_key;
use gambrel_model::{Audience, Message, ProcessOrigin, Ticket, TicketState, iso_time};
use gambrel_runner::{Plan, RunFolder, RunState, RunStatus, is_session_name, read_state};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::counts_view::describe_counts;
use super::stall::AgentStall;
use super::{SayArgs, StatusArgs, StopArgs};
use crate::approvals::tickets::describe_question;
use crate::args::{JsonArgs, UsageError};
use crate::{open, printer};

const STOP_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The most characters of a question's title.
const MAX_TITLE_CHARS: usize = 60;
/// So many runs are named where one is not found.
const MAX_NAMED_RUN_COUNT: usize = 6;

/// The folder of the project's runs.
pub fn runs_folder(gambrel: &Gambrel) -> PathBuf {
    gambrel.project_folder().join(".gambrel/runs")
}

/// The folder of a session, with its links resolved: locks and keys contain it.
pub fn run_folder(gambrel: &Gambrel, session: &str) -> PathBuf {
    resolve_folder(&runs_folder(gambrel).join(session))
}

/// The error for a session that no run has.
pub fn unknown_run(gambrel: &Gambrel, session: &str) -> UsageError {
    let folder = runs_folder(gambrel);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let runs = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        runs.filter_map(|run| run.file_name().into_string().ok()).collect();
    names.sort();
    let help = match (nearest_name(session, names.iter().map(String::as_str)), names.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "`gambrel run` starts one".to_owned(),
        (None, [only]) => format!("there is only `{only}`"),
        (None, few) if few.len() <= MAX_NAMED_RUN_COUNT => format!("there are {}", few.join(", ")),
        (None, _) => "`gambrel runs` lists all".to_owned(),
    };
    UsageError(format!("no run `{session}` is in {}: {help}", folder.display()))
}

/// The one name of a folder that may not be there yet.
pub fn resolve_folder(folder: &Path) -> PathBuf {
    // Collected, because a join with nothing ends in a slash.
    real_path(folder).components().collect()
}

/// A run of the project.
struct KnownRun {
    session: String,
    plan: Plan,
    state: RunState,
    is_live: bool,
    /// `paused_at` and `child_session` while it waits for a child.
    pause: Option<(Value, Value)>,
    stall: Option<AgentStall>,
}

impl KnownRun {
    /// The id of the current or last stage; empty before the first.
    fn stage_id(&self) -> &str {
        let node = self.plan.nodes.get(self.state.cursor.node());
        node.map(|node| node.id.as_str()).unwrap_or_default()
    }

    fn status_word(&self) -> &'static str {
        match self.pause {
            Some(_) => "paused",
            None => status_word(&self.state, self.is_live),
        }
    }

    /// The status, and how long the agent has written nothing.
    fn status_text(&self) -> String {
        let word = self.status_word();
        self.stall.map_or_else(|| word.to_owned(), |stall| format!("{word}, {}", stall.describe()))
    }
}

/// Shows one run, or all.
pub fn show_status(folder: Option<PathBuf>, args: &StatusArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let Some(session) = &args.session else {
        return print_runs(&gambrel, args.json);
    };
    let Some(run) = read_run(&gambrel, session)? else {
        bail!(unknown_run(&gambrel, session));
    };
    if args.json {
        printer::print_json(&to_json(&run));
        return Ok(0);
    }
    let state = &run.state;
    let mut text = format!(
        "session    {}\npipeline   {}\nstatus     {}\nstage      {}\niteration  {}\nstarted    {}\n",
        run.session,
        run.plan.pipeline.name,
        run.status_word(),
        run.stage_id(),
        state.cursor.iteration,
        state.started_at
    );
    if let Some(stall) = &run.stall {
        let since = iso_time(stall.since_ms, false);
        text.push_str(&format!("stalled    {} (since {since})\n", stall.describe()));
    }
    if let Some((_, child)) = &run.pause {
        text.push_str(&format!("child      {}\n", child.as_str().unwrap_or_default()));
    }
    for ticket in open_questions(&gambrel, session)? {
        let title = printer::truncate_line(&describe_question(&ticket), MAX_TITLE_CHARS);
        let id = &ticket.id;
        text.push_str(&format!("question   {title}: gambrel approve {id}, or gambrel deny {id}\n"));
    }
    if let Some(failure) = state.failure.as_ref().filter(|_| state.status == RunStatus::Failed) {
        text.push_str(&format!("error      {}\n", printer::single_line(&failure.message)));
    }
    text.push_str(&format!("counts     {}\n", describe_counts(&state.totals.run)));
    for entry in &state.history {
        let summary = printer::single_line(&entry.summary);
        let counts = describe_counts(&entry.counts);
        let line = format!("  {} {}: {} {summary}", entry.stage, entry.iteration, entry.decision);
        text.push_str(&format!("{}\n    {counts}\n", line.trim_end()));
    }
    printer::print(&text);
    Ok(0)
}

/// The questions of a run that wait for an answer.
fn open_questions(gambrel: &Gambrel, session: &str) -> anyhow::Result<Vec<Ticket>> {
    let project = gambrel.project_folder().display().to_string();
    let now = now_ms();
    let mut tickets = gambrel.ledger().list_tickets()?;
    tickets.retain(|ticket| {
        let is_own = ticket.session == session && ticket.project == project;
        is_own && ticket.state_at(now) == TicketState::Open
    });
    Ok(tickets)
}

/// Lists all runs of the project.
pub fn list_runs(folder: Option<PathBuf>, args: &JsonArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    print_runs(&gambrel, args.json)
}

fn print_runs(gambrel: &Gambrel, json: bool) -> anyhow::Result<u8> {
    let runs = all_runs(gambrel);
    if json {
        printer::print_json(&Value::Array(runs.iter().map(to_json).collect()));
        return Ok(0);
    }
    if runs.is_empty() {
        printer::print("no runs are here; `gambrel run` starts one\n");
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.session.clone(),
                run.status_text(),
                run.stage_id().to_owned(),
                run.state.cursor.iteration.to_string(),
                run.state.started_at.clone(),
            ]
        })
        .collect();
    let head = ["SESSION", "STATUS", "STAGE", "ITERATION", "STARTED"];
    printer::print(&printer::format_table(&head, &rows));
    Ok(0)
}

/// Holds a live run before its next iteration.
pub fn pause(folder: Option<PathBuf>, args: &StopArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let folder = known_folder(&gambrel, &args.session)?;
    if find_owner(&gambrel, &folder).is_none() {
        bail!("the run `{}` is not running", args.session);
    }
    std::fs::write(RunFolder::new(folder).pause_file(), "")?;
    match args.json {
        true => printer::print_json(&json!({"session": args.session, "paused": true})),
        false => printer::print(&format!("{} holds before its next iteration\n", args.session)),
    }
    Ok(0)
}

/// Stores a message for the next prompt of a run.
pub fn say(folder: Option<PathBuf>, args: &SayArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let folder = known_folder(&gambrel, &args.session)?;
    let state = read_state(gambrel.ledger(), &folder)?.map(|(_, state)| state);
    if state.is_none_or(|state| state.status == RunStatus::Complete) {
        bail!("the run `{}` has no next iteration", args.session);
    }
    let id = format!("say-{}-{}", now_ms(), std::process::id());
    let message = Message::new(Audience::AgentNextTurn, &*args.text, "");
    queue_messages(gambrel.ledger(), &run_key(&folder), id, "gambrel say", vec![message])?;
    match args.json {
        true => printer::print_json(&json!({"session": args.session, "stored": true})),
        false => printer::print(&format!("stored for the next iteration of {}\n", args.session)),
    }
    Ok(0)
}

/// The folder of a session that exists.
fn known_folder(gambrel: &Gambrel, session: &str) -> anyhow::Result<PathBuf> {
    let folder = run_folder(gambrel, session);
    if !is_session_name(session) || !folder.is_dir() {
        bail!(unknown_run(gambrel, session));
    }
    Ok(folder)
}

/// Cancels a run that is live.
pub fn stop(folder: Option<PathBuf>, args: &StopArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let folder = known_folder(&gambrel, &args.session)?;
    let Some(owner) = find_owner(&gambrel, &folder) else {
        bail!("the run `{}` is not running", args.session);
    };
    let pid = i32::try_from(owner.pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else { bail!("the run `{}` has no process", args.session) };
    kill_process(pid, Signal::TERM)?;

    let end = Instant::now() + STOP_TIMEOUT;
    while find_owner(&gambrel, &folder).is_some_and(|now| now == owner) {
        if Instant::now() > end {
            bail!("process {} did not end within {} s", owner.pid, STOP_TIMEOUT.as_secs());
        }
        std::thread::sleep(STOP_CHECK_INTERVAL);
    }
    match args.json {
        true => printer::print_json(&json!({"session": args.session, "stopped": true})),
        false => printer::print(&format!("stopped {}\n", args.session)),
    }
    Ok(0)
}

/// The newest run that did not complete and that nobody runs. Runs that were moved away do not
/// count.
pub fn newest_incomplete(gambrel: &Gambrel) -> Option<String> {
    let can_continue = |run: &KnownRun| {
        run.state.status != RunStatus::Complete && !run.is_live && is_session_name(&run.session)
    };
    let open = all_runs(gambrel).into_iter().filter(can_continue);
    open.max_by(|a, b| a.state.started_at.cmp(&b.state.started_at)).map(|run| run.session)
}

/// The word for the status of a run.
pub fn status_word(state: &RunState, is_live: bool) -> &'static str {
    match state.status {
        RunStatus::Complete => "complete",
        RunStatus::Failed => "failed",
        RunStatus::Paused if is_live => "paused",
        RunStatus::Running if is_live => "running",
        RunStatus::Running | RunStatus::Paused if state.cancelled_at.is_some() => "cancelled",
        RunStatus::Running | RunStatus::Paused => "interrupted",
    }
}

/// The names of the folders of runs, also of those that were moved away.
pub fn session_names(gambrel: &Gambrel) -> Vec<String> {
    let entries = std::fs::read_dir(runs_folder(gambrel)).into_iter().flatten().flatten();
    // The log of a run in the background is a file beside its folder.
    let runs = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn all_runs(gambrel: &Gambrel) -> Vec<KnownRun> {
    let mut runs = Vec::new();
    for name in session_names(gambrel) {
        match read_run(gambrel, &name) {
            Ok(run) => runs.extend(run),
            Err(error) => printer::warn(&format!("gambrel: {error}")),
        }
    }
    runs
}

/// A run in short. `None` if it cannot be read.
#[cfg(feature = "http")]
pub fn summarize_run(gambrel: &Gambrel, session: &str) -> Option<RunSummary> {
    let run = read_run(gambrel, session).ok().flatten()?;
    Some(RunSummary {
        stage: run.stage_id().to_owned(),
        status: run.status_word().to_owned(),
        pipeline: run.plan.pipeline.name.clone(),
        began: run.state.started_ms,
        iteration: run.state.cursor.iteration,
        revision: run.state.line_count,
        session: run.session,
    })
}

fn read_run(gambrel: &Gambrel, session: &str) -> anyhow::Result<Option<KnownRun>> {
    let folder = run_folder(gambrel, session);
    let Some((plan, state)) = read_state(gambrel.ledger(), &folder)? else { return Ok(None) };
    let is_open = matches!(state.status, RunStatus::Running | RunStatus::Paused);
    let is_live = is_open && find_owner(gambrel, &folder).is_some();
    let is_running = state.status == RunStatus::Running;
    let pause = if is_live && is_running { read_pause(&folder) } else { None };
    let stall = match is_live && is_running && pause.is_none() {
        true => AgentStall::find(&plan, &state, &folder, now_ms()),
        false => None,
    };
    Ok(Some(KnownRun { session: session.to_owned(), plan, state, is_live, pause, stall }))
}

/// What `state.json` says while the run waits for a child.
fn read_pause(folder: &Path) -> Option<(Value, Value)> {
    let bytes = std::fs::read(folder.join("state.json")).ok()?;
    let mut state: Value = serde_json::from_slice(&bytes).ok()?;
    let is_paused = state["status"] == "paused";
    is_paused.then(|| (state["paused_at"].take(), state["child_session"].take()))
}

/// The process that runs a session.
pub fn find_owner(gambrel: &Gambrel, folder: &Path) -> Option<ProcessOrigin> {
    gambrel.ledger().lock_owner(&run_key(folder)).ok().flatten()
}

fn to_json(run: &KnownRun) -> Value {
    let mut state = run.state.to_json(&run.plan);
    state["session"] = json!(run.session);
    state["live"] = json!(run.is_live);
    if let Some(stall) = &run.stall {
        state["stalled_since"] = json!(iso_time(stall.since_ms, false));
    }
    if let Some((paused_at, child)) = &run.pause {
        state["status"] = json!("paused");
        state["paused_at"] = paused_at.clone();
        state["child_session"] = child.clone();
    }
    state
}
