//! The load message of a sidecar: the JavaScript of each file, the targets of relative imports, and
//! stubs of packages that may not be installed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::frontend::{CompiledUnit, Graph, LoadError, module_text, resolve};
use crate::node::builtin_lookup::{self, BuiltinKind};

const TYPEBOX: &str = include_str!("../../shims/typebox.js");
const HOST: &str = include_str!("../../shims/host.js");
const LOWERED: &str = include_str!("../../shims/lowered.js");
const CUTS: &str = include_str!("../../shims/cuts.js");
const FRONTMATTER: &str = include_str!("../../shims/frontmatter.js");

/// The first message to a sidecar.
pub fn load_payload(root: &Path, graph: &Graph, has_ui: bool, marker: &str, cwd: &str) -> Value {
    let mut sources = Map::new();
    let mut links = Map::new();
    let mut requires = Vec::new();

    for (path, unit) in &graph.units {
        let file = path.display().to_string();
        links.insert(file.clone(), json!(import_targets(path, unit)));
        requires.extend(unit.needs.uses_host_require.then(|| file.clone()));
        sources.insert(file, json!(unit.code));
    }

    let shims = json!({
        "typebox": TYPEBOX, "host": HOST, "lowered": LOWERED, "cuts": CUTS,
        "frontmatter": FRONTMATTER,
    });
    json!({
        "op": "load", "path": root, "hasUI": has_ui, "mark": marker, "cwd": cwd,
        "sources": sources, "links": links, "requires": requires, "stubs": package_stubs(graph), "shims": shims,
    })
}

/// A file that a sidecar imports later by a computed name.
pub fn payload_part(path: &Path, graph: &Graph) -> Result<Value, LoadError> {
    let unit = graph.read_later_import(path)?;
    let targets = import_targets(path, &unit);
    Ok(json!({"code": unit.code, "leads": targets, "requires": unit.needs.uses_host_require}))
}

/// The target files of a file's relative imports.
fn import_targets<'a>(path: &Path, unit: &'a CompiledUnit) -> BTreeMap<&'a String, String> {
    let specifiers = unit.needs.imports.keys().chain(&unit.needs.dynamic_imports);
    let files = specifiers.filter(|specifier| resolve::is_file(specifier));
    files.filter_map(|s| Some((s, resolve::resolve_file(path, s)?.display().to_string()))).collect()
}

fn package_stubs(graph: &Graph) -> Map<String, Value> {
    let stub_head = |specifier: &String| match builtin_lookup::classify_specifier(specifier) {
        BuiltinKind::Host => Some(module_text::host_head(specifier)),
        BuiltinKind::Builtin("typebox") => Some(module_text::builtin_head("typebox")),
        _ => None,
    };

    let named = graph.names.iter();
    named
        .filter_map(|(s, names)| {
            Some((s.clone(), json!(module_text::export_fields(stub_head(s)?, names))))
        })
        .collect()
}
