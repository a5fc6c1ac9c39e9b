//! Where a dialect's configuration may be, and what was found there. A dialect names places; the
//! engine looks; the dialect reads what was found. So dialects stay free of I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::complaint::SourceSpan;
use crate::hook::{Scope, Source};

/// The folders and names from which every place follows.
#[derive(Debug, Clone, Default)]
pub struct SearchRoots {
    /// The folder that the firing is about.
    pub root: PathBuf,
    /// The project's folder: the nearest that has hooks or a repository, from the root upwards.
    pub project: PathBuf,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's configuration folder.
    pub config_home: Option<PathBuf>,
    /// The caller's environment.
    pub env: Arc<BTreeMap<String, String>>,
    /// What the command line named: option word (`plugin`, `settings`, `hook` …) and path.
    pub extra_sources: Vec<(String, PathBuf)>,
    /// Set where notes are wanted besides complaints: the names that the user's secrets have.
    pub notes: Option<Arc<BTreeSet<String>>>,
    /// Paths that were looked up already, and whether a file exists there.
    pub known_paths: Vec<(PathBuf, bool)>,
}

impl SearchRoots {
    /// Paths that the command line gave under one option.
    pub fn sources_for<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a PathBuf> {
        self.extra_sources.iter().filter(move |(word, _)| word == option).map(|(_, path)| path)
    }

    /// A variable that is set and not empty.
    pub fn env_var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// One place to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigPath {
    /// Absolute; or relative, and looked for from the root upwards to the repository's root or
    /// home, nearest first.
    pub path: PathBuf,
    /// Whose hooks are there.
    pub scope: Scope,
    /// What is expected there.
    pub expect: Expect,
    /// A word for the dialect itself, to know its places apart.
    pub tag: &'static str,
}

/// What is expected at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A file whose text is read.
    File,
    /// A folder whose files are listed.
    Dir,
    /// A folder with many texts: its own files of an ending (`*.md`), or one file in each of its
    /// folders (`*/SKILL.md`). Each is found on its own.
    Glob(&'static str),
}

/// A place that exists.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    /// The place, with its path made absolute.
    pub place: ConfigPath,
    /// The folder that a relative place was found under; else the file's own folder.
    pub base: PathBuf,
    /// The text of a file.
    pub text: String,
    /// What stands in a folder, sorted by name.
    pub entries: Vec<DirEntry>,
}

impl LoadedFile {
    /// The source of a hook that is written here.
    pub fn source_at(&self, spot: SourceSpan) -> Source {
        Source { spot, scope: self.place.scope, base: self.base.clone() }
    }
}

/// Something in a listed folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Whether it may be executed.
    pub executable: bool,
    /// Whether it is a plain file, and not a folder, a pipe or a link that leads nowhere.
    pub is_file: bool,
    /// Whether it is a pipe, a socket or a device, which somebody put in the place of a file.
    pub special: bool,
}
