//! The table of texts that stand in for modules the engine itself does not have. A new shim is a
//! file and a row here.

/// Builtins by their bare name; `node:` in front is the same module.
const BUILTINS: &[(&str, &str)] = &[
    ("assert", include_str!("../shims/node/assert.js")),
    ("assert/strict", include_str!("../shims/node/assert_strict.js")),
    ("async_hooks", include_str!("../shims/node/async_hooks.js")),
    ("buffer", include_str!("../shims/node/buffer.js")),
    ("child_process", include_str!("../shims/node/child_process.js")),
    ("crypto", include_str!("../shims/node/crypto.js")),
    ("events", include_str!("../shims/node/events.js")),
    ("fs", include_str!("../shims/node/fs.js")),
    ("fs/promises", include_str!("../shims/node/fs_promises.js")),
    ("os", include_str!("../shims/node/os.js")),
    ("path", include_str!("../shims/node/path.js")),
    ("path/posix", include_str!("../shims/node/path_posix.js")),
    ("path/win32", include_str!("../shims/node/path_win32.js")),
    ("process", include_str!("../shims/node/process.js")),
    ("readline", include_str!("../shims/node/readline.js")),
    ("string_decoder", include_str!("../shims/node/string_decoder.js")),
    ("timers", include_str!("../shims/node/timers.js")),
    ("timers/promises", include_str!("../shims/node/timers_promises.js")),
    ("url", include_str!("../shims/node/url.js")),
    ("util", include_str!("../shims/node/util.js")),
    ("util/types", include_str!("../shims/node/util_types.js")),
];

/// Shims that are no module of Node: globals, helpers of lowered syntax, the host's stand-ins.
const INNER: &[(&str, &str)] = &[
    ("child_spawn", include_str!("../shims/node/child_spawn.js")),
    ("deep", include_str!("../shims/node/deep.js")),
    ("errors", include_str!("../shims/node/errors.js")),
    ("fetch", include_str!("../shims/fetch.js")),
    ("flow", include_str!("../shims/node/flow.js")),
    ("fs_files", include_str!("../shims/node/fs_files.js")),
    ("fs_streams", include_str!("../shims/node/fs_streams.js")),
    ("fs_tree", include_str!("../shims/node/fs_tree.js")),
    ("inspect", include_str!("../shims/node/inspect.js")),
    ("typebox", include_str!("../shims/typebox.js")),
    ("host", include_str!("../shims/host.js")),
    ("lowered", include_str!("../shims/lowered.js")),
    ("text", include_str!("../shims/text.js")),
    ("web", include_str!("../shims/web.js")),
];

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

/// The text of a shim.
pub fn text(name: &str) -> Option<&'static str> {
    BUILTINS.iter().chain(INNER).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The bare name of a module of Node that is offered.
pub fn builtin(specifier: &str) -> Option<&'static str> {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    BUILTINS.iter().find(|(name, _)| *name == bare).map(|(name, _)| *name)
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
