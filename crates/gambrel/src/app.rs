//! The composition of the program: dialects, actions and ledger.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gambrel_actions::{
    ChildPipelineAction, RuleAction, Settings, ShellAction, SignalGuard, SignalPolicy,
};
use gambrel_dialects::DIALECTS;
use gambrel_engine::{Candidate, Engine, FireResult, Loaded, Options, load_hooks, now_ms};
use gambrel_ledger::{MemoryLedger, Redactor};
use gambrel_model::{
    Action, Call, CallerContext, Complaint, Decision, Dialect, Job, Ledger, LedgerError, Outcome,
    ReceivedEvent, SearchRoots, SourceSpan, TrustStore, to_hex,
};
use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::Setup;
use crate::lazy_action::LazyAction;
#[cfg(feature = "http")]
use crate::network::web_settings;
use crate::secrets::{UserSecrets, build_redact, read_secrets};

/// First argument of the program when it is started again to import the journal.
const IMPORT_WORD: &str = "__import";

/// The shortest timeout of a host is 1.5 seconds.
const HOSTED_LOCK_TIMEOUT: Duration = Duration::from_millis(500);

/// Hooks of a folder, and everything that firing them needs.
pub struct Gambrel {
    pub(crate) setup: Setup,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) trust_store: Arc<dyn TrustStore>,
    /// Whether the ledger outlives this process.
    pub(crate) is_durable: bool,
    pub(crate) redactor: Option<Arc<Redactor>>,
    pub(crate) actions: Vec<Box<dyn Action>>,
    pub(crate) secrets: OnceLock<UserSecrets>,
}

/// What actions are built of.
pub(crate) struct ActionParts {
    pub(crate) setup: Setup,
    pub(crate) settings: Settings,
    #[cfg_attr(
        not(any(feature = "http", feature = "js")),
        expect(dead_code, reason = "only modules and requests use it")
    )]
    pub(crate) ledger: Option<Arc<dyn Ledger>>,
}

/// The table `ACTIONS`: one row per way to run a call.
pub(crate) fn build_actions(
    setup: &Setup,
    ledger: Option<&Arc<dyn Ledger>>,
) -> Vec<Box<dyn Action>> {
    let settings = process_settings(setup);
    let shell = ShellAction::new(settings.clone());
    let parts = ActionParts { setup: setup.clone(), settings, ledger: ledger.cloned() };
    let parts = Arc::new(parts);
    let lazy = |name, build| Box::new(LazyAction::new(name, &parts, build)) as Box<dyn Action>;
    vec![
        Box::new(shell),
        Box::new(RuleAction::default()),
        lazy("spawn", |parts: &ActionParts| {
            let runner = parts.setup.runner_command();
            Box::new(ChildPipelineAction::new(parts.settings.clone(), runner))
        }),
        #[cfg(feature = "js")]
        lazy("module", |parts| {
            crate::modules::build_module_action(&parts.setup, parts.ledger.as_ref())
        }),
        #[cfg(feature = "mcp")]
        lazy("mcp_tool", |parts| Box::new(gambrel_actions::McpAction::new(web_settings(parts)))),
        #[cfg(feature = "http")]
        lazy("webhook", |parts| Box::new(gambrel_actions::WebhookAction::new(web_settings(parts)))),
    ]
}

impl Gambrel {
    /// Builds the program. Reads only the user's preferences and secrets; hooks are read when an
    /// event fires.
    ///
    /// ```
    /// use gambrel::{Gambrel, Setup};
    ///
    /// // For this folder, without files in the state folder.
    /// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir()));
    /// // As `gambrel fire` does: with the journal, the user's trust, and stored messages.
    /// # if false {
    /// let gambrel = Gambrel::new(Setup::from_env());
    /// # }
    /// ```
    pub fn new(mut setup: Setup) -> Self {
        // Detected once: how modules can ask the user.
        setup.detect_ui();
        let start = setup.start_preferences();
        setup.start = Some(start);
        setup.options.verified_exec |= start.verified_exec;
        match setup.state_dir().filter(|_| !setup.in_memory) {
            Some(dir) => {
                // Read once, for the redactor and for hooks that name a secret.
                let (pairs, complaints) = read_secrets(&setup);
                let redactor = Arc::new(Redactor::new(setup.env.iter(), pairs.iter().cloned()));
                let local = gambrel_ledger::LocalLedger::open(dir, Arc::clone(&redactor));
                let local = Arc::new(local.with_lock_timeout(lock_timeout(&setup)));
                let ledger: Arc<dyn Ledger> = Arc::clone(&local) as _;
                let actions = build_actions(&setup, Some(&ledger));
                let secrets = OnceLock::from(UserSecrets::new(pairs, complaints));
                Self {
                    setup,
                    ledger,
                    trust_store: local,
                    is_durable: true,
                    redactor: Some(redactor),
                    actions,
                    secrets,
                }
            }
            None => {
                let actions = build_actions(&setup, None);
                Self::with_parts(setup, Arc::new(MemoryLedger::new()), actions)
            }
        }
    }

    /// Puts an action in place of the built-in one of that name (`shell`, `rule`, `spawn`, `module`,
    /// `mcp_tool`, `webhook`), or adds one.
    ///
    /// ```
    /// use gambrel::action::{Action, End, Job, Outcome};
    /// use gambrel::{Gambrel, Setup};
    ///
    /// struct NoShell;
    ///
    /// impl Action for NoShell {
    ///     fn name(&self) -> &'static str {
    ///         "shell"
    ///     }
    ///
    ///     fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
    ///         let refuse = |_: &Job<'_>| Outcome::failed_to_start("no shell");
    ///         jobs.iter().map(refuse).collect()
    ///     }
    /// }
    ///
    /// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir())).with_action(NoShell);
    /// ```
    #[must_use]
    pub fn with_action(mut self, action: impl Action + 'static) -> Self {
        self.actions.retain(|known| known.name() != action.name());
        self.actions.push(Box::new(action));
        self
    }

    /// The context.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Runs one call with a named action, outside any firing.
    pub fn run_call(&self, action: &str, call: &Call) -> Outcome {
        let Some(action) = self.actions.iter().find(|known| known.name() == action) else {
            return Outcome::failed_to_start(format!("no action `{action}` is built in"));
        };
        let none = || Outcome::failed_to_start("it did not report");
        let mut outcome = action.run(&[Job { call, record: None }]).pop().unwrap_or_else(none);
        let spent = self.ledger.spend_answers();
        outcome.remarks.extend(spent.err().map(|error| error.to_string()));
        outcome
    }

    /// A text without secrets.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.redact_text(text))
    }

    /// Parses a native event of a caller.
    pub fn receive(&self, from: &str, native: &[u8]) -> Result<ReceivedEvent, Complaint> {
        self.receive_buffer(from, &mut native.to_vec())
    }

    /// Loads the hooks for an event, or for the folder.
    pub fn load_hooks(&self, event: Option<&ReceivedEvent>) -> Arc<Loaded> {
        self.load_hooks_with(event, &[])
    }

    /// Half of the budget; the rest is for the hooks.
    fn load_deadline(&self) -> Option<Instant> {
        let options = &self.setup.options;
        options.began?.checked_add(options.budget? / 2)
    }

    /// Fires every matching hook of the event's folder and writes the reply.
    ///
    /// ```
    /// use gambrel::{Gambrel, Setup};
    ///
    /// let gambrel = Gambrel::new(Setup::in_memory(std::env::temp_dir()));
    /// // In the words of an agent: its JSON in, its JSON out.
    /// let event = gambrel.receive(
    ///     "claude",
    ///     br#"{"hook_event_name": "PreToolUse", "session_id": "s",
    ///          "tool_name": "Bash", "tool_input": {"command": "ls"}}"#,
    /// )?;
    /// let fired = gambrel.fire(event);
    /// assert!(fired.reply.stdout.is_empty(), "no hook objects");
    /// gambrel.mark_delivered(&fired.decision)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fire(&self, event: ReceivedEvent) -> FireResult {
        let loaded = self.load_hooks(Some(&event));
        self.fire_with_hooks(event, &loaded)
    }

    /// Fires hooks that were loaded before.
    pub fn fire_with_hooks(&self, event: ReceivedEvent, loaded: &Arc<Loaded>) -> FireResult {
        self.fire_with_options(event, loaded, self.setup.options.clone())
    }

    /// Fires hooks that were loaded before, with options of its own.
    pub(crate) fn fire_with_options(
        &self,
        event: ReceivedEvent,
        loaded: &Arc<Loaded>,
        options: Options,
    ) -> FireResult {
        // A signal ends the whole firing, not only the hooks that run at the moment.
        let returns = self.setup.signals == SignalPolicy::Return;
        let _signals = returns.then(SignalGuard::install);
        self.with_engine(loaded, options, |engine| engine.fire(&engine.open_event(event)))
    }

    /// Why each hook would or would not run.
    pub fn explain(&self, event: ReceivedEvent, loaded: &Arc<Loaded>) -> Vec<Candidate> {
        self.with_engine(loaded, self.setup.options.clone(), |engine| {
            engine.explain(&engine.preview_event(event))
        })
    }

    /// Called once a reply has reached its caller.
    pub fn mark_delivered(&self, decision: &Decision) -> Result<(), LedgerError> {
        if self.ledger.take_import_due() {
            // If the import fails, the next reader imports the spool.
            let _later = self.start_import();
        }
        gambrel_engine::confirm_reply(self.ledger(), decision)
    }

    /// Called instead when a reply did not reach its caller; a later firing delivers its messages.
    pub fn release_claims(&self, decision: &Decision) -> Result<(), LedgerError> {
        gambrel_engine::release_claims(self.ledger(), decision)
    }

    fn user_secrets(&self) -> &UserSecrets {
        self.secrets.get_or_init(|| {
            let (pairs, complaints) = read_secrets(&self.setup);
            UserSecrets::new(pairs, complaints)
        })
    }

    fn with_engine<T>(
        &self,
        loaded: &Arc<Loaded>,
        options: Options,
        work: impl FnOnce(&Engine<'_>) -> T,
    ) -> T {
        let actions = self.actions();
        let engine = Engine {
            loaded: Arc::clone(loaded),
            actions: &actions,
            ledger: self.ledger(),
            trust_store: self.trust_store(),
            redact: &|value| {
                self.redactor.iter().for_each(|redactor| redactor.redact_value(value));
            },
            options,
        };
        work(&engine)
    }
}

// Inner types of the workspace: for its command line, which is built with the same version.
#[doc(hidden)]
impl Gambrel {
    /// Builds the program with the host's own ledger and actions.
    pub fn with_parts<L: Ledger + TrustStore + 'static>(
        setup: Setup,
        ledger: Arc<L>,
        actions: Vec<Box<dyn Action>>,
    ) -> Self {
        let trust_store = Arc::clone(&ledger) as _;
        let (is_durable, redactor, secrets) = (false, None, OnceLock::new());
        Self { setup, ledger, trust_store, is_durable, redactor, actions, secrets }
    }

    /// The settings of processes.
    pub fn build_settings(&self) -> Settings {
        process_settings(&self.setup)
    }

    /// The ways to run a call.
    pub fn actions(&self) -> Vec<&dyn Action> {
        self.actions.iter().map(AsRef::as_ref).collect()
    }

    /// The ledger.
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.ledger
    }

    /// The ledger if it outlives this process.
    pub fn durable_ledger(&self) -> Option<&Arc<dyn Ledger>> {
        self.is_durable.then_some(&self.ledger)
    }

    /// The user's trust.
    pub fn trust_store(&self) -> &dyn TrustStore {
        &*self.trust_store
    }

    /// The configuration of the approval server.
    #[cfg(feature = "http")]
    pub fn approval_server(&self) -> Option<gambrel_server::ServerConfig> {
        let ledger = self.durable_ledger()?;
        Some(crate::network::approval_server(&self.setup, ledger))
    }

    /// The dialect of a name.
    pub fn dialect_by_name(name: &str) -> Option<&'static Dialect> {
        DIALECTS.iter().find(|dialect| dialect.name == name).copied()
    }

    /// Parses a native event. Hooks that read it unchanged share the buffer, which is then empty.
    pub fn receive_buffer(
        &self,
        from: &str,
        native: &mut Vec<u8>,
    ) -> Result<ReceivedEvent, Complaint> {
        let Some(dialect) = Self::dialect_by_name(from) else {
            let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
            let message = format!("no dialect `{from}`");
            let help = format!("one of {}", names.join(", "));
            return Err(Complaint::error(SourceSpan::default(), message).with_help(help));
        };
        let mut context = CallerContext {
            id: new_id(),
            at: now_ms(),
            cwd: self.setup.working_dir(),
            env: Arc::clone(&self.setup.env),
            secrets: Arc::clone(&self.user_secrets().values),
            caller_pid: Some(self.setup.caller.unwrap_or_else(std::process::id)),
            event_name: self.setup.event_name.clone(),
            raw_line: None,
        };
        let parsed = dialect.caller.receive_event(native, &context)?;
        context.raw_line = take_line(native).map(Arc::new);
        Ok(ReceivedEvent { parsed, context })
    }

    /// Loads the hooks, with further sources besides those of the command line.
    pub fn load_hooks_with(
        &self,
        event: Option<&ReceivedEvent>,
        sources: &[(String, PathBuf)],
    ) -> Arc<Loaded> {
        let names = || Arc::new(self.user_secrets().values.keys().cloned().collect());
        let notes = self.setup.notes.then(names);
        let mut roots = SearchRoots { notes, ..self.setup.search_roots(event) };
        roots.extra_sources.extend_from_slice(sources);
        let lost = self.setup.cwd_unknown && roots.root == self.setup.cwd;
        let mut loaded = load_hooks(DIALECTS, roots, self.load_deadline());
        loaded.complaints.extend(lost.then(unknown_folder_complaint));
        loaded.complaints.extend(self.user_secrets().complaints.iter().cloned());
        loaded.complaints.extend(self.setup.complaints.iter().cloned());
        Arc::new(loaded)
    }

    /// Imports the journal in the background: in a separate process, or in a thread of a library
    /// host.
    pub fn start_import(&self) -> std::io::Result<()> {
        let Some(ledger) = self.durable_ledger().cloned() else { return Ok(()) };
        if let Some(program) = self.setup.supervisor.as_ref().filter(|_| self.setup.is_own_process)
        {
            return gambrel_actions::start_helper(program, IMPORT_WORD);
        }
        let work = move || ledger.import_unattended();
        std::thread::Builder::new().name("gambrel-import".into()).spawn(work).map(drop)
    }
}

/// How long to wait for a session's lock: a part of the host's timeout.
fn lock_timeout(setup: &Setup) -> Duration {
    let options = &setup.options;
    let unnamed = if options.hosted { HOSTED_LOCK_TIMEOUT } else { Duration::MAX };
    options.budget.map_or(unnamed, |budget| budget / 4)
}

/// The complaint about an unknown working directory: project hooks may be missing.
fn unknown_folder_complaint() -> Complaint {
    let message = "the working directory is unknown, so hooks may be missing";
    let complaint = Complaint::error(SourceSpan::default(), message);
    Complaint { closes_tool_gates: true, ..complaint.with_help("name the folder with -C") }
}

pub(crate) fn process_settings(setup: &Setup) -> Settings {
    let state = setup.state_dir().filter(|_| !setup.in_memory);
    Settings {
        spill_dir: state.map(|dir| dir.join("spill")),
        supervisor: setup.supervisor.clone(),
        watchdog: setup.watchdog.clone(),
        watch_at_once: setup.watchdog.is_some(),
        subreaper: setup.is_own_process,
        signals: setup.signals,
        kill_with_parent: setup.kill_with_parent,
        // Only for the binary: threads of a library host run other hooks.
        running_file: setup.running_file().filter(|_| setup.is_own_process),
        isolate: setup.start_preferences().isolate,
        redact: Some(build_redact(setup.clone())),
        ..Settings::default()
    }
}

/// Takes the bytes if they are one line of text. The line has no byte order mark and no white space
/// around it, and ends with a newline.
fn take_line(native: &mut Vec<u8>) -> Option<Vec<u8>> {
    const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

    let text = native.trim_ascii();
    if text.contains(&b'\n') || std::str::from_utf8(text).is_err() {
        return None;
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let start = native.len() - native.trim_ascii_start().len();
    let start = if native[start..].starts_with(BYTE_ORDER_MARK) {
        start + BYTE_ORDER_MARK.len()
    } else {
        start
    };
    let end = start + text.len();
    let mut line = std::mem::take(native);
    line.truncate(end);
    line.drain(..start);
    line.push(b'\n');
    Some(line)
}

/// A random key for a page of one user.
pub fn fresh_key() -> std::io::Result<String> {
    let mut bytes = [0_u8; 32];
    fill_random(&mut bytes)?;
    Ok(to_hex(&bytes))
}

/// An id for a firing: sorted by time, hard to guess.
fn new_id() -> String {
    let mut bytes = [0_u8; 6];
    if fill_random(&mut bytes).is_err() {
        bytes[..4].copy_from_slice(&std::process::id().to_le_bytes());
    }
    format!("{:011x}-{}", now_ms(), to_hex(&bytes))
}

/// Random bytes of the kernel, with one system call.
fn fill_random(bytes: &mut [u8]) -> std::io::Result<()> {
    let count = retry_on_intr(|| getrandom(&mut *bytes, GetRandomFlags::empty()))?;
    // The kernel cuts only requests of more than 256 bytes.
    if count == bytes.len() { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}
