//! What the leader of a team does when a member goes idle: the events that it fires, in order.

use gambrel_model::TeamFacts;
use gambrel_model::text::sanitize_name;
use serde_json::{Value, json};

use super::HOOK_CONTRACT_VERSION;

/// What a member reports when it goes idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleReport {
    /// The member.
    pub member: String,
    /// When it went idle.
    pub timestamp: Option<String>,
    /// The task that it worked on.
    pub task: Option<String>,
    /// Whether that task failed.
    pub has_failed: bool,
}

impl IdleReport {
    /// Reads the text of a message to the leader; `None` for messages of another type.
    pub fn parse(text: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(text).ok()?;
        let field = |key: &str| message[key].as_str().filter(|text| !text.is_empty());
        if field("type") != Some("idle_notification") {
            return None;
        }
        Some(Self {
            member: sanitize_name(field("from")?),
            timestamp: field("timestamp").map(str::to_owned),
            task: field("completedTaskId").map(str::to_owned),
            has_failed: field("completedStatus") == Some("failed"),
        })
    }

    /// The events of this report, in order, and whether each is about the task.
    pub fn events(&self) -> Vec<(&'static str, bool)> {
        let about_task =
            if self.has_failed { ("task_failed", true) } else { ("task_completed", true) };
        let task = self.task.is_some().then_some(about_task);
        [Some(("idle", false)), task].into_iter().flatten().collect()
    }

    /// The name of one event, which is handled once.
    pub fn dedupe_key(&self, team: &TeamFacts, event: &str) -> String {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let (task, timestamp) = (part(&self.task), part(&self.timestamp));
        let task = if event == "idle" { String::new() } else { task };
        // The folder, too: two teams may have one id.
        let (dir, id) = (team.dir.display(), &team.id);
        format!("team:{dir}:{id}:{event}:{task}:{timestamp}:{}", self.member)
    }

    /// One event as the leader sends it. `task` is null if the task was removed.
    pub fn build_event(&self, team: &TeamFacts, event: &str, task: &Value) -> Value {
        json!({
            "version": HOOK_CONTRACT_VERSION,
            "event": event,
            "team": {
                "id": team.id, "dir": team.dir, "taskListId": team.list, "style": team.style,
            },
            "member": self.member,
            "timestamp": self.timestamp,
            "task": task,
        })
    }
}
