//! Two small files per session, absent while there is nothing to keep: halts in one of their own,
//! everything else in the other.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use gambrel_model::ledger::{LedgerError, SESSION_FILES, SessionState, Undelivered};
use gambrel_model::verdict::Verdict;
use sha2::{Digest, Sha256};

use super::folder::{Durable, Folder, refusal, trouble};
use super::lock::Held;
use super::side_entries::{self, SideEntries, SideRead};
use crate::redact::{Redactor, veil_state};

const FOLDER: &str = "sessions";
/// So much of a session's own name is kept for people to recognise.
const LEGIBLE: usize = 40;
/// So much of a damaged file is looked through.
const MAX_SCAN_BYTES: u64 = 64 << 20;
/// How long a session's lock is waited for where the last wait was in vain.
const MIN_LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// The files of one session: legible, safe as file names, and never shared by two sessions.
#[derive(Debug)]
pub(super) struct SessionFiles {
    /// Messages and counts.
    state: String,
    /// Halts, apart from everything that may grow or be damaged with it.
    halts: String,
    lock: String,
    /// What could not be written into the others.
    side: SideEntries,
}

impl SessionFiles {
    pub(super) fn of(session: &str, redactor: &Redactor) -> Self {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let legible: String =
            redactor.redact_text(session).chars().take(LEGIBLE).map(safe).collect();
        let hash: [u8; 32] = Sha256::digest(session.as_bytes()).into();
        let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self::from_stem(&format!("{legible}-{short}"))
    }

    fn from_stem(stem: &str) -> Self {
        let with = |ending: &str| format!("{FOLDER}/{stem}.{ending}");
        let side = SideEntries::of(stem);
        Self { state: with("json"), halts: with("halt"), lock: with("lock"), side }
    }

    /// What is kept; empty when there is no file.
    pub(super) fn read(&self, folder: &Folder) -> Result<SessionState, LedgerError> {
        // First: an entry that another process takes in meanwhile stands in the files already.
        let side = self.side.read(folder);
        let state = read(folder, &self.state)?;
        let mut state = join(state, self.read_halts(folder)?);
        if let Some(trouble) = side.trouble {
            return Err(trouble);
        }
        side.debts.values().for_each(|debt| take_in(&mut state, debt));
        Ok(state)
    }

    /// What is owed with a ruling to it, as far as it can be read, and what is in the way.
    pub(super) fn known_halts(&self, folder: &Folder) -> (Vec<Undelivered>, Vec<LedgerError>) {
        let SideRead { debts, trouble } = self.side.read(folder);
        let stored = self.read_halts(folder);
        let mut troubles: Vec<LedgerError> = trouble.into_iter().collect();
        let stored = stored.unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
        let aside = debts.into_values().filter(Undelivered::is_halt);
        (stored.into_iter().chain(aside).collect(), troubles)
    }

    /// The halts of their own file. It is there only if there are some.
    fn read_halts(&self, folder: &Folder) -> Result<Vec<Undelivered>, LedgerError> {
        let explain = |error: LedgerError| {
            let why =
                format!("{}; a hook stopped this session: look into it, then remove it", error.why);
            LedgerError { why, ..error }
        };
        let Some(halts) = read_existing(folder, &self.halts).map_err(explain)? else {
            return Ok(Vec::new());
        };
        if halts.undelivered.is_empty() || !halts.undelivered.iter().all(Undelivered::is_halt) {
            let path = folder.path(&self.halts);
            return Err(explain(refusal("reading", &path, "it holds no halt")));
        }
        Ok(halts.undelivered)
    }

    /// Writes what has changed. A new halt is on the disk before anything else is written.
    fn write(
        &self,
        folder: &Folder,
        redactor: &Redactor,
        before: &SessionState,
        state: SessionState,
    ) -> Result<(), LedgerError> {
        let (halts_before, _) = split(before.clone());
        let (halts, rest) = split(state);
        // An older version kept them in the other file.
        let moved = !halts.undelivered.is_empty() && !folder.path(&self.halts).exists();
        if halts != halts_before || moved {
            put(folder, redactor, &self.halts, &halts, Durable::Yes)?;
        }
        put(folder, redactor, &self.state, &rest, Durable::No)
    }
}

/// Waits for a session's lock: in the kernel, and never longer than the host will wait.
#[derive(Debug)]
pub(super) struct LockPatience {
    timeout: Duration,
    /// Whoever holds a lock that long holds it still.
    in_vain: AtomicBool,
}

impl LockPatience {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, in_vain: AtomicBool::new(false) }
    }

    fn wait(&self, folder: &Folder, lock: &str) -> Result<Held, LedgerError> {
        let in_vain = self.in_vain.load(Ordering::Relaxed);
        let timeout = if in_vain { self.timeout.min(MIN_LOCK_TIMEOUT) } else { self.timeout };
        let held = Held::wait_removable(folder, lock, timeout);
        self.in_vain.store(held.is_err(), Ordering::Relaxed);
        held
    }
}

/// Changes what is kept while nobody else does.
pub(super) fn amend(
    folder: &Folder,
    session: &str,
    redactor: &Redactor,
    patience: &LockPatience,
    change: &mut dyn FnMut(&mut SessionState),
) -> Result<(), LedgerError> {
    let files = SessionFiles::of(session, redactor);
    let _held = patience.wait(folder, &files.lock)?;
    // What cannot be read of them stays there, and every reader is told.
    let side = files.side.read(folder);
    let state = read(folder, &files.state).map_err(|error| set_aside(folder, &files, error))?;
    let before = join(state, files.read_halts(folder)?);
    let mut state = before.clone();
    side.debts.values().for_each(|debt| take_in(&mut state, debt));
    change(&mut state);
    if state == SessionState::default() {
        folder.remove(&files.state)?;
        folder.remove(&files.halts)?;
        files.side.remove(folder, &side)?;
        return folder.remove(&files.lock);
    }
    if state != before {
        files.write(folder, redactor, &before, state)?;
    }
    files.side.remove(folder, &side)
}

/// Keeps something for a session whose files cannot be changed now.
pub(super) fn store_aside(
    folder: &Folder,
    session: &str,
    redactor: &Redactor,
    debt: &Undelivered,
) -> Result<(), LedgerError> {
    SessionFiles::of(session, redactor).side.write(folder, redactor, debt)
}

/// Adds a side entry. A change that failed half-way may have stored a part of it.
fn take_in(state: &mut SessionState, debt: &Undelivered) {
    let Some(known) = state.undelivered.iter_mut().find(|known| known.id == debt.id) else {
        return state.keep_undelivered(debt.clone());
    };
    for say in &debt.verdict.messages {
        if !known.verdict.messages.contains(say) {
            known.verdict.messages.push(say.clone());
        }
    }
    if debt.is_halt() && !known.is_halt() {
        known.verdict.ruling = debt.verdict.ruling;
        known.verdict.reasons.clone_from(&debt.verdict.reasons);
    }
}

/// A file of a session; empty when it is not there.
fn read(folder: &Folder, name: &str) -> Result<SessionState, LedgerError> {
    Ok(read_existing(folder, name)?.unwrap_or_default())
}

/// A file of a session; `None` when it is not there.
fn read_existing(folder: &Folder, name: &str) -> Result<Option<SessionState>, LedgerError> {
    let Some(file) = folder.existing(name)? else { return Ok(None) };
    let text = folder.text_of(name, file)?;
    let refuse = |why: String| refusal("reading", &folder.path(name), why);
    // serde would also read a list as the fields in their order.
    if !text.trim_start().starts_with('{') {
        return Err(refuse("it is not a session's state: it is no JSON object".to_owned()));
    }
    let state = serde_json::from_str(&text);
    state.map(Some).map_err(|error| refuse(format!("it is not a session's state: {error}")))
}

fn put(
    folder: &Folder,
    redactor: &Redactor,
    name: &str,
    state: &SessionState,
    durable: Durable,
) -> Result<(), LedgerError> {
    if *state == SessionState::default() {
        return folder.remove(name);
    }
    let bytes = veil_state(state, redactor)
        .and_then(|value| serde_json::to_vec(&value))
        .map_err(|error| refusal("writing", &folder.path(name), error))?;
    folder.replace(name, &bytes, durable)
}

/// Halts, and the rest without them.
fn split(mut state: SessionState) -> (SessionState, SessionState) {
    let mut halts = SessionState::default();
    for debt in state.undelivered.iter_mut().filter(|debt| debt.is_halt()) {
        let says = std::mem::take(&mut debt.verdict.messages);
        let rest = Verdict { messages: says, ..Verdict::default() };
        let halt = std::mem::replace(&mut debt.verdict, rest);
        halts.undelivered.push(Undelivered::new(debt.id.clone(), debt.from.clone(), halt));
    }
    let is_halt = |id: &str| halts.undelivered.iter().any(|halt| halt.id == id);
    state.undelivered.retain(|debt| !debt.verdict.messages.is_empty() || !is_halt(&debt.id));
    (halts, state)
}

/// The state with its halts: each in the place of its words, or before everything else.
fn join(mut state: SessionState, halts: Vec<Undelivered>) -> SessionState {
    for halt in halts.into_iter().rev() {
        match state.undelivered.iter_mut().find(|debt| debt.id == halt.id) {
            Some(debt) => {
                (debt.verdict.ruling, debt.verdict.reasons) =
                    (halt.verdict.ruling, halt.verdict.reasons);
            }
            None => state.undelivered.insert(0, halt),
        }
    }
    state
}

/// Forgets sessions that nobody touched for `age`; tells how many.
pub(super) fn forget(folder: &Folder, age: Duration) -> Result<u64, LedgerError> {
    forget_files(folder, age)?;
    let Ok(entries) = std::fs::read_dir(folder.path(FOLDER)) else { return Ok(0) };
    let mut stems: BTreeSet<String> =
        entries.flatten().filter_map(|entry| stem_of(&entry)).collect();
    stems.extend(side_entries::stems(folder));
    let mut forgotten = 0;
    for stem in stems {
        let files = SessionFiles::from_stem(&stem);
        let own = [files.state.as_str(), &files.halts, &files.lock, files.side.folder()];
        let old = |names: &[&str]| names.iter().all(|name| is_old(&folder.path(name), age));
        let kept = [files.state.as_str(), &files.halts, files.side.folder()];
        let is_kept = kept.iter().any(|name| folder.path(name).exists());
        if !old(&own) {
            continue;
        }
        let held = Held::at_once(folder, &files.lock)
            .map_err(|error| trouble("forgetting", &folder.path(&files.state), &error))?;
        if held.is_some() && old(&kept) {
            files.side.remove_all(folder)?;
            for name in [&files.state, &files.halts, &files.lock] {
                folder.remove(name)?;
            }
            // A lock without a session is what a killed process left.
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

/// What others keep for a session has its age too.
fn forget_files(folder: &Folder, age: Duration) -> Result<(), LedgerError> {
    let Ok(entries) = std::fs::read_dir(folder.path(SESSION_FILES)) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| is_old(&entry.path(), age)) {
        if let Some(name) = entry.file_name().to_str() {
            folder.remove(&format!("{SESSION_FILES}/{name}"))?;
        }
    }
    Ok(())
}

/// A state that cannot be read would fail every later change: it is kept aside, and said. One in
/// which an older version may have kept a halt stays, and so does the failure, until a person looks.
fn set_aside(folder: &Folder, files: &SessionFiles, error: LedgerError) -> LedgerError {
    let name = &files.state;
    if may_hold_a_halt(folder, name) {
        let why = format!(
            "{}; a hook may have stopped this session: look into the file, then move it away",
            error.why
        );
        return LedgerError { why, ..error };
    }
    let aside = format!("{name}.corrupt");
    match folder.rename(name, &aside) {
        Ok(true) => {
            let why = format!("{}; moved to {}", error.why, folder.path(&aside).display());
            LedgerError { why, ..error }
        }
        _ => error,
    }
}

fn may_hold_a_halt(folder: &Folder, name: &str) -> bool {
    let Ok(Some(file)) = folder.existing(name) else { return true };
    let mut bytes = Vec::new();
    if file.take(MAX_SCAN_BYTES).read_to_end(&mut bytes).is_err() {
        return true;
    }
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    bytes.len() as u64 == MAX_SCAN_BYTES || has(b"\"halt\"") || has(b"\"deny\"")
}

/// Also true of a file that is not there.
fn is_old(path: &Path, age: Duration) -> bool {
    let Ok(touched) = std::fs::metadata(path).and_then(|about| about.modified()) else {
        return true;
    };
    SystemTime::now().duration_since(touched).is_ok_and(|old| old > age)
}
