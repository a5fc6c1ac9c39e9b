//! Which project hooks may run: those that a person trusted, as they are now. The hash covers the
//! definition and every file of the project that the hook is made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::{Hook, Seal, TrustEntry};
use sha2::{Digest, Sha256};

use crate::Loaded;
use crate::covered::{Mark, Part, Starts, leads, parts};

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
            Self::Denied => "denied",
        }
    }

    /// Why a hook that stands so is skipped, if a person should look at it.
    pub(crate) fn skip_reason(self) -> Option<&'static str> {
        match self {
            Self::Untrusted => Some("untrusted: run `gambrel trust` to look at it"),
            Self::Changed => {
                Some("changed since it was trusted: run `gambrel trust` to look again")
            }
            Self::Managed | Self::Trusted | Self::Denied => None,
        }
    }

    /// How a hook of the loaded set stands with these entries.
    pub fn of(
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
            let changed = was_another(hook, loaded, entries);
            return (if changed { Self::Changed } else { Self::Untrusted }, Vec::new());
        };
        if entry.denied {
            return (Self::Denied, Vec::new());
        }
        let parts = made_of(hook);
        match entry.hash == hash_of(hook, &parts) {
            true => (Self::Trusted, parts),
            false => (Self::Changed, parts),
        }
    }
}

/// What code may be read for a hook that stands as it was looked at.
pub(crate) fn seal(parts: &[Part]) -> Seal {
    let read = |part: &Part| match &part.mark {
        Mark::Bytes(bytes) => Some((part.path.clone(), Sha256::digest(bytes).into())),
        Mark::State(_) => None,
    };
    parts.iter().filter_map(read).collect()
}

/// Whether a hook has to be looked up at all.
pub(crate) fn needed(hook: &Hook, mode: TrustMode) -> bool {
    !hook.draft.source.scope.is_own() && mode != TrustMode::All
}

/// An entry of the same file and event that fits no hook any more: this one took its place.
fn was_another(hook: &Hook, loaded: &Loaded, entries: &BTreeMap<String, TrustEntry>) -> bool {
    if entries.is_empty() {
        return false;
    }
    let prefix = prefix(hook);
    let present = loaded.trust_keys();
    let stale = |entry_key: &String| !present.contains(entry_key);
    entries
        .range(prefix.clone()..)
        .take_while(|(k, _)| k.starts_with(&prefix))
        .any(|(k, _)| stale(k))
}

/// Names a hook in the trust store: the file it stands in, its event and its identity.
pub fn key(hook: &Hook) -> String {
    format!("{}{}", prefix(hook), hook.id)
}

/// The same for a file whose links are resolved.
pub(crate) fn key_in(file: &Path, hook: &Hook) -> String {
    format!("{}#{}#{}", file.display(), hook.draft.event, hook.id)
}

fn prefix(hook: &Hook) -> String {
    let file = &hook.draft.source.spot.path;
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    format!("{}#{}#", file.display(), hook.draft.event)
}

/// The hash of a definition and of every project file that it names.
pub fn hash(hook: &Hook) -> String {
    hash_of(hook, &made_of(hook))
}

fn hash_of(hook: &Hook, parts: &[Part]) -> String {
    let draft = &hook.draft;
    let mut sum = Sha256::new();
    draft.define(&mut |part| sum.update(part));
    sum.update(draft.terms.timeout.as_millis().to_le_bytes());
    for part in parts {
        let path = part.path.display().to_string();
        let (kind, bytes) = match &part.mark {
            Mark::Bytes(bytes) => (b'b', bytes.as_slice()),
            Mark::State(text) => (b's', text.as_bytes()),
        };
        // With their lengths, so that no file can pass for two.
        sum.update([kind]);
        sum.update(path.len().to_le_bytes());
        sum.update(path);
        sum.update(bytes.len().to_le_bytes());
        sum.update(bytes);
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Files under the project that a hook is made of.
pub fn named_files(hook: &Hook) -> Vec<PathBuf> {
    made_of(hook).into_iter().map(|part| part.path).collect()
}

fn made_of(hook: &Hook) -> Vec<Part> {
    let Ok(root) = fs::canonicalize(&hook.draft.source.base) else { return Vec::new() };
    let at_root = || vec![root.clone()];
    let within = Some(root.clone());
    let starts = Starts { here: at_root(), project: at_root(), unknown: at_root(), within };
    let leads = leads(&hook.draft.config, &starts);
    parts(leads.into_iter().map(|lead| lead.path))
}

/// The file that a hook would run in this folder, or with this project's, in place of one that was
/// trusted with it; else the files with the same bytes that it runs there. Where both folders are
/// those of its definition nothing is looked up.
pub(crate) fn stray(hook: &Hook, here: &Path, project: &Path) -> Result<Vec<Part>, PathBuf> {
    let base = &hook.draft.source.base;
    if here == base && project == base {
        return Ok(Vec::new());
    }
    let Some(starts) = elsewhere(base, here, project) else { return Ok(Vec::new()) };
    let mut leads = leads(&hook.draft.config, &starts);
    if leads.is_empty() {
        return Ok(Vec::new());
    }
    let trusted = made_of(hook);
    let alike = |part: &Part, path: &Path| part.path.file_name() == path.file_name();
    leads.retain(|lead| lead.sure || trusted.iter().any(|part| alike(part, &lead.path)));
    let known = |part: &Part| {
        let same = |other: &Part| alike(other, &part.path) && other.mark == part.mark;
        trusted.iter().any(|other| other.path == part.path || same(other))
    };
    let found = parts(leads.into_iter().map(|lead| lead.path));
    match found.iter().find(|part| !known(part)) {
        Some(part) => Err(part.path.clone()),
        None => Ok(found),
    }
}

/// Where names lead that are not looked up from the definition's own folder.
fn elsewhere(base: &Path, here: &Path, project: &Path) -> Option<Starts> {
    let base = fs::canonicalize(base).ok()?;
    let other = |folder: &Path| fs::canonicalize(folder).ok().filter(|folder| *folder != base);
    let (here, project) = (other(here), other(project));
    // An expansion may stand for any folder on the way up, such as that of another repository.
    let above = here.iter().flat_map(|here| here.ancestors().skip(1));
    let above = above.take_while(|folder| !base.starts_with(folder)).map(Path::to_owned);
    let unknown = here.iter().chain(&project).cloned().chain(above).collect();
    let list = |folder: Option<PathBuf>| folder.into_iter().collect();
    Some(Starts { unknown, here: list(here), project: list(project), within: None })
}
