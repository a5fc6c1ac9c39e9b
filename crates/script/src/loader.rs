//! Finds and gives modules to the engine: files of the graph, shims, and stand-ins for the host.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Result};

use crate::graph::{Graph, LoadError};
use crate::resolve;
use crate::shims::{self, Kind};

/// The hidden global that the engine's own script leaves.
pub const HIDDEN: &str = "__gambrel";

/// What CommonJS calls a file and its folder, and what modules call them.
pub const PLACES: &[(&str, &str)] =
    &[("__dirname", "import.meta.dirname"), ("__filename", "import.meta.filename")];

/// Both sides of loading, over one graph.
#[derive(Clone)]
pub struct Shelf {
    graph: Arc<Graph>,
}

impl Shelf {
    /// A shelf with the files of a graph on it.
    pub fn new(graph: Arc<Graph>) -> Self {
        Self { graph }
    }

    fn used(&self, specifier: &str) -> BTreeSet<String> {
        self.graph.names.get(specifier).cloned().unwrap_or_default()
    }

    fn builtin(&self, ctx: &Ctx<'_>, name: &str) -> Result<String> {
        let hidden: Object<'_> = ctx.globals().get(HIDDEN)?;
        let need: Function<'_> = hidden.get("need")?;
        let exports: Object<'_> = need.call((name,))?;
        let mut names: BTreeSet<String> = exports.keys::<String>().collect::<Result<_>>()?;
        let spellings = [name.to_owned(), format!("node:{name}"), format!("@sinclair/{name}")];
        names.extend(spellings.iter().flat_map(|s| self.used(s)));
        Ok(face(builtin_head(name), &names))
    }

    fn host(&self, specifier: &str) -> String {
        face(host_head(specifier), &self.used(specifier))
    }

    fn file<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>> {
        let path = Path::new(name);
        let code = match self.graph.units.get(path) {
            Some(unit) => unit.code.clone(),
            None => {
                let failed = |e: LoadError| Exception::throw_message(ctx, &e.to_string());
                self.graph.further(path).map_err(failed)?.code
            }
        };
        let module = Module::declare(ctx.clone(), name, code)?;
        let folder = path.parent().map(|p| p.display().to_string()).unwrap_or_default();
        let meta = module.meta()?;
        meta.set("url", format!("file://{}", escaped(name)))?;
        meta.set("dir", folder.as_str())?;
        meta.set("dirname", folder.as_str())?;
        meta.set("filename", name)?;
        meta.set("path", name)?;
        meta.set("file", path.file_name().and_then(|file| file.to_str()))?;
        let base = path.to_path_buf();
        let resolve = move |ctx: Ctx<'_>, wanted: String| address(&ctx, &base, &wanted);
        meta.set("resolve", Function::new(ctx.clone(), resolve)?)?;
        meta.set("main", false)?;
        Ok(module)
    }
}

impl Resolver for Shelf {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if resolve::is_file(name) {
            let found = resolve::resolve(Path::new(base), name);
            let found = found.and_then(|path| path.into_os_string().into_string().ok());
            return found.ok_or_else(|| missing(ctx, name));
        }
        match shims::kind(name) {
            Kind::Builtin(bare) => Ok(format!("builtin:{bare}")),
            Kind::Host => Ok(format!("host:{name}")),
            Kind::Foreign => Err(missing(ctx, name)),
        }
    }
}

impl Loader for Shelf {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(bare) = name.strip_prefix("builtin:") {
            let code = self.builtin(ctx, bare)?;
            return Module::declare(ctx.clone(), name, code);
        }
        if let Some(specifier) = name.strip_prefix("host:") {
            return Module::declare(ctx.clone(), name, self.host(specifier));
        }
        self.file(ctx, name)
    }
}

/// What `import.meta.resolve` tells: where a specifier leads, there or not.
fn address(ctx: &Ctx<'_>, base: &Path, wanted: &str) -> Result<String> {
    if resolve::is_file(wanted) {
        let found = resolve::resolve(base, wanted).unwrap_or_else(|| resolve::meant(base, wanted));
        return Ok(format!("file://{}", escaped(&found.display().to_string())));
    }
    match shims::kind(wanted) {
        Kind::Builtin(bare) if shims::builtin(bare).is_some() => Ok(format!("node:{bare}")),
        _ => Err(missing(ctx, wanted)),
    }
}

fn missing(ctx: &Ctx<'_>, name: &str) -> Error {
    Exception::throw_message(ctx, &format!("Cannot find module '{name}'"))
}

/// The beginning of a module that hands on a shim.
pub fn builtin_head(name: &str) -> String {
    let name = quoted(name);
    format!(
        "const m = globalThis.{HIDDEN}.need({name});\nexport default (\"default\" in m ? m.default : m);\n"
    )
}

/// The beginning of a module that hands on a stand-in for a package of the host.
pub fn host_head(specifier: &str) -> String {
    let specifier = quoted(specifier);
    format!(
        "const m = globalThis.{HIDDEN}.need(\"host\").space({specifier});\nexport default m.default;\n"
    )
}

/// A module's text that hands on the fields of `m` under their names.
pub fn face(mut head: String, names: &BTreeSet<String>) -> String {
    let word = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    };
    let names = names.iter().filter(|n| *n != "default" && word(n));
    for (at, name) in names.enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(head, "const x{at} = m?.{name};\nexport {{ x{at} as {name} }};");
    }
    head
}

/// A file that hands out what it makes through `module.exports`, as a module. No line moves.
pub fn wrapped(code: &str, names: &BTreeSet<String>) -> String {
    let (head, body) = beheaded(code);
    let whole = format!(
        "{head}const m0 = {{ exports: {{}} }}; (function (module, exports, __filename, __dirname) {{ {body}
}}).call(m0.exports, m0, m0.exports, import.meta.filename, import.meta.dirname);
const m = m0.exports; export default (m?.__esModule ? m.default : m);\n"
    );
    face(whole, names)
}

/// A module that speaks of itself by names of `PLACES`, which only CommonJS has. No line moves.
pub fn placed(code: &str, names: &BTreeSet<&'static str>) -> String {
    let (head, body) = beheaded(code);
    let told = PLACES.iter().filter(|(name, _)| names.contains(name));
    let told: String = told.map(|(name, is)| format!("const {name} = {is}; ")).collect();
    format!("{head}{told}{body}")
}

/// The line that says who runs a file, if there is one, and the rest.
fn beheaded(code: &str) -> (&str, &str) {
    let end = code.find('\n').filter(|_| code.starts_with("#!")).map_or(0, |at| at + 1);
    code.split_at(end)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A path as it stands in a URL.
pub fn escaped(path: &str) -> String {
    let mut url = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'@' => {
                url.push(char::from(byte));
            }
            _ => _ = write!(url, "%{byte:02X}"),
        }
    }
    url
}
