//! A module with all files that it imports by relative path. Read and checked once, and reused
//! while no file changes. Knows no engine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use gambrel_model::TrustedFiles;
use sha2::{Digest, Sha256};

use super::resolve;
use super::source_map;
use super::transpile::{self, CompiledUnit, SourcePoint};
use crate::node::builtin_lookup::{self, BuiltinKind};

const MAX_FILES: usize = 256;

/// Why a module could not be loaded, and where.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// The full message.
    pub message: String,
    /// `file`, `file:line` or `file:line:column`.
    pub at: Option<String>,
}

/// Why a file is not the one that the user trusted.
#[derive(Debug, thiserror::Error)]
enum UntrustedFileError {
    #[error("the file has changed since it was trusted: run `gambrel trust` to look again")]
    Changed,
    #[error(
        "the file was not covered when the module was trusted: import it by a literal relative \
         path and run `gambrel trust`"
    )]
    NotCovered,
}

impl LoadError {
    pub(crate) fn new(message: impl Into<String>, file: &Path, at: Option<SourcePoint>) -> Self {
        let at = match at {
            Some(SourcePoint { line, column }) => format!("{}:{line}:{column}", file.display()),
            None => file.display().to_string(),
        };
        Self { message: message.into(), at: Some(at) }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{} ({at})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A module and the files it imports.
#[derive(Debug, Default)]
pub struct Graph {
    /// Every file, ready for an engine.
    pub units: HashMap<PathBuf, CompiledUnit>,
    /// Names used from each specifier that is not a file.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Specifier and name of each export that must exist for the module to load.
    pub named_exports: BTreeSet<(String, String)>,
    /// The same for members that the code may never use.
    pub members: BTreeSet<(String, String)>,
    /// The first import or global that only a full host provides, if any.
    pub missing: Option<String>,
    /// The same for imports and globals that the code may never use.
    pub may_miss: Option<String>,
    /// Whether code outside these files may register handlers.
    opaque: bool,
    stamps: Vec<(PathBuf, Option<FileStamp>)>,
    /// The files that the user trusted, if the module needs trust.
    trusted: Option<TrustedFiles>,
}

/// Modification time, size and inode of a file.
type FileStamp = [i128; 4];

impl Graph {
    /// Reads a module and all files that it imports by relative path.
    pub fn read_module(root: &Path, trusted: Option<&TrustedFiles>) -> Result<Self, LoadError> {
        let mut graph = Self { trusted: trusted.cloned(), ..Self::default() };
        let mut queue = vec![(root.to_path_buf(), false)];
        while let Some((path, as_text)) = queue.pop() {
            if graph.units.contains_key(&path) {
                continue;
            }
            if graph.units.len() >= MAX_FILES {
                return Err(LoadError::new("the module imports more than 256 files", root, None));
            }

            graph.stamps.push((path.clone(), stamp_file(&path)));
            let unit = read_unit(&path, as_text, trusted)?;
            graph.add_needs(&path, &unit, &mut queue)?;
            graph.units.insert(path, unit);
        }
        Ok(graph)
    }

    /// Reads a file that the code imports by a computed name.
    pub fn read_later_import(&self, path: &Path) -> Result<CompiledUnit, LoadError> {
        read_unit(path, false, self.trusted.as_ref())
    }

    /// Whether no file has changed since it was read.
    pub fn is_fresh(&self) -> bool {
        self.stamps.iter().all(|(path, known)| known.is_some() && stamp_file(path) == *known)
    }

    /// Whether the source shows that no handler for `event` is registered. A module without any
    /// handler is loaded all the same, so that its errors are reported.
    pub fn has_no_handler_for(&self, event: &str) -> bool {
        let cannot_register =
            |unit: &CompiledUnit| !unit.needs.dynamic && !unit.needs.events.contains(event);
        let registers_handlers = self.units.values().any(|unit| !unit.needs.events.is_empty());
        registers_handlers && !self.opaque && self.units.values().all(cannot_register)
    }

    /// The events that the source registers handlers for. `None` if it may register others.
    pub fn registered_events(&self) -> Option<BTreeSet<&str>> {
        let is_plain = !self.opaque && self.units.values().all(|unit| !unit.needs.dynamic);
        let events = self.units.values().flat_map(|unit| &unit.needs.events);
        is_plain.then(|| events.map(String::as_str).collect())
    }

    /// `file:line` of the first position in a stack that lies in one of these files.
    pub fn source_position(&self, stack: &str) -> Option<String> {
        source_map::first_known_position(stack, |file| {
            Some(&self.units.get(Path::new(file))?.source_map)
        })
    }

    fn add_needs(
        &mut self,
        path: &Path,
        unit: &CompiledUnit,
        queue: &mut Vec<(PathBuf, bool)>,
    ) -> Result<(), LoadError> {
        self.named_exports.extend(unit.needs.named_exports.iter().cloned());
        self.members.extend(unit.needs.members.iter().cloned());
        for (specifier, name) in unit.needs.members.iter().filter(|(s, _)| !resolve::is_file(s)) {
            self.names.entry(specifier.clone()).or_default().insert(name.clone());
        }
        for (specifier, names) in &unit.needs.imports {
            if resolve::is_file(specifier) {
                let Some(file) = resolve::resolve_file(path, specifier) else {
                    let message = format!("Cannot find module '{specifier}'");
                    return Err(LoadError::new(
                        message,
                        path,
                        unit.imported_at.get(specifier).copied(),
                    ));
                };
                queue.push((file, unit.needs.text_imports.contains(specifier)));
                continue;
            }
            self.names.entry(specifier.clone()).or_default().extend(names.iter().cloned());
            if self.note_foreign(specifier) {
                self.missing.get_or_insert(format!("the import '{specifier}'"));
            }
        }
        for specifier in &unit.needs.required {
            if resolve::is_file(specifier)
                && let Some(file) = resolve::resolve_file(path, specifier)
            {
                self.watch_required_file(&file);
            }
            if self.note_foreign(specifier) {
                self.missing.get_or_insert(format!("require('{specifier}')"));
            }
            self.names.entry(specifier.clone()).or_default();
        }
        for specifier in &unit.needs.dynamic_imports {
            if resolve::is_file(specifier) {
                queue.extend(resolve::resolve_file(path, specifier).map(|file| (file, false)));
            } else if self.note_foreign(specifier) {
                self.may_miss.get_or_insert(format!("the import '{specifier}'"));
            }
        }
        // A `require` of a computed name may load anything.
        self.opaque |= unit.needs.globals.contains("require");
        if let Some(global) = unit.needs.globals.first() {
            self.missing.get_or_insert(format!("the global {global}"));
        }
        if let Some(global) = unit.needs.optional_globals.first() {
            self.may_miss.get_or_insert(format!("the global {global}"));
        }
        Ok(())
    }

    /// Whether a specifier is of neither Node nor the host. Such a module may register handlers.
    fn note_foreign(&mut self, specifier: &str) -> bool {
        let is_foreign = builtin_lookup::classify_specifier(specifier) == BuiltinKind::Foreign;
        self.opaque |= is_foreign && builtin_lookup::may_register_handlers(specifier);
        is_foreign
    }

    /// Adds a file that the full host reads by itself, and the files that it imports.
    fn watch_required_file(&mut self, file: &Path) {
        let imported = module_imports(file);
        let all = imported.iter().map(PathBuf::as_path).chain([file]);
        self.stamps.extend(all.map(|path| (path.to_path_buf(), stamp_file(path))));
    }
}

/// Reads one file as a module, or as text. If `trusted` is given, the file must be in it,
/// unchanged.
fn read_unit(
    path: &Path,
    as_text: bool,
    trusted: Option<&TrustedFiles>,
) -> Result<CompiledUnit, LoadError> {
    let failed = |e: std::io::Error| LoadError::new(e.to_string(), path, None);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > transpile::MAX_SOURCE_BYTES as u64 {
        return Err(LoadError::new("the file is larger than 4 MiB", path, None));
    }

    let bytes = std::fs::read(path).map_err(failed)?;
    if let Some(trusted) = trusted {
        check_trusted(path, &bytes, trusted)
            .map_err(|why| LoadError::new(why.to_string(), path, None))?;
    }

    let text = String::from_utf8(bytes)
        .map_err(|_| LoadError::new("the file is not UTF-8", path, None))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    transpile::transpile_file(path, text, as_text)
        .map_err(|r| LoadError::new(r.message, path, r.at))
}

fn check_trusted(
    path: &Path,
    bytes: &[u8],
    trusted: &TrustedFiles,
) -> Result<(), UntrustedFileError> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match trusted.get(&real) {
        Some(known) if Sha256::digest(bytes)[..] == known[..] => Ok(()),
        Some(_) => Err(UntrustedFileError::Changed),
        None => Err(UntrustedFileError::NotCovered),
    }
}

/// Uses the system call directly, because this runs for every event.
fn stamp_file(path: &Path) -> Option<FileStamp> {
    let meta = rustix::fs::stat(path).ok()?;
    // The integer types of these fields differ between systems.
    let seconds = i128::from(meta.st_mtime);
    let nanos = i128::from(meta.st_mtime_nsec);
    Some([seconds, nanos, i128::from(meta.st_size), i128::from(meta.st_ino)])
}

/// The files that a module imports by relative path, also through `require`. The module itself is
/// not included.
pub fn module_imports(path: &Path) -> Vec<PathBuf> {
    let mut seen = BTreeSet::from([path.to_path_buf()]);
    let mut queue = vec![path.to_path_buf()];
    while let Some(file) = queue.pop() {
        // Skip a file that cannot be read; loading the module reports the error.
        let Ok(unit) = read_unit(&file, false, None) else { continue };

        let needs = &unit.needs;
        let specifiers = needs.imports.keys().chain(&needs.dynamic_imports).chain(&needs.required);
        for specifier in specifiers.filter(|s| resolve::is_file(s)) {
            if let Some(found) = resolve::resolve_file(&file, specifier)
                && seen.len() <= MAX_FILES
                && seen.insert(found.clone())
            {
                queue.push(found);
            }
        }
    }
    seen.remove(path);
    seen.into_iter().collect()
}
