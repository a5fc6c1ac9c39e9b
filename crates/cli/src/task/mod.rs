//! `gambrel task`: the board of the project.

mod args;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use gambrel::{BoardRequest, Gambrel};
use gambrel_ledger::TeamDir;
use gambrel_model::ledger::{Task, TaskStatus, WatchTarget};
use gambrel_runner::{
    Board, BoardChange, BoardError, NewTask, TaskEdit, find_blocker, status_word,
};
use serde_json::{Value, json};

use args::{
    AddTaskArgs, BoardArgs, ClaimTaskArgs, FailTaskArgs, ListTasksArgs, NamedTaskArgs, TaskCommand,
    UpdateTaskArgs, WatchTasksArgs,
};
pub use args::{McpArgs, TaskArgs};

use crate::team::open_team;
use crate::{open, printer};

const MAX_SUBJECT_WIDTH: usize = 60;
/// The longest time between a change and its line in `task watch`.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Runs a command about tasks.
pub fn run(folder: Option<PathBuf>, args: &TaskArgs) -> anyhow::Result<u8> {
    let mut setup = open::build_setup(folder, None)?;
    // Hooks of a task end with this process, however short they ran.
    setup.share_watchdog();
    let gambrel = Gambrel::new(setup);
    match &args.command {
        TaskCommand::Add(args) => add_task(&gambrel, args),
        TaskCommand::List(args) => list_tasks(&gambrel, args),
        TaskCommand::Show(args) => show_task(&gambrel, args),
        TaskCommand::Claim(args) => claim_task(&gambrel, args),
        TaskCommand::Done(args) => complete_task(&gambrel, &args.id, &args.board),
        TaskCommand::Fail(args) => fail_task(&gambrel, args),
        TaskCommand::Update(args) => update_task(&gambrel, args),
        TaskCommand::Watch(args) => watch_tasks(&gambrel, args),
    }
}

/// Serves the board to an agent.
#[cfg(feature = "mcp")]
pub fn serve_mcp(folder: Option<PathBuf>, args: &McpArgs) -> anyhow::Result<u8> {
    let mut setup = open::build_setup(folder, None)?;
    setup.share_watchdog();
    gambrel::serve_mcp(Gambrel::new(setup), args.session.clone())?;
    Ok(0)
}

/// Serves the board to an agent.
#[cfg(not(feature = "mcp"))]
pub fn serve_mcp(_: Option<PathBuf>, _: &McpArgs) -> anyhow::Result<u8> {
    bail!("this build of gambrel has no MCP server")
}

fn add_task(gambrel: &Gambrel, args: &AddTaskArgs) -> anyhow::Result<u8> {
    let new = NewTask {
        subject: args.text.clone(),
        description: args.description.clone(),
        owner: args.owner.clone(),
        priority: args.priority,
        status: TaskStatus::Pending,
        blocked_by: args.blocked_by.clone(),
    };
    change_board(gambrel, &args.board, "added", |board| board.add_task(&new, &|_, _| Ok(())))
}

fn claim_task(gambrel: &Gambrel, args: &ClaimTaskArgs) -> anyhow::Result<u8> {
    change_board(gambrel, &args.board, "claimed", |board| {
        let owner = args.owner.clone().unwrap_or_else(|| default_owner(gambrel, board));
        board.claim_task(&args.id, &owner)
    })
}

/// The session, else the user.
fn default_owner(gambrel: &Gambrel, board: &Board<'_>) -> String {
    let user = || gambrel.setup().env.get("USER").filter(|name| !name.is_empty()).cloned();
    let session = Some(board.session.clone()).filter(|session| !session.is_empty());
    session.or_else(user).unwrap_or_else(|| "unknown".to_owned())
}

fn complete_task(gambrel: &Gambrel, id: &str, args: &BoardArgs) -> anyhow::Result<u8> {
    change_board(gambrel, args, "completed", |board| board.complete_task(id, &TaskEdit::default()))
}

fn fail_task(gambrel: &Gambrel, args: &FailTaskArgs) -> anyhow::Result<u8> {
    change_board(gambrel, &args.board, "given back", |board| {
        board.fail_task(&args.id, &args.reason)
    })
}

fn update_task(gambrel: &Gambrel, args: &UpdateTaskArgs) -> anyhow::Result<u8> {
    let status = args.status.map(args::StatusArg::to_status);
    let blocked_by = args.blocked_by.as_ref();
    let edit = TaskEdit {
        subject: args.subject.clone(),
        description: args.description.clone(),
        owner: args.owner.clone(),
        priority: args.priority,
        status: status.filter(|status| *status != TaskStatus::Completed),
        blocked_by: blocked_by.map(|ids| ids.iter().filter(|id| !id.is_empty()).cloned().collect()),
        metadata: None,
    };
    change_board(gambrel, &args.board, "changed", |board| match status {
        Some(TaskStatus::Completed) => board.complete_task(&args.id, &edit),
        _ => board.edit_task(&args.id, &edit, &|_, _| Ok(())),
    })
}

/// Changes the board and prints the task. A refusal exits 1.
fn change_board(
    gambrel: &Gambrel,
    args: &BoardArgs,
    what: &str,
    work: impl FnOnce(&Board<'_>) -> Result<BoardChange, BoardError>,
) -> anyhow::Result<u8> {
    let done = use_board(gambrel, args, "gambrel task", work)?;
    let changed = match done {
        Ok(changed) => changed,
        Err(BoardError::Refused(why)) => {
            match args.json {
                true => printer::print_json(&json!({"error": why})),
                false => printer::warn(&format!("gambrel: {}", printer::replace_controls(&why))),
            }
            return Ok(1);
        }
        Err(error) => bail!(error),
    };
    for notice in &changed.notices {
        printer::warn(&printer::replace_controls(notice));
    }
    let task = &changed.task;
    match args.json {
        true => {
            let mut shown = to_json(task);
            if !changed.notices.is_empty() {
                shown["messages"] = json!(changed.notices);
            }
            printer::print_json(&shown);
        }
        false => {
            let what = if changed.is_changed { what } else { "was completed before" };
            printer::print(&format!("{} {what}: {}\n", task.id, subject_line(task)));
        }
    }
    Ok(0)
}

/// Works on the board that the arguments name.
fn use_board<T>(
    gambrel: &Gambrel,
    args: &BoardArgs,
    by: &str,
    work: impl FnOnce(&Board<'_>) -> T,
) -> anyhow::Result<T> {
    let team = find_team(gambrel, args.team.as_deref())?;
    let session = args.session.as_deref();
    Ok(gambrel.with_board(BoardRequest { session, by, team: team.as_ref() }, work))
}

/// Opens the team that the arguments name, and warns of its damaged tasks.
fn find_team(gambrel: &Gambrel, dir: Option<&Path>) -> anyhow::Result<Option<TeamDir>> {
    let Some(dir) = dir else { return Ok(None) };
    let team = open_team(gambrel, dir)?;
    for error in team.read_tasks()?.1 {
        printer::warn(&format!("gambrel: {}", printer::replace_controls(&error.to_string())));
    }
    Ok(Some(team))
}

fn list_tasks(gambrel: &Gambrel, args: &ListTasksArgs) -> anyhow::Result<u8> {
    let all = use_board(gambrel, &args.board, "", |board| board.tasks())??;
    let wanted = args.status.map(args::StatusArg::to_status);
    let is_wanted = |task: &&Task| wanted.is_none_or(|status| task.status == status);
    let tasks: Vec<&Task> = all.iter().filter(is_wanted).collect();
    if args.board.json {
        printer::print_json(&tasks.iter().map(|task| to_json(task)).collect());
        return Ok(0);
    }
    if tasks.is_empty() {
        printer::print("no tasks are here; `gambrel task add TEXT` adds one\n");
        return Ok(0);
    }
    let row = |task: &&Task| {
        let waits = find_blocker(&all, task).map(|blocker| format!(", waits for {}", blocker.id));
        vec![
            task.id.clone(),
            format!("{}{}", status_word(task.status), waits.unwrap_or_default()),
            task.priority.to_string(),
            task.owner.clone().unwrap_or_default(),
            subject_line(task),
        ]
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    let head = ["ID", "STATUS", "PRIORITY", "OWNER", "SUBJECT"];
    printer::print(&printer::format_table(&head, &rows));
    Ok(0)
}

fn show_task(gambrel: &Gambrel, args: &NamedTaskArgs) -> anyhow::Result<u8> {
    let task = use_board(gambrel, &args.board, "", |board| board.find_task(&args.id))??;
    if args.board.json {
        let mut shown = to_json(&task);
        shown["history"] = json!(task.history);
        printer::print_json(&shown);
        return Ok(0);
    }
    let mut text = format!(
        "id           {}\nsubject      {}\nstatus       {}\npriority     {}\nowner        {}\n",
        task.id,
        printer::single_line(&task.subject),
        status_word(task.status),
        task.priority,
        printer::single_line(task.owner.as_deref().unwrap_or("nobody")),
    );
    for (name, ids) in [("blocked by   ", &task.blocked_by), ("blocks       ", &task.blocks)] {
        if !ids.is_empty() {
            text.push_str(&format!("{name}{}\n", ids.join(", ")));
        }
    }
    if !task.description.is_empty() {
        text.push_str(&format!("\n{}\n", printer::replace_controls(&task.description)));
    }
    text.push_str("\nhistory\n");
    for change in &task.history {
        let time = gambrel_model::iso_time(change.at, false);
        let (by, what) = (printer::single_line(&change.by), printer::single_line(&change.text));
        text.push_str(&format!("  {time}  {what} ({by})\n"));
    }
    printer::print(&text);
    Ok(0)
}

/// Prints tasks as they change, until a signal or a closed pipe ends it.
fn watch_tasks(gambrel: &Gambrel, args: &WatchTasksArgs) -> anyhow::Result<u8> {
    let team = find_team(gambrel, args.team.as_deref())?;
    // Every change adds an entry to the task's history.
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    loop {
        let request = BoardRequest { team: team.as_ref(), ..BoardRequest::default() };
        let tasks = gambrel.with_board(request, |board| board.tasks())?;
        for task in tasks {
            // Files of a team have no history.
            let changes = if team.is_some() { task.updated } else { task.history.len() as u64 };
            if known.insert(task.id.clone(), changes) == Some(changes) {
                continue;
            }
            let line = match args.json {
                true => to_json(&task).to_string(),
                false => format!(
                    "{:>4}  {:<11}  {}",
                    task.id,
                    status_word(task.status),
                    subject_line(&task)
                ),
            };
            if !printer::try_print(&format!("{line}\n")) {
                return Ok(0);
            }
        }
        let board = gambrel.project_folder().display().to_string();
        let soon = Instant::now() + WATCH_INTERVAL;
        gambrel.ledger().wait_for_change(WatchTarget::Board(&board), soon);
    }
}

fn subject_line(task: &Task) -> String {
    printer::truncate_line(&task.subject, MAX_SUBJECT_WIDTH)
}

/// A task as the interface describes it.
fn to_json(task: &Task) -> Value {
    json!({
        "id": task.id, "subject": task.subject, "description": task.description,
        "owner": task.owner, "status": status_word(task.status), "priority": task.priority,
        "blocks": task.blocks, "blockedBy": task.blocked_by, "metadata": task.metadata,
        "createdAt": task.created, "updatedAt": task.updated,
    })
}
