//! What a file is: a pipeline, a stage, or something else.

use std::path::Path;

/// Keys that only a pipeline or a stage has.
const PLAN_KEYS: [&str; 4] = ["nodes", "stages", "termination", "completion"];

/// Whether a file is a pipeline and not a stage: by its keys, else by its name.
pub fn is_pipeline(path: &Path, text: &str) -> bool {
    let has_key = |key: &str| has_top_level_key(text, key);
    if has_key("nodes") || has_key("stages") {
        return true;
    }
    let is_stage_name = path.file_stem().is_some_and(|stem| stem == "stage" || stem == "loop");
    !has_key("termination") && !has_key("completion") && !is_stage_name
}

/// Whether a text is a pipeline or a stage, and not only a list of hooks.
pub fn is_plan_text(text: &str) -> bool {
    PLAN_KEYS.iter().any(|key| has_top_level_key(text, key))
}

fn has_top_level_key(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}
