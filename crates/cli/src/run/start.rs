//! Starts and resumes runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gambrel::{Gambrel, Setup, now_ms};
use gambrel_actions::{SignalGuard, SignalPolicy};
use gambrel_runner::{
    Plan, PlanError, PlanRequest, RunFolder, RunResult, RunState, RunStatus, compile_plan,
    is_session_name, read_state, write_state,
};
use serde_json::Value;

use super::progress::{ProgressPrinter, RunDisplay};
use super::{ResumeArgs, RunArgs, detach, plan_view, status};
use crate::args::{USAGE_EXIT_CODE, UsageError};
use crate::printer::{self, diagnostic};
use crate::{open, trust};

/// How long a resumed child waits for the process that ran it before.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
const RELEASE_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a target, or continues its session.
pub fn run(folder: Option<PathBuf>, args: &RunArgs) -> anyhow::Result<u8> {
    if args.background {
        // A failure means that nothing would end this process with the terminal anyway.
        let _session = rustix::process::setsid();
    }
    let display = RunDisplay::new(args.json, args.plain);
    let gambrel = open_for_run(folder.clone(), args.strict, &display)?;
    if args.resume
        && let Some((session, run_folder)) = find_session(&gambrel, args)?
    {
        if args.recompile
            && let Some(code) = recompile(&gambrel, args, &session, &run_folder)?
        {
            return Ok(code);
        }
        if args.detach {
            return detach::start_in_background(&gambrel, folder, args, (&session, &run_folder));
        }
        return resume_folder(&gambrel, &session, &run_folder, &display);
    }

    let request = build_request(&gambrel, args)?;
    let compiled = match compile_plan(&request) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(report_plan_error(&error)),
    };
    for complaint in &compiled.complaints {
        printer::warn(&diagnostic::short_line(complaint));
    }
    let run_folder = choose_folder(&gambrel, args, &compiled.plan);
    if args.dry_run {
        return Ok(plan_view::print_plan(&gambrel, &compiled.plan, &run_folder, args.json));
    }
    if !can_start(&gambrel, args, &compiled.plan, &run_folder)? {
        return Ok(USAGE_EXIT_CODE);
    }
    if args.detach {
        let session = &compiled.plan.session.name;
        return detach::start_in_background(&gambrel, folder, args, (session, &run_folder));
    }
    if args.fresh && earlier_state(&gambrel, &run_folder)?.is_some() {
        move_away(&run_folder.path)?;
    }
    drive(&gambrel, &compiled.plan, &run_folder, &display)
}

/// A signal ends the running hooks and the agent, and the run decides what follows.
fn open_for_run(
    folder: Option<PathBuf>,
    strict: bool,
    display: &RunDisplay,
) -> anyhow::Result<Gambrel> {
    let mut setup = open::build_setup(folder, None)?;
    match &display.live {
        Some(live) => live.observe(&mut setup),
        None => setup.on_question = Some(open::print_question()),
    }
    setup.options.strict |= strict;
    setup.signals = SignalPolicy::Return;
    setup.share_watchdog();
    Ok(Gambrel::new(setup))
}

/// Whether a new run of this plan may start. Says why not.
fn can_start(
    gambrel: &Gambrel,
    args: &RunArgs,
    plan: &Plan,
    run_folder: &RunFolder,
) -> anyhow::Result<bool> {
    if !may_run(gambrel, plan)? {
        return Ok(false);
    }
    refuse_live(gambrel, &plan.session.name, run_folder)?;
    match earlier_state(gambrel, run_folder)?.filter(|_| !args.fresh) {
        Some(state) => {
            print_existing(&plan.session.name, &state);
            Ok(false)
        }
        None => Ok(true),
    }
}

/// The state of an earlier run in this folder.
fn earlier_state(gambrel: &Gambrel, run_folder: &RunFolder) -> anyhow::Result<Option<RunState>> {
    let earlier = read_state(gambrel.ledger(), &run_folder.path)?.filter(has_begun);
    Ok(earlier.map(|(_, state)| state))
}

/// Whether the user trusts what the plan executes, and a strict run can fire its tool hooks. Says
/// why not.
fn may_run(gambrel: &Gambrel, plan: &Plan) -> anyhow::Result<bool> {
    let mut untrusted = plan_view::find_untrusted(gambrel, plan);
    if !untrusted.is_empty() && trust::ask_trust(gambrel, &plan_view::trust_sources(gambrel, plan))?
    {
        untrusted = plan_view::find_untrusted(gambrel, plan);
    }
    if !untrusted.is_empty() {
        print_untrusted(&untrusted);
        return Ok(false);
    }
    for text in plan_view::describe_partial_gates(gambrel, plan) {
        printer::warn(&text);
    }
    let silent = plan_view::find_silent_tool_hooks(gambrel, plan);
    let Some(text) = plan_view::describe_silent(&silent) else { return Ok(true) };
    printer::warn(&text);
    Ok(!gambrel.setup().options.strict)
}

/// Fails if a process runs the session.
fn refuse_live(gambrel: &Gambrel, session: &str, folder: &RunFolder) -> anyhow::Result<()> {
    match status::find_owner(gambrel, &folder.path) {
        Some(owner) => bail!("the run `{session}` is running, process {}", owner.pid),
        None => Ok(()),
    }
}

/// Waits until the process that runs a child has ended. The watchdog of a parent that was killed
/// ends its children after the parent can be resumed.
fn await_release(gambrel: &Gambrel, folder: &RunFolder) {
    let end = Instant::now() + RELEASE_TIMEOUT;
    while status::find_owner(gambrel, &folder.path).is_some() && Instant::now() < end {
        std::thread::sleep(RELEASE_CHECK_INTERVAL);
    }
}

fn has_begun((_, state): &(Plan, RunState)) -> bool {
    state.line_count > 0
}

/// Continues a session.
pub fn resume(folder: Option<PathBuf>, args: &ResumeArgs) -> anyhow::Result<u8> {
    let display = RunDisplay::new(args.json, args.plain);
    let gambrel = open_for_run(folder, false, &display)?;
    let session = match &args.session {
        Some(session) => session.clone(),
        None => newest_session(&gambrel)?,
    };
    let (_, run_folder) = named_session(&gambrel, &session);
    let was_paused = std::fs::remove_file(run_folder.pause_file()).is_ok();
    if was_paused && status::find_owner(&gambrel, &run_folder.path).is_some() {
        printer::warn(&format!("the run `{session}` goes on"));
        return Ok(0);
    }
    resume_folder(&gambrel, &session, &run_folder, &display)
}

/// The session that `--resume` continues, and its folder. A target that never began is started.
fn find_session(gambrel: &Gambrel, args: &RunArgs) -> anyhow::Result<Option<(String, RunFolder)>> {
    if let Some(dir) = &args.session_dir {
        let folder =
            RunFolder::new(status::resolve_folder(&gambrel.setup().working_dir().join(dir)));
        let session = session_name(gambrel.setup(), args)?.unwrap_or_default();
        await_release(gambrel, &folder);
        return keep_begun(gambrel, args, (session, folder));
    }
    if let Some(session) = &args.session {
        return keep_begun(gambrel, args, named_session(gambrel, session));
    }
    let Some(target) = &args.target else {
        return Ok(Some(named_session(gambrel, &newest_session(gambrel)?)));
    };
    if is_session_name(target) {
        let found = keep_begun(gambrel, args, named_session(gambrel, target))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let Ok(compiled) = compile_plan(&build_request(gambrel, args)?) else { return Ok(None) };
    keep_begun(gambrel, args, named_session(gambrel, &compiled.plan.session.name))
}

/// The session, if it has begun or nothing could be started instead.
fn keep_begun(
    gambrel: &Gambrel,
    args: &RunArgs,
    (session, folder): (String, RunFolder),
) -> anyhow::Result<Option<(String, RunFolder)>> {
    let begun = read_state(gambrel.ledger(), &folder.path)?.is_some_and(|run| has_begun(&run));
    let can_start = args.target.is_some() || args.prompt.is_some();
    Ok((begun || !can_start).then_some((session, folder)))
}

fn named_session(gambrel: &Gambrel, session: &str) -> (String, RunFolder) {
    let folder = status::run_folder(gambrel, session);
    (session.to_owned(), RunFolder::new(folder))
}

fn newest_session(gambrel: &Gambrel) -> anyhow::Result<String> {
    let newest = status::newest_incomplete(gambrel);
    let none = || UsageError("no run here is incomplete; `gambrel runs` lists them".into());
    Ok(newest.ok_or_else(none)?)
}

/// Replaces the stored plan, if the nodes that are complete are the same. Returns the exit code
/// where the new plan is refused.
fn recompile(
    gambrel: &Gambrel,
    args: &RunArgs,
    session: &str,
    run_folder: &RunFolder,
) -> anyhow::Result<Option<u8>> {
    refuse_live(gambrel, session, run_folder)?;
    let Some((old, state)) = read_state(gambrel.ledger(), &run_folder.path)? else {
        return Ok(None);
    };
    refuse_complete(session, &state)?;
    let compiled = match compile_plan(&build_request(gambrel, args)?) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(Some(report_plan_error(&error))),
    };
    let mut plan = compiled.plan;
    let done = state.cursor.node();
    let ids = |plan: &Plan| -> Vec<String> {
        plan.nodes.iter().take(done).map(|node| node.id.clone()).collect()
    };
    if ids(&old) != ids(&plan) || plan.nodes.len() <= done {
        let text = "the nodes that are complete differ from the new plan; start again with --fresh";
        bail!(UsageError(text.to_owned()));
    }
    if !may_run(gambrel, &plan)? {
        return Ok(Some(USAGE_EXIT_CODE));
    }
    plan.session = old.session;
    gambrel.record_plan(&plan, run_folder)?;
    gambrel_runner::write_plan(&plan, run_folder)?;
    Ok(None)
}

fn refuse_complete(session: &str, state: &RunState) -> anyhow::Result<()> {
    if state.status == RunStatus::Complete {
        let text = format!("the run `{session}` is complete; start again with --fresh");
        bail!(UsageError(text));
    }
    Ok(())
}

fn resume_folder(
    gambrel: &Gambrel,
    session: &str,
    run_folder: &RunFolder,
    display: &RunDisplay,
) -> anyhow::Result<u8> {
    let Some((plan, state)) = read_state(gambrel.ledger(), &run_folder.path)? else {
        if run_folder.path == status::run_folder(gambrel, session) {
            bail!(status::unknown_run(gambrel, session));
        }
        bail!(UsageError(format!("no run `{session}` is in {}", run_folder.path.display())));
    };
    if state.status == RunStatus::Complete {
        write_state(&plan, &state, run_folder)?;
    }
    refuse_complete(session, &state)?;
    refuse_live(gambrel, session, run_folder)?;
    if !gambrel.wrote_plan(&plan, run_folder)? {
        let text = format!(
            "{}: this plan was not written here; start again with --fresh or use --recompile",
            run_folder.plan_file().display()
        );
        bail!(UsageError(text));
    }
    if plan.source.has_changed() {
        printer::warn("the files of the plan have changed; the run continues with the stored plan");
    }
    match may_run(gambrel, &plan)? {
        true => drive(gambrel, &plan, run_folder, display),
        false => Ok(USAGE_EXIT_CODE),
    }
}

fn drive(
    gambrel: &Gambrel,
    plan: &Plan,
    folder: &RunFolder,
    display: &RunDisplay,
) -> anyhow::Result<u8> {
    let signals = SignalGuard::install();
    let interrupted = || signals.as_ref().and_then(SignalGuard::triggered);
    let mut progress = ProgressPrinter::new(plan, display);
    let mut work =
        || gambrel.run_plan(plan, folder, &interrupted, &mut |update| progress.show(&update));
    let result = match &display.live {
        Some(live) => live.show_during(gambrel, (plan, folder), work),
        None => work(),
    }?;
    let state = read_state(gambrel.ledger(), &folder.path)?.map(|(_, state)| state);
    let total = state.map(|state| state.totals.run).unwrap_or_default();
    progress.print_summary(&result, folder, &total);
    Ok(match result {
        RunResult::Completed(_) => 0,
        RunResult::Failed(_) => 1,
        RunResult::Cancelled(signal) => u8::try_from(128 + signal).unwrap_or(1),
    })
}

fn build_request(gambrel: &Gambrel, args: &RunArgs) -> anyhow::Result<PlanRequest> {
    let setup = gambrel.setup();
    Ok(PlanRequest {
        roots: gambrel.plan_roots(),
        target: args.target.clone(),
        prompt: args.prompt.clone(),
        session: session_name(setup, args)?,
        agent: args.agent.clone(),
        model: args.model.clone(),
        max: args.max,
        inputs: args.input.clone(),
        context: args.context.clone(),
        extra: args.extra.clone(),
        from_parent: read_parent_inputs(setup, args)?,
        project_agent: gambrel.project_agent(),
        now_ms: now_ms(),
    })
}

/// The session's name: as given, else the name of the folder that is given.
fn session_name(setup: &Setup, args: &RunArgs) -> anyhow::Result<Option<String>> {
    if args.session.is_some() {
        return Ok(args.session.clone());
    }
    let Some(dir) = &args.session_dir else { return Ok(None) };
    let dir = status::resolve_folder(&setup.working_dir().join(dir));
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    name.map(Some).context("--session-dir names no folder")
}

fn read_parent_inputs(setup: &Setup, args: &RunArgs) -> anyhow::Result<Option<(PathBuf, Value)>> {
    let Some(file) = &args.inputs else { return Ok(None) };
    let path = setup.working_dir().join(file);
    let usage = |why: String| UsageError(format!("--inputs {}: {why}", path.display()));
    let bytes = std::fs::read(&path).map_err(|error| usage(error.to_string()))?;
    let value = serde_json::from_slice(&bytes).map_err(|error| usage(error.to_string()))?;
    Ok(Some((path, value)))
}

fn choose_folder(gambrel: &Gambrel, args: &RunArgs, plan: &Plan) -> RunFolder {
    RunFolder::new(match &args.session_dir {
        Some(dir) => status::resolve_folder(&gambrel.setup().working_dir().join(dir)),
        None => status::run_folder(gambrel, &plan.session.name),
    })
}

fn report_plan_error(error: &PlanError) -> u8 {
    match error {
        PlanError::Invalid(complaints) => {
            for complaint in complaints {
                printer::print_stderr(&diagnostic::draw_snippet(complaint));
            }
        }
        PlanError::NotFound { tried, .. } => {
            printer::warn(&format!("gambrel: {error}; looked at"));
            for path in tried {
                printer::warn(&format!("  {}", path.display()));
            }
        }
        PlanError::BadSession(_) | PlanError::NothingToRun => {
            printer::warn(&format!("gambrel: {error}"));
        }
    }
    USAGE_EXIT_CODE
}

fn print_existing(session: &str, state: &RunState) {
    printer::warn(&format!(
        "gambrel: the session `{session}` exists: {}, iteration {}\n  \
         gambrel resume {session}      continue it\n  \
         --session NAME               start another one\n  \
         --fresh                      move it away and start again",
        status::status_word(state, false),
        state.cursor.iteration
    ));
}

fn print_untrusted(untrusted: &[String]) {
    printer::warn("gambrel: the plan needs your trust; nothing has run");
    for text in untrusted {
        printer::warn(&format!("  {text}"));
    }
    printer::warn(
        "  look at it and run `gambrel trust`, or `gambrel trust FILE` for a file that it does not list, \
         or name the file by its path",
    );
}

/// Moves a run folder to `NAME.1`, `NAME.2` …
fn move_away(folder: &Path) -> anyhow::Result<()> {
    for number in 1..10_000 {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!(".{number}"));
        let target = PathBuf::from(name);
        if !target.exists() {
            std::fs::rename(folder, &target)
                .with_context(|| format!("moving {} away", folder.display()))?;
            printer::warn(&format!("the earlier run is in {}", target.display()));
            return Ok(());
        }
    }
    bail!("{} has too many earlier runs", folder.display())
}
