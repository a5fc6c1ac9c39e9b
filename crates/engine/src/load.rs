//! Reads the configuration files of all dialects and builds hooks. A bad file or entry is one
//! complaint; everything else loads.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gambrel_model::{
    Complaint, ConfigPath, Dialect, Draft, Event, Expect, Hook, HookFormat, LoadedFile, Matcher,
    Moment, SearchRoots, Severity, SourceSpan, Subject,
};

use crate::find::{SearchPath, empty_file, find_files, is_being_written};
use crate::trust;

/// Maximum number of project hooks.
const MAX_PROJECT_HOOK_COUNT: usize = 20_000;
/// How long to wait for a file that is being rewritten, and how often to look.
const REWRITE_TIMEOUT: Duration = Duration::from_millis(50);
const REWRITE_INTERVAL: Duration = Duration::from_millis(10);

/// The loaded hooks of a folder.
pub struct Loaded {
    /// The searched folders.
    pub roots: SearchRoots,
    /// Every hook, in the order in which they run.
    pub hooks: Vec<Arc<Hook>>,
    /// The dialects that have hooks here.
    pub(crate) dialects: Vec<&'static Dialect>,
    /// The entries by which hosts call gambrel, with their dialect. They are not hooks.
    pub host_entries: Vec<(&'static Dialect, Draft)>,
    /// Configuration mistakes.
    pub complaints: Vec<Complaint>,
    /// The hooks by moment. An index is built when its moment is fired for the first time.
    indexes: Mutex<Vec<(Moment, Arc<MomentIndex>)>>,
    /// Matching hooks by subject.
    pub(crate) match_cache: Mutex<BTreeMap<String, Arc<[usize]>>>,
    /// Real paths of the hook files, as in the trust store.
    real_paths: Mutex<BTreeMap<PathBuf, PathBuf>>,
    /// Trust keys of all hooks.
    trust_keys: OnceLock<BTreeSet<String>>,
}

impl Loaded {
    /// The trust key of a hook. Resolves each file once.
    pub(crate) fn trust_key(&self, hook: &Hook) -> String {
        let file = &hook.draft.source.spot.path;
        let mut known = self.real_paths.lock().unwrap_or_else(PoisonError::into_inner);
        let real = known
            .entry(file.clone())
            .or_insert_with(|| fs::canonicalize(file).unwrap_or_else(|_| file.clone()));
        trust::key_in(real, hook)
    }

    /// The timeout of the entry by which the host reports an event.
    pub(crate) fn entry_timeout(&self, event: &Event) -> Option<Duration> {
        let own = |entry: &&(&'static Dialect, Draft)| {
            event.is_from(entry.0) && entry.1.event == event.spec.name
        };
        self.host_entries.iter().filter(own).map(|(_, draft)| draft.policy.limits.timeout).min()
    }

    /// Trust keys of all hooks.
    pub(crate) fn trust_keys(&self) -> &BTreeSet<String> {
        self.trust_keys.get_or_init(|| self.hooks.iter().map(|hook| self.trust_key(hook)).collect())
    }

    /// The dialects that have hooks here.
    pub(crate) fn dialects(&self) -> impl Iterator<Item = &'static Dialect> {
        self.dialects.iter().copied()
    }

    /// The indexes of a moment. A moment that only a caller knows also uses the index of unknown
    /// names.
    pub(crate) fn moment_indexes(&self, moment: &Moment) -> impl Iterator<Item = Arc<MomentIndex>> {
        let unnamed = matches!(moment, Moment::Other(_)).then_some(&UNNAMED);
        [Some(moment), unnamed].into_iter().flatten().map(|moment| self.index_of(moment))
    }

    fn index_of(&self, moment: &Moment) -> Arc<MomentIndex> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = indexes.iter().find(|(known, _)| known == moment) {
            return Arc::clone(index);
        }
        let index = Arc::new(MomentIndex::new(&self.hooks, moment));
        // Callers may send any number of names that no hook knows.
        if !index.all.is_empty() {
            indexes.push((moment.clone(), Arc::clone(&index)));
        }
        index
    }
}

const UNNAMED: Moment = Moment::Other(Cow::Borrowed(""));

/// The hooks of one moment.
#[derive(Default)]
pub(crate) struct MomentIndex {
    /// All of them.
    pub all: Vec<usize>,
    /// Those whose matcher must be evaluated: no matcher, a pattern, or no subject.
    pub open: Vec<usize>,
    /// Those with exact names, sorted by name.
    named: Vec<(String, usize)>,
}

impl MomentIndex {
    fn new(hooks: &[Arc<Hook>], moment: &Moment) -> Self {
        let mut index = Self::default();
        for (at, hook) in hooks.iter().enumerate() {
            for row in hook.specs.iter().filter(|row| row.moment == *moment) {
                index.all.push(at);
                match &hook.matcher {
                    Matcher::Names(names) if row.subject != Subject::None => {
                        index.named.extend(names.iter().map(|name| (name.clone(), at)));
                    }
                    _ => index.open.push(at),
                }
            }
        }
        index.named.sort_unstable();
        index
    }

    /// The hooks with this exact name.
    pub fn hooks_named(&self, name: &str) -> impl Iterator<Item = usize> {
        let first = self.named.partition_point(|(known, _)| known.as_str() < name);
        let rest = self.named[first..].iter();
        rest.take_while(move |(known, _)| known == name).map(|(_, at)| *at)
    }
}

/// Finds and builds the hooks of every dialect for a folder. After the deadline only the user's own
/// hooks are read.
pub fn load_hooks(
    dialects: &'static [&'static Dialect],
    roots: SearchRoots,
    deadline: Option<Instant>,
) -> Loaded {
    let mut built = HookBuilder::default();
    let mut ways = SearchPath::from_roots(&roots);
    for dialect in dialects {
        let Some(format) = dialect.hooks else { continue };
        let mut places = format.search(&roots);
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let skipped = places.iter().any(|place| !place.scope.is_own());
            places.retain(|place| place.scope.is_own());
            built.complaints.extend(skipped.then(|| no_time_complaint(dialect, &roots)));
        }
        let read = read_stable(format, &places, &roots, &mut ways);
        built.complaints.extend(read.complaints);
        let before = built.hooks.len();
        let drafts = read.drafts.unwrap_or_default();
        built.hooks.reserve(drafts.len());
        for draft in drafts {
            built.add_draft(dialect, draft);
        }
        // Stable: equal priorities stay as written.
        built.hooks[before..].sort_by_key(|hook: &Arc<Hook>| hook.draft.priority);
    }
    let HookBuilder { mut hooks, host_entries, complaints, .. } = built;
    make_ids_unique(&mut hooks);
    let present = |d: &&&'static Dialect| hooks.iter().any(|h| h.dialect.name == d.name);
    let dialects = dialects.iter().filter(present).copied().collect();
    Loaded {
        roots,
        hooks,
        dialects,
        host_entries,
        complaints,
        indexes: Mutex::default(),
        match_cache: Mutex::default(),
        real_paths: Mutex::default(),
        trust_keys: OnceLock::new(),
    }
}

/// Hooks built so far.
#[derive(Default)]
struct HookBuilder {
    hooks: Vec<Arc<Hook>>,
    host_entries: Vec<(&'static Dialect, Draft)>,
    complaints: Vec<Complaint>,
    project_hooks: usize,
}

impl HookBuilder {
    fn add_draft(&mut self, dialect: &'static Dialect, draft: Draft) {
        if draft.calls_gambrel {
            return self.host_entries.push((dialect, draft));
        }
        if !draft.source.scope.is_own() {
            self.project_hooks += 1;
            if self.project_hooks > MAX_PROJECT_HOOK_COUNT {
                // One complaint, whatever their number.
                let first = self.project_hooks == MAX_PROJECT_HOOK_COUNT + 1;
                self.complaints.extend(first.then(|| too_many_hooks_complaint(&draft)));
                return;
            }
        }
        let (hook, wrong) = Hook::from_draft(dialect, draft);
        self.hooks.extend(hook.map(Arc::new));
        self.complaints.extend(wrong);
    }
}

/// The drafts and complaints of one dialect.
struct DialectFiles {
    /// `None` without any file.
    drafts: Option<Vec<Draft>>,
    complaints: Vec<Complaint>,
}

/// Reads a dialect's files, and reads them again while a broken file is being rewritten.
fn read_stable(
    format: &dyn HookFormat,
    places: &[ConfigPath],
    roots: &SearchRoots,
    ways: &mut SearchPath,
) -> DialectFiles {
    let began = Instant::now();
    loop {
        let (found, mut complaints) = find_all(format, places, roots, ways);
        let drafts = (!found.is_empty()).then(|| {
            let (drafts, wrong) = format.load_hooks(&found, roots);
            complaints.extend(wrong);
            drafts
        });
        let broken = complaints.iter().any(|complaint| complaint.severity == Severity::Error);
        let again = broken && began.elapsed() < REWRITE_TIMEOUT;
        if !again || !found.iter().any(is_being_written) {
            return DialectFiles { drafts, complaints };
        }
        std::thread::sleep(REWRITE_INTERVAL);
        ways.forget_lookups();
    }
}

/// The files of a dialect. Referenced files follow the file that names them, and no file comes
/// twice.
fn find_all(
    format: &dyn HookFormat,
    places: &[ConfigPath],
    roots: &SearchRoots,
    ways: &mut SearchPath,
) -> (Vec<LoadedFile>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let mut found: Vec<LoadedFile> = Vec::new();
    for file in find_files(places, ways, &mut complaints) {
        let more = format.referenced_files(&file, roots);
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

/// The complaint about project hooks that were not read in time.
fn no_time_complaint(dialect: &Dialect, roots: &SearchRoots) -> Complaint {
    let message = format!("hooks of {} were not read: no time was left", dialect.name);
    Complaint::error(SourceSpan::of_file(&roots.project), message)
        .with_help("ask what takes so long: other files of this folder, or a slow disk")
}

fn too_many_hooks_complaint(draft: &Draft) -> Complaint {
    let message =
        format!("this project has more than {MAX_PROJECT_HOOK_COUNT} hooks; the rest is not used");
    Complaint::error(draft.source.spot.clone(), message).with_help("remove unused hooks")
}

/// Two hooks with the same definition in the same file get different ids.
fn make_ids_unique(hooks: &mut [Arc<Hook>]) {
    // Ids differ at their end: comparing that as a number decides nearly always.
    let mut order: Vec<(u128, usize)> =
        hooks.iter().zip(0..).map(|(hook, at)| (id_end(&hook.id), at)).collect();
    order.sort_unstable_by(|(a_end, a), (b_end, b)| {
        a_end.cmp(b_end).then_with(|| hooks[*a].id.cmp(&hooks[*b].id)).then(a.cmp(b))
    });
    let equal = order.chunk_by(|(_, a), (_, b)| hooks[*a].id == hooks[*b].id);
    let repeated = equal.flat_map(|same| same.iter().zip(1..).skip(1));
    let repeated: Vec<(usize, i32)> = repeated.map(|((_, at), count)| (*at, count)).collect();
    for (at, count) in repeated {
        if let Some(hook) = Arc::get_mut(&mut hooks[at]) {
            hook.id = format!("{}.{count}", hook.id);
        }
    }
}

/// The last bytes of an id as a number.
fn id_end(id: &str) -> u128 {
    let bytes = id.as_bytes();
    let end = &bytes[bytes.len().saturating_sub(size_of::<u128>())..];
    end.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

/// Complaints about files that the command line names and that do not exist.
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

/// The expected name inside a folder.
fn expected_inside(place: &ConfigPath, folder: &Path) -> Option<String> {
    let inside = place.path.strip_prefix(folder).ok()?.display().to_string();
    let inside = match place.expect {
        Expect::Glob(pattern) => format!("{inside}/{pattern}"),
        Expect::File | Expect::Dir => inside,
    };
    (!inside.is_empty()).then_some(inside)
}
