//! The process context of a firing: environment, folders, sources named on the command line. Read
//! once at program start.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gambrel_dialects::{DIALECTS, StartPreferences};
use gambrel_engine::{Options, join_name};
use gambrel_model::{Complaint, PublicUrl, ReceivedEvent, SearchRoots, Ticket};
use gambrel_process::settings::SignalPolicy;
use gambrel_process::watchdog_client::WatchdogClient;

use crate::path_cache::PathCache;

/// The context of a program that fires hooks.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The environment that hooks inherit.
    pub env: Arc<BTreeMap<String, String>>,
    /// The working directory of the program.
    pub cwd: PathBuf,
    /// Whether that folder is unknown.
    #[doc(hidden)]
    pub cwd_unknown: bool,
    /// The folder given with `-C`; it takes precedence.
    pub folder: Option<PathBuf>,
    /// Sources named on the command line: option and path.
    pub extra_sources: Vec<(String, PathBuf)>,
    /// Options of firings.
    pub options: Options,
    /// The program that is started again to supervise detached hooks.
    pub supervisor: Option<PathBuf>,
    /// Whether this process adopts orphans of hooks. Only for the gambrel binary.
    #[doc(hidden)]
    pub is_own_process: bool,
    /// What SIGTERM, SIGINT and SIGHUP do while hooks run.
    pub signals: SignalPolicy,
    /// Whether hooks end with this process even when it is killed, as far as the kernel can do that.
    /// Only for a program of its own that runs hooks on its main thread.
    #[doc(hidden)]
    pub kill_with_parent: bool,
    /// The one watchdog of a run: it knows every process before it starts. `None` starts a watchdog
    /// when a hook has run for a while.
    #[doc(hidden)]
    pub watchdog: Option<Arc<WatchdogClient>>,
    /// The native event's name, for a payload that does not name it (`--event`).
    #[doc(hidden)]
    pub event_name: Option<String>,
    /// Whether loading also collects notes.
    #[doc(hidden)]
    pub notes: bool,
    /// Write nothing to disk.
    pub in_memory: bool,
    /// The process whose hooks these are: the parent of this program. `None` is this process, a
    /// host.
    #[doc(hidden)]
    pub caller: Option<u32>,
    /// Complaints about the environment.
    pub complaints: Vec<Complaint>,
    /// Told about every question that waits for a person, in words.
    #[doc(hidden)]
    pub on_question: Option<QuestionNotice>,
    /// Told when a module asks at the terminal, and when it has its answer.
    #[doc(hidden)]
    pub on_terminal: Option<TerminalUse>,
    /// The address of callback links; without it, as the user's `config.yaml` says.
    #[doc(hidden)]
    pub public_url: Option<PublicUrl>,
    /// How hooks are started; without it, as the user's `config.yaml` says.
    #[doc(hidden)]
    pub start: Option<StartPreferences>,
    /// Lookups of `check_environment`, for the next call of `search_roots` only.
    #[doc(hidden)]
    pub path_cache: Arc<Mutex<PathCache>>,
}

type TellQuestion = dyn Fn(&Ticket, &str) + Send + Sync;

/// Tells somebody about a question that waits.
#[derive(Clone)]
pub struct QuestionNotice(
    #[cfg_attr(
        not(any(feature = "http", feature = "js")),
        expect(dead_code, reason = "only modules and requests ask")
    )]
    Arc<TellQuestion>,
);

impl QuestionNotice {
    /// A notice that calls a function with the question, and with one line about it.
    pub fn new(tell: impl Fn(&Ticket, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    #[cfg(any(feature = "http", feature = "js"))]
    pub(crate) fn send(&self, ticket: &Ticket, is_served: bool) {
        (self.0)(ticket, &crate::question_facts::describe_wait(ticket, is_served));
    }
}

impl fmt::Debug for QuestionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuestionNotice")
    }
}

/// Told `true` before a module uses the terminal, and `false` afterwards.
#[derive(Clone)]
pub struct TerminalUse(
    #[cfg_attr(not(feature = "js"), expect(dead_code, reason = "only modules ask"))]
    Arc<dyn Fn(bool) + Send + Sync>,
);

impl TerminalUse {
    /// Calls a function.
    pub fn new(tell: impl Fn(bool) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    #[cfg(feature = "js")]
    pub(crate) fn report(&self, is_used: bool) {
        (self.0)(is_used);
    }
}

impl fmt::Debug for TerminalUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TerminalUse")
    }
}

impl Setup {
    /// The context of this process.
    pub fn from_env() -> Self {
        let env = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let cwd = std::env::current_dir().ok().or_else(nearest_existing_ancestor);
        let (cwd_unknown, cwd) = (cwd.is_none(), cwd.unwrap_or_else(|| PathBuf::from("/")));
        let setup = Self { env: Arc::new(env.collect()), cwd, cwd_unknown, ..Self::default() };
        if !cwd_unknown {
            // As the kernel knows it.
            setup.lock_path_cache().add_real(&setup.cwd);
        }
        setup
    }

    /// The context of this process for one folder, without files on disk.
    pub fn in_memory(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), in_memory: true, ..Self::from_env() }
    }
}

// For the command line of this workspace, which is built with the same version.
#[doc(hidden)]
impl Setup {
    /// Has one watchdog know every process before it starts. For a program that runs for long.
    pub fn share_watchdog(&mut self) {
        self.watchdog = Some(Arc::new(WatchdogClient::new(self.supervisor.clone())));
    }

    pub(crate) fn lock_path_cache(&self) -> MutexGuard<'_, PathCache> {
        self.path_cache.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The file that lists processes that run hooks.
    pub fn running_file(&self) -> Option<PathBuf> {
        Some(self.state_dir().filter(|_| !self.in_memory)?.join("running"))
    }

    /// Where the user's configuration is.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.absolute_var("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// How hooks are started: `isolate` and `verified_exec` in the user's `config.yaml`;
    /// `GAMBREL_ISOLATE` overrides the former. Project files have no effect.
    pub fn start_preferences(&self) -> StartPreferences {
        if let Some(known) = self.start {
            return known;
        }
        let mut asked = gambrel_dialects::start_preferences(&self.read_preferences());
        if let Some(word) = self.env_var("GAMBREL_ISOLATE") {
            asked.isolate = !["0", "false", "no", "off"].contains(&word);
        }
        asked
    }

    /// The address under which other machines reach callback links, if there is one. Reads a file.
    pub fn public_url(&self) -> Option<PublicUrl> {
        let configured = || gambrel_dialects::public_url(&self.read_preferences());
        self.public_url.clone().or_else(configured)
    }

    /// The text of the user's `config.yaml`.
    pub(crate) fn read_preferences(&self) -> String {
        let folder = self.config_home().map(|home| home.join("gambrel"));
        let bytes = folder.and_then(|folder| self.read_config(&folder)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads a file that dialects read, too. If it does not exist, they need not look for it.
    fn read_config(&self, folder: &Path) -> Option<Vec<u8>> {
        if self.is_known_absent(folder) {
            return None;
        }
        let file = folder.join("config.yaml");
        let read = std::fs::read(&file);
        let is_absent = || read.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if self.is_own_process && is_absent() {
            self.lock_path_cache().add_absent(file);
        }
        read.ok()
    }

    /// Looks once for a folder of which several files are read. A library host may read them much
    /// later, so nothing is remembered there.
    fn is_known_absent(&self, folder: &Path) -> bool {
        self.is_own_process && {
            let mut paths = self.lock_path_cache();
            !paths.exists(folder.to_owned()) && paths.is_known_absent(folder)
        }
    }

    /// Files whose values never leave the user's scope, without those of folders that do not exist.
    pub fn secrets_files(&self) -> Vec<PathBuf> {
        let Some(home) = self.config_home() else { return Vec::new() };
        let folders = ["gambrel", "agent-pipelines"].map(|name| home.join(name));
        let folders = folders.into_iter().filter(|folder| !self.is_known_absent(folder));
        folders.map(|folder| folder.join("secrets.env")).collect()
    }

    /// Detects once how modules can ask the user, and stores it in `GAMBREL_UI`.
    pub(crate) fn detect_ui(&mut self) {
        #[cfg(feature = "js")]
        {
            let way = crate::modules::select_ui(self).to_owned();
            Arc::make_mut(&mut self.env).insert("GAMBREL_UI".to_owned(), way);
        }
    }

    /// Whether a person looks at questions: as `GAMBREL_UI` says; without a word if stderr is a
    /// terminal.
    pub fn can_ask(&self) -> bool {
        match self.env_var("GAMBREL_UI") {
            Some("page" | "tty") => true,
            Some("none") => false,
            _ => std::io::stderr().is_terminal(),
        }
    }

    /// The command that runs a pipeline: `GAMBREL_RUNNER`, else `run` of this program.
    pub fn runner_command(&self) -> Vec<String> {
        if let Some(words) = self.env_var("GAMBREL_RUNNER") {
            return words.split_whitespace().map(str::to_owned).collect();
        }
        let program = self.supervisor.as_ref().map(|path| path.display().to_string());
        vec![program.unwrap_or_else(|| "gambrel".into()), "run".into()]
    }

    /// The folder given with `-C`, else the working directory.
    pub fn working_dir(&self) -> PathBuf {
        self.folder.as_ref().map_or_else(|| self.cwd.clone(), |folder| self.cwd.join(folder))
    }

    /// The project's root: `-C`, else the host's variable, else the event's folder if it exists,
    /// else the process's.
    pub fn project_root(&self, event: Option<&ReceivedEvent>) -> PathBuf {
        let root = self.unresolved_root(event);
        std::fs::canonicalize(&root).unwrap_or(root)
    }

    pub(crate) fn unresolved_root(&self, event: Option<&ReceivedEvent>) -> PathBuf {
        let named = self.folder.as_ref().map(|folder| self.cwd.join(folder));
        named
            .or_else(|| project_dir_vars().find_map(|name| self.absolute_var(name)))
            .or_else(|| event.map(|event| self.cwd.join(event.cwd())).filter(|dir| dir.is_dir()))
            .unwrap_or_else(|| self.cwd.clone())
    }

    /// The project of the working directory. The next search for configuration does not look again
    /// where this one has looked.
    pub fn find_working_project(&self) -> PathBuf {
        let home = self.home();
        let root = self.unresolved_root(None);
        let mut paths = self.lock_path_cache();
        let root = paths.canonicalize(root);
        let home = home.map(|home| paths.canonicalize(home));
        find_project(&root, home.as_deref(), &mut paths)
    }

    /// The folders in which configuration is searched. Paths on the command line are relative to
    /// `-C`.
    pub fn search_roots(&self, event: Option<&ReceivedEvent>) -> SearchRoots {
        let absolute = |(word, path): &(String, PathBuf)| {
            let at_home =
                self.home().and_then(|home| Some(home.join(path.strip_prefix("~").ok()?)));
            (
                word.clone(),
                canonicalize_parent(at_home.unwrap_or_else(|| self.working_dir().join(path))),
            )
        };
        let mut paths = self.lock_path_cache().take_for_load();
        let root = paths.canonicalize(self.unresolved_root(event));
        let home = self.home().map(|home| paths.canonicalize(home));
        SearchRoots {
            project: find_project(&root, home.as_deref(), &mut paths),
            known_paths: paths.into_known_paths(),
            root,
            home,
            config_home: self.config_home(),
            env: Arc::clone(&self.env),
            extra_sources: self.extra_sources.iter().map(absolute).collect(),
            notes: None,
        }
    }
}

/// Variables by which hosts name the project's folder.
pub(crate) fn project_dir_vars() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().flat_map(|dialect| dialect.properties.project_dir_vars).copied()
}

/// The nearest existing folder above a deleted working directory; its hooks still run.
fn nearest_existing_ancestor() -> Option<PathBuf> {
    let named = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let above = named.iter().flat_map(|path| path.ancestors()).find(|path| path.is_dir());
    above.map(Path::to_owned)
}

/// Resolves links in the folder of a path. The file itself may be a link, because it names files
/// beside the link.
fn canonicalize_parent(path: PathBuf) -> PathBuf {
    let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The nearest folder that has hooks or a repository, from the root upwards; not home itself.
pub(crate) fn find_project(root: &Path, home: Option<&Path>, paths: &mut PathCache) -> PathBuf {
    let markers = || {
        let of_dialects = DIALECTS.iter().flat_map(|dialect| dialect.properties.project_markers);
        of_dialects.copied().chain([".git"])
    };
    let mut is_marked =
        |folder: &&Path| markers().any(|mark| paths.exists(join_name(folder, mark.as_ref())));
    let mut folders = root.ancestors().take_while(|folder| home != Some(*folder));
    folders.find(|folder| is_marked(folder)).unwrap_or(root).to_owned()
}
