//! What a sidecar is given to load: our JavaScript for each file, where each relative import
//! leads, and the stand-ins for packages that may not be installed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::graph::{Graph, LoadError};
use crate::loader;
use crate::resolve;
use crate::shims::{self, Kind};
use crate::transpile::Unit;

const TYPEBOX: &str = include_str!("../shims/typebox.js");
const HOST: &str = include_str!("../shims/host.js");
const LOWERED: &str = include_str!("../shims/lowered.js");
const CUTS: &str = include_str!("../shims/cuts.js");
const FRONTMATTER: &str = include_str!("../shims/frontmatter.js");

/// The first word to a sidecar.
pub fn load(root: &Path, graph: &Graph, has_ui: bool, mark: &str, cwd: &str) -> Value {
    let mut sources = Map::new();
    let mut links = Map::new();
    let mut requires = Vec::new();
    for (path, unit) in &graph.units {
        let file = path.display().to_string();
        links.insert(file.clone(), json!(leads(path, unit)));
        requires.extend(unit.needs.requires.then(|| file.clone()));
        sources.insert(file, json!(unit.code));
    }
    let shims = json!({
        "typebox": TYPEBOX, "host": HOST, "lowered": LOWERED, "cuts": CUTS,
        "frontmatter": FRONTMATTER,
    });
    json!({
        "op": "load", "path": root, "hasUI": has_ui, "mark": mark, "cwd": cwd,
        "sources": sources, "links": links, "requires": requires, "stubs": stubs(graph), "shims": shims,
    })
}

/// One file that a sidecar came to later, by a name that was put together.
pub fn piece(path: &Path, graph: &Graph) -> Result<Value, LoadError> {
    let unit = graph.further(path)?;
    let leads = leads(path, &unit);
    Ok(json!({"code": unit.code, "leads": leads, "requires": unit.needs.requires}))
}

/// Where the files lead that a file imports.
fn leads<'a>(path: &Path, unit: &'a Unit) -> BTreeMap<&'a String, String> {
    let asked = unit.needs.imports.keys().chain(&unit.needs.lazy);
    let files = asked.filter(|specifier| resolve::is_file(specifier));
    files.filter_map(|s| Some((s, resolve::resolve(path, s)?.display().to_string()))).collect()
}

fn stubs(graph: &Graph) -> Map<String, Value> {
    let stand_in = |specifier: &String| match shims::kind(specifier) {
        Kind::Host => Some(loader::host_head(specifier)),
        Kind::Builtin("typebox") => Some(loader::builtin_head("typebox")),
        _ => None,
    };
    let named = graph.names.iter();
    named
        .filter_map(|(s, names)| Some((s.clone(), json!(loader::face(stand_in(s)?, names)))))
        .collect()
}
