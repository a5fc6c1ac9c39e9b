//! The table of texts that stand in for modules the engine itself does not have. A new shim is a
//! file and a row here.

/// Builtins by their bare name; `node:` in front is the same module.
const BUILTINS: &[(&str, &str)] = &[("process", include_str!("../shims/node/process.js"))];

/// Shims that are no module of Node: globals, helpers of lowered syntax, the host's stand-ins.
const INNER: &[(&str, &str)] = &[
    ("typebox", include_str!("../shims/typebox.js")),
    ("host", include_str!("../shims/host.js")),
    ("lowered", include_str!("../shims/lowered.js")),
    ("web", include_str!("../shims/web.js")),
];

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

/// The text of a shim.
pub fn text(name: &str) -> Option<&'static str> {
    BUILTINS.iter().chain(INNER).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What a specifier stands for.
pub fn kind(specifier: &str) -> Kind {
    if matches!(specifier, "typebox" | "@sinclair/typebox") {
        return Kind::Builtin("typebox");
    }
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    if let Some((name, _)) = BUILTINS.iter().find(|(name, _)| *name == bare) {
        return Kind::Builtin(name);
    }
    let scoped = ["@oh-my-pi/", "@mariozechner/", "@earendil-works/"];
    let plain = ["pi-tui", "pi-ai", "pi-coding-agent", "pi-agent-core"];
    if scoped.iter().any(|s| specifier.starts_with(s)) || plain.contains(&specifier) {
        return Kind::Host;
    }
    Kind::Foreign
}
