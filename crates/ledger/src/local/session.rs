//! The files of a session: one for halts, one for everything else. A file exists only if it has
//! content.

use std::collections::{BTreeSet, VecDeque};
use std::fs::DirEntry;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use gambrel_model::ledger::{LedgerError, SESSION_FILES, SessionState, Undelivered};
use gambrel_model::verdict::Verdict;
use gambrel_model::{sha256, to_hex};

use super::lock::FileLock;
use super::side_entries::{self, SideEntries, SideRead};
use super::state_dir::{Durable, StateDir, corrupt_error, io_error, refused_error};
use crate::redact::{Redactor, redact_state};

const SESSIONS_DIR: &str = "sessions";
/// Maximum length of a session's name in its file names.
const MAX_LEGIBLE_CHARS: usize = 40;
/// Maximum number of sessions whose file names are remembered.
const MAX_KNOWN_COUNT: usize = 64;
/// Maximum number of bytes to search in a damaged file.
const MAX_SCAN_BYTES: u64 = 64 << 20;
/// Maximum wait for a session's lock if the last wait timed out.
const MIN_LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// The names of a session's files. They are legible, safe, and unique for each session.
#[derive(Debug)]
pub(super) struct SessionFiles {
    /// The file of messages and counts.
    state: String,
    /// The file of halts. It is separate, so that damage to the other file does not lose a halt.
    halts: String,
    lock: String,
    /// The entries that could not be written into the other files.
    side: SideEntries,
}

/// The file names of the sessions that came last. A name costs a hash and a search for secrets,
/// and every firing needs it.
#[derive(Debug, Default)]
pub(super) struct SessionFileCache {
    known: Mutex<VecDeque<(String, Arc<SessionFiles>)>>,
}

impl SessionFileCache {
    /// The names of a session's files.
    pub(super) fn files_of(&self, session: &str, redactor: &Redactor) -> Arc<SessionFiles> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, files)) = known.iter().find(|(name, _)| name == session) {
            return Arc::clone(files);
        }
        let files = Arc::new(SessionFiles::from_stem(&file_stem(session, redactor)));
        if known.len() == MAX_KNOWN_COUNT {
            known.pop_front();
        }
        known.push_back((session.to_owned(), Arc::clone(&files)));
        files
    }
}

impl SessionFiles {
    fn from_stem(stem: &str) -> Self {
        let with = |ending: &str| format!("{SESSIONS_DIR}/{stem}.{ending}");
        let side = SideEntries::new(stem);
        Self { state: with("json"), halts: with("halt"), lock: with("lock"), side }
    }

    /// The names of the files with content.
    pub(super) fn names(&self) -> Vec<String> {
        vec![self.state.clone(), self.halts.clone(), self.side.folder().to_owned()]
    }

    /// Reads the state; empty without a file.
    pub(super) fn read_state(&self, folder: &StateDir) -> Result<SessionState, LedgerError> {
        // Reads side entries first: an entry that another process merges meanwhile is then in the
        // files.
        let side = self.side.read_entries(folder);
        let state = read_or_default(folder, &self.state)?;
        let mut state = join_halts(state, self.read_halts(folder)?);
        if let Some(trouble) = side.trouble {
            return Err(trouble);
        }
        side.entries.values().for_each(|entry| state.merge_undelivered(entry));
        Ok(state)
    }

    /// The undelivered halts that can be read, and the errors.
    pub(super) fn known_halts(&self, folder: &StateDir) -> (Vec<Undelivered>, Vec<LedgerError>) {
        let SideRead { entries, trouble } = self.side.read_entries(folder);
        let stored = self.read_halts(folder);
        let mut troubles: Vec<LedgerError> = trouble.into_iter().collect();
        let stored = stored.unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
        let aside = entries.into_values().filter(Undelivered::is_halt);
        (stored.into_iter().chain(aside).collect(), troubles)
    }

    /// Reads the file of halts.
    fn read_halts(&self, folder: &StateDir) -> Result<Vec<Undelivered>, LedgerError> {
        let explain = |error: LedgerError| {
            let detail = format!(
                "{}; a hook stopped this session: look into it, then remove it",
                error.detail
            );
            LedgerError { detail, ..error }
        };
        let Some(halts) = read_existing(folder, &self.halts).map_err(explain)? else {
            return Ok(Vec::new());
        };
        if halts.undelivered.is_empty() || !halts.undelivered.iter().all(Undelivered::is_halt) {
            let path = folder.path_of(&self.halts);
            return Err(explain(corrupt_error("reading", &path, "it holds no halt")));
        }
        Ok(halts.undelivered)
    }

    /// Writes the files that have changed. A new halt is synced to the disk first.
    fn write_changes(
        &self,
        folder: &StateDir,
        redactor: &Redactor,
        before: &SessionState,
        state: SessionState,
    ) -> Result<(), LedgerError> {
        let (halts_before, _) = split_halts(before.clone());
        let (halts, rest) = split_halts(state);
        // An older version stored halts in the other file.
        let moved = !halts.undelivered.is_empty() && !folder.path_of(&self.halts).exists();
        if halts != halts_before || moved {
            store_state(folder, redactor, &self.halts, &halts, Durable::Yes)?;
        }
        store_state(folder, redactor, &self.state, &rest, Durable::No)
    }
}

/// The beginning of file names for something with a name: legible, safe and unique.
pub(super) fn file_stem(name: &str, redactor: &Redactor) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let legible: String =
        redactor.redact_text(name).chars().take(MAX_LEGIBLE_CHARS).map(safe).collect();
    let hash = sha256(name);
    let short = to_hex(&hash[..8]);
    format!("{legible}-{short}")
}

/// The maximum wait for a session's lock. It is shorter after a wait that timed out.
#[derive(Debug)]
pub(super) struct SessionLockWait {
    timeout: Duration,
    /// Whether the last wait timed out. The lock is then probably still held.
    timed_out: AtomicBool,
}

impl SessionLockWait {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, timed_out: AtomicBool::new(false) }
    }

    fn wait_for_lock(&self, folder: &StateDir, lock: &str) -> Result<FileLock, LedgerError> {
        let timed_out = self.timed_out.load(Ordering::Relaxed);
        let timeout = if timed_out { self.timeout.min(MIN_LOCK_TIMEOUT) } else { self.timeout };
        let held = FileLock::wait_removable(folder, lock, timeout);
        self.timed_out.store(held.is_err(), Ordering::Relaxed);
        held
    }
}

/// Changes the state of a session under its lock.
pub(super) fn update_session(
    folder: &StateDir,
    files: &SessionFiles,
    redactor: &Redactor,
    lock_wait: &SessionLockWait,
    change: &mut dyn FnMut(&mut SessionState),
) -> Result<(), LedgerError> {
    let _held = lock_wait.wait_for_lock(folder, &files.lock)?;
    // Unreadable side entries stay, and every reader gets an error.
    let side = files.side.read_entries(folder);
    let state =
        read_or_default(folder, &files.state).map_err(|error| set_aside(folder, files, error))?;
    let before = join_halts(state, files.read_halts(folder)?);
    let mut state = before.clone();
    side.entries.values().for_each(|entry| state.merge_undelivered(entry));
    change(&mut state);

    if state == SessionState::default() {
        folder.remove_file(&files.state)?;
        folder.remove_file(&files.halts)?;
        files.side.remove_merged(folder, &side)?;
        return folder.remove_file(&files.lock);
    }
    if state != before {
        files.write_changes(folder, redactor, &before, state)?;
    }
    files.side.remove_merged(folder, &side)
}

/// Stores an entry for a session if its files cannot be changed now.
pub(super) fn store_aside(
    folder: &StateDir,
    files: &SessionFiles,
    redactor: &Redactor,
    entry: &Undelivered,
) -> Result<(), LedgerError> {
    files.side.write_entry(folder, redactor, entry)
}

/// Reads a file of a session; empty if it does not exist.
fn read_or_default(folder: &StateDir, name: &str) -> Result<SessionState, LedgerError> {
    Ok(read_existing(folder, name)?.unwrap_or_default())
}

/// Reads a file of a session; `None` if it does not exist.
fn read_existing(folder: &StateDir, name: &str) -> Result<Option<SessionState>, LedgerError> {
    let Some(file) = folder.open_existing(name)? else { return Ok(None) };
    let text = folder.read_text(name, file)?;
    let refuse = |why: String| corrupt_error("reading", &folder.path_of(name), why);
    // serde would also accept a list as the fields in their order.
    if !text.trim_start().starts_with('{') {
        return Err(refuse("it is not a session's state: it is not a JSON object".to_owned()));
    }
    let state = serde_json::from_str(&text);
    state.map(Some).map_err(|error| refuse(format!("it is not a session's state: {error}")))
}

fn store_state(
    folder: &StateDir,
    redactor: &Redactor,
    name: &str,
    state: &SessionState,
    durable: Durable,
) -> Result<(), LedgerError> {
    if *state == SessionState::default() {
        return folder.remove_file(name);
    }
    let bytes = redact_state(state, redactor)
        .and_then(|value| serde_json::to_vec(&value))
        .map_err(|error| refused_error("writing", &folder.path_of(name), error))?;
    folder.replace_file(name, &bytes, durable)
}

/// Splits a state into halts and the rest.
fn split_halts(mut state: SessionState) -> (SessionState, SessionState) {
    let mut halts = SessionState::default();
    for entry in state.undelivered.iter_mut().filter(|entry| entry.is_halt()) {
        let messages = std::mem::take(&mut entry.verdict.messages);
        let rest = Verdict { messages, ..Verdict::default() };
        let halt = std::mem::replace(&mut entry.verdict, rest);
        halts.undelivered.push(Undelivered::new(entry.id.clone(), entry.from.clone(), halt));
    }
    let is_halt = |id: &str| halts.undelivered.iter().any(|halt| halt.id == id);
    state.undelivered.retain(|entry| !entry.verdict.messages.is_empty() || !is_halt(&entry.id));
    (halts, state)
}

/// Adds halts to a state: each to the entry with its messages, or at the beginning.
fn join_halts(mut state: SessionState, halts: Vec<Undelivered>) -> SessionState {
    for halt in halts.into_iter().rev() {
        match state.undelivered.iter_mut().find(|entry| entry.id == halt.id) {
            Some(entry) => {
                (entry.verdict.ruling, entry.verdict.reasons) =
                    (halt.verdict.ruling, halt.verdict.reasons);
            }
            None => state.undelivered.insert(0, halt),
        }
    }
    state
}

/// Removes sessions that did not change for `age`. Returns how many.
pub(super) fn remove_old_sessions(folder: &StateDir, age: Duration) -> Result<u64, LedgerError> {
    remove_old_files(folder, age)?;
    let Ok(entries) = std::fs::read_dir(folder.path_of(SESSIONS_DIR)) else { return Ok(0) };
    let mut stems: BTreeSet<String> =
        entries.flatten().filter_map(|entry| stem_of(&entry)).collect();
    stems.extend(side_entries::session_stems(folder));

    let mut forgotten = 0;
    for stem in stems {
        let files = SessionFiles::from_stem(&stem);
        let own = [files.state.as_str(), &files.halts, &files.lock, files.side.folder()];
        let old = |names: &[&str]| names.iter().all(|name| is_old(&folder.path_of(name), age));
        let kept = [files.state.as_str(), &files.halts, files.side.folder()];
        let is_kept = kept.iter().any(|name| folder.path_of(name).exists());
        if !old(&own) {
            continue;
        }
        let held = FileLock::try_lock(folder, &files.lock)
            .map_err(|error| io_error("forgetting", &folder.path_of(&files.state), &error))?;
        if held.is_some() && old(&kept) {
            files.side.remove_all(folder)?;
            for name in [&files.state, &files.halts, &files.lock] {
                folder.remove_file(name)?;
            }
            // A lock file without a session was left by a killed process, and does not count.
            forgotten += u64::from(is_kept);
        }
    }
    Ok(forgotten)
}

fn stem_of(entry: &DirEntry) -> Option<String> {
    let name = entry.file_name();
    let (stem, ending) = name.to_str()?.rsplit_once('.')?;
    matches!(ending, "json" | "halt" | "lock").then(|| stem.to_owned())
}

/// Removes old files of other components that belong to a session.
fn remove_old_files(folder: &StateDir, age: Duration) -> Result<(), LedgerError> {
    let Ok(entries) = std::fs::read_dir(folder.path_of(SESSION_FILES)) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| is_old(&entry.path(), age)) {
        if let Some(name) = entry.file_name().to_str() {
            folder.remove_file(&format!("{SESSION_FILES}/{name}"))?;
        }
    }
    Ok(())
}

/// Moves an unreadable state aside, because every later change would fail. A file that may contain
/// a halt stays, and so does the error, until the user looks into it.
fn set_aside(folder: &StateDir, files: &SessionFiles, error: LedgerError) -> LedgerError {
    let name = &files.state;
    if may_hold_a_halt(folder, name) {
        let detail = format!(
            "{}; a hook may have stopped this session: look into the file, then move it away",
            error.detail
        );
        return LedgerError { detail, ..error };
    }
    let aside = format!("{name}.corrupt");
    match folder.rename_file(name, &aside) {
        Ok(true) => {
            let detail = format!("{}; moved to {}", error.detail, folder.path_of(&aside).display());
            LedgerError { detail, ..error }
        }
        _ => error,
    }
}

fn may_hold_a_halt(folder: &StateDir, name: &str) -> bool {
    let Ok(Some(file)) = folder.open_existing(name) else { return true };
    let mut bytes = Vec::new();
    if file.take(MAX_SCAN_BYTES).read_to_end(&mut bytes).is_err() {
        return true;
    }
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    bytes.len() as u64 == MAX_SCAN_BYTES || has(b"\"halt\"") || has(b"\"deny\"")
}

/// Whether a file did not change for `age`. True for a missing file.
fn is_old(path: &Path, age: Duration) -> bool {
    let Ok(touched) = std::fs::metadata(path).and_then(|about| about.modified()) else {
        return true;
    };
    SystemTime::now().duration_since(touched).is_ok_and(|old| old > age)
}

#[cfg(test)]
mod tests {
    use super::{MAX_KNOWN_COUNT, SessionFileCache, SessionFiles, file_stem};
    use crate::redact::Redactor;

    #[test]
    fn remembered_names_are_those_of_the_session() {
        let (cache, redactor) = (SessionFileCache::default(), Redactor::default());
        // More than are remembered, twice.
        let sessions = (0..MAX_KNOWN_COUNT + 3).map(|number| format!("session {number}"));
        let sessions: Vec<String> = sessions.collect();
        for session in sessions.iter().chain(&sessions) {
            let own = SessionFiles::from_stem(&file_stem(session, &redactor));
            for _ in 0..2 {
                assert_eq!(cache.files_of(session, &redactor).names(), own.names(), "{session}");
            }
        }
        assert_eq!(cache.known.lock().unwrap().len(), MAX_KNOWN_COUNT);
    }
}
