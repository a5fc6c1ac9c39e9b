//! The table of gambrel's own JavaScript texts. A new shim is a file and a row here. `build.rs`
//! reads this table too and compiles each text, so that no engine parses them.

/// How a text is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Every engine starts with it. The text is one expression, a function.
    Own,
    /// A Node module, by its bare name. The text is a function body, as in CommonJS.
    Node,
    /// Globals, helpers of lowered syntax, stubs of the host. Also a function body.
    Inner,
}

/// Name, file and role of each text.
pub const BUILTINS: &[(&str, &str, Role)] = &[
    ("engine", "js/engine.js", Role::Own),
    ("api", "js/api.js", Role::Own),
    ("context", "js/context.js", Role::Own),
    ("assert", "shims/node/assert.js", Role::Node),
    ("assert/strict", "shims/node/assert_strict.js", Role::Node),
    ("async_hooks", "shims/node/async_hooks.js", Role::Node),
    ("buffer", "shims/node/buffer.js", Role::Node),
    ("child_process", "shims/node/child_process.js", Role::Node),
    ("crypto", "shims/node/crypto.js", Role::Node),
    ("events", "shims/node/events.js", Role::Node),
    ("fs", "shims/node/fs.js", Role::Node),
    ("fs/promises", "shims/node/fs_promises.js", Role::Node),
    ("os", "shims/node/os.js", Role::Node),
    ("path", "shims/node/path.js", Role::Node),
    ("path/posix", "shims/node/path_posix.js", Role::Node),
    ("path/win32", "shims/node/path_win32.js", Role::Node),
    ("process", "shims/node/process.js", Role::Node),
    ("readline", "shims/node/readline.js", Role::Node),
    ("string_decoder", "shims/node/string_decoder.js", Role::Node),
    ("timers", "shims/node/timers.js", Role::Node),
    ("timers/promises", "shims/node/timers_promises.js", Role::Node),
    ("url", "shims/node/url.js", Role::Node),
    ("util", "shims/node/util.js", Role::Node),
    ("util/types", "shims/node/util_types.js", Role::Node),
    ("buffer_numbers", "shims/node/buffer_numbers.js", Role::Inner),
    ("child_spawn", "shims/node/child_spawn.js", Role::Inner),
    ("cuts", "shims/cuts.js", Role::Inner),
    ("deep", "shims/node/deep.js", Role::Inner),
    ("digests", "shims/node/digests.js", Role::Inner),
    ("errors", "shims/node/errors.js", Role::Inner),
    ("fetch", "shims/fetch.js", Role::Inner),
    ("flow", "shims/node/flow.js", Role::Inner),
    ("frontmatter", "shims/frontmatter.js", Role::Inner),
    ("fs_files", "shims/node/fs_files.js", Role::Inner),
    ("fs_streams", "shims/node/fs_streams.js", Role::Inner),
    ("fs_tree", "shims/node/fs_tree.js", Role::Inner),
    ("inspect", "shims/node/inspect.js", Role::Inner),
    ("typebox", "shims/typebox.js", Role::Inner),
    ("host", "shims/host.js", Role::Inner),
    ("locale", "shims/locale.js", Role::Inner),
    ("lowered", "shims/lowered.js", Role::Inner),
    ("parse_args", "shims/node/parse_args.js", Role::Inner),
    ("sleep", "shims/sleep.js", Role::Inner),
    ("text", "shims/text.js", Role::Inner),
    ("url_parse", "shims/node/url_parse.js", Role::Inner),
    ("web", "shims/web.js", Role::Inner),
    ("writable", "shims/node/writable.js", Role::Inner),
];
