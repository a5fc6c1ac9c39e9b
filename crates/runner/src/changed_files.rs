//! Which files of the project an iteration changed: the state of the git work tree before and
//! after it. Without git, nothing is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::folder::write_json;
use crate::plan::hash_text;

/// Folders of runs, whose files are not the project's.
pub const RUN_FOLDERS: [&str; 2] = [".gambrel/runs/", ".claude/pipeline-runs/"];
/// The largest file whose content is compared.
const MAX_COMPARED_BYTES: u64 = 16 << 20;

/// The file in an iteration's folder with the state before it.
const STORED_FILE: &str = "work-tree.json";

/// The state of a work tree. Paths are relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTree {
    commit: String,
    dirty: BTreeMap<String, Fingerprint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fingerprint {
    Gone,
    Content(String),
    Size(u64),
}

/// Runs git in the project with some arguments; `None` if it fails.
pub type RunGit<'g> = dyn Fn(&[&str]) -> Option<Vec<u8>> + 'g;

impl WorkTree {
    /// The state now; `None` outside a repository.
    pub fn read(project: &Path, run_git: &RunGit<'_>) -> Option<Self> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
        let status = run_git(&status)?;
        let commit = run_git(&["rev-parse", "--verify", "--quiet", "HEAD"]).unwrap_or_default();
        let prefix = read_prefix(run_git);
        let entries = status.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
        let dirty = entries.filter_map(|path| {
            let path = String::from_utf8_lossy(path);
            let path = path.strip_prefix(prefix.as_str())?.to_owned();
            let fingerprint = read_fingerprint(&project.join(&path));
            Some((path, fingerprint))
        });
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        Some(Self { commit, dirty: dirty.collect() })
    }

    /// The newest commit; empty before the first one.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Stores the state in an iteration's folder.
    pub fn store(&self, folder: &Path) -> std::io::Result<()> {
        write_json(&folder.join(STORED_FILE), &serde_json::to_value(self).unwrap_or_default())
    }

    /// The stored state of an iteration's folder.
    pub fn load(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(STORED_FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The files that differ between two states, sorted.
    pub fn changed_since(&self, before: &Self, run_git: &RunGit<'_>) -> BTreeSet<String> {
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for path in self.dirty.keys().chain(before.dirty.keys()) {
            if self.dirty.get(path) != before.dirty.get(path) {
                changed.insert(path.clone());
            }
        }
        if self.commit != before.commit && !self.commit.is_empty() && !before.commit.is_empty() {
            let names =
                run_git(&["diff", "--name-only", "--relative", "-z", &before.commit, &self.commit]);
            let names = names.unwrap_or_default();
            let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            changed.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
        changed
    }
}

/// Paths without those of runs, sorted, each once.
pub fn list_changes(paths: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_own = |path: &String| RUN_FOLDERS.iter().any(|folder| path.starts_with(folder));
    let paths = paths.into_iter().map(|path| plain_path(&path));
    let paths: BTreeSet<String> = paths.filter(|path| !path.is_empty() && !is_own(path)).collect();
    paths.into_iter().collect()
}

/// A path as git writes it, without `.` parts.
fn plain_path(path: &str) -> String {
    let parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().display().to_string()
}

/// The project's folder inside the repository, with a slash at the end; empty for its root.
fn read_prefix(run_git: &RunGit<'_>) -> String {
    let prefix = run_git(&["rev-parse", "--show-prefix"]).unwrap_or_default();
    String::from_utf8_lossy(&prefix).trim_end_matches('\n').to_owned()
}

fn read_fingerprint(path: &Path) -> Fingerprint {
    match fs::symlink_metadata(path) {
        Err(_) => Fingerprint::Gone,
        Ok(known) if known.is_file() && known.len() <= MAX_COMPARED_BYTES => fs::read(path)
            .map_or(Fingerprint::Gone, |bytes| Fingerprint::Content(hash_text(&bytes))),
        Ok(known) => Fingerprint::Size(known.len()),
    }
}
