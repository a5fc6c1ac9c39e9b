//! The variables of agent-pipelines at a position of a run, and the environment of an agent.

use gambrel_model::text::truncate_bytes;
use serde_json::{Value, json};

use crate::cursor::Cursor;
use crate::folder::RunFolder;
use crate::plan::Plan;
use crate::state::RunState;

/// A run as its variables see it.
pub struct RunView<'r> {
    /// The plan.
    pub plan: &'r Plan,
    /// The folder.
    pub folder: &'r RunFolder,
    /// The state.
    pub state: &'r RunState,
    /// Files that changed in the current iteration.
    pub changed_files: &'r [String],
}

impl RunView<'_> {
    /// The variables that do not belong to hooks.
    pub fn variables(&self, cursor: &Cursor) -> Vec<(&'static str, String)> {
        let (plan, index) = (self.plan, cursor.node());
        let id = |index: usize| plan.nodes.get(index).map(|node| node.id.clone());
        let node_id = id(index).unwrap_or_default();
        let files = self.folder.iteration_files(plan, index, cursor.iteration);
        let in_iteration = |path: &std::path::Path| match cursor.iteration {
            0 => String::new(),
            _ => path.display().to_string(),
        };
        let outputs: Vec<String> = match cursor.iteration {
            0 => Vec::new(),
            _ => self.folder.stage_outputs(plan, index).iter().map(display_path).collect(),
        };
        let max = plan.nodes.get(index).map_or(0, |node| node.termination.max);
        vec![
            ("SESSION", plan.session.name.clone()),
            ("STAGE", node_id.clone()),
            ("NEXT_STAGE", id(index + 1).unwrap_or_default()),
            ("ITERATION", cursor.iteration.to_string()),
            ("MAX_ITERATIONS", max.to_string()),
            ("PROGRESS", display_path(&self.folder.progress_file(plan, index))),
            ("STATUS", in_iteration(&files.status)),
            ("CTX", in_iteration(&files.context)),
            ("LAST_DECISION", self.state.last_decision(&node_id).to_owned()),
            ("CHANGED_FILES", self.changed_files.join("\n")),
            ("STAGE_OUTPUTS", json!(outputs).to_string()),
        ]
    }

    /// The variables as facts of an event, with the folder in which children are started.
    pub fn variable_facts(&self, cursor: &Cursor) -> Value {
        let mut facts = serde_json::Map::new();
        for (name, value) in self.variables(cursor) {
            facts.insert(name.to_owned(), json!(value));
        }
        facts.insert("SESSION_DIR".to_owned(), json!(display_path(&self.folder.path)));
        let agent = self.plan.nodes.get(cursor.node()).map(|node| &node.provider.spec);
        facts.insert("GAMBREL_AGENT".to_owned(), json!(agent));
        Value::Object(facts)
    }

    /// The environment of an agent, on top of the caller's.
    pub fn agent_env(&self, cursor: &Cursor, now: &str) -> Vec<(String, String)> {
        let (plan, index) = (self.plan, cursor.node());
        let files = self.folder.iteration_files(plan, index, cursor.iteration);
        let node = plan.nodes.get(index);
        let stage = node.map(|node| if node.stage.is_empty() { &node.id } else { &node.stage });
        let session = &plan.session.name;
        let mut env: Vec<(String, String)> = self
            .variables(cursor)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), truncate_bytes(&value, MAX_ENV_BYTES, "")))
            .collect();
        let own = [
            ("TIMESTAMP", now.to_owned()),
            ("RESULT", display_path(&files.result)),
            ("OUTPUT", display_path(&files.output)),
            ("CLAUDE_PIPELINE_AGENT", "1".to_owned()),
            ("CLAUDE_PIPELINE_SESSION", session.clone()),
            ("CLAUDE_PIPELINE_TYPE", stage.cloned().unwrap_or_default()),
            ("GAMBREL_SESSION", session.clone()),
            ("GAMBREL_RUN_DIR", display_path(&self.folder.path)),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        env
    }
}

/// Linux takes at most 128 KiB in one environment string; this leaves room for the name.
const MAX_ENV_BYTES: usize = 120 * 1024;

#[expect(clippy::ptr_arg, reason = "it maps over lists of paths")]
fn display_path(path: &std::path::PathBuf) -> String {
    path.display().to_string()
}
