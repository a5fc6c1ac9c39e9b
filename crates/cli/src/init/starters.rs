//! The files that `gambrel init` writes. Texts are in `starters/`; types and schemas are generated.

use gambrel_dialects::omp::declarations::generate_declarations;
use gambrel_dialects::unified::schema::{file_schema, hook_definitions};
use gambrel_runner::{pipeline_schema, stage_schema};

use super::{InitTarget, PipelineStarter};
use crate::schema::schema_text;

/// A file to write.
pub struct StarterFile {
    /// Its path in the project.
    pub path: &'static str,
    /// Its text.
    pub text: String,
    /// Whether `--force` replaces it. What authors edit is never replaced.
    pub is_generated: bool,
}

/// The files of a target. A pipeline needs the name of a starter.
pub fn starter_files(target: InitTarget, pipeline: Option<PipelineStarter>) -> Vec<StarterFile> {
    match (target, pipeline) {
        (InitTarget::Omp, _) => vec![
            generated(".omp/hooks/hooks.d.ts", generate_declarations()),
            written(".omp/hooks/pre/guard.ts", include_str!("starters/guard.ts")),
            generated(".omp/tsconfig.json", include_str!("starters/tsconfig.json").to_owned()),
        ],
        (InitTarget::Hooks, _) => vec![
            written(".gambrel/hooks.yaml", include_str!("starters/hooks.yaml")),
            generated(".gambrel/schemas/unified.json", schema_text(&file_schema())),
        ],
        (InitTarget::Claude, _) => vec![
            written(".claude/settings.json", include_str!("starters/settings.json")),
            written(".claude/hooks/guard.sh", include_str!("starters/guard.sh")),
        ],
        (InitTarget::Pipeline, Some(pipeline)) => pipeline_files(pipeline),
        (InitTarget::Pipeline, None) => Vec::new(),
    }
}

fn pipeline_files(starter: PipelineStarter) -> Vec<StarterFile> {
    let schema = || schema_text(&pipeline_schema(hook_definitions()));
    match starter {
        PipelineStarter::Ralph => vec![
            written(".gambrel/stages/ralph/stage.yaml", include_str!("starters/ralph_stage.yaml")),
            written(".gambrel/stages/ralph/prompt.md", include_str!("starters/ralph_prompt.md")),
            written(".gambrel/stages/ralph/tasks.md", include_str!("starters/ralph_tasks.md")),
            generated(
                ".gambrel/schemas/stage.json",
                schema_text(&stage_schema(hook_definitions())),
            ),
        ],
        PipelineStarter::Refine => vec![
            written(".gambrel/pipelines/refine.yaml", include_str!("starters/refine.yaml")),
            generated(".gambrel/schemas/pipeline.json", schema()),
        ],
        PipelineStarter::Tdd => vec![
            written(".gambrel/pipelines/tdd.yaml", include_str!("starters/tdd.yaml")),
            generated(".gambrel/schemas/pipeline.json", schema()),
        ],
    }
}

fn written(path: &'static str, text: &str) -> StarterFile {
    StarterFile { path, text: text.to_owned(), is_generated: false }
}

fn generated(path: &'static str, text: String) -> StarterFile {
    StarterFile { path, text, is_generated: true }
}

/// What to do after a file was written.
pub fn next_steps(target: InitTarget, pipeline: Option<PipelineStarter>) -> String {
    match (target, pipeline) {
        (InitTarget::Omp, _) => "The example runs after you trust it: gambrel trust".to_owned(),
        (InitTarget::Hooks, _) => {
            "Next: `gambrel check`, then `gambrel trust` lets the hooks run. \
             `gambrel install claude` lets Claude Code call them."
                .to_owned()
        }
        (InitTarget::Claude, _) => {
            "Claude Code runs the hook in its next session. For the hooks of other agents and \
             .gambrel/hooks.yaml inside Claude Code: gambrel install claude"
                .to_owned()
        }
        (InitTarget::Pipeline, starter) => {
            let name = starter.map_or("NAME", PipelineStarter::as_str);
            format!("Next: `gambrel trust`, then `gambrel run {name} --dry-run` shows the plan.")
        }
    }
}
