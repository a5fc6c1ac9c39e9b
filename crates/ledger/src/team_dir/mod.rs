//! The folder of a pi-teams team as a task board: one file per task, inboxes, and the team's
//! configuration. pi-teams uses the same files at the same time.

mod file;
mod lock;
mod mailbox;
mod task_file;

use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::iso_time;
use gambrel_model::ledger::{
    BoardNote, Boards, InboxMessage, LedgerError, LedgerResult, NoteFill, Task, TaskStatus,
    TaskUpdate,
};
use gambrel_model::text::sanitize_name;
use serde_json::Value;

use file::{corrupt_error, create_folder, io_error, read_json, replace_json};
use lock::TeamLock;
pub use mailbox::TeamMessage;
use task_file::{TEAM_PRIORITY, TeamTaskError, read_task, write_task};

use crate::open_ticket::now_ms;
use crate::task::refuse;

/// The namespace of messages to the leader.
const TEAM_NAMESPACE: &str = "team";
/// The name of the leader if the configuration has none, and on boards without a team.
pub const DEFAULT_LEAD: &str = "team-lead";

/// The folder of a team.
#[derive(Debug, Clone)]
pub struct TeamDir {
    /// The folder, absolute.
    pub dir: PathBuf,
    /// The team's id.
    pub id: String,
    /// The id of its task list.
    pub list: String,
    /// The name of its leader.
    pub lead: String,
    /// Its style.
    pub style: String,
    /// Its members.
    pub members: Vec<TeamMember>,
    /// The policy of its hooks, as it is written.
    pub hooks: Value,
}

/// A member of a team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamMember {
    /// Its name.
    pub name: String,
    /// What it is: `lead` or `worker`.
    pub role: String,
    /// Whether it is `online`.
    pub status: String,
    /// When it was last seen, as pi-teams wrote it.
    pub last_seen: Option<String>,
}

impl TeamDir {
    /// Opens the folder of a team. Without a configuration the folder's name is the id, as pi-teams
    /// assumes.
    pub fn open(dir: &Path) -> LedgerResult<Self> {
        let dir = fs::canonicalize(dir).map_err(|error| io_error("opening", dir, &error))?;
        let path = dir.join("config.json");
        let config = read_json(&path)?.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        if !config.is_object() {
            return Err(corrupt_error(&path, "it is no object"));
        }
        let text = |key: &str| config[key].as_str().filter(|text| !text.is_empty());
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = text("teamId").map_or(name, str::to_owned);
        let members = config["members"].as_array().into_iter().flatten();
        Ok(Self {
            list: text("taskListId").unwrap_or(&id).to_owned(),
            lead: sanitize_name(text("leadName").unwrap_or(DEFAULT_LEAD)),
            style: text("style").unwrap_or("normal").to_owned(),
            members: members.filter_map(read_member).collect(),
            hooks: config["hooks"].clone(),
            id,
            dir,
        })
    }

    /// The name of its board.
    pub fn board_name(&self) -> String {
        self.dir.display().to_string()
    }

    /// All tasks, oldest first, and one error for each file that is none.
    pub fn read_tasks(&self) -> LedgerResult<(Vec<Task>, Vec<LedgerError>)> {
        let folder = self.task_folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Default::default());
            }
            Err(error) => return Err(io_error("reading", &folder, &error)),
        };
        let (mut tasks, mut errors) = (Vec::new(), Vec::new());
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            match self.read_task_file(&path) {
                Ok(Some((_, task))) => tasks.push(task),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        tasks.sort_by_key(|task| (task.id.parse::<u64>().unwrap_or(u64::MAX), task.id.clone()));
        Ok((tasks, errors))
    }

    /// One task with all keys of its file; `None` if it was removed.
    pub fn read_task(&self, id: &str) -> LedgerResult<Option<Value>> {
        Ok(self.read_task_file(&self.task_path(id))?.map(|(value, _)| value))
    }

    /// A task in the form of its file; `None` if it is none.
    pub fn parse_task(&self, value: &Value) -> Option<Task> {
        read_task(value).ok()
    }

    /// All messages for the leader, oldest first.
    pub fn leader_messages(&self) -> LedgerResult<Vec<TeamMessage>> {
        mailbox::read_inbox(&self.inbox_path(TEAM_NAMESPACE, &self.lead))
    }

    /// Marks a message for the leader as processed.
    pub fn mark_read(&self, message: &TeamMessage) -> LedgerResult {
        mailbox::mark_message(&self.inbox_path(TEAM_NAMESPACE, &self.lead), message)
    }

    fn task_folder(&self) -> PathBuf {
        self.dir.join("tasks").join(sanitize_name(&self.list))
    }

    fn task_path(&self, id: &str) -> PathBuf {
        self.task_folder().join(format!("{}.json", sanitize_name(id)))
    }

    fn inbox_path(&self, namespace: &str, member: &str) -> PathBuf {
        let folder = self.dir.join("mailboxes").join(sanitize_name(namespace)).join("inboxes");
        folder.join(format!("{}.json", sanitize_name(member)))
    }

    fn read_task_file(&self, path: &Path) -> LedgerResult<Option<(Value, Task)>> {
        let Some(value) = read_json(path)? else { return Ok(None) };
        let task = read_task(&value).map_err(|why| corrupt_error(path, why))?;
        Ok(Some((value, task)))
    }

    /// Gives out the next id. `.highwatermark` holds the last one, or the next one.
    fn allocate_id(&self) -> LedgerResult<String> {
        let path = self.task_folder().join(".highwatermark");
        create_folder(&path)?;
        let _lock = TeamLock::wait(&path, "tasks:allocate")?;
        let mark = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let names = fs::read_dir(self.task_folder()).into_iter().flatten().flatten();
        let used = names.filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.strip_suffix(".json")?.parse::<u64>().ok()
        });
        let last = used.chain(mark).max().unwrap_or_default();
        let id = last.saturating_add(1);
        let draft = lock::unique_beside(&path, "tmp");
        let written = fs::write(&draft, format!("{id}\n")).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| io_error("writing", &path, &error))?;
        Ok(id.to_string())
    }

    /// Writes in the tasks that a task waits for that they block it.
    fn link_blockers(&self, before: &[String], task: &Task) -> LedgerResult {
        let added = task.blocked_by.iter().filter(|id| !before.contains(id));
        let removed = before.iter().filter(|id| !task.blocked_by.contains(id));
        for (id, is_added) in added.map(|id| (id, true)).chain(removed.map(|id| (id, false))) {
            let path = self.task_path(id);
            let _lock = TeamLock::wait(&path, "tasks:link")?;
            let Some((value, mut blocker)) = self.read_task_file(&path)? else { continue };
            blocker.blocks.retain(|blocked| *blocked != task.id);
            blocker.blocks.extend(is_added.then(|| task.id.clone()));
            self.store_task(&path, Some(value), &blocker)?;
        }
        Ok(())
    }

    fn store_task(&self, path: &Path, before: Option<Value>, task: &Task) -> LedgerResult {
        let value = write_task(before, task, now_ms())
            .map_err(|why| refuse(format!("changing task {} of `{}`", task.id, self.id), why))?;
        replace_json(path, &value)
    }
}

impl Boards for TeamDir {
    fn tasks(&self, _: &str) -> LedgerResult<Vec<Task>> {
        Ok(self.read_tasks()?.0)
    }

    fn update_task(
        &self,
        board: &str,
        id: Option<&str>,
        change: &mut TaskUpdate<'_>,
    ) -> LedgerResult<Task> {
        let doing = |id: &str| format!("changing task {id} of `{board}`");
        let (id, is_new) = match id {
            Some(id) => (id.to_owned(), false),
            None => (self.allocate_id()?, true),
        };
        let path = self.task_path(&id);
        create_folder(&path)?;
        let lock = TeamLock::wait(&path, &format!("tasks:update:{id}"))?;
        let (value, mut task) = match self.read_task_file(&path)? {
            Some((value, task)) if !is_new => (Some(value), task),
            None if is_new => {
                let (created, priority) = (now_ms(), TEAM_PRIORITY);
                (None, Task { id: id.clone(), created, priority, ..Task::default() })
            }
            _ => return Err(refuse(doing(&id), "there is no such task")),
        };
        let before = task.clone();
        let known = self.read_tasks()?.0;
        change(&known, &mut task).map_err(|refusal| refuse(doing(&id), refusal.why))?;
        check_start(&before, &task, &known).map_err(|why| refuse(doing(&id), why))?;
        task.id.clone_from(&id);
        note_end(&before, &mut task);
        self.store_task(&path, value, &task)?;
        drop(lock);
        self.link_blockers(&before.blocked_by, &task)?;
        let (_, stored) = self.read_task_file(&path)?.unwrap_or((Value::Null, task));
        Ok(stored)
    }

    fn notes(&self, _: &str) -> LedgerResult<Vec<BoardNote>> {
        Ok(Vec::new())
    }

    fn add_note(&self, board: &str, _: &mut NoteFill<'_>) -> LedgerResult<BoardNote> {
        Err(refuse(format!("adding a note to `{board}`"), "the folder of a team has no notes"))
    }

    fn send(&self, _: &str, message: &InboxMessage) -> LedgerResult {
        let entry = TeamMessage {
            from: message.from.clone(),
            text: message.text.clone(),
            timestamp: iso_time(message.at, true),
            is_read: false,
        };
        mailbox::append_message(&self.inbox_path(&self.list, &message.to), &entry)
    }

    fn inbox(&self, _: &str, member: &str) -> LedgerResult<Vec<InboxMessage>> {
        let entries = mailbox::read_inbox(&self.inbox_path(&self.list, member))?;
        let to_message = |(number, entry): (usize, TeamMessage)| InboxMessage {
            id: number.to_string(),
            from: entry.from,
            to: member.to_owned(),
            text: entry.text,
            at: gambrel_model::parse_iso_time(&entry.timestamp).unwrap_or_default(),
        };
        Ok(entries.into_iter().enumerate().map(to_message).collect())
    }
}

/// Writes how a task ended into its metadata, as pi-teams does.
fn note_end(before: &Task, task: &mut Task) {
    let time = iso_time(now_ms(), true);
    let was_in_progress = before.status == TaskStatus::InProgress;
    match task.status {
        TaskStatus::Completed if before.status != TaskStatus::Completed => {
            task.metadata.insert("completedAt".to_owned(), time.into());
        }
        TaskStatus::Pending if was_in_progress && task.owner.is_none() => {
            let last = task.history.last().map(|change| change.text.as_str());
            let reason = last.and_then(|text| text.split_once(": ")).map(|(_, reason)| reason);
            let reason = reason.unwrap_or("no assistant result").to_owned();
            for (key, text) in [
                ("unassignedAt", time),
                ("unassignedReason", reason.clone()),
                ("abortReason", reason),
            ] {
                task.metadata.insert(key.to_owned(), text.into());
            }
        }
        _ => {}
    }
}

/// A member starts only a task that is its own or nobody's, and that waits for no task. It waits for
/// a task that is missing.
fn check_start(before: &Task, task: &Task, known: &[Task]) -> Result<(), TeamTaskError> {
    let starts = before.status == TaskStatus::Pending && task.status == TaskStatus::InProgress;
    if !starts {
        return Ok(());
    }
    if let Some(owner) = before.owner.as_ref().filter(|_| before.owner != task.owner) {
        return Err(TeamTaskError::OtherOwner { id: task.id.clone(), owner: owner.clone() });
    }
    let is_known = |id: &&String| known.iter().any(|task| task.id == **id);
    match task.blocked_by.iter().find(|id| !is_known(id)) {
        Some(blocker) => {
            Err(TeamTaskError::NoBlocker { id: task.id.clone(), blocker: blocker.clone() })
        }
        None => Ok(()),
    }
}

fn read_member(value: &Value) -> Option<TeamMember> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Some(TeamMember {
        name: text("name")?,
        role: text("role").unwrap_or_default(),
        status: text("status").unwrap_or_default(),
        last_seen: text("lastSeenAt"),
    })
}
