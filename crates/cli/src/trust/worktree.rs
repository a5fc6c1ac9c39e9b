//! Finds hooks that the user trusted in another worktree of the same repository.

use std::fs;
use std::path::{Path, PathBuf};

use gambrel_engine::TRUST_RULES;
use gambrel_model::{TrustEntries, TrustEntry};

use super::TrustRow;

/// Another worktree in which an identical hook is trusted. A hook that runs files gambrel cannot
/// see is never identical.
pub fn find_identical_hook(row: &TrustRow<'_>, entries: &TrustEntries) -> Option<PathBuf> {
    let record = &row.record;
    if !record.opaque.is_empty() {
        return None;
    }

    let own = common_dir(Path::new(&record.root))?;
    let file = fs::canonicalize(&row.hook.draft.source.spot.path).ok()?;
    let place = file.strip_prefix(&record.root).ok()?;
    let same = |(key, other): &(&String, &TrustEntry)| {
        let root = Path::new(&other.root);
        let there = root.join(place);
        !other.denied
            && other.rules == TRUST_RULES
            && other.opaque.is_empty()
            && other.root != record.root
            && other.definition == record.definition
            && other.files == record.files
            && other.globs == record.globs
            && key.starts_with(&format!("{}#{}#", there.display(), row.hook.draft.event))
            && common_dir(root).as_ref() == Some(&own)
    };
    entries.iter().find(same).map(|(_, other)| PathBuf::from(&other.root))
}

/// The folder that all worktrees of a repository share, read from `.git`.
fn common_dir(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return fs::canonicalize(git).ok();
    }

    let text = fs::read_to_string(git).ok()?;
    let own = root.join(text.trim().strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    fs::canonicalize(own.join(common.trim())).ok()
}
