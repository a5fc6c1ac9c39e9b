//! The files that a hook is made of: those that its names lead to, what stands in a folder that it
//! runs from, and what scripts pull in. It reads each once, and judges none.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gambrel_model::FileIdentity;
use serde_json::Value;

use crate::names::{Name, Start, names};
use crate::swap::read_settled;

/// A script larger than this is known by its metadata, not by content.
const SCRIPT_CAP: u64 = 16 * 1024 * 1024;
/// A hook is not made of more files than this.
const FILES: usize = 500;
/// Nor of more in one folder.
const IN_FOLDER: usize = 200;
/// So many folders may be gone to first.
const FOLDERS: usize = 8;
/// What a program runs of a folder that it is handed.
const ENTRIES: [&str; 3] = ["__main__.py", "index.js", "Makefile"];
/// Where hooks are kept, beside much that is none.
const HOMES: [&str; 3] = [".claude", ".omp", ".gambrel"];

/// One file, as it is now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub path: PathBuf,
    pub mark: Mark,
    /// What the kernel knew it by when it was read, see [`read_settled`].
    pub identity: Option<FileIdentity>,
}

/// What a file is known by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Bytes(Vec<u8>),
    /// Of a file that is too large or may not be read. The time of its last change is the
    /// kernel's: nobody sets it back.
    State(String),
}

/// The folders that names are looked up from.
pub(crate) struct Starts {
    pub here: Vec<PathBuf>,
    pub project: Vec<PathBuf>,
    pub unknown: Vec<PathBuf>,
    /// The folder that files must be in, if they must.
    pub within: Option<PathBuf>,
}

/// A file that a name leads to.
pub(crate) struct Lead {
    pub path: PathBuf,
    /// Whether the name can only be a path: neither a guess nor a word like any other.
    pub sure: bool,
}

impl Starts {
    fn of(&self, name: &Name) -> &[PathBuf] {
        match name.start {
            Start::Here => &self.here,
            Start::Project => &self.project,
            Start::Unknown => &self.unknown,
        }
    }

    fn admits(&self, path: &Path) -> bool {
        self.within.as_ref().is_none_or(|root| path.starts_with(root))
    }
}

/// The files that a definition's names lead to.
pub(crate) fn leads(config: &Value, starts: &Starts) -> Vec<Lead> {
    let mut all: Vec<Name> = texts(config).into_iter().flat_map(names).collect();
    // An absolute name is the same wherever it is looked up: it matters only as a project's own.
    all.retain(|name| starts.within.is_some() || !Path::new(&name.path).is_absolute());
    all.sort();
    all.dedup();
    // A command may go somewhere first: `cd tools && ./check.sh`.
    let gone = folders(&all, starts);
    let mut leads = Vec::new();
    for name in &all {
        let after = |start| name.start == Start::Here || name.start == start;
        let gone = gone.iter().filter(|(start, _)| name.start != Start::Unknown && after(*start));
        for start in starts.of(name).iter().chain(gone.map(|(_, folder)| folder)) {
            lead(name, start, starts, &mut leads);
        }
    }
    leads
}

/// The folders that are named, and where their names begin.
fn folders(all: &[Name], starts: &Starts) -> Vec<(Start, PathBuf)> {
    let named = all.iter().filter(|name| !name.path.is_empty());
    let from = |name: &Name, folder: &PathBuf| (name.start, folder.join(&name.path));
    let paths = named.flat_map(|name| starts.of(name).iter().map(move |folder| from(name, folder)));
    let counts = |path: &Path| path.is_dir() && starts.admits(path);
    let real = paths.filter_map(|(start, path)| Some((start, fs::canonicalize(path).ok()?)));
    let mut folders: Vec<_> = real.filter(|(_, path)| counts(path)).collect();
    folders.dedup();
    folders.truncate(FOLDERS);
    folders
}

/// Where one name leads from one folder.
fn lead(name: &Name, start: &Path, starts: &Starts, leads: &mut Vec<Lead>) {
    let Ok(path) = fs::canonicalize(start.join(&name.path)) else { return };
    if !starts.admits(&path) {
        return;
    }
    let sure = name.start != Start::Unknown && name.path.contains('/');
    let found = match path.is_dir() {
        true => contained(&path, name.whole, starts),
        false => vec![path].into_iter().filter(|path| path.is_file()).collect(),
    };
    for path in found {
        match leads.iter_mut().find(|known| known.path == path) {
            Some(known) => known.sure |= sure,
            None => leads.push(Lead { path, sure }),
        }
    }
}

/// The files of a folder that count, sorted: all where it is looked into or kept for tools, else
/// those that can be run, since a folder of sources is a word like any other.
fn contained(folder: &Path, whole: bool, starts: &Starts) -> Vec<PathBuf> {
    let all = || [&starts.here, &starts.project, &starts.unknown].into_iter().flatten();
    let outer = all().any(|start| start.starts_with(folder));
    if outer || HOMES.iter().any(|home| folder.ends_with(home)) {
        return Vec::new();
    }
    let Ok(reader) = fs::read_dir(folder) else { return Vec::new() };
    let inside = all().find_map(|start| folder.strip_prefix(start).ok()).unwrap_or(folder);
    let hidden = inside.components().any(|c| c.as_os_str().as_encoded_bytes().starts_with(b"."));
    let paths = reader.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok());
    let counts = |path: &PathBuf| path.is_file() && (whole || hidden || runs(path));
    let mut files: Vec<PathBuf> = paths.filter(|p| starts.admits(p)).filter(counts).collect();
    files.sort();
    files.truncate(IN_FOLDER);
    files
}

#[cfg(unix)]
fn runs(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let executable =
        |path: &Path| fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 > 0);
    ENTRIES.iter().any(|name| path.ends_with(name)) || executable(path)
}

#[cfg(not(unix))]
fn runs(_: &Path) -> bool {
    true
}

/// These files and all that they pull in, read and sorted.
pub(crate) fn parts(paths: impl Iterator<Item = PathBuf>) -> Vec<Part> {
    let mut parts: Vec<Part> = paths.map(Part::read).collect();
    follow(&mut parts);
    parts.sort_by(|one, other| one.path.cmp(&other.path));
    parts
}

impl Part {
    fn read(path: PathBuf) -> Self {
        let (mark, identity) = match read_settled(|| contents(&path)) {
            Ok((bytes, identity)) => (Mark::Bytes(bytes), identity),
            Err(why) => {
                let known = fs::metadata(&path).ok().map(|known| FileIdentity::from(&known));
                (Mark::State(state(&path, &why)), known)
            }
        };
        Self { path, mark, identity }
    }
}

fn contents(path: &Path) -> std::io::Result<(Vec<u8>, FileIdentity)> {
    let file = fs::File::open(path)?;
    let known = file.metadata()?;
    if known.len() > SCRIPT_CAP {
        return Err(std::io::Error::other("too large"));
    }
    let mut bytes = Vec::new();
    file.take(SCRIPT_CAP).read_to_end(&mut bytes)?;
    Ok((bytes, FileIdentity::from(&known)))
}

/// What changes with a file whose bytes are not looked at.
#[cfg(unix)]
fn state(path: &Path, why: &std::io::Error) -> String {
    use std::os::unix::fs::MetadataExt;
    let of = |m: fs::Metadata| {
        let changed = (m.ctime(), m.ctime_nsec());
        let written = (m.mtime(), m.mtime_nsec());
        format!("{} {} {written:?} {changed:?}", m.len(), m.ino())
    };
    format!("{why}: {}", fs::metadata(path).map(of).unwrap_or_default())
}

#[cfg(not(unix))]
fn state(path: &Path, why: &std::io::Error) -> String {
    let of = |m: fs::Metadata| format!("{} {:?} {:?}", m.len(), m.modified(), m.created());
    format!("{why}: {}", fs::metadata(path).map(of).unwrap_or_default())
}

/// What scripts in JavaScript and TypeScript pull in by a relative name belongs to them, wherever
/// that leads.
fn follow(parts: &mut Vec<Part>) {
    let mut next = 0;
    while next < parts.len() && parts.len() < FILES {
        for path in pulled(&parts[next]) {
            if path.is_file() && !parts.iter().any(|part| part.path == path) {
                parts.push(Part::read(path));
            }
        }
        next += 1;
    }
}

fn pulled(part: &Part) -> Vec<PathBuf> {
    let ending = part.path.extension().and_then(|e| e.to_str());
    let (Some(folder), Mark::Bytes(bytes)) = (part.path.parent(), &part.mark) else {
        return Vec::new();
    };
    if !ending.is_some_and(|ending| SCRIPTS.contains(&ending)) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    // All of them: which one is meant is for whoever runs it to say.
    let ways = relative(&text).into_iter().flat_map(|name| ways(&folder.join(name)));
    ways.filter_map(|path| fs::canonicalize(path).ok()).collect()
}

const SCRIPTS: [&str; 8] = ["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"];

/// Every text in quotes that begins like a relative path.
fn relative(text: &str) -> Vec<&str> {
    let quoted = |quote: char| text.split(quote).skip(1);
    let names = ['"', '\'', '`'].into_iter().flat_map(quoted);
    // What follows a name in an address is no part of the file's.
    let bare = names.map(|name| name.split(['?', '#']).next().unwrap_or_default());
    let is_relative = |name: &&str| {
        name.starts_with("./") || name.starts_with("../") || [".", ".."].contains(name)
    };
    bare.filter(|name| is_relative(name) && name.len() < 400).collect()
}

/// The files that a name may stand for.
fn ways(path: &Path) -> Vec<PathBuf> {
    let mut ways: Vec<PathBuf> =
        Some(path.to_owned()).filter(|p| p.is_file()).into_iter().collect();
    let endings = || SCRIPTS.iter().copied().chain(["json"]);
    ways.extend(endings().map(|ending| PathBuf::from(format!("{}.{ending}", path.display()))));
    // A TypeScript file is often named by what it becomes.
    ways.extend(["ts", "tsx", "mts"].map(|source| path.with_extension(source)));
    let mains = mains(path);
    let folders = mains.iter().map(PathBuf::as_path).chain([path]);
    ways.extend(folders.flat_map(|folder| {
        endings().map(|ending| folder.join(format!("index.{ending}"))).collect::<Vec<_>>()
    }));
    for main in mains {
        ways.extend(endings().map(|ending| PathBuf::from(format!("{}.{ending}", main.display()))));
        ways.push(main);
    }
    ways
}

/// What the `package.json` of a folder names.
fn mains(folder: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let named = ["module", "main"].into_iter().filter_map(|field| package[field].as_str());
    named.map(|main| folder.join(main)).collect()
}

fn texts(config: &Value) -> Vec<&str> {
    match config {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
