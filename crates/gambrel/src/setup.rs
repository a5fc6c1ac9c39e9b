//! What a firing is surrounded by: environment, folders, names on the command line. Read once at
//! the rim; everything behind it gets values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gambrel_dialects::StartPreferences;
use gambrel_engine::Options;
use gambrel_model::{Complaint, Event, SearchRoots};

/// The surroundings of a program that fires hooks.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The environment that hooks inherit.
    pub env: Arc<BTreeMap<String, String>>,
    /// The folder that the program stands in.
    pub cwd: PathBuf,
    /// Whether that folder cannot be told.
    pub cwd_unknown: bool,
    /// The folder that was asked for (`-C`), which wins over everything.
    pub folder: Option<PathBuf>,
    /// What the command line named: option word and path.
    pub extra_sources: Vec<(String, PathBuf)>,
    /// How firings are to be done.
    pub options: Options,
    /// The program that is started again to supervise hooks that nobody waits for.
    pub supervisor: Option<PathBuf>,
    /// Whether orphans of hooks come to this process. Only for a program of its own.
    pub is_own_process: bool,
    /// Whether hooks end with this process even when it is killed, as far as the kernel can do that.
    /// Only for a program of its own that runs hooks on its main thread.
    pub kill_with_parent: bool,
    /// The native event's name, for a payload that does not name it (`--event`).
    pub event_name: Option<String>,
    /// Whether loading also tells what is only worth a note.
    pub notes: bool,
    /// Keep nothing on disk.
    pub in_memory: bool,
    /// The process whose hooks these are: the host itself, or whoever started this program.
    pub caller: Option<u32>,
    /// What is wrong with the environment itself.
    pub complaints: Vec<Complaint>,
    /// How hooks are started; without it, as the user's `config.yaml` says.
    pub start: Option<StartPreferences>,
}

impl Setup {
    /// The surroundings of this process.
    pub fn from_env() -> Self {
        let env = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let cwd = std::env::current_dir().ok().or_else(nearest_existing_ancestor);
        let (cwd_unknown, cwd) = (cwd.is_none(), cwd.unwrap_or_else(|| PathBuf::from("/")));
        let caller = Some(std::process::id());
        Self { env: Arc::new(env.collect()), cwd, cwd_unknown, caller, ..Self::default() }
    }

    /// The surroundings of this process, for one folder, with a memory that ends with it.
    pub fn in_memory(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), in_memory: true, ..Self::from_env() }
    }

    fn env_var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn absolute_var(&self, name: &str) -> Option<PathBuf> {
        self.env_var(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The user's home.
    pub fn home(&self) -> Option<PathBuf> {
        self.absolute_var("HOME")
    }

    /// Where the ledger is: `GAMBREL_STATE_DIR`, else the state folder of the desktop standard.
    pub fn state_dir(&self) -> Option<PathBuf> {
        let own = self.env_var("GAMBREL_STATE_DIR").map(|dir| self.cwd.join(dir));
        let standard = || self.absolute_var("XDG_STATE_HOME").map(|dir| dir.join("gambrel"));
        own.or_else(standard).or_else(|| Some(self.home()?.join(".local/state/gambrel")))
    }

    /// The file in which processes are entered while they run hooks.
    pub fn running_file(&self) -> Option<PathBuf> {
        Some(self.state_dir().filter(|_| !self.in_memory)?.join("running"))
    }

    /// Where the user's configuration is.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.absolute_var("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// How hooks are started: `isolate` and `verified_exec` in the user's `config.yaml`, and
    /// `GAMBREL_ISOLATE` before the first. No file of a project is asked.
    pub fn start_preferences(&self) -> StartPreferences {
        if let Some(known) = self.start {
            return known;
        }
        let file = self.config_home().map(|home| home.join("gambrel/config.yaml"));
        let text = file.and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
        let mut asked = gambrel_dialects::start_preferences(&String::from_utf8_lossy(&text));
        if let Some(word) = self.env_var("GAMBREL_ISOLATE") {
            asked.isolate = !["0", "false", "no", "off"].contains(&word);
        }
        asked
    }

    /// Files whose values never leave the user's scope.
    pub fn secrets_files(&self) -> Vec<PathBuf> {
        let folders = ["gambrel", "agent-pipelines"];
        let home = self.config_home();
        folders.iter().filter_map(|f| Some(home.as_ref()?.join(f).join("secrets.env"))).collect()
    }

    /// Whether a person can be asked, and how: settled once, and told to whoever wants to know.
    pub(crate) fn detect_ui(&mut self) {
        #[cfg(feature = "js")]
        {
            let way = crate::modules::select_ui(self).to_owned();
            Arc::make_mut(&mut self.env).insert("GAMBREL_UI".to_owned(), way);
        }
    }

    /// The words that run a pipeline: `GAMBREL_RUNNER`, else this program's own `run`.
    pub fn runner_command(&self) -> Vec<String> {
        if let Some(words) = self.env_var("GAMBREL_RUNNER") {
            return words.split_whitespace().map(str::to_owned).collect();
        }
        let program = self.supervisor.as_ref().map(|path| path.display().to_string());
        vec![program.unwrap_or_else(|| "gambrel".into()), "run".into()]
    }

    /// The folder that was asked for, else the one that the program stands in.
    pub fn working_dir(&self) -> PathBuf {
        self.folder.as_ref().map_or_else(|| self.cwd.clone(), |folder| self.cwd.join(folder))
    }

    /// The project's root: `-C`, else CLAUDE_PROJECT_DIR, else the event's folder if it exists,
    /// else the process's.
    pub fn project_root(&self, event: Option<&Event>) -> PathBuf {
        let named = self.folder.as_ref().map(|folder| self.cwd.join(folder));
        let root = named
            .or_else(|| self.absolute_var("CLAUDE_PROJECT_DIR"))
            .or_else(|| event.map(|event| self.cwd.join(&event.cwd)).filter(|dir| dir.is_dir()))
            .unwrap_or_else(|| self.cwd.clone());
        std::fs::canonicalize(&root).unwrap_or(root)
    }

    /// The folders and names from which every place follows. What the command line named is meant
    /// from the folder that it asked for.
    pub fn search_roots(&self, event: Option<&Event>) -> SearchRoots {
        let absolute = |(word, path): &(String, PathBuf)| {
            let at_home =
                self.home().and_then(|home| Some(home.join(path.strip_prefix("~").ok()?)));
            (
                word.clone(),
                canonicalize_parent(at_home.unwrap_or_else(|| self.working_dir().join(path))),
            )
        };
        let root = self.project_root(event);
        let home = self.home().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
        SearchRoots {
            project: find_project(&root, home.as_deref()),
            root,
            home,
            config_home: self.config_home(),
            env: Arc::clone(&self.env),
            extra_sources: self.extra_sources.iter().map(absolute).collect(),
            notes: None,
        }
    }
}

/// What is left of the folder that we stand in, when it was deleted: hooks of the folders above it
/// still count.
fn nearest_existing_ancestor() -> Option<PathBuf> {
    let named = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let above = named.iter().flat_map(|path| path.ancestors()).find(|path| path.is_dir());
    above.map(Path::to_owned)
}

/// One name for a file, however its folder was written. The file itself may be a link: what stands
/// beside the link is meant by what it names.
fn canonicalize_parent(path: PathBuf) -> PathBuf {
    let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The nearest folder that has hooks or a repository, from the root upwards; not home itself.
pub(crate) fn find_project(root: &Path, home: Option<&Path>) -> PathBuf {
    const MARKS: [&str; 5] = [".claude", ".gambrel", ".omp", ".iteratr.hooks.yml", ".git"];
    let marked = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    let found = root.ancestors().take_while(|folder| home != Some(*folder)).find(marked);
    found.unwrap_or(root).to_owned()
}
