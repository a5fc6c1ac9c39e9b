//! The tools by their native names, and their arguments in neutral ones.

use gambrel_model::{ToolKind, ToolWord};

const fn word(
    kind: ToolKind,
    shape: &'static str,
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> ToolWord {
    ToolWord { kind, shape, name, fields }
}

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

/// Of two words with one shape the first that fits is used: one edit is `Edit`, several are
/// `MultiEdit`.
pub static TOOLS: &[ToolWord] = &[
    word(ToolKind::Shell, "shell", "Bash", &[]),
    word(ToolKind::Read, "read", "Read", PATH),
    word(ToolKind::Write, "write", "Write", PATH),
    word(ToolKind::Edit, "edit", "Edit", FLAT_EDIT),
    word(ToolKind::Edit, "edit", "MultiEdit", EDIT_LIST),
    word(ToolKind::Search, "grep", "Grep", &[]),
    word(ToolKind::Search, "glob", "Glob", &[]),
    word(ToolKind::Fetch, "fetch", "WebFetch", &[]),
    word(ToolKind::Task, "task", "Task", AGENT),
    word(ToolKind::Task, "task", "Agent", AGENT),
];

/// Today's product calls `Agent` what it called `Task`; a matcher for one means both.
pub const ALIASES: [(&str, &str); 2] = [("Task", "Agent"), ("Agent", "Task")];
