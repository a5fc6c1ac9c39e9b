//! Hooks in the frontmatter of skills and agents. A skill's hooks run from its invocation to the
//! end of the session; an agent's hooks run while the agent runs.

use std::path::Path;

use gambrel_model::{Event, Hook, LoadedFile, Moment};
use serde_json::{Value, json};

use super::CLAUDE;
use crate::event_parts::text_field;

/// The tag of a skill's file.
pub const SKILL: &str = "skill";
/// The tag of an agent's file.
pub const AGENT: &str = "agent";

/// The skill or agent whose frontmatter a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// `skill` or `agent`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The name of a skill's folder, which is a second name of the skill.
    folder: Option<String>,
}

impl Owner {
    /// The owner of a file, named by the frontmatter, else by the folder or file.
    pub fn from_file(found: &LoadedFile, named: Option<&str>) -> Option<Self> {
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

    /// The name of an event. `Stop` of an agent is `SubagentStop` of the session.
    pub fn session_event<'n>(&self, name: &'n str) -> &'n str {
        if self.kind == AGENT && name == "Stop" { "SubagentStop" } else { name }
    }

    /// Adds the owner to a hook's config.
    pub fn add_to_config(&self, config: &mut Value) {
        config["owner"] = json!({"kind": self.kind, "name": self.name});
        if let Some(folder) = &self.folder {
            config["owner"]["folder"] = json!(folder);
        }
    }
}

/// The session flag of an invoked skill.
fn skill_flag(name: &str) -> String {
    format!("claude.skill:{name}")
}

/// The session flags of an event: the skill that it invokes.
pub fn invoked_skill_flags(event: &Event) -> Vec<String> {
    if !event.is_from(&CLAUDE) {
        return Vec::new();
    }
    let native = &event.native;
    let of_tool = (text_field(native, "tool_name").as_deref() == Some("Skill"))
        .then(|| native.get("tool_input"))
        .flatten()
        .and_then(|input| text_field(input, "skill").or_else(|| text_field(input, "command")));
    let skill = of_tool.or_else(|| text_field(native, "command_name"));
    skill.map(|name| skill_flag(name.trim().trim_start_matches('/'))).into_iter().collect()
}

/// Why a hook of a skill or an agent does not run at an event.
pub fn skip_reason(event: &Event, hook: &Hook) -> Option<String> {
    let owner = hook.draft.config.get("owner")?;
    let name = text_field(owner, "name")?;
    if owner.get("kind").and_then(Value::as_str) == Some(SKILL) {
        let folder = text_field(owner, "folder");
        let called = |by: &str| by == name || folder.as_deref() == Some(by);
        // A plugin's skill may also be invoked as `plugin:skill`.
        let known = event.session_counts.keys().any(|seen| {
            let rest = seen.strip_prefix("claude.skill:");
            rest.is_some_and(|r| called(r) || r.rsplit(':').next().is_some_and(called))
        });
        return (!known).then(|| format!("the skill {name} has not been invoked in this session"));
    }
    let about = matches!(event.moment, Moment::SubagentStart | Moment::SubagentStop);
    let running = text_field(&event.native, "agent_type")
        .or_else(|| event.facts.member.clone().filter(|_| about || !event.is_from(&CLAUDE)));
    (running.as_deref() != Some(name.as_str())).then(|| format!("the agent {name} is not running"))
}
