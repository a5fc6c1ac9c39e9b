//! Writes the text of modules: exports of builtins, stubs and data, and CommonJS as an ES module.
//! Knows the name of the engine's global object, but no engine.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The hidden global object of the engine's script.
pub const SCRIPT_GLOBAL: &str = "__gambrel";

/// CommonJS names of a file and its directory, with their ES module equivalents.
pub const PATH_GLOBALS: &[(&str, &str)] =
    &[("__dirname", "import.meta.dirname"), ("__filename", "import.meta.filename")];

/// The first lines of a module that re-exports a builtin.
pub fn builtin_head(name: &str) -> String {
    let name = quote_text(name);
    format!(
        "const m = globalThis.{SCRIPT_GLOBAL}.need({name});\nexport default (\"default\" in m ? m.default : m);\n"
    )
}

/// The first lines of a module that re-exports the stub of a host package.
pub fn host_head(specifier: &str) -> String {
    let specifier = quote_text(specifier);
    format!(
        "const m = globalThis.{SCRIPT_GLOBAL}.need(\"host\").space({specifier});\nexport default m.default;\n"
    )
}

/// Appends exports of the fields of `m` to a module's text.
pub fn export_fields(mut head: String, names: &BTreeSet<String>) -> String {
    let is_identifier = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    };

    let names = names.iter().filter(|n| *n != "default" && is_identifier(n));
    for (at, name) in names.enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(head, "const x{at} = m?.{name};\nexport {{ x{at} as {name} }};");
    }
    head
}

/// Wraps a CommonJS file as an ES module. Line numbers stay.
pub fn wrap_commonjs(code: &str, names: &BTreeSet<String>) -> String {
    let (head, body) = split_shebang(code);
    let whole = format!(
        "{head}const m0 = {{ exports: {{}} }}; (function (module, exports, __filename, __dirname) {{ {body}
}}).call(m0.exports, m0, m0.exports, import.meta.filename, import.meta.dirname);
const m = m0.exports; export default (m?.__esModule ? m.default : m);\n"
    );
    export_fields(whole, names)
}

/// Defines the CommonJS path names that an ES module uses. Line numbers stay.
pub fn define_path_globals(code: &str, names: &BTreeSet<&'static str>) -> String {
    let (head, body) = split_shebang(code);
    let definitions = PATH_GLOBALS.iter().filter(|(name, _)| names.contains(name));
    let definitions: String =
        definitions.map(|(name, is)| format!("const {name} = {is}; ")).collect();
    format!("{head}{definitions}{body}")
}

/// The `#!` line, if there is one, and the rest.
fn split_shebang(code: &str) -> (&str, &str) {
    let end = code.find('\n').filter(|_| code.starts_with("#!")).map_or(0, |at| at + 1);
    code.split_at(end)
}

fn quote_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
