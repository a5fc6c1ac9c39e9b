//! Decides which project hooks may run: those that the user trusted and that have not changed. The
//! trust record lists the files of a hook, and only those are hashed again.

use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::{Hook, TrustEntries, TrustEntry, TrustedFiles, sha256, to_hex};

use crate::coverage::{Coverage, Surroundings, expand_glob, work_out};
use crate::covered::{Fingerprint, HookFile};
use crate::{Candidate, Loaded};

/// Version of the rules that find the files of a hook.
pub const TRUST_RULES: u32 = 2;
/// Digest of a missing file in a record.
pub const ABSENT: &str = "-";

/// Which project hooks may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustMode {
    /// Those in the trust store.
    #[default]
    Store,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// The trust state of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user's or the administrator's own.
    Managed,
    /// Trusted as it is.
    Trusted,
    /// The user has not seen it.
    Untrusted,
    /// The hook or one of its files has changed.
    Changed,
    /// It was trusted under older rules.
    Outdated,
    /// The user refused it.
    Denied,
}

impl Trust {
    /// Its word in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Outdated => "outdated",
            Self::Denied => "denied",
        }
    }

    /// Why a hook in this state is skipped, if the user should look at it.
    pub fn skip_reason(self) -> Option<&'static str> {
        match self {
            Self::Untrusted => Some("untrusted: run `gambrel trust` to look at it"),
            Self::Changed => {
                Some("changed since it was trusted: run `gambrel trust` to look again")
            }
            Self::Outdated => Some("trusted by an older version: look again with `gambrel trust`"),
            Self::Managed | Self::Trusted | Self::Denied => None,
        }
    }

    /// Whether the user must look at the hook before it runs.
    pub fn waits_for_look(self) -> bool {
        self.skip_reason().is_some()
    }

    /// The trust state of a loaded hook with these entries.
    pub fn for_hook(hook: &Hook, loaded: &Loaded, entries: &TrustEntries, mode: TrustMode) -> Self {
        Self::with_parts(hook, loaded, entries, mode).0
    }

    /// The trust state, with the files that were read for it.
    pub(crate) fn with_parts(
        hook: &Hook,
        loaded: &Loaded,
        entries: &TrustEntries,
        mode: TrustMode,
    ) -> (Self, Vec<HookFile>) {
        if hook.draft.source.scope.is_own() {
            return (Self::Managed, Vec::new());
        }
        match mode {
            TrustMode::All => return (Self::Trusted, Vec::new()),
            TrustMode::None => return (Self::Untrusted, Vec::new()),
            TrustMode::Store => {}
        }
        let Some(entry) = entries.get(&loaded.trust_key(hook)) else {
            let changed = !entries.is_empty() && replaced_entry(hook, loaded, entries).is_some();
            return (if changed { Self::Changed } else { Self::Untrusted }, Vec::new());
        };
        if entry.denied {
            return (Self::Denied, Vec::new());
        }
        if entry.rules != TRUST_RULES {
            return (Self::Outdated, Vec::new());
        }
        match look_again(hook, entry) {
            Some(parts) => (Self::Trusted, parts),
            None => (Self::Changed, Vec::new()),
        }
    }
}

/// The files of a record, when all of them and the definition are as they were trusted.
fn look_again(hook: &Hook, entry: &TrustEntry) -> Option<Vec<HookFile>> {
    if entry.definition != definition_hash(hook) || entry.hash != record_hash(entry) {
        return None;
    }
    let root = Path::new(&entry.root);
    let mut parts = Vec::with_capacity(entry.files.len());
    for (name, digest) in &entry.files {
        let path = root.join(name);
        if digest == ABSENT {
            if path.is_file() {
                return None;
            }
            continue;
        }
        let part = HookFile::read_file(path);
        if digest_of(&part.mark) != *digest {
            return None;
        }
        parts.push(part);
    }
    let same = |(pattern, names): (&String, &Vec<String>)| {
        let found = expand_glob(pattern, root).unwrap_or_default();
        found.iter().map(|file| name_in_record(file, root)).eq(names.iter().cloned())
    };
    entry.globs.iter().all(same).then_some(parts)
}

/// The digests of a trusted hook's files, for actions that read code.
pub(crate) fn trusted_files(parts: &[HookFile]) -> TrustedFiles {
    let read = |part: &HookFile| match &part.mark {
        Fingerprint::Bytes(bytes) => {
            let real = fs::canonicalize(&part.path).unwrap_or_else(|_| part.path.clone());
            Some((real, sha256(bytes)))
        }
        Fingerprint::State(_) => None,
    };
    parts.iter().filter_map(read).collect()
}

/// Whether a hook needs trust.
pub(crate) fn needs_trust(hook: &Hook, mode: TrustMode) -> bool {
    !hook.draft.source.scope.is_own() && mode != TrustMode::All
}

/// An entry of the same file and event that belongs to no hook any more.
fn replaced_entry<'e>(
    hook: &Hook,
    loaded: &Loaded,
    entries: &'e TrustEntries,
) -> Option<&'e TrustEntry> {
    let prefix = key_prefix(hook);
    let present = loaded.trust_keys();
    let mut of_event = entries.range(prefix.clone()..).take_while(|(k, _)| k.starts_with(&prefix));
    of_event.find(|(key, _)| !present.contains(*key)).map(|(_, entry)| entry)
}

/// The earlier record of a hook: its own, else that of the hook it replaced.
pub fn earlier_record<'e>(
    hook: &Hook,
    loaded: &Loaded,
    entries: &'e TrustEntries,
) -> Option<&'e TrustEntry> {
    entries.get(&trust_key(hook)).or_else(|| replaced_entry(hook, loaded, entries))
}

/// The trust key of a hook: its file, event and identity.
pub fn trust_key(hook: &Hook) -> String {
    format!("{}{}", key_prefix(hook), hook.id)
}

/// The same for a file whose links are resolved.
pub(crate) fn key_in(file: &Path, hook: &Hook) -> String {
    format!("{}#{}#{}", file.display(), hook.draft.event, hook.id)
}

fn key_prefix(hook: &Hook) -> String {
    let file = &hook.draft.source.spot.path;
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    format!("{}#{}#", file.display(), hook.draft.event)
}

/// Finds the files of a hook again.
pub fn find_coverage(hook: &Hook, around: &Surroundings) -> Coverage {
    let mut covered = work_out(hook, around);
    let elsewhere = work_out(hook, &around.in_empty_folder());
    let paths = |covered: &Coverage| -> Vec<PathBuf> {
        covered.files.iter().map(|file| file.path.clone()).collect()
    };
    covered.anchored = paths(&covered) == paths(&elsewhere)
        && covered.globs == elsewhere.globs
        && covered.opaque.is_empty()
        && elsewhere.opaque.is_empty();
    covered
}

/// The trust record of a hook. The caller adds time and shown text.
pub fn trust_record(hook: &Hook, covered: &Coverage) -> TrustEntry {
    let base = &hook.draft.source.base;
    let root = fs::canonicalize(base).unwrap_or_else(|_| base.clone());
    let digest = |part: Option<&HookFile>| {
        part.map_or_else(|| ABSENT.to_owned(), |part| digest_of(&part.mark))
    };
    let files = covered.files.iter();
    let file = |file: &crate::coverage::CoveredFile| {
        (name_in_record(&file.path, &root), digest(file.part.as_ref()))
    };
    let glob = |(pattern, files): (&String, &Vec<PathBuf>)| {
        let names = files.iter().map(|file| name_in_record(file, &root)).collect();
        (relative_pattern(pattern, &root), names)
    };
    let mut entry = TrustEntry {
        rules: TRUST_RULES,
        root: root.display().to_string(),
        definition: definition_hash(hook),
        files: files.map(file).collect(),
        globs: covered.globs.iter().map(glob).collect(),
        opaque: covered.opaque.clone(),
        anchored: covered.anchored,
        ..TrustEntry::default()
    };
    entry.hash = record_hash(&entry);
    entry
}

/// The name of a file in a record: from the project's folder where it is inside of it.
pub fn name_in_record(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn relative_pattern(pattern: &str, root: &Path) -> String {
    let prefix = format!("{}/", root.display());
    pattern.strip_prefix(&prefix).unwrap_or(pattern).to_owned()
}

/// The hash of a hook's definition.
fn definition_hash(hook: &Hook) -> String {
    let mut text = Vec::new();
    hook.draft.hash_into(&mut |part| text.extend_from_slice(part));
    text.extend_from_slice(&hook.draft.policy.limits.timeout.as_millis().to_le_bytes());
    to_hex(&sha256(text))
}

/// The hash of a record's definition and lists.
fn record_hash(entry: &TrustEntry) -> String {
    let mut record = Vec::new();
    // With lengths, so that two texts never hash like one.
    let mut take = |text: &str| {
        record.extend_from_slice(&text.len().to_le_bytes());
        record.extend_from_slice(text.as_bytes());
    };
    take(&entry.rules.to_string());
    take(&entry.root);
    take(&entry.definition);
    take(if entry.anchored { "anchored" } else { "" });
    for (name, digest) in &entry.files {
        take(name);
        take(digest);
    }
    for (pattern, names) in &entry.globs {
        take("glob");
        take(pattern);
        take(&names.len().to_string());
        names.iter().for_each(|name| take(name));
    }
    to_hex(&sha256(record))
}

fn digest_of(mark: &Fingerprint) -> String {
    match mark {
        Fingerprint::Bytes(bytes) => to_hex(&sha256(bytes)),
        Fingerprint::State(text) => format!("state {}", to_hex(&sha256(text))),
    }
}

/// Finds a file that a hook would run in this folder instead of a trusted one, else the equal files
/// that it runs there. Skipped if the folder makes no difference.
pub(crate) fn find_substituted_file(
    candidate: &Candidate,
    here: &Path,
    project: &Path,
) -> Result<Vec<HookFile>, PathBuf> {
    let (hook, trusted) = (&candidate.hook, &candidate.parts);
    let base = &hook.draft.source.base;
    if project == base && (here == base || candidate.anchored) {
        return Ok(Vec::new());
    }
    let Some(around) = Surroundings::for_other_folder(hook, here, project) else {
        return Ok(Vec::new());
    };
    let found = work_out(hook, &around).files;
    let alike = |part: &HookFile, path: &Path| part.path.file_name() == path.file_name();
    let known = |part: &HookFile| {
        let same = |other: &HookFile| alike(other, &part.path) && other.mark == part.mark;
        trusted.iter().any(|other| other.path == part.path || same(other))
    };
    let counts = |file: &crate::coverage::CoveredFile| {
        file.sure || trusted.iter().any(|part| alike(part, &file.path))
    };
    let counted = found.into_iter().filter(counts);
    let parts: Vec<HookFile> = counted.filter_map(|file| file.part).collect();
    match parts.iter().find(|part| !known(part)) {
        Some(part) => Err(part.path.clone()),
        None => Ok(parts),
    }
}
