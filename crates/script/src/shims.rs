//! What a specifier stands for: a shim of ours, a stand-in for the host, or neither. Which shims there
//! are is told in `rows`.

use crate::rows::{ROWS, Role};

/// Members that are there so that a module loads, and that only a full host brings to life.
const HOLLOW: &[(&str, &str)] = &[("fs", "watch"), ("fs", "watchFile")];

/// What a specifier that is no file stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A shim, by its bare name.
    Builtin(&'static str),
    /// A package of the host that ran these modules first: a stand-in.
    Host,
    /// Something that only a full host can give.
    Foreign,
}

/// The bare name of a module of Node that is offered.
pub fn builtin(specifier: &str) -> Option<&'static str> {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    let of_node = ROWS.iter().filter(|(_, _, role)| *role == Role::Node);
    of_node.map(|(name, ..)| *name).find(|name| *name == bare)
}

/// Whether a member of a builtin does nothing here.
pub fn hollow(builtin: &str, name: &str) -> bool {
    HOLLOW.contains(&(builtin, name))
}

/// What a specifier stands for.
pub fn kind(specifier: &str) -> Kind {
    if matches!(specifier, "typebox" | "@sinclair/typebox") {
        return Kind::Builtin("typebox");
    }
    if let Some(name) = builtin(specifier) {
        return Kind::Builtin(name);
    }
    let scoped = ["@oh-my-pi/", "@mariozechner/", "@earendil-works/"];
    let plain = ["pi-tui", "pi-ai", "pi-coding-agent", "pi-agent-core"];
    if scoped.iter().any(|s| specifier.starts_with(s)) || plain.contains(&specifier) {
        return Kind::Host;
    }
    Kind::Foreign
}

/// Whether what a full host gives for a specifier may register handlers, or load what does: the
/// host's own modules do not, but for those that load others.
pub fn may_hear(specifier: &str) -> bool {
    let loads = ["node:module", "node:vm"].contains(&specifier);
    loads || !(specifier.starts_with("node:") || specifier.starts_with("bun:"))
}
