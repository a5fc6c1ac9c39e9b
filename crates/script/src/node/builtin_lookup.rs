//! Classifies specifiers that are not files: a builtin, a package of the host, or neither. The
//! table of builtins is in `builtins`.

use super::builtins::{BUILTINS, Role};

/// Members that exist so that a module loads, but that only a full host implements.
const STUB_MEMBERS: &[(&str, &str)] = &[("fs", "watch"), ("fs", "watchFile")];

/// Target of a specifier that is not a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuiltinKind {
    /// A builtin, by its bare name.
    Builtin(&'static str),
    /// A package of the host that the modules were written for. A stub replaces it.
    Host,
    /// Anything else: only a full host can provide it.
    Foreign,
}

/// The bare name of a supported Node module.
pub fn find_builtin(specifier: &str) -> Option<&'static str> {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    let of_node = BUILTINS.iter().filter(|(_, _, role)| *role == Role::Node);
    of_node.map(|(name, ..)| *name).find(|name| *name == bare)
}

/// Whether a member of a builtin does nothing in the embedded engine.
pub fn is_stub_member(builtin: &str, name: &str) -> bool {
    STUB_MEMBERS.contains(&(builtin, name))
}

/// Classifies a specifier that is not a file.
pub fn classify_specifier(specifier: &str) -> BuiltinKind {
    if matches!(specifier, "typebox" | "@sinclair/typebox") {
        return BuiltinKind::Builtin("typebox");
    }

    if let Some(name) = find_builtin(specifier) {
        return BuiltinKind::Builtin(name);
    }

    let scoped = ["@oh-my-pi/", "@mariozechner/", "@earendil-works/"];
    let plain = ["pi-tui", "pi-ai", "pi-coding-agent", "pi-agent-core"];
    if scoped.iter().any(|s| specifier.starts_with(s)) || plain.contains(&specifier) {
        return BuiltinKind::Host;
    }
    BuiltinKind::Foreign
}

/// Whether a module of a full host may register handlers, or load one that does. Only packages do,
/// and the host's own modules that load other code.
pub fn may_register_handlers(specifier: &str) -> bool {
    let loads = ["node:module", "node:vm"].contains(&specifier);
    loads || !(specifier.starts_with("node:") || specifier.starts_with("bun:"))
}

#[cfg(test)]
mod tests {
    use super::{BUILTINS, Role};

    #[test]
    fn the_documentation_lists_the_modules_of_node() {
        let page = include_str!("../../../../docs/typescript-modules.md");
        let modules = BUILTINS.iter().filter(|(_, _, role)| *role == Role::Node);
        let listed: Vec<String> = modules.map(|(name, ..)| format!("`{name}`")).collect();
        let words: Vec<&str> = listed.iter().map(String::as_str).collect();
        let section = page.split("<!-- modules of Node -->").nth(1).unwrap_or_default();
        let shown: Vec<&str> = section.split_whitespace().collect();
        assert_eq!(shown, words);
    }
}
