//! The tools of the task board that an agent calls. A refusal is a text that begins with `error: `.

use gambrel_model::ledger::{BoardNote, NoteKind, Task, TaskRefusal, TaskStatus};
use serde_json::{Value, json};

use crate::board::{
    Board, BoardChange, BoardError, DEFAULT_PRIORITY, MAX_PRIORITY, NewTask, TaskEdit,
    find_blocker, refuse,
};

/// The name of the MCP server of these tools.
pub(crate) const BOARD_SERVER: &str = "gambrel";
/// The prefix of a task's id in tools.
const ID_PREFIX: &str = "TAS-";
/// The prefix of a note's id in tools.
const NOTE_PREFIX: &str = "NOT-";
/// The shortest prefix that names a task.
const MIN_PREFIX_CHARS: usize = 3;
/// The key in a task's metadata that says in which iteration of which session it was started.
const STARTED_KEY: &str = "started";
/// The key of an answer with what hooks say to the user.
const MESSAGES_KEY: &str = "messages";
const STATUS_WORDS: [&str; 5] = ["remaining", "in_progress", "completed", "blocked", "cancelled"];
const NOTE_WORDS: [&str; 4] = ["learning", "stuck", "tip", "decision"];

/// A tool, for the list that an agent reads.
pub struct BoardTool {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// All tools.
pub fn list_tools() -> Vec<BoardTool> {
    let text = || json!({"type": "string"});
    let priority = json!({"type": "integer", "minimum": 0, "maximum": MAX_PRIORITY});
    let task = object(
        json!({"content": text(), "status": {"enum": STATUS_WORDS}, "priority": priority}),
        &["content"],
    );
    let note = object(json!({"content": text(), "type": {"enum": NOTE_WORDS}}), &["content"]);
    let tool = |name, description, schema| BoardTool { name, description, schema };
    vec![
        tool(
            "task-add",
            "Add tasks to the board. Priority 0 is the most urgent; the default is 2.",
            object(json!({"tasks": {"type": "array", "items": task, "minItems": 1}}), &["tasks"]),
        ),
        tool(
            "task-update",
            "Change the status, priority or dependencies of a task. Only one task may be in progress, \
             and only one may be started in an iteration.",
            object(
                json!({
                    "id": {"type": "string", "description": "the id, or its first 3 characters or more"},
                    "status": {"enum": STATUS_WORDS}, "priority": priority,
                    "depends_on": {"type": "array", "items": text()},
                }),
                &["id"],
            ),
        ),
        tool("task-list", "List all tasks of the board.", object(json!({}), &[])),
        tool("task-next", "Show the most urgent task that can be started.", object(json!({}), &[])),
        tool(
            "note-add",
            "Add notes for later iterations: either `notes`, or one `content` with its `type`.",
            object(
                json!({
                    "notes": {"type": "array", "items": note}, "content": text(),
                    "type": {"enum": NOTE_WORDS},
                }),
                &[],
            ),
        ),
        tool(
            "note-list",
            "List the notes of the board.",
            object(json!({"type": {"enum": NOTE_WORDS}}), &[]),
        ),
        tool(
            "iteration-summary",
            "Say what this iteration did, once, at its end.",
            object(json!({"summary": text()}), &["summary"]),
        ),
        tool(
            "session-complete",
            "End the session. Every task must be completed, blocked or cancelled.",
            object(json!({}), &[]),
        ),
    ]
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// Calls a tool; `None` means that there is no such tool.
pub fn call_tool(board: &Board<'_>, name: &str, args: &Value) -> Option<BoardToolResult> {
    Some(match name {
        "task-add" => add_tasks(board, args),
        "task-update" => update_task(board, args),
        "task-list" => list_tasks(board),
        "task-next" => next_task(board),
        "note-add" => add_notes(board, args),
        "note-list" => list_notes(board, args),
        "iteration-summary" => add_summary(board, args),
        "session-complete" => complete_session(board),
        _ => return None,
    })
}

/// What a tool returns, or why it refuses.
pub type BoardToolResult = Result<Value, BoardError>;

/// The text of a refusal.
pub fn refusal_text(error: &BoardError) -> String {
    format!("error: {error}")
}

/// What hooks say to the user in an answer.
pub fn list_messages(answer: &Value) -> impl Iterator<Item = &str> {
    let added = answer["added"].as_array().into_iter().flatten();
    let messages = std::iter::once(answer).chain(added).filter_map(|item| item.get(MESSAGES_KEY));
    messages.filter_map(Value::as_array).flatten().filter_map(Value::as_str)
}

fn add_tasks(board: &Board<'_>, args: &Value) -> BoardToolResult {
    let items = args["tasks"].as_array().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| wrong("`tasks` is a list of {content, status, priority}"))?;
    let new: Vec<NewTask> = items.iter().map(read_new_task).collect::<Result<_, _>>()?;
    check_list(board, &new)?;
    let mut added = Vec::new();
    for task in &new {
        add_task(board, task, &mut added).map_err(|error| after_some(error, &added))?;
    }
    Ok(json!({"added": added}))
}

/// Refuses a list before any of its tasks is added.
fn check_list(board: &Board<'_>, new: &[NewTask]) -> Result<(), BoardError> {
    let known = board.tasks()?;
    for (index, task) in new.iter().enumerate() {
        let earlier = new[..index].iter().any(|other| is_same(&other.subject, &task.subject));
        if earlier {
            return Err(wrong(format!("the task `{}` is in the list twice", task.subject.trim())));
        }
        check_duplicate(&known, &task.subject).map_err(|refusal| wrong(refusal.why))?;
    }
    match new.iter().filter(|task| task.status == TaskStatus::InProgress).count() {
        0 => Ok(()),
        1 => check_start(board, &known, &Task::default()).map_err(|refusal| wrong(refusal.why)),
        _ => Err(wrong("only one task may be in progress")),
    }
}

/// Adds a task. One that is in progress is added as pending and then started, so that the rules of a
/// start hold for it. One that is added as completed fires no hooks of a completed task.
fn add_task(board: &Board<'_>, new: &NewTask, added: &mut Vec<Value>) -> Result<(), BoardError> {
    let is_started = new.status == TaskStatus::InProgress;
    let status = if is_started { TaskStatus::Pending } else { new.status };
    let rule = |tasks: &[Task], _: &Task| check_duplicate(tasks, &new.subject);
    let new_task = board.add_task(&NewTask { status, ..new.clone() }, &rule)?;
    added.push(describe_change(&new_task));
    if is_started {
        let edit = TaskEdit { status: Some(new.status), ..TaskEdit::default() };
        let started = change_task(board, &new_task.task, edit)?;
        let notices = [new_task.notices, started.notices].concat();
        added.pop();
        added.push(describe_change(&BoardChange { notices, ..started }));
    }
    Ok(())
}

/// A refusal after some tasks or notes were added names them, and what hooks said about them.
fn after_some(error: BoardError, added: &[Value]) -> BoardError {
    let ids: Vec<&str> = added.iter().filter_map(|item| item["id"].as_str()).collect();
    let messages = added.iter().flat_map(list_messages);
    let messages: String = messages.map(|text| format!("; message: {text}")).collect();
    match (ids.is_empty(), error) {
        (false, BoardError::Refused(why)) => {
            wrong(format!("{why}; added: {}{messages}", ids.join(", ")))
        }
        (_, error) => error,
    }
}

fn read_new_task(item: &Value) -> Result<NewTask, BoardError> {
    let content = item["content"].as_str().or(item.as_str()).unwrap_or_default().trim();
    if content.is_empty() {
        return Err(wrong("a task needs `content`"));
    }
    let priority = read_priority(&item["priority"])?;
    let status = read_status(&item["status"])?.unwrap_or_default();
    Ok(NewTask {
        subject: content.to_owned(),
        priority: Some(priority.unwrap_or(DEFAULT_PRIORITY)),
        status,
        ..NewTask::default()
    })
}

fn update_task(board: &Board<'_>, args: &Value) -> BoardToolResult {
    let tasks = board.tasks()?;
    let task = find_by_prefix(&tasks, args["id"].as_str().unwrap_or_default())?;
    let status = read_status(&args["status"])?;
    let priority = read_priority(&args["priority"])?;
    let depends_on = read_ids(&tasks, &args["depends_on"])?;
    if status.is_none() && priority.is_none() && depends_on.is_none() {
        return Err(wrong("give `status`, `priority` or `depends_on`"));
    }
    let edit = TaskEdit { priority, status, blocked_by: depends_on, ..TaskEdit::default() };
    Ok(describe_change(&change_task(board, task, edit)?))
}

/// Changes a task. A start obeys the rules of the session, and hooks decide about a completed task.
fn change_task(board: &Board<'_>, task: &Task, edit: TaskEdit) -> Result<BoardChange, BoardError> {
    match edit.status {
        Some(TaskStatus::Completed) => {
            board.complete_task(&task.id, &TaskEdit { status: None, ..edit })
        }
        Some(TaskStatus::InProgress) if !is_current(board, task) => {
            let session = Some(board.session.clone()).filter(|session| !session.is_empty());
            let metadata = Some((STARTED_KEY.to_owned(), start_mark(board)));
            let edit = TaskEdit { owner: session, metadata, ..edit };
            board.edit_task(&task.id, &edit, &|tasks, task| check_start(board, tasks, task))
        }
        _ => board.edit_task(&task.id, &edit, &|_, _| Ok(())),
    }
}

/// Whether this session works on a task, whoever added it. Without a session, it is one that a
/// caller without a session started.
fn is_current(board: &Board<'_>, task: &Task) -> bool {
    let is_by_session = match board.session.is_empty() {
        true => task.metadata.get(STARTED_KEY).is_some_and(|mark| mark[0] == ""),
        false => task.owner.as_ref() == Some(&board.session),
    };
    task.status == TaskStatus::InProgress && is_by_session
}

/// One task in progress at a time, and one started in an iteration.
fn check_start(board: &Board<'_>, tasks: &[Task], task: &Task) -> Result<(), TaskRefusal> {
    let stored = tasks.iter().find(|stored| stored.id == task.id);
    if let Some(taken) = stored.filter(|stored| stored.status == TaskStatus::InProgress) {
        let owner = taken.owner.as_deref().unwrap_or("somebody");
        return Err(refuse(format!("{} is in progress, owner {owner}", tool_id(taken))));
    }
    let others = || tasks.iter().filter(|other| other.id != task.id);
    if let Some(busy) = others().find(|other| is_current(board, other)) {
        return Err(refuse(format!("{} is in progress: only one task may be", tool_id(busy))));
    }
    if let Some(blocker) = find_blocker(tasks, task) {
        return Err(refuse(format!("{} depends on {}", tool_id(task), tool_id(blocker))));
    }
    let mark = start_mark(board);
    let is_started = |other: &&Task| other.metadata.get(STARTED_KEY) == Some(&mark);
    match others().find(is_started).filter(|_| board.iteration.is_some()) {
        Some(other) => Err(refuse(format!(
            "{} was started in this iteration: only one task may be",
            tool_id(other)
        ))),
        None => Ok(()),
    }
}

fn start_mark(board: &Board<'_>) -> Value {
    json!([board.session, board.iteration])
}

fn list_tasks(board: &Board<'_>) -> BoardToolResult {
    let tasks = board.tasks()?;
    Ok(json!({"tasks": tasks.iter().map(describe_task).collect::<Vec<_>>()}))
}

fn next_task(board: &Board<'_>) -> BoardToolResult {
    let tasks = board.tasks()?;
    let is_ready =
        |task: &&Task| task.status == TaskStatus::Pending && find_blocker(&tasks, task).is_none();
    let number = |task: &Task| task.id.parse::<u64>().unwrap_or(u64::MAX);
    let next = tasks.iter().filter(is_ready).min_by_key(|task| (task.priority, number(task)));
    Ok(json!({"task": next.map(describe_task)}))
}

fn add_notes(board: &Board<'_>, args: &Value) -> BoardToolResult {
    let one = std::slice::from_ref(args);
    let items = args["notes"].as_array().map_or(one, Vec::as_slice);
    let read = |item: &Value| {
        let content = item["content"].as_str().unwrap_or_default().trim().to_owned();
        if content.is_empty() {
            return Err(wrong("a note needs `content`"));
        }
        Ok((read_note_kind(&item["type"])?.unwrap_or_default(), content))
    };
    let notes: Vec<(NoteKind, String)> = items.iter().map(read).collect::<Result<_, _>>()?;
    let mut added = Vec::new();
    for (kind, content) in &notes {
        let note = board.add_note(*kind, content, &|_, _| Ok(()));
        added.push(describe_note(&note.map_err(|error| after_some(error, &added))?));
    }
    Ok(json!({"added": added}))
}

fn list_notes(board: &Board<'_>, args: &Value) -> BoardToolResult {
    let wanted = read_note_kind(&args["type"])?;
    let is_wanted = |note: &&BoardNote| {
        note_word(note.kind).is_some() && wanted.is_none_or(|kind| note.kind == kind)
    };
    let notes = board.notes()?;
    Ok(json!({"notes": notes.iter().filter(is_wanted).map(describe_note).collect::<Vec<_>>()}))
}

fn add_summary(board: &Board<'_>, args: &Value) -> BoardToolResult {
    let summary = args["summary"].as_str().unwrap_or_default().trim();
    if summary.is_empty() {
        return Err(wrong("`summary` is a text that is not empty"));
    }
    let note = board.add_note(NoteKind::Summary, summary, &|_, notes| {
        let is_same = |note: &BoardNote| {
            note.kind == NoteKind::Summary
                && note.session == board.session
                && note.iteration == board.iteration
        };
        match board.iteration.is_some() && notes.iter().any(is_same) {
            true => Err(refuse("this iteration has a summary")),
            false => Ok(()),
        }
    })?;
    Ok(json!({"summary": note.text, "iteration": note.iteration}))
}

fn complete_session(board: &Board<'_>) -> BoardToolResult {
    let is_open = |task: &&Task| {
        let is_open = matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress);
        is_open && (board.is_own(task) || is_current(board, task))
    };
    board.add_note(NoteKind::SessionComplete, "", &|tasks, _| {
        let open: Vec<String> = tasks.iter().filter(is_open).map(tool_id).collect();
        match open.len() {
            0 => Ok(()),
            count => Err(refuse(format!(
                "cannot complete session: {count} task(s) not in terminal state \
                 (completed/blocked/cancelled). Open: {}",
                open.join(", ")
            ))),
        }
    })?;
    Ok(json!({"session": board.session, "complete": true}))
}

/// The task with this id, or the only one whose id begins with it.
fn find_by_prefix<'t>(tasks: &'t [Task], id: &str) -> Result<&'t Task, BoardError> {
    let exact = |task: &&Task| task.id == id || tool_id(task).eq_ignore_ascii_case(id);
    if let Some(task) = tasks.iter().find(exact) {
        return Ok(task);
    }
    let upper = id.to_ascii_uppercase();
    let mut found = tasks.iter().filter(|task| tool_id(task).starts_with(&upper));
    match (found.next(), found.next()) {
        _ if id.chars().count() < MIN_PREFIX_CHARS => {
            Err(wrong(format!("there is no task `{id}`")))
        }
        (Some(task), None) => Ok(task),
        (Some(_), Some(_)) => Err(wrong(format!("several tasks begin with `{id}`"))),
        (None, _) => Err(wrong(format!("there is no task `{id}`"))),
    }
}

fn read_ids(tasks: &[Task], value: &Value) -> Result<Option<Vec<String>>, BoardError> {
    if value.is_null() {
        return Ok(None);
    }
    let ids = value.as_array().ok_or_else(|| wrong("`depends_on` is a list of ids"))?;
    let find = |id: &Value| {
        find_by_prefix(tasks, id.as_str().unwrap_or_default()).map(|task| task.id.clone())
    };
    ids.iter().map(find).collect::<Result<_, _>>().map(Some)
}

fn read_priority(value: &Value) -> Result<Option<u8>, BoardError> {
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
    match number.filter(|number| *number <= MAX_PRIORITY) {
        Some(number) => Ok(Some(number)),
        None => Err(wrong(format!("`priority` is a number from 0 to {MAX_PRIORITY}"))),
    }
}

fn read_status(value: &Value) -> Result<Option<TaskStatus>, BoardError> {
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(match value.as_str().unwrap_or_default() {
        "remaining" | "pending" => TaskStatus::Pending,
        "in_progress" => TaskStatus::InProgress,
        "completed" => TaskStatus::Completed,
        "blocked" => TaskStatus::Blocked,
        "cancelled" => TaskStatus::Cancelled,
        _ => return Err(wrong(format!("`status` is one of {}", STATUS_WORDS.join(", ")))),
    }))
}

fn read_note_kind(value: &Value) -> Result<Option<NoteKind>, BoardError> {
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(match value.as_str().unwrap_or_default() {
        "learning" => NoteKind::Learning,
        "stuck" => NoteKind::Stuck,
        "tip" => NoteKind::Tip,
        "decision" => NoteKind::Decision,
        _ => return Err(wrong(format!("`type` is one of {}", NOTE_WORDS.join(", ")))),
    }))
}

/// The word of a note; `None` for what is no note of the agent.
pub fn note_word(kind: NoteKind) -> Option<&'static str> {
    match kind {
        NoteKind::Learning => Some("learning"),
        NoteKind::Stuck => Some("stuck"),
        NoteKind::Tip => Some("tip"),
        NoteKind::Decision => Some("decision"),
        NoteKind::Summary | NoteKind::SessionComplete => None,
    }
}

/// The word of a status in tools.
pub fn tool_status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "remaining",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Cancelled => "cancelled",
    }
}

/// The id of a task in tools.
pub fn tool_id(task: &Task) -> String {
    format!("{ID_PREFIX}{}", task.id)
}

fn describe_task(task: &Task) -> Value {
    let depends_on: Vec<String> =
        task.blocked_by.iter().map(|id| format!("{ID_PREFIX}{id}")).collect();
    json!({
        "id": tool_id(task), "content": task.subject, "status": tool_status(task.status),
        "priority": task.priority, "depends_on": depends_on, "iteration": task.iteration,
    })
}

/// A task, and what hooks say about its change to the user.
fn describe_change(change: &BoardChange) -> Value {
    let mut shown = describe_task(&change.task);
    if !change.notices.is_empty() {
        shown[MESSAGES_KEY] = json!(change.notices);
    }
    shown
}

fn describe_note(note: &BoardNote) -> Value {
    json!({
        "id": format!("{NOTE_PREFIX}{}", note.id), "type": note_word(note.kind),
        "content": note.text, "iteration": note.iteration,
    })
}

fn check_duplicate(tasks: &[Task], subject: &str) -> Result<(), TaskRefusal> {
    match tasks.iter().find(|task| is_same(&task.subject, subject)) {
        Some(task) => Err(refuse(format!("{} has the same content", tool_id(task)))),
        None => Ok(()),
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

fn wrong(why: impl Into<String>) -> BoardError {
    BoardError::Refused(why.into())
}
