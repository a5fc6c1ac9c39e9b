//! The prompt of an iteration, and `context.json`.

use std::path::PathBuf;

use gambrel_model::template::{Style, expand_plain};
use serde_json::{Map, Value, json};

use crate::cursor::Cursor;
use crate::facts::RunView;
use crate::plan::{InputSelect, PlanNode};

impl RunView<'_> {
    /// The prompt with its variables. An unknown one stays as written.
    pub fn build_prompt(&self, node: &PlanNode, cursor: &Cursor) -> String {
        let (plan, index) = (self.plan, cursor.node());
        let files = self.folder.iteration_files(plan, index, cursor.iteration);
        let progress = self.folder.progress_file(plan, index);
        let path = |path: &PathBuf| Some(path.display().to_string());
        let lookup = |name: &str| match name {
            "CTX" => path(&files.context),
            "STATUS" => path(&files.status),
            "RESULT" => path(&files.result),
            "OUTPUT" => path(&files.output),
            "PROGRESS" | "PROGRESS_FILE" => path(&progress),
            "SESSION" | "SESSION_NAME" => Some(plan.session.name.clone()),
            "ITERATION" => Some(cursor.iteration.to_string()),
            "INDEX" => Some(cursor.iteration.saturating_sub(1).to_string()),
            "PERSPECTIVE" => Some(String::new()),
            "OUTPUT_PATH" => Some(node.output_path.clone()),
            "CONTEXT" => Some(node.context.clone()),
            _ => None,
        };
        expand_plain(&node.prompt, Style::Dollar, &lookup)
    }

    /// `context.json` of an iteration.
    pub fn build_context(&self, node: &PlanNode, cursor: &Cursor, remaining_seconds: i64) -> Value {
        let (plan, index) = (self.plan, cursor.node());
        let files = self.folder.iteration_files(plan, index, cursor.iteration);
        let mut commands = plan.pipeline.commands.clone();
        commands.extend(node.commands.clone());
        json!({
            "session": plan.session.name,
            "pipeline": plan.pipeline.name,
            "stage": {"id": node.id, "index": index, "template": node.stage},
            "iteration": cursor.iteration,
            "paths": {
                "session_dir": self.folder.path,
                "stage_dir": self.folder.stage_folder(plan, index),
                "progress": self.folder.progress_file(plan, index),
                "output": files.output,
                "status": files.status,
                "result": files.result,
            },
            "inputs": self.build_inputs(node, cursor),
            "limits": {
                "max_iterations": node.termination.max, "remaining_seconds": remaining_seconds,
            },
            "commands": commands,
        })
    }

    fn build_inputs(&self, node: &PlanNode, cursor: &Cursor) -> Value {
        let mut from_stage = Map::new();
        for name in &node.inputs.from {
            let index = self.plan.nodes.iter().position(|node| node.id == *name);
            let Some(index) = index else { continue };
            let mut outputs = self.folder.stage_outputs(self.plan, index);
            if node.inputs.select == InputSelect::Latest {
                outputs = outputs.pop().into_iter().collect();
            }
            from_stage.insert(name.clone(), json!(outputs));
        }
        let own = self.folder.stage_outputs(self.plan, cursor.node());
        let current =
            self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration).output;
        let previous: Vec<&PathBuf> = own.iter().filter(|path| **path != current).collect();
        let initial: &[PathBuf] =
            if node.inputs.from_initial { &self.plan.session.inputs } else { &[] };
        let mut inputs = json!({
            "from_stage": from_stage,
            "from_previous_iterations": previous,
            "from_initial": initial,
        });
        if !self.plan.session.from_parent.is_null() {
            inputs["from_parent"] = self.plan.session.from_parent.clone();
        }
        inputs
    }
}
