//! Resolves and loads modules for the engine: files of the graph, builtins, and stubs of host
//! packages.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use gambrel_model::text::percent_encode;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Result};

use crate::frontend::{Graph, LoadError, module_text, resolve};
use crate::node::builtin_lookup::{self, BuiltinKind};

/// Signs of a path that need no encoding in a file URL.
const URL_PATH_SIGNS: &[u8] = b"/-_.~@";

/// Resolver and loader for the files of one graph.
#[derive(Clone)]
pub struct ModuleCache {
    graph: Arc<Graph>,
}

impl ModuleCache {
    /// A loader for the files of a graph.
    pub fn new(graph: Arc<Graph>) -> Self {
        Self { graph }
    }

    fn used_names(&self, specifier: &str) -> BTreeSet<String> {
        self.graph.names.get(specifier).cloned().unwrap_or_default()
    }

    fn builtin_source(&self, ctx: &Ctx<'_>, name: &str) -> Result<String> {
        let script: Object<'_> = ctx.globals().get(module_text::SCRIPT_GLOBAL)?;
        let need: Function<'_> = script.get("need")?;
        let exports: Object<'_> = need.call((name,))?;

        let mut names: BTreeSet<String> = exports.keys::<String>().collect::<Result<_>>()?;
        let spellings = [name.to_owned(), format!("node:{name}"), format!("@sinclair/{name}")];
        names.extend(spellings.iter().flat_map(|s| self.used_names(s)));
        Ok(module_text::export_fields(module_text::builtin_head(name), &names))
    }

    fn host_stub_source(&self, specifier: &str) -> String {
        module_text::export_fields(module_text::host_head(specifier), &self.used_names(specifier))
    }

    fn declare_file<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>> {
        let path = Path::new(name);
        let code = match self.graph.units.get(path) {
            Some(unit) => unit.code.clone(),
            None => {
                let failed = |e: LoadError| Exception::throw_message(ctx, &e.to_string());
                self.graph.read_later_import(path).map_err(failed)?.code
            }
        };

        let module = Module::declare(ctx.clone(), name, code)?;
        let folder = path.parent().map(|p| p.display().to_string()).unwrap_or_default();

        let meta = module.meta()?;
        meta.set("url", format!("file://{}", percent_encode(name.as_bytes(), URL_PATH_SIGNS)))?;
        meta.set("dir", folder.as_str())?;
        meta.set("dirname", folder.as_str())?;
        meta.set("filename", name)?;
        meta.set("path", name)?;
        meta.set("file", path.file_name().and_then(|file| file.to_str()))?;

        let base = path.to_path_buf();
        let resolve = move |ctx: Ctx<'_>, wanted: String| resolve_url(&ctx, &base, &wanted);
        meta.set("resolve", Function::new(ctx.clone(), resolve)?)?;
        meta.set("main", false)?;
        Ok(module)
    }
}

impl Resolver for ModuleCache {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if resolve::is_file(name) {
            let found = resolve::resolve_file(Path::new(base), name);
            let found = found.and_then(|path| path.into_os_string().into_string().ok());
            return found.ok_or_else(|| missing_module_error(ctx, name));
        }
        match builtin_lookup::classify_specifier(name) {
            BuiltinKind::Builtin(bare) => Ok(format!("builtin:{bare}")),
            BuiltinKind::Host => Ok(format!("host:{name}")),
            BuiltinKind::Foreign => Err(missing_module_error(ctx, name)),
        }
    }
}

impl Loader for ModuleCache {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(bare) = name.strip_prefix("builtin:") {
            let code = self.builtin_source(ctx, bare)?;
            return Module::declare(ctx.clone(), name, code);
        }
        if let Some(specifier) = name.strip_prefix("host:") {
            return Module::declare(ctx.clone(), name, self.host_stub_source(specifier));
        }
        self.declare_file(ctx, name)
    }
}

/// The result of `import.meta.resolve`: the URL of a specifier, whether the file exists or not.
fn resolve_url(ctx: &Ctx<'_>, base: &Path, wanted: &str) -> Result<String> {
    if resolve::is_file(wanted) {
        let found = resolve::resolve_file(base, wanted)
            .unwrap_or_else(|| resolve::spelled_path(base, wanted));
        return Ok(format!(
            "file://{}",
            percent_encode(found.display().to_string().as_bytes(), URL_PATH_SIGNS)
        ));
    }
    match builtin_lookup::classify_specifier(wanted) {
        BuiltinKind::Builtin(bare) if builtin_lookup::find_builtin(bare).is_some() => {
            Ok(format!("node:{bare}"))
        }
        _ => Err(missing_module_error(ctx, wanted)),
    }
}

fn missing_module_error(ctx: &Ctx<'_>, name: &str) -> Error {
    Exception::throw_message(ctx, &format!("Cannot find module '{name}'"))
}
