//! The table of tools: native names, and the mapping of arguments to neutral names.

use gambrel_model::{ToolKind, ToolWord};

const PATH: &[(&str, &str)] = &[("path", "file_path")];
const AGENT: &[(&str, &str)] = &[("agent", "subagent_type")];
const FLAT_EDIT: &[(&str, &str)] = &[
    ("path", "file_path"),
    ("edits[].old", "old_string"),
    ("edits[].new", "new_string"),
    ("edits[].all", "replace_all"),
];
const EDIT_LIST: &[(&str, &str)] = &[
    ("path", "file_path"),
    ("edits[].old", "edits[].old_string"),
    ("edits[].new", "edits[].new_string"),
    ("edits[].all", "edits[].replace_all"),
];

/// The first row that fits is used: one edit is `Edit`, several edits are `MultiEdit`.
pub static TOOLS: &[ToolWord] = &[
    ToolWord::new(ToolKind::Shell, "shell", "Bash", &[]),
    ToolWord::new(ToolKind::Read, "read", "Read", PATH),
    ToolWord::new(ToolKind::Write, "write", "Write", PATH),
    ToolWord::new(ToolKind::Edit, "edit", "Edit", FLAT_EDIT),
    ToolWord::new(ToolKind::Edit, "edit", "MultiEdit", EDIT_LIST),
    ToolWord::new(ToolKind::Search, "grep", "Grep", &[]),
    ToolWord::new(ToolKind::Search, "glob", "Glob", &[]),
    ToolWord::new(ToolKind::Fetch, "fetch", "WebFetch", &[]),
    ToolWord::new(ToolKind::Task, "task", "Task", AGENT),
    ToolWord::new(ToolKind::Task, "task", "Agent", AGENT),
];

/// `Agent` is the current name of `Task`. A matcher for one matches both.
pub const ALIASES: [(&str, &str); 2] = [("Task", "Agent"), ("Agent", "Task")];
