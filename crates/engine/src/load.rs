//! Looks at the places that dialects name, reads what is there, and builds hooks. One bad file or
//! entry is one complaint; everything else loads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gambrel_model::{
    Complaint, Dialect, Entry, Found, Holding, Hook, Matcher, Moment, Place, Roots, Spot, Subject,
};

/// A configuration file larger than this is not read.
const FILE_CAP: u64 = 8 * 1024 * 1024;

/// The hooks of a folder, ready to be selected from.
pub struct Loaded {
    /// Where it was looked.
    pub roots: Roots,
    /// Every hook, in the order in which they run.
    pub hooks: Vec<Arc<Hook>>,
    /// The dialects that have hooks here.
    pub(crate) dialects: Vec<&'static dyn Dialect>,
    /// What is to be put right.
    pub complaints: Vec<Complaint>,
    /// By moment.
    pub(crate) index: HashMap<Moment, Shelf>,
    /// What was met before, by what it was asked about.
    pub(crate) met: Mutex<HashMap<String, Arc<[usize]>>>,
}

impl Loaded {
    /// The dialects that have hooks here.
    pub(crate) fn dialects(&self) -> impl Iterator<Item = &'static dyn Dialect> {
        self.dialects.iter().copied()
    }

    /// Where hooks of a moment are found. A moment that only a caller knows is also looked for
    /// among the names that are in no dialect's table.
    pub(crate) fn shelves(&self, moment: &Moment) -> impl Iterator<Item = &Shelf> {
        let unnamed = matches!(moment, Moment::Other(_)).then_some(&UNNAMED);
        [Some(moment), unnamed].into_iter().flatten().filter_map(|moment| self.index.get(moment))
    }
}

const UNNAMED: Moment = Moment::Other(Cow::Borrowed(""));

/// The hooks of one moment.
#[derive(Default)]
pub(crate) struct Shelf {
    /// All of them.
    pub all: Vec<usize>,
    /// Those that must be asked one by one: no matcher, a pattern, or nothing to compare with.
    pub open: Vec<usize>,
    /// Those that wait for an exact name.
    pub named: HashMap<String, Vec<usize>>,
}

/// Finds and builds the hooks of every dialect for a folder.
pub fn load(dialects: &'static [&'static dyn Dialect], roots: Roots) -> Loaded {
    let mut hooks = Vec::new();
    let mut complaints = Vec::new();
    let mut ways = Ways::of(&roots);
    for dialect in dialects {
        let places = dialect.places(&roots);
        let mut found = Vec::new();
        for file in find(&places, &mut ways, &mut complaints) {
            // What a file names comes right after it, and nothing comes twice.
            let more = dialect.further(&file, &roots);
            found.push(file);
            for file in find(&more, &mut ways, &mut complaints) {
                if !found.iter().any(|f: &Found| f.place.path == file.place.path) {
                    found.push(file);
                }
            }
        }
        complaints.extend(missing(&places, &found, &roots));
        if found.is_empty() {
            continue;
        }
        let (drafts, wrong) = dialect.load(&found, &roots);
        complaints.extend(wrong);
        let mut own = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let (hook, wrong) = Hook::build(*dialect, draft);
            own.extend(hook);
            complaints.extend(wrong);
        }
        // Stable: equal priorities stay as written.
        own.sort_by_key(|hook: &Hook| hook.draft.priority);
        hooks.append(&mut own);
    }
    name_apart(&mut hooks);
    let hooks: Vec<Arc<Hook>> = hooks.into_iter().map(Arc::new).collect();
    let index = index(&hooks);
    let present = |d: &&&'static dyn Dialect| hooks.iter().any(|h| h.dialect.name() == d.name());
    let dialects = dialects.iter().filter(present).copied().collect();
    Loaded { roots, hooks, dialects, complaints, index, met: Mutex::default() }
}

/// Two hooks with the same definition in the same file still need two names.
fn name_apart(hooks: &mut [Hook]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for hook in hooks {
        let count = seen.entry(hook.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            hook.id = format!("{}.{count}", hook.id);
        }
    }
}

fn index(hooks: &[Arc<Hook>]) -> HashMap<Moment, Shelf> {
    let mut index: HashMap<Moment, Shelf> = HashMap::new();
    for (at, hook) in hooks.iter().enumerate() {
        for row in &hook.rows {
            let shelf = index.entry(row.moment.clone()).or_default();
            shelf.all.push(at);
            match &hook.matcher {
                Matcher::Names(names) if row.subject != Subject::None => {
                    for name in names {
                        shelf.named.entry(name.clone()).or_default().push(at);
                    }
                }
                _ => shelf.open.push(at),
            }
        }
    }
    index
}

fn find(places: &[Place], ways: &mut Ways, complaints: &mut Vec<Complaint>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for place in places {
        for (base, path) in ways.to(place) {
            // A project's file at home is the user's own, found already.
            if found.iter().any(|f| f.place.path == path) {
                break;
            }
            if let Holding::Each(pattern) = place.holding {
                let files = each(&path, pattern);
                found.extend(files.into_iter().filter_map(|path| one(place, &base, path)));
                if path.is_dir() {
                    break;
                }
                continue;
            }
            match look(place, &path) {
                Ok(Some((text, entries))) => {
                    let place = Place { path, ..place.clone() };
                    found.push(Found { place, base, text, entries });
                    break;
                }
                Ok(None) => {}
                Err(complaint) => {
                    complaints.push(complaint);
                    break;
                }
            }
        }
    }
    found
}

/// The files of a folder that fit `*.ending` or `*/NAME`, sorted.
fn each(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(reader) = fs::read_dir(folder) else { return Vec::new() };
    let paths = reader.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = match pattern.strip_prefix("*/") {
        Some(name) => paths.map(|path| path.join(name)).filter(|path| path.is_file()).collect(),
        None => {
            let ending = pattern.trim_start_matches('*');
            paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
        }
    };
    files.sort();
    files
}

/// One of many texts. Most have no hooks, so one that cannot be read is nobody's trouble.
fn one(place: &Place, base: &Path, path: PathBuf) -> Option<Found> {
    let text = read_text(&path).ok().flatten()?;
    let place = Place { path, ..place.clone() };
    Some(Found { place, base: base.to_owned(), text, entries: Vec::new() })
}

/// What the command line named must be there: of a folder, something in it.
fn missing(places: &[Place], found: &[Found], roots: &Roots) -> Vec<Complaint> {
    let gone = |(_, path): &(String, PathBuf)| {
        let mut wanted = places.iter().filter(|place| place.path.starts_with(path));
        let first = &wanted.clone().next()?.path;
        let there = found.iter().any(|f| f.place.path.starts_with(path)) || first.exists();
        let looked: Vec<String> = wanted.by_ref().filter_map(|place| sought(place, path)).collect();
        let message = match looked.is_empty() {
            true => "is named on the command line, but there is no such file".to_owned(),
            false => format!("is named on the command line, but has none of {}", looked.join(", ")),
        };
        let spot = if looked.is_empty() { first } else { path };
        (!there).then(|| Complaint::error(Spot::file(spot), message))
    };
    roots.named.iter().filter_map(gone).collect()
}

/// What is looked for inside a folder.
fn sought(place: &Place, folder: &Path) -> Option<String> {
    let inside = place.path.strip_prefix(folder).ok()?.display().to_string();
    let inside = match place.holding {
        Holding::Each(pattern) => format!("{inside}/{pattern}"),
        Holding::Text | Holding::Entries => inside,
    };
    (!inside.is_empty()).then_some(inside)
}

/// Where relative places may be: the root and the folders above it, as far as a project reaches.
/// Looks once for what several places share.
struct Ways {
    folders: Vec<PathBuf>,
    heads: HashMap<(usize, PathBuf), bool>,
}

impl Ways {
    /// From the root upwards, to the repository's root or home.
    fn of(roots: &Roots) -> Self {
        let mut folders = Vec::new();
        for folder in roots.root.ancestors() {
            let at_home = roots.home.as_deref() == Some(folder);
            if at_home && folder != roots.root {
                break;
            }
            folders.push(folder.to_owned());
            if at_home || folder.join(".git").exists() {
                break;
            }
        }
        Self { folders, heads: HashMap::new() }
    }

    /// Base and path of every way to a place that is worth a look, nearest first.
    fn to(&mut self, place: &Place) -> Vec<(PathBuf, PathBuf)> {
        if place.path.is_absolute() {
            let base = place.path.parent().unwrap_or(Path::new("/")).to_owned();
            return vec![(base, place.path.clone())];
        }
        let head: PathBuf = place.path.components().take(1).collect();
        let mut ways = Vec::new();
        for (at, folder) in self.folders.iter().enumerate() {
            let there = self.heads.entry((at, head.clone()));
            if *there.or_insert_with(|| folder.join(&head).exists()) {
                ways.push((folder.clone(), folder.join(&place.path)));
            }
        }
        ways
    }
}

type Seen = (String, Vec<Entry>);

fn look(place: &Place, path: &Path) -> Result<Option<Seen>, Complaint> {
    match place.holding {
        Holding::Text => Ok(read_text(path)?.map(|text| (text, Vec::new()))),
        Holding::Each(_) => Ok(None),
        Holding::Entries => Ok(list(path)?.map(|entries| (String::new(), entries))),
    }
}

/// The text of a file; `None` when there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>, Complaint> {
    let refuse = |message: String| Complaint::error(Spot::file(path), message);
    // Looked at before it is opened: opening a pipe without a writer would wait for ever.
    let size = match fs::metadata(path) {
        Ok(size) => size,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(refuse(format!("cannot be read: {error}"))),
    };
    if !size.is_file() {
        return Err(refuse("is not a file".into()).help("hooks are read from a plain file here"));
    }
    if size.len() > FILE_CAP {
        let message = format!("has {} bytes; at most {FILE_CAP} are read", size.len());
        return Err(refuse(message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size.len()).unwrap_or(0));
    let file = fs::File::open(path).map_err(|e| refuse(format!("cannot be read: {e}")))?;
    let read = file.take(FILE_CAP).read_to_end(&mut bytes);
    read.map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
        let spot = Spot { line, column: 1, start: at, end: at, ..Spot::file(path) };
        Complaint::error(spot, "is not UTF-8 text")
    })?;
    if let Some(at) = text.find('\0') {
        return Err(Complaint::error(Spot::within(path, &text, at, at + 1), "holds a NUL byte"));
    }
    Ok(Some(text))
}

fn absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn list(path: &Path) -> Result<Option<Vec<Entry>>, Complaint> {
    let reader = match fs::read_dir(path) {
        Ok(reader) => reader,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => {
            let message = format!("cannot be listed: {error}");
            return Err(Complaint::error(Spot::file(path), message));
        }
    };
    let mut entries: Vec<Entry> = reader.filter_map(Result::ok).filter_map(entry).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(entries))
}

fn entry(found: fs::DirEntry) -> Option<Entry> {
    let path = found.path();
    let facts = fs::metadata(&path).ok();
    let name = found.file_name().to_str()?.to_owned();
    let plain = facts.as_ref().is_some_and(fs::Metadata::is_file);
    Some(Entry { name, path, plain, executable: plain && facts.as_ref().is_some_and(executable) })
}

#[cfg(unix)]
fn executable(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    facts.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &fs::Metadata) -> bool {
    true
}
