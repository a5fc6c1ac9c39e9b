//! Looks at the places that dialects name, reads what is there, and builds hooks. One bad file or
//! entry is one complaint; everything else loads.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::{
    Complaint, ConfigPath, Dialect, Draft, Event, Expect, Hook, LoadedFile, Matcher, Moment,
    SearchRoots, Severity, SourceSpan, Subject,
};

use crate::find::{SearchPath, empty_file, find_files, is_being_written};
use crate::trust;

/// Hooks that a project may bring along.
const MAX_PROJECT_HOOK_COUNT: usize = 20_000;
/// How long a file that is being rewritten is waited for, and between two looks.
const REWRITE_TIMEOUT: Duration = Duration::from_millis(50);
const REWRITE_INTERVAL: Duration = Duration::from_millis(10);

/// The hooks of a folder, ready to be selected from.
pub struct Loaded {
    /// Where it was looked.
    pub roots: SearchRoots,
    /// Every hook, in the order in which they run.
    pub hooks: Vec<Arc<Hook>>,
    /// The dialects that have hooks here.
    pub(crate) dialects: Vec<&'static dyn Dialect>,
    /// The entries by which hosts call gambrel, each with its dialect. They are no hooks.
    pub host_entries: Vec<(&'static dyn Dialect, Draft)>,
    /// What is to be put right.
    pub complaints: Vec<Complaint>,
    /// By moment.
    pub(crate) index: HashMap<Moment, MomentIndex>,
    /// What was met before, by what it was asked about.
    pub(crate) match_cache: Mutex<HashMap<String, Arc<[usize]>>>,
    /// Every file of hooks as the trust store names it.
    real_paths: Mutex<HashMap<PathBuf, PathBuf>>,
    /// The names of all hooks in the trust store.
    trust_keys: OnceLock<HashSet<String>>,
}

impl Loaded {
    /// Names a hook in the trust store. Looks at each file once.
    pub(crate) fn trust_key(&self, hook: &Hook) -> String {
        let file = &hook.draft.source.spot.path;
        let mut known = self.real_paths.lock().unwrap_or_else(PoisonError::into_inner);
        let real = known
            .entry(file.clone())
            .or_insert_with(|| fs::canonicalize(file).unwrap_or_else(|_| file.clone()));
        trust::key_in(real, hook)
    }

    /// How long the host waits for the entry by which it reports an event.
    pub(crate) fn entry_timeout(&self, event: &Event) -> Option<Duration> {
        let own = |entry: &&(&'static dyn Dialect, Draft)| {
            event.is_from(entry.0) && entry.1.event == event.spec.name
        };
        self.host_entries.iter().filter(own).map(|(_, draft)| draft.policy.timeout).min()
    }

    /// The names of all hooks in the trust store.
    pub(crate) fn trust_keys(&self) -> &HashSet<String> {
        self.trust_keys.get_or_init(|| self.hooks.iter().map(|hook| self.trust_key(hook)).collect())
    }

    /// The dialects that have hooks here.
    pub(crate) fn dialects(&self) -> impl Iterator<Item = &'static dyn Dialect> {
        self.dialects.iter().copied()
    }

    /// Where hooks of a moment are found. A moment that only a caller knows is also looked for
    /// among the names that are in no dialect's table.
    pub(crate) fn moment_indexes(&self, moment: &Moment) -> impl Iterator<Item = &MomentIndex> {
        let unnamed = matches!(moment, Moment::Other(_)).then_some(&UNNAMED);
        [Some(moment), unnamed].into_iter().flatten().filter_map(|moment| self.index.get(moment))
    }
}

const UNNAMED: Moment = Moment::Other(Cow::Borrowed(""));

/// The hooks of one moment.
#[derive(Default)]
pub(crate) struct MomentIndex {
    /// All of them.
    pub all: Vec<usize>,
    /// Those that must be asked one by one: no matcher, a pattern, or nothing to compare with.
    pub open: Vec<usize>,
    /// Those that wait for an exact name.
    pub named: HashMap<String, Vec<usize>>,
}

/// Finds and builds the hooks of every dialect for a folder. What a project brings is not read once
/// the deadline has passed; the user's own hooks always are.
pub fn load_hooks(
    dialects: &'static [&'static dyn Dialect],
    roots: SearchRoots,
    deadline: Option<Instant>,
) -> Loaded {
    let mut built = HookBuilder::default();
    let mut ways = SearchPath::from_roots(&roots);
    for dialect in dialects {
        let mut places = dialect.search(&roots);
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let skipped = places.iter().any(|place| !place.scope.is_own());
            places.retain(|place| place.scope.is_own());
            built.complaints.extend(skipped.then(|| no_time_complaint(*dialect, &roots)));
        }
        let read = read_stable(*dialect, &places, &roots, &mut ways);
        built.complaints.extend(read.complaints);
        let before = built.hooks.len();
        for draft in read.drafts.into_iter().flatten() {
            built.add_draft(*dialect, draft);
        }
        // Stable: equal priorities stay as written.
        built.hooks[before..].sort_by_key(|hook: &Hook| hook.draft.priority);
    }
    let HookBuilder { mut hooks, host_entries, complaints, .. } = built;
    make_ids_unique(&mut hooks);
    let hooks: Vec<Arc<Hook>> = hooks.into_iter().map(Arc::new).collect();
    let index = build_index(&hooks);
    let present = |d: &&&'static dyn Dialect| hooks.iter().any(|h| h.dialect.name() == d.name());
    let dialects = dialects.iter().filter(present).copied().collect();
    Loaded {
        roots,
        hooks,
        dialects,
        host_entries,
        complaints,
        index,
        match_cache: Mutex::default(),
        real_paths: Mutex::default(),
        trust_keys: OnceLock::new(),
    }
}

/// What was built so far.
#[derive(Default)]
struct HookBuilder {
    hooks: Vec<Hook>,
    host_entries: Vec<(&'static dyn Dialect, Draft)>,
    complaints: Vec<Complaint>,
    project_hooks: usize,
}

impl HookBuilder {
    fn add_draft(&mut self, dialect: &'static dyn Dialect, draft: Draft) {
        if draft.calls_gambrel {
            return self.host_entries.push((dialect, draft));
        }
        if !draft.source.scope.is_own() {
            self.project_hooks += 1;
            if self.project_hooks > MAX_PROJECT_HOOK_COUNT {
                // One complaint, however many there are beyond.
                let first = self.project_hooks == MAX_PROJECT_HOOK_COUNT + 1;
                self.complaints.extend(first.then(|| too_many_hooks_complaint(&draft)));
                return;
            }
        }
        let (hook, wrong) = Hook::build(dialect, draft);
        self.hooks.extend(hook);
        self.complaints.extend(wrong);
    }
}

/// What a dialect's files say, and what is wrong with them.
struct DialectFiles {
    /// `None` without any file.
    drafts: Option<Vec<Draft>>,
    complaints: Vec<Complaint>,
}

/// Reads a dialect's files; again for a moment where one of them is wrong and is being rewritten.
fn read_stable(
    dialect: &dyn Dialect,
    places: &[ConfigPath],
    roots: &SearchRoots,
    ways: &mut SearchPath,
) -> DialectFiles {
    let began = Instant::now();
    loop {
        let (found, mut complaints) = find_all(dialect, places, roots, ways);
        let drafts = (!found.is_empty()).then(|| {
            let (drafts, wrong) = dialect.load_hooks(&found, roots);
            complaints.extend(wrong);
            drafts
        });
        let broken = complaints.iter().any(|complaint| complaint.severity == Severity::Error);
        let again = broken && began.elapsed() < REWRITE_TIMEOUT;
        if !again || !found.iter().any(is_being_written) {
            return DialectFiles { drafts, complaints };
        }
        std::thread::sleep(REWRITE_INTERVAL);
    }
}

/// The files of a dialect. What a file names comes right after it, and nothing comes twice.
fn find_all(
    dialect: &dyn Dialect,
    places: &[ConfigPath],
    roots: &SearchRoots,
    ways: &mut SearchPath,
) -> (Vec<LoadedFile>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let mut found: Vec<LoadedFile> = Vec::new();
    for file in find_files(places, ways, &mut complaints) {
        let more = dialect.referenced_files(&file, roots);
        found.push(file);
        for file in find_files(&more, ways, &mut complaints) {
            if !found.iter().any(|f| f.place.path == file.place.path) {
                found.push(file);
            }
        }
    }
    complaints.extend(found.iter().filter_map(empty_file));
    complaints.extend(missing_sources(places, &found, roots));
    (found, complaints)
}

/// Hooks of a project that could not be read in time are missing at every gate.
fn no_time_complaint(dialect: &dyn Dialect, roots: &SearchRoots) -> Complaint {
    let message = format!("hooks of {} were not read: no time was left", dialect.name());
    Complaint::error(SourceSpan::of_file(&roots.project), message)
        .with_help("ask what takes so long: other files of this folder, or a slow disk")
}

fn too_many_hooks_complaint(draft: &Draft) -> Complaint {
    let message =
        format!("this project has more than {MAX_PROJECT_HOOK_COUNT} hooks; the rest is not used");
    Complaint::error(draft.source.spot.clone(), message).with_help("take out what nobody needs")
}

/// Two hooks with the same definition in the same file still need two names.
fn make_ids_unique(hooks: &mut [Hook]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for hook in hooks {
        let count = seen.entry(hook.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            hook.id = format!("{}.{count}", hook.id);
        }
    }
}

fn build_index(hooks: &[Arc<Hook>]) -> HashMap<Moment, MomentIndex> {
    let mut index: HashMap<Moment, MomentIndex> = HashMap::new();
    for (at, hook) in hooks.iter().enumerate() {
        for row in &hook.specs {
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

/// What the command line named must be there: of a folder, something in it.
fn missing_sources(
    places: &[ConfigPath],
    found: &[LoadedFile],
    roots: &SearchRoots,
) -> Vec<Complaint> {
    let gone = |(_, path): &(String, PathBuf)| {
        let mut wanted = places.iter().filter(|place| place.path.starts_with(path));
        let first = &wanted.clone().next()?.path;
        let there = found.iter().any(|f| f.place.path.starts_with(path)) || first.exists();
        let looked: Vec<String> =
            wanted.by_ref().filter_map(|place| expected_inside(place, path)).collect();
        let message = match looked.is_empty() {
            true => "is named on the command line, but there is no such file".to_owned(),
            false => format!("is named on the command line, but has none of {}", looked.join(", ")),
        };
        let spot = if looked.is_empty() { first } else { path };
        (!there).then(|| Complaint::error(SourceSpan::of_file(spot), message))
    };
    roots.extra_sources.iter().filter_map(gone).collect()
}

/// What is looked for inside a folder.
fn expected_inside(place: &ConfigPath, folder: &Path) -> Option<String> {
    let inside = place.path.strip_prefix(folder).ok()?.display().to_string();
    let inside = match place.expect {
        Expect::Glob(pattern) => format!("{inside}/{pattern}"),
        Expect::File | Expect::Dir => inside,
    };
    (!inside.is_empty()).then_some(inside)
}
