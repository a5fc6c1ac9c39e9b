//! Starts a run in its folder, or resumes it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_model::event::run_key;
use gambrel_model::ledger::{LedgerErrorKind, RunLock, RunLog};
use gambrel_model::{ProcessOrigin, SessionState};
use serde_json::{Value, json};

use crate::context::{RunContext, RunError, RunResult, RunUpdate};
use crate::counts::TurnCounts;
use crate::cursor::Cursor;
use crate::drive::Driver;
use crate::folder::{RunFolder, write_json, write_view};
use crate::log_line::{LogKind, LogLine};
use crate::permissions::close_questions;
use crate::plan::Plan;
use crate::run_log::RunLogWriter;
use crate::state::RunState;

const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
const LOCK_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a plan in its folder: from its log, if there is one, else from the start.
pub fn run_plan(
    context: &RunContext<'_>,
    plan: &Plan,
    folder: &RunFolder,
    owner: &ProcessOrigin,
    on_update: &mut dyn FnMut(RunUpdate<'_>),
) -> Result<RunResult, RunError> {
    fs::create_dir_all(&folder.path).map_err(|error| RunError::of_file(&folder.path, error))?;
    let name = run_key(&folder.path);
    let _lock = take_lock(context, &name, owner)?;
    let log = RunLog { name, folder: folder.path.clone() };
    let (log, lines) = RunLogWriter::open(context.ledger, log)?;
    let is_fresh = lines.is_empty();
    let state = RunState::fold(plan, &lines);

    let mut driver = Driver {
        context,
        plan,
        folder,
        log,
        on_update,
        messages: Vec::new(),
        delivered: Vec::new(),
        work_tree: None,
        changed_files: state.changed_files.clone(),
        rewritten_prompt: None,
        tool_hooks: Vec::new(),
        tool_halt: None,
        turn_counts: TurnCounts::default(),
        session: None,
        state,
    };
    if is_fresh {
        write_plan(plan, folder)?;
        // Messages of an earlier run in the same folder do not belong to this one.
        let session_key = driver.session_key();
        context
            .ledger
            .update_session(&session_key, &mut |state| *state = SessionState::default())?;
        let cursor = Cursor { node_path: "0".into(), attempt: 1, ..Cursor::default() };
        let data = json!({"pipeline": plan.pipeline.name});
        driver.write_line(LogKind::SessionStart, cursor, data)?;
    } else {
        close_questions(context.ledger, &folder.path)?;
        let cursor = driver.state.resume_cursor();
        driver.write_line(LogKind::Resumed, cursor, Value::Null)?;
        driver.fire_left_hooks();
    }
    driver.run()
}

/// Takes the run's lock. A command that only looks at the run holds it for a moment.
fn take_lock(
    context: &RunContext<'_>,
    name: &str,
    owner: &ProcessOrigin,
) -> Result<RunLock, RunError> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match context.ledger.acquire_lock(name, owner) {
            Err(error)
                if matches!(error.kind, LedgerErrorKind::Locked(_)) && Instant::now() < end =>
            {
                std::thread::sleep(LOCK_CHECK_INTERVAL);
            }
            taken => return Ok(taken?),
        }
    }
}

/// Writes `plan.json`.
pub fn write_plan(plan: &Plan, folder: &RunFolder) -> Result<(), RunError> {
    let path = folder.plan_file();
    let plan = serde_json::to_value(plan).unwrap_or_default();
    write_json(&path, &plan).map_err(|error| RunError::of_file(&path, error))
}

/// Writes `state.json`, which a killed run may have left behind its log.
pub fn write_state(plan: &Plan, state: &RunState, folder: &RunFolder) -> Result<(), RunError> {
    let path = folder.state_file();
    write_view(&path, &state.to_json(plan)).map_err(|error| RunError::of_file(&path, error))
}

/// Reads `plan.json`; `None` where the run has not begun.
pub fn read_plan(folder: &RunFolder) -> Result<Option<Plan>, RunError> {
    let path = folder.plan_file();
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RunError::of_file(&path, error)),
    };
    let fail = |why: String| RunError::Plan { path: path.display().to_string(), why };
    let plan: Plan = serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
    if plan.version != crate::plan::PLAN_VERSION {
        return Err(fail(format!("version {} is not known", plan.version)));
    }
    Ok(Some(plan))
}

/// The plan of a run, and the lines of its log; `None` where the run has not begun.
pub fn read_log(
    ledger: &dyn gambrel_model::Ledger,
    folder: &Path,
) -> Result<Option<(Plan, Vec<LogLine>)>, RunError> {
    let files = RunFolder::new(folder.to_owned());
    let Some(plan) = read_plan(&files)? else { return Ok(None) };
    let log = RunLog { name: run_key(folder), folder: folder.to_owned() };
    let (_, lines) = RunLogWriter::open(ledger, log)?;
    Ok(Some((plan, lines)))
}

/// The state of a run, from its log.
pub fn read_state(
    ledger: &dyn gambrel_model::Ledger,
    folder: &Path,
) -> Result<Option<(Plan, RunState)>, RunError> {
    let Some((plan, lines)) = read_log(ledger, folder)? else { return Ok(None) };
    let state = RunState::fold(&plan, &lines);
    Ok(Some((plan, state)))
}
