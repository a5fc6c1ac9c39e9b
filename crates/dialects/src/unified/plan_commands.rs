//! The commands of a stage or pipeline that was found by name. They are listed like hooks, so that
//! they need the same trust; no event runs them.

use std::path::Path;

use gambrel_document::{Document, DocumentLanguage, DocumentNode};
use gambrel_model::{Draft, Scope, Source};
use serde_json::json;

use super::config::ConfigReader;

/// The event under which lists show the commands of a plan.
const PLAN_EVENT: &str = "plan";

/// Reads the commands of a plan that is the project's.
pub fn read_plan_commands(reader: &ConfigReader<'_>) -> Vec<Draft> {
    if reader.file.place.scope != Scope::Project {
        return Vec::new();
    }
    let root = &reader.document.root;
    let nodes = ["nodes", "stages"].iter().filter_map(|key| root.get(key)?.items()).flatten();
    std::iter::once(root)
        .chain(nodes)
        .flat_map(command_nodes)
        .filter_map(|(name, node)| build_draft(reader, name, node))
        .collect()
}

/// The agent that the project's `.gambrel/config.yaml` names.
pub fn project_agent(path: &Path, text: &str) -> Option<String> {
    let document = Document::parse(path, text, DocumentLanguage::Yaml).ok()?;
    document.root.get("agent")?.text().map(str::to_owned)
}

/// The places of a stage or node that contain commands.
fn command_nodes<'n, 't>(map: &'n DocumentNode<'t>) -> Vec<(&'static str, &'n DocumentNode<'t>)> {
    let in_termination = ["termination", "runs"];
    let queue = in_termination.iter().filter_map(|key| map.get(key)?.get("command"));
    let named = map.get("commands").map(DocumentNode::entries).unwrap_or_default();
    let defaults = map.get("defaults").and_then(|defaults| defaults.get("provider"));
    let agents = ["provider", "agent"].iter().filter_map(|key| map.get(key)).chain(defaults);
    let is_spec = |node: &&DocumentNode| node.text().is_some_and(|text| text.contains(':'));
    queue
        .map(|node| ("plan queue command", node))
        .chain(named.iter().map(|(_, node)| ("plan command", node)))
        .chain(agents.filter(is_spec).map(|node| ("plan agent", node)))
        .collect()
}

fn build_draft(reader: &ConfigReader<'_>, name: &str, node: &DocumentNode) -> Option<Draft> {
    let text = node.text()?;
    let command = match text.split_once(':') {
        Some(("command" | "acp", rest)) => rest.trim().to_owned(),
        // The words of a command are files of the hook.
        Some(("script", rest)) => format!("cat {}", rest.trim()),
        _ => text.to_owned(),
    };
    Some(Draft {
        event: PLAN_EVENT.to_owned(),
        source: Source {
            base: reader.base(),
            ..reader.file.source_at(reader.document.span_of(node))
        },
        name: Some(name.to_owned()),
        action: "shell".to_owned(),
        config: json!({"command": command}),
        ..Draft::default()
    })
}
