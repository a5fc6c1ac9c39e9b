//! A module with everything it pulls in from its own folder: read once, judged once, and known
//! again by its stamps. Knows no engine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use gambrel_model::TrustedFiles;
use sha2::{Digest, Sha256};

use crate::positions;
use crate::resolve;
use crate::shims::{self, Kind};
use crate::transpile::{self, Point, Unit};

const MAX_FILES: usize = 256;

/// Why a module could not be loaded, and where.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// The whole sentence.
    pub message: String,
    /// `file`, `file:line` or `file:line:column`.
    pub at: Option<String>,
}

impl LoadError {
    pub(crate) fn new(message: impl Into<String>, file: &Path, at: Option<Point>) -> Self {
        let at = match at {
            Some(Point { line, column }) => format!("{}:{line}:{column}", file.display()),
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

/// A module and its relatives.
#[derive(Debug, Default)]
pub struct Graph {
    /// Every file, ready for an engine.
    pub units: HashMap<PathBuf, Unit>,
    /// Names that are used of each specifier that is no file.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Specifier and name of what must be there for the module to load.
    pub named: BTreeSet<(String, String)>,
    /// The same for what a module may never reach.
    pub members: BTreeSet<(String, String)>,
    /// What the embedded engine cannot give, if anything.
    pub lacks: Option<String>,
    /// The same for imports that may never be reached.
    pub may_lack: Option<String>,
    /// Whether code that was not read here may register handlers as well.
    opaque: bool,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    /// What a person trusted the module with, if that was asked.
    seal: Option<TrustedFiles>,
}

/// When it was written, its size, and which file it is.
type Stamp = [i128; 4];

impl Graph {
    /// Reads a module and all that it imports by a relative path.
    pub fn read(root: &Path, seal: Option<&TrustedFiles>) -> Result<Self, LoadError> {
        let mut graph = Self { seal: seal.cloned(), ..Self::default() };
        let mut queue = vec![(root.to_path_buf(), false)];
        while let Some((path, as_text)) = queue.pop() {
            if graph.units.contains_key(&path) {
                continue;
            }
            if graph.units.len() >= MAX_FILES {
                return Err(LoadError::new("the module imports more than 256 files", root, None));
            }
            graph.stamps.push((path.clone(), stamp(&path)));
            let unit = read(&path, as_text, seal)?;
            graph.follow(&path, &unit, &mut queue)?;
            graph.units.insert(path, unit);
        }
        Ok(graph)
    }

    /// A file that its code names when it runs.
    pub fn further(&self, path: &Path) -> Result<Unit, LoadError> {
        read(path, false, self.seal.as_ref())
    }

    /// Whether no file has changed since it was read.
    pub fn fresh(&self) -> bool {
        self.stamps.iter().all(|(path, known)| known.is_some() && stamp(path) == *known)
    }

    /// Whether no handler for `event` can be registered, as far as the text shows. One that hears
    /// nothing at all is loaded all the same: what is wrong with it would never be told.
    pub fn never_hears(&self, event: &str) -> bool {
        let deaf = |unit: &Unit| !unit.needs.dynamic && !unit.needs.events.contains(event);
        let hears = self.units.values().any(|unit| !unit.needs.events.is_empty());
        hears && !self.opaque && self.units.values().all(deaf)
    }

    /// `file:line` of the first place in a stack that a person wrote.
    pub fn place(&self, stack: &str) -> Option<String> {
        positions::first_place(stack, |file| Some(&self.units.get(Path::new(file))?.positions))
    }

    fn follow(
        &mut self,
        path: &Path,
        unit: &Unit,
        queue: &mut Vec<(PathBuf, bool)>,
    ) -> Result<(), LoadError> {
        self.named.extend(unit.needs.named.iter().cloned());
        self.members.extend(unit.needs.members.iter().cloned());
        for (specifier, name) in unit.needs.members.iter().filter(|(s, _)| !resolve::is_file(s)) {
            self.names.entry(specifier.clone()).or_default().insert(name.clone());
        }
        for (specifier, names) in &unit.needs.imports {
            if resolve::is_file(specifier) {
                let Some(file) = resolve::resolve(path, specifier) else {
                    let message = format!("Cannot find module '{specifier}'");
                    return Err(LoadError::new(
                        message,
                        path,
                        unit.imported_at.get(specifier).copied(),
                    ));
                };
                queue.push((file, unit.needs.texts.contains(specifier)));
                continue;
            }
            self.names.entry(specifier.clone()).or_default().extend(names.iter().cloned());
            if shims::kind(specifier) == Kind::Foreign {
                self.opaque |= shims::may_hear(specifier);
                self.lacks.get_or_insert(format!("the import '{specifier}'"));
            }
        }
        for specifier in &unit.needs.required {
            if resolve::is_file(specifier)
                && let Some(file) = resolve::resolve(path, specifier)
            {
                self.watch(&file);
            }
            if shims::kind(specifier) == Kind::Foreign {
                self.opaque |= shims::may_hear(specifier);
                self.lacks.get_or_insert(format!("require('{specifier}')"));
            }
            self.names.entry(specifier.clone()).or_default();
        }
        for specifier in &unit.needs.lazy {
            if resolve::is_file(specifier) {
                queue.extend(resolve::resolve(path, specifier).map(|file| (file, false)));
            } else if shims::kind(specifier) == Kind::Foreign {
                self.opaque |= shims::may_hear(specifier);
                self.may_lack.get_or_insert(format!("the import '{specifier}'"));
            }
        }
        // A `require` of a name that was put together may be of anything.
        self.opaque |= unit.needs.globals.contains("require");
        if let Some(global) = unit.needs.globals.first() {
            self.lacks.get_or_insert(format!("the global {global}"));
        }
        if let Some(global) = unit.needs.wishes.first() {
            self.may_lack.get_or_insert(format!("the global {global}"));
        }
        Ok(())
    }

    /// A file that the full host reads for itself: with what it pulls in, it is part of the module.
    fn watch(&mut self, file: &Path) {
        let relatives = imports(file);
        let all = relatives.iter().map(PathBuf::as_path).chain([file]);
        self.stamps.extend(all.map(|path| (path.to_path_buf(), stamp(path))));
    }
}

/// Reads one file as a module, or as a text where it is imported so. What is sealed must be what
/// was trusted, and nothing else is read.
fn read(path: &Path, as_text: bool, seal: Option<&TrustedFiles>) -> Result<Unit, LoadError> {
    let failed = |e: std::io::Error| LoadError::new(e.to_string(), path, None);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length > transpile::MAX_TEXT as u64 {
        return Err(LoadError::new("the file is larger than 4 MiB", path, None));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    if let Some(seal) = seal {
        sealed(path, &bytes, seal).map_err(|why| LoadError::new(why, path, None))?;
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| LoadError::new("the file is not UTF-8", path, None))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    transpile::transpile(path, text, as_text).map_err(|r| LoadError::new(r.message, path, r.at))
}

fn sealed(path: &Path, bytes: &[u8], seal: &TrustedFiles) -> Result<(), &'static str> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match seal.get(&real) {
        Some(known) if Sha256::digest(bytes)[..] == known[..] => Ok(()),
        Some(_) => Err("it has changed since it was trusted: run `gambrel trust` to look again"),
        None => Err("it was not there to be looked at when the module was trusted: \
                     only files that are imported by a relative name in quotes are"),
    }
}

/// By the plain call of the system: this is asked for every event.
fn stamp(path: &Path) -> Option<Stamp> {
    let meta = rustix::fs::stat(path).ok()?;
    // Systems differ in how wide these are, and which have a sign.
    let seconds = i128::from(meta.st_mtime);
    let nanos = i128::from(meta.st_mtime_nsec);
    Some([seconds, nanos, i128::from(meta.st_size), i128::from(meta.st_ino)])
}

/// The files that a module pulls in by relative paths, also by `require`, itself not among them.
pub fn imports(path: &Path) -> Vec<PathBuf> {
    let mut seen = BTreeSet::from([path.to_path_buf()]);
    let mut queue = vec![path.to_path_buf()];
    while let Some(file) = queue.pop() {
        // A file that is no module ends its branch; what loads it will say why.
        let Ok(unit) = read(&file, false, None) else { continue };
        let needs = &unit.needs;
        let asked = needs.imports.keys().chain(&needs.lazy).chain(&needs.required);
        for specifier in asked.filter(|s| resolve::is_file(s)) {
            if let Some(found) = resolve::resolve(&file, specifier)
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
