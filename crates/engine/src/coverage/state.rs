//! What a shell knows at a point of its text: variables, arguments, functions, and the folder that
//! it stands in. Where the text leaves several possibilities, it knows all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rable::Node;

use super::collector::normalize_path;
use super::value::{Fields, Text};

/// More possibilities than these are as good as unknown.
pub(super) const MAX_ALTERNATIVES: usize = 32;
const MAX_FOLDERS: usize = 8;

/// The state of a shell.
#[derive(Clone, Default)]
pub(super) struct ShellState {
    /// Possible values of variables. One that is not here comes from the environment.
    pub vars: BTreeMap<String, Vec<Fields>>,
    /// Variables that programs see.
    pub exported: BTreeSet<String>,
    /// Whether they see all (`set -a`).
    pub exports_all: bool,
    /// `$1` and further, where they are known.
    pub args: Option<Fields>,
    /// `$0`, where it is a file.
    pub script: Option<PathBuf>,
    /// The file that the text is in.
    pub source: Option<PathBuf>,
    /// The folders that it may stand in.
    pub folders: Vec<PathBuf>,
    /// Whether it can stand in no other folder.
    pub folder_known: bool,
    /// The folders that `pushd` left.
    pub left_folders: Vec<Vec<PathBuf>>,
    pub functions: BTreeMap<String, Rc<Node>>,
    /// Where Python looks for modules, while a script of it is read.
    pub python_path: Vec<PathBuf>,
    /// Calls of functions inside of each other.
    pub call_depth: usize,
}

impl ShellState {
    pub fn in_folder(folder: &Path) -> Self {
        Self { folders: vec![folder.to_owned()], folder_known: true, ..Self::default() }
    }

    pub fn set_variable(&mut self, name: &str, mut values: Vec<Fields>) {
        values.dedup();
        if values.len() > MAX_ALTERNATIVES {
            values = vec![vec![Text::unknown()]];
        }
        self.vars.insert(name.to_owned(), values);
    }

    pub fn set_unknown(&mut self, name: &str) {
        self.set_variable(name, vec![vec![Text::unknown()]]);
    }

    /// What holds after one of two ways through a text.
    pub fn merge_state(&mut self, other: Self) {
        let names: BTreeSet<String> = self.vars.keys().chain(other.vars.keys()).cloned().collect();
        for name in names {
            let unset = || vec![vec![Text::unknown()]];
            let mut values = self.vars.get(&name).cloned().unwrap_or_else(unset);
            for value in other.vars.get(&name).cloned().unwrap_or_else(unset) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            self.set_variable(&name, values);
        }
        if self.args != other.args {
            self.args = None;
        }
        for folder in other.folders {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        self.folder_known &= other.folder_known && self.folders.len() <= MAX_FOLDERS;
        self.folders.truncate(MAX_FOLDERS);
        self.exported.extend(other.exported);
        self.exports_all |= other.exports_all;
        for (name, body) in other.functions {
            self.functions.entry(name).or_insert(body);
        }
    }

    /// The state of a shell that this one starts on a script.
    pub fn child_shell(&self) -> Self {
        let seen = |name: &String| self.exports_all || self.exported.contains(name);
        let vars = self.vars.iter().filter(|(name, _)| seen(name));
        Self {
            vars: vars.map(|(name, values)| (name.clone(), values.clone())).collect(),
            exported: self.exported.clone(),
            folders: self.folders.clone(),
            folder_known: self.folder_known,
            ..Self::default()
        }
    }

    /// `cd`: to each of these from each folder that it may stand in.
    pub fn change_folder(&mut self, targets: &[Text]) {
        let mut folders = Vec::new();
        let mut known = self.folder_known;
        for target in targets {
            let Some(target) = target.as_known() else {
                known = false;
                continue;
            };
            for folder in &self.folders {
                let to = normalize_path(&folder.join(target));
                if !to.is_dir() {
                    // It stays where it is, or the folder is made before it runs.
                    folders.push(folder.clone());
                }
                folders.push(to);
            }
        }
        if folders.is_empty() {
            folders.clone_from(&self.folders);
        }
        folders.dedup();
        folders.truncate(MAX_FOLDERS);
        (self.folders, self.folder_known) = (folders, known);
    }

    /// The folders of a variable like `PATH`, in order, and whether more of them are unknown.
    pub fn path_folders(&self, name: &str) -> (Vec<PathBuf>, bool) {
        const UNKNOWN: char = '\u{e000}';
        let mut folders = Vec::new();
        let mut has_unknown = false;
        for value in self.vars.get(name).into_iter().flatten().flatten() {
            let shown = value.with_marks(UNKNOWN);
            for entry in shown.split(':').filter(|entry| *entry != INHERITED_PATH) {
                if entry.contains(UNKNOWN) {
                    has_unknown = true;
                    continue;
                }
                folders.extend(self.folders.iter().map(|here| normalize_path(&here.join(entry))));
            }
        }
        (folders, has_unknown)
    }
}

/// Stands for the `PATH` that the hook is started with.
pub(super) const INHERITED_PATH: &str = "\u{e001}";
