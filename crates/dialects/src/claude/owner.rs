//! Hooks in the frontmatter of skills and agents. A skill's hooks count from its invocation to the
//! end of the session; an agent's while it runs. Knows how both are named in events.

use std::path::Path;

use gambrel_model::{Event, Hook, LoadedFile, Moment};
use serde_json::{Value, json};

use super::Claude;
use crate::payload::text;

/// Tags of their files among the places.
pub const SKILL: &str = "skill";
/// See [`SKILL`].
pub const AGENT: &str = "agent";

/// Whose frontmatter a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `skill` or `agent`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What else a skill may be called by: the name of its folder.
    folder: Option<String>,
}

impl Owner {
    /// The owner of a file; its frontmatter names it, else its folder or file does.
    pub fn of(found: &LoadedFile, named: Option<&str>) -> Option<Self> {
        let path = &found.place.path;
        let (kind, place) = match found.place.tag {
            SKILL => (SKILL, path.parent().and_then(Path::file_name)),
            AGENT => (AGENT, path.file_stem()),
            _ => return None,
        };
        let place = place.map(|name| name.to_string_lossy().into_owned());
        let name = named.map(str::to_owned).or_else(|| place.clone())?;
        let folder = place.filter(|folder| kind == SKILL && *folder != name);
        Some(Self { kind, name, folder })
    }

    /// An agent's own stop is a sub-agent's stop to everybody else.
    pub fn event<'n>(&self, name: &'n str) -> &'n str {
        if self.kind == AGENT && name == "Stop" { "SubagentStop" } else { name }
    }

    /// Kept with the hook.
    pub fn note(&self, config: &mut Value) {
        config["owner"] = json!({"kind": self.kind, "name": self.name});
        if let Some(folder) = &self.folder {
            config["owner"]["folder"] = json!(folder);
        }
    }
}

/// What a session remembers of a skill.
fn mark(name: &str) -> String {
    format!("claude.skill:{name}")
}

/// The skill that an event shows to be invoked.
pub fn marks(event: &Event) -> Vec<String> {
    if !event.is_from(&Claude) {
        return Vec::new();
    }
    let native = &event.native;
    let of_tool = (text(native, "tool_name").as_deref() == Some("Skill"))
        .then(|| native.get("tool_input"))
        .flatten()
        .and_then(|input| text(input, "skill").or_else(|| text(input, "command")));
    let skill = of_tool.or_else(|| text(native, "command_name"));
    skill.map(|name| mark(name.trim().trim_start_matches('/'))).into_iter().collect()
}

/// Why a hook of a skill or an agent is not for an event.
pub fn objection(event: &Event, hook: &Hook) -> Option<String> {
    let owner = hook.draft.config.get("owner")?;
    let name = text(owner, "name")?;
    if owner.get("kind").and_then(Value::as_str) == Some(SKILL) {
        let folder = text(owner, "folder");
        let called = |by: &str| by == name || folder.as_deref() == Some(by);
        // A plugin's skill is called by the plugin's name as well.
        let known = event.session_counts.keys().any(|seen| {
            let rest = seen.strip_prefix("claude.skill:");
            rest.is_some_and(|r| called(r) || r.rsplit(':').next().is_some_and(called))
        });
        return (!known).then(|| format!("the skill {name} has not been invoked in this session"));
    }
    let about = matches!(event.moment, Moment::SubagentStart | Moment::SubagentStop);
    let running = text(&event.native, "agent_type")
        .or_else(|| event.facts.member.clone().filter(|_| about || !event.is_from(&Claude)));
    (running.as_deref() != Some(name.as_str())).then(|| format!("the agent {name} is not running"))
}
