//! Which project hooks may run: those that a person trusted, as they are now. The record of a hook
//! lists the files that it is made of; here only those are looked at again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::{Hook, TrustEntry, TrustedFiles};
use sha2::{Digest, Sha256};

use crate::coverage::{Coverage, Surroundings, expand_glob, work_out};
use crate::covered::{Mark, Part};
use crate::{Candidate, Loaded};

/// The version of the rules by which the files of a hook are worked out.
pub const TRUST_RULES: u32 = 2;
/// In a record, for a name without a file.
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

/// How a hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user's or the administrator's own.
    Managed,
    /// Trusted as it is.
    Trusted,
    /// Nobody has looked at it.
    Untrusted,
    /// It, or a file it runs, is not what was trusted.
    Changed,
    /// It was trusted under rules that covered other files.
    Outdated,
    /// A person refused it.
    Denied,
}

impl Trust {
    /// Its word in lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Outdated => "outdated",
            Self::Denied => "denied",
        }
    }

    /// Why a hook that stands so is skipped, if a person should look at it.
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

    /// Whether a person has to look at the hook before it runs.
    pub fn waits_for_look(self) -> bool {
        self.skip_reason().is_some()
    }

    /// How a hook of the loaded set stands with these entries.
    pub fn for_hook(
        hook: &Hook,
        loaded: &Loaded,
        entries: &BTreeMap<String, TrustEntry>,
        mode: TrustMode,
    ) -> Self {
        Self::with_parts(hook, loaded, entries, mode).0
    }

    /// The same, with the files that were looked at for it.
    pub(crate) fn with_parts(
        hook: &Hook,
        loaded: &Loaded,
        entries: &BTreeMap<String, TrustEntry>,
        mode: TrustMode,
    ) -> (Self, Vec<Part>) {
        if hook.draft.source.scope.is_own() {
            return (Self::Managed, Vec::new());
        }
        match mode {
            TrustMode::All => return (Self::Trusted, Vec::new()),
            TrustMode::None => return (Self::Untrusted, Vec::new()),
            TrustMode::Store => {}
        }
        let Some(entry) = entries.get(&loaded.trust_key(hook)) else {
            let changed = was_trusted_before(hook, loaded, entries);
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
fn look_again(hook: &Hook, entry: &TrustEntry) -> Option<Vec<Part>> {
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
        let part = Part::read(path);
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

/// What code may be read for a hook that stands as it was looked at.
pub(crate) fn trusted_files(parts: &[Part]) -> TrustedFiles {
    let read = |part: &Part| match &part.mark {
        Mark::Bytes(bytes) => {
            let real = fs::canonicalize(&part.path).unwrap_or_else(|_| part.path.clone());
            Some((real, Sha256::digest(bytes).into()))
        }
        Mark::State(_) => None,
    };
    parts.iter().filter_map(read).collect()
}

/// Whether a hook has to be looked up at all.
pub(crate) fn needs_trust(hook: &Hook, mode: TrustMode) -> bool {
    !hook.draft.source.scope.is_own() && mode != TrustMode::All
}

fn was_trusted_before(
    hook: &Hook,
    loaded: &Loaded,
    entries: &BTreeMap<String, TrustEntry>,
) -> bool {
    !entries.is_empty() && replaced_entry(hook, loaded, entries).is_some()
}

/// An entry of the same file and event that fits no hook any more: this one took its place.
fn replaced_entry<'e>(
    hook: &Hook,
    loaded: &Loaded,
    entries: &'e BTreeMap<String, TrustEntry>,
) -> Option<&'e TrustEntry> {
    let prefix = key_prefix(hook);
    let present = loaded.trust_keys();
    let mut of_event = entries.range(prefix.clone()..).take_while(|(k, _)| k.starts_with(&prefix));
    of_event.find(|(key, _)| !present.contains(*key)).map(|(_, entry)| entry)
}

/// What was trusted in the place of a hook before: its own record, else that of the hook whose
/// place it took.
pub fn earlier_record<'e>(
    hook: &Hook,
    loaded: &Loaded,
    entries: &'e BTreeMap<String, TrustEntry>,
) -> Option<&'e TrustEntry> {
    entries.get(&trust_key(hook)).or_else(|| replaced_entry(hook, loaded, entries))
}

/// Names a hook in the trust store: the file it stands in, its event and its identity.
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

/// The files that a hook is made of, worked out anew.
pub fn coverage(hook: &Hook, around: &Surroundings) -> Coverage {
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

/// What is kept of a hook that a person trusts. When and how it was shown is the caller's to add.
pub fn trust_record(hook: &Hook, covered: &Coverage) -> TrustEntry {
    let base = &hook.draft.source.base;
    let root = fs::canonicalize(base).unwrap_or_else(|_| base.clone());
    let digest =
        |part: Option<&Part>| part.map_or_else(|| ABSENT.to_owned(), |part| digest_of(&part.mark));
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

/// The hash of what the author of a hook wrote.
fn definition_hash(hook: &Hook) -> String {
    let mut sum = Sha256::new();
    hook.draft.hash_into(&mut |part| sum.update(part));
    sum.update(hook.draft.policy.timeout.as_millis().to_le_bytes());
    hex(&sum.finalize())
}

/// The hash of a record's definition and lists.
fn record_hash(entry: &TrustEntry) -> String {
    let mut sum = Sha256::new();
    // With their lengths, so that no text can pass for two.
    let mut take = |text: &str| {
        sum.update(text.len().to_le_bytes());
        sum.update(text);
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
    hex(&sum.finalize())
}

fn digest_of(mark: &Mark) -> String {
    match mark {
        Mark::Bytes(bytes) => hex(&Sha256::digest(bytes)),
        Mark::State(text) => format!("state {}", hex(&Sha256::digest(text))),
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).collect()
}

/// The file that a hook would run in this folder, or with this project's, in place of one that was
/// trusted with it; else the files with the same bytes that it runs there. Nothing is looked up where
/// both folders are those of its definition, or where the folder makes no difference.
pub(crate) fn find_substituted_file(
    candidate: &Candidate,
    here: &Path,
    project: &Path,
) -> Result<Vec<Part>, PathBuf> {
    let (hook, trusted) = (&candidate.hook, &candidate.parts);
    let base = &hook.draft.source.base;
    if project == base && (here == base || candidate.anchored) {
        return Ok(Vec::new());
    }
    let Some(around) = Surroundings::elsewhere(hook, here, project) else {
        return Ok(Vec::new());
    };
    let found = work_out(hook, &around).files;
    let alike = |part: &Part, path: &Path| part.path.file_name() == path.file_name();
    let known = |part: &Part| {
        let same = |other: &Part| alike(other, &part.path) && other.mark == part.mark;
        trusted.iter().any(|other| other.path == part.path || same(other))
    };
    let counts = |file: &crate::coverage::CoveredFile| {
        file.sure || trusted.iter().any(|part| alike(part, &file.path))
    };
    let counted = found.into_iter().filter(counts);
    let parts: Vec<Part> = counted.filter_map(|file| file.part).collect();
    match parts.iter().find(|part| !known(part)) {
        Some(part) => Err(part.path.clone()),
        None => Ok(parts),
    }
}
