//! Ignores relevant environment variables that files of the project set, and refuses a state folder
//! inside the project. Reads no file unless a relevant variable is set.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gambrel_dialects::{Assignment, EnvFile, PROJECT_ENV_FILES};
use gambrel_engine::{MAX_FILE_BYTES, read_text};
use gambrel_model::{Complaint, ReceivedEvent, SourceSpan};

use crate::Setup;
use crate::account::{account_home, real_path};
use crate::path_cache::PathCache;
use crate::setup::find_project;
use crate::setup::project_dir_vars;

/// A longer file cannot be read by a JavaScript program.
const MAX_SETTINGS_BYTES: u64 = 1 << 30;

/// The account's home, read from the user database at its first use.
type AccountHome = LazyCell<Option<PathBuf>>;

/// Variables that gambrel sets for hooks.
const OWN_MARKS: [&str; 3] = ["GAMBREL_FIRING", "GAMBREL_CALL", "GAMBREL_HANDLER"];

/// Why the state folder must not be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// The project could change what gambrel remembers.
    #[error(
        "{variable} puts gambrel's state folder inside the project ({}): name a folder outside of {}",
        folder.display(),
        project.display()
    )]
    InProject {
        /// The variable that names the folder.
        variable: &'static str,
        /// The state folder.
        folder: PathBuf,
        /// The project's folder.
        project: PathBuf,
    },
}

impl Setup {
    /// Removes variables that a project file sets to their present value, with a complaint about
    /// each. `HOME` is replaced by the home of the user database. The error says why the state
    /// folder must not be used, see [`Self::check_state_dir`].
    pub fn check_environment(&mut self) -> Result<(), StateDirError> {
        if !self.env.iter().any(|(name, value)| is_relevant(name, value)) {
            return Ok(());
        }
        // Most projects have none of these files, and are not below marked folders of the user.
        let home: AccountHome = LazyCell::new(account_home);
        let mut paths = std::mem::take(&mut *self.lock_path_cache());
        let root = paths.canonicalize(self.unresolved_root(None));
        let project = find_own_project(&root, &home, &mut paths);
        let mut folders = vec![project.clone(), root];
        folders.dedup();
        let files = |folder| PROJECT_ENV_FILES.iter().map(move |file| (folder, file));
        for (folder, file) in folders.iter().flat_map(files) {
            // The search for the project has looked for most folders of these files.
            let head = file.name.split('/').next().unwrap_or_default();
            if paths.is_known_absent(&folder.join(head)) {
                continue;
            }
            let path = folder.join(file.name);
            let assignments = self.read_assignments(&path, file);
            // Files in the user's home belong to the user.
            if assignments.is_empty() || Some(folder) == home.as_ref() {
                continue;
            }
            for Assignment { name, value } in assignments {
                self.ignore_variable(&path, &name, value.as_deref(), home.as_deref());
            }
        }
        *self.lock_path_cache() = paths;
        self.check_outside(&project)
    }

    /// The assignments of a file. A file that only others can read may set any variable.
    fn read_assignments(&self, path: &Path, file: &EnvFile) -> Vec<Assignment> {
        match read_text(path) {
            Ok(text) => text.map(|text| (file.read)(&text)).unwrap_or_default(),
            Err(_) if !others_can_read(path, file) => Vec::new(),
            Err(_) => {
                let ours = self.env.iter().filter(|(name, value)| is_relevant(name, value));
                let any = |(name, _): (&String, _)| Assignment { name: name.clone(), value: None };
                ours.map(any).collect()
            }
        }
    }

    fn ignore_variable(
        &mut self,
        path: &Path,
        name: &str,
        value: Option<&str>,
        home: Option<&Path>,
    ) {
        let Some(own) = self.env.get(name).filter(|own| value.is_none_or(|value| value == *own))
        else {
            return;
        };
        if !is_ours(name) || only_tightens(name, own) {
            return;
        }
        let env = Arc::make_mut(&mut self.env);
        env.remove(name);
        if let Some(home) = home.filter(|_| name == "HOME") {
            env.insert(name.to_owned(), home.display().to_string());
        }
        let message = format!("sets `{name}`, so gambrel ignores this variable");
        let complaint = Complaint::warning(SourceSpan::of_file(path), message)
            .with_help("a project has no say in it; take it out of the file and set it yourself");
        self.complaints.push(Complaint { reported_by_fire: true, ..complaint });
    }

    /// Refuses a state folder that the environment names and that is inside the event's project.
    /// The default folder is never refused.
    pub fn check_state_dir(&self, event: &ReceivedEvent) -> Result<(), StateDirError> {
        let is_named =
            self.folder.is_some() || project_dir_vars().any(|name| self.env.contains_key(name));
        if is_named || self.cwd.join(event.cwd()) == self.cwd {
            return Ok(());
        }
        if self.state_variable().is_none() {
            return Ok(());
        }
        self.check_outside(&self.search_roots(Some(event)).project)
    }

    /// The variable that names the state folder.
    fn state_variable(&self) -> Option<&'static str> {
        let is_set = |name: &&str| self.env.get(*name).is_some_and(|value| !value.is_empty());
        ["GAMBREL_STATE_DIR", "XDG_STATE_HOME"].into_iter().find(is_set)
    }

    fn check_outside(&self, project: &Path) -> Result<(), StateDirError> {
        let Some(variable) = self.state_variable() else { return Ok(()) };
        let Some(folder) = self.state_dir().filter(|_| !self.in_memory) else { return Ok(()) };
        let home = self.home();
        let is_default = |home: &PathBuf| folder == home.join(".local/state/gambrel");
        if home.as_ref().is_some_and(is_default) || !real_path(&folder).starts_with(project) {
            return Ok(());
        }
        if home.is_some_and(|home| real_path(&home).starts_with(project)) {
            return Ok(());
        }
        Err(StateDirError::InProject { variable, folder, project: project.to_path_buf() })
    }
}

/// As [`find_project`] with the account's home, which is looked up only if a marked folder may be
/// the home or above it.
fn find_own_project(root: &Path, home: &AccountHome, paths: &mut PathCache) -> PathBuf {
    let nearest = find_project(root, None, paths);
    if nearest == root {
        return nearest;
    }
    let is_between = |home: &PathBuf| home.starts_with(&nearest) && root.starts_with(home);
    if home.as_ref().is_some_and(is_between) { root.to_owned() } else { nearest }
}

/// Whether another program can read a file that gambrel cannot.
fn others_can_read(path: &Path, file: &EnvFile) -> bool {
    let Ok(known) = std::fs::metadata(path) else { return false };
    let is_large = known.len() > MAX_FILE_BYTES && known.len() < MAX_SETTINGS_BYTES;
    if file.is_shell { !known.is_dir() } else { known.is_file() && is_large }
}

/// Whether a project could gain by setting this variable.
fn is_relevant(name: &str, value: &str) -> bool {
    match name {
        "HOME" => !is_usual_home(value),
        _ if name.starts_with("XDG_") => name.ends_with("_HOME"),
        _ => is_ours(name) && !only_tightens(name, value),
    }
}

fn is_ours(name: &str) -> bool {
    let prefix = name == "HOME" || name.starts_with("XDG_") || name.starts_with("GAMBREL_");
    prefix && !OWN_MARKS.contains(&name)
}

/// Whether this is a usual home. Only root creates folders there, so a project cannot name one.
fn is_usual_home(home: &str) -> bool {
    let below = home.strip_prefix("/home/").map(|name| name.trim_end_matches('/'));
    home == "/root" || below.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// Whether a value can only make gambrel stricter.
fn only_tightens(name: &str, value: &str) -> bool {
    let on = ["1", "true", "yes", "on"].contains(&value.to_lowercase().as_str());
    match name {
        "GAMBREL_STRICT" | "GAMBREL_ISOLATE" => on,
        "GAMBREL_TRUST" => ["none", "store"].contains(&value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{AccountHome, find_own_project, is_relevant};
    use crate::path_cache::PathCache;
    use crate::setup::find_project;

    fn test_folder() -> PathBuf {
        std::env::temp_dir().join(format!("own-project-{}", std::process::id()))
    }

    fn test_home() -> Option<PathBuf> {
        Some(test_folder().join("home"))
    }

    /// Looking the home up late finds the same project as looking it up first.
    #[test]
    fn a_late_look_at_the_home_changes_no_project() {
        let base = test_folder();
        let folders = ["", "home", "home/work", "home/work/deep", "other/deep"];
        for marked in 0..1_u32 << folders.len() {
            for (at, folder) in folders.iter().enumerate() {
                std::fs::create_dir_all(base.join(folder)).unwrap();
                if marked & (1 << at) != 0 {
                    std::fs::create_dir_all(base.join(folder).join(".git")).unwrap();
                }
            }
            for folder in folders {
                let root = base.join(folder);
                let home = AccountHome::new(test_home);
                let late = find_own_project(&root, &home, &mut PathCache::default());
                let first = find_project(&root, test_home().as_deref(), &mut PathCache::default());
                assert_eq!(late, first, "{folder}, marked {marked:b}");
            }
            std::fs::remove_dir_all(&base).unwrap();
        }
    }

    #[test]
    fn an_ordinary_environment_makes_nobody_look() {
        let ordinary = [
            ("HOME", "/home/ann"),
            ("HOME", "/root"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("XDG_SESSION_ID", "2"),
            ("PATH", "/bin"),
            ("GAMBREL_FIRING", "1"),
            ("GAMBREL_STRICT", "1"),
            ("GAMBREL_TRUST", "none"),
        ];
        for (name, value) in ordinary {
            assert!(!is_relevant(name, value), "{name}={value}");
        }
        let special = [
            ("HOME", "/home/ann/project"),
            ("HOME", "/tmp/x"),
            ("XDG_STATE_HOME", "/x"),
            ("XDG_CONFIG_HOME", "/x"),
            ("GAMBREL_TRUST", "all"),
            ("GAMBREL_STRICT", "0"),
        ];
        for (name, value) in special {
            assert!(is_relevant(name, value), "{name}={value}");
        }
    }
}
