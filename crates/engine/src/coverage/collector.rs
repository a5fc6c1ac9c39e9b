//! What was found so far: files, names without a file, patterns, and what cannot be seen. It keeps
//! the bounds and knows nothing of shells.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use gambrel_model::text::{join_lines, truncate_chars};

use super::definition::Surroundings;
use super::glob::expand_glob;
use super::value::escape_glob;
use crate::covered::{Fingerprint, HookFile};

/// A hook is not made of more files than this.
const MAX_FILE_COUNT: usize = 512;
/// Scripts that load scripts are followed so deep.
pub(super) const MAX_SCRIPT_DEPTH: usize = 8;
/// Commands that are looked at for one hook.
const MAX_STEP_COUNT: usize = 20_000;
/// A script that is started in several ways is read so often.
const MAX_VISIT_COUNT: usize = 4;
const MAX_REASON_COUNT: usize = 16;
const MAX_REASON_CHARS: usize = 160;

/// What a hook is made of.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Files, sorted by path. A name without a file is among them.
    pub files: Vec<CoveredFile>,
    /// Patterns from the project's folder, each with the files that fit it.
    pub globs: BTreeMap<String, Vec<PathBuf>>,
    /// What runs and cannot be seen, in words.
    pub opaque: Vec<String>,
    /// Whether it is the same wherever the hook runs, for the same project.
    pub anchored: bool,
}

/// One file of a hook.
#[derive(Debug)]
pub struct CoveredFile {
    /// Where it is.
    pub path: PathBuf,
    /// As it is now; `None` when no file is there.
    pub(crate) part: Option<HookFile>,
    /// Whether its name can only be a path.
    pub(crate) sure: bool,
}

impl CoveredFile {
    /// Its bytes, unless it is missing, too large or not readable.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.part.as_ref()?.mark {
            Fingerprint::Bytes(bytes) => Some(bytes),
            Fingerprint::State(_) => None,
        }
    }

    /// Whether no file is there.
    pub fn is_absent(&self) -> bool {
        self.part.is_none()
    }
}

/// How a name was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// It is run or loaded: counts also where no file is there yet.
    Code,
    /// It is handed to a program: counts where a file is there.
    Argument,
    /// It stands behind something unknown, or in a text of another language.
    Guess,
}

struct Found {
    part: Option<Rc<HookFile>>,
    sure: bool,
}

/// Gathers what a hook is made of.
pub(super) struct Collector<'s> {
    pub around: &'s Surroundings,
    files: BTreeMap<PathBuf, Found>,
    globs: BTreeMap<String, Vec<PathBuf>>,
    reasons: Vec<String>,
    visits: BTreeMap<PathBuf, usize>,
    steps: usize,
    /// The scripts that are being read, outermost first.
    scripts: Vec<PathBuf>,
}

impl<'s> Collector<'s> {
    pub fn new(around: &'s Surroundings) -> Self {
        Self {
            around,
            files: BTreeMap::new(),
            globs: BTreeMap::new(),
            reasons: Vec::new(),
            visits: BTreeMap::new(),
            steps: 0,
            scripts: Vec::new(),
        }
    }

    /// Notes something that runs and cannot be seen.
    pub fn cannot_see(&mut self, what: &str) {
        let what = join_lines(what);
        let what = match self.scripts.last() {
            Some(script) => format!("{}: {what}", self.around.display_path(script).display()),
            None => what,
        };
        let what = truncate_chars(&what, MAX_REASON_CHARS, "…");
        if self.reasons.len() < MAX_REASON_COUNT && !self.reasons.contains(&what) {
            self.reasons.push(what);
        }
    }

    /// Whether there is time for one more command.
    pub fn may_step(&mut self) -> bool {
        self.steps += 1;
        if self.steps == MAX_STEP_COUNT {
            self.cannot_see("more commands than gambrel reads");
        }
        self.steps < MAX_STEP_COUNT
    }

    /// Whether a name counts: a relative one always, an absolute one inside of the project.
    fn is_covered(&self, path: &Path, relative: bool) -> bool {
        relative || self.around.is_inside(path)
    }

    /// Takes a name. Returns the file that it leads to.
    pub fn add_file(&mut self, path: &Path, relative: bool, naming: Naming) -> Option<PathBuf> {
        if !self.is_covered(path, relative) || path.as_os_str().len() > 4_096 {
            return None;
        }
        // The kernel follows a link before `..`, the text alone does not.
        if path.components().any(|part| part == Component::ParentDir)
            && let Ok(real) = fs::canonicalize(path)
            && real != normalize_path(path)
        {
            return self.add_file(&real, true, naming);
        }
        let path = normalize_path(path);
        let sure = naming != Naming::Guess;
        if let Some(known) = self.files.get_mut(&path) {
            known.sure |= sure;
            return known.part.is_some().then_some(path);
        }
        let is_file = path.is_file();
        if !is_file && naming != Naming::Code {
            return None;
        }
        if self.files.len() >= MAX_FILE_COUNT {
            self.cannot_see(&format!("more than {MAX_FILE_COUNT} files"));
            return None;
        }
        let part = is_file.then(|| Rc::new(HookFile::read_file(path.clone())));
        self.files.insert(path.clone(), Found { part, sure });
        is_file.then_some(path)
    }

    /// Takes all files of a pattern, and the pattern itself. Returns the files.
    pub fn add_glob(&mut self, pattern: &str, folder: &Path, relative: bool) -> Vec<PathBuf> {
        let start = Path::new(pattern.split(['*', '?', '[']).next().unwrap_or_default());
        if !self.is_covered(&folder.join(start), relative) {
            return Vec::new();
        }
        let Some(files) = expand_glob(pattern, folder) else {
            self.cannot_see(&format!("`{pattern}` leads to more files than gambrel reads"));
            return Vec::new();
        };
        let files: Vec<PathBuf> = files.iter().map(|file| normalize_path(file)).collect();
        for file in &files {
            self.add_file(file, true, Naming::Code);
        }
        let absolute = match pattern.starts_with('/') {
            true => pattern.to_owned(),
            false => format!("{}/{pattern}", escape_glob(&folder.display().to_string())),
        };
        self.globs.insert(absolute, files.clone());
        files
    }

    /// The bytes of a file that was added.
    pub fn find_part(&self, path: &Path) -> Option<Rc<HookFile>> {
        self.files.get(path)?.part.clone()
    }

    /// Begins to read a script. False when it has been read, or is too deep.
    pub fn enter_script(&mut self, path: &Path) -> bool {
        if self.scripts.len() >= MAX_SCRIPT_DEPTH {
            self.cannot_see(&format!(
                "what `{}` loads: deeper than {MAX_SCRIPT_DEPTH} scripts",
                self.around.display_path(path).display()
            ));
            return false;
        }
        let visits = self.visits.entry(path.to_owned()).or_default();
        *visits += 1;
        if *visits > MAX_VISIT_COUNT || self.scripts.iter().any(|script| script == path) {
            return false;
        }
        self.scripts.push(path.to_owned());
        true
    }

    pub fn leave_script(&mut self) {
        self.scripts.pop();
    }

    /// All that was found.
    pub fn into_coverage(self) -> Coverage {
        let file = |(path, found): (PathBuf, Found)| {
            let part = found.part.map(Rc::unwrap_or_clone);
            CoveredFile { path, part, sure: found.sure }
        };
        Coverage {
            files: self.files.into_iter().map(file).collect(),
            globs: self.globs,
            opaque: self.reasons,
            anchored: false,
        }
    }
}

/// A path without `.` and `..`, by its text alone.
pub(crate) fn normalize_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
