//! Everything that an action needs to run one hook once. A dialect builds it. It must not know
//! events, hooks or policies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::async_marker::AsyncMarker;
use crate::watched::WatchedFiles;

/// One run of one hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// What to start, for actions that start a process.
    pub program: Program,
    /// Set on top of the caller's environment.
    pub env: Vec<(String, String)>,
    /// If set, only these variables of the caller's environment are passed on.
    pub inherit: Option<Vec<String>>,
    /// Variables removed from the caller's environment, such as those of a secrets file.
    pub remove_env: Vec<String>,
    /// Stdin of the process; `None` is an empty stdin.
    #[serde(with = "shared_bytes")]
    pub stdin: Option<Arc<Vec<u8>>>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Files to be written, private to the user, before anything starts.
    pub files: Vec<SideFile>,
    /// Parameters of actions without a process: address, headers, inputs.
    pub body: Value,
    /// Timeout, retries and blocking mode.
    pub limits: Limits,
    /// How the hook may ask to continue in the background; `None` if it cannot.
    pub async_marker: Option<AsyncMarker>,
    /// The trusted files. An action that reads code itself reads no other files.
    pub trusted_files: Option<TrustedFiles>,
    /// The trusted files of an action that starts a process. They are compared again after the
    /// process has ended.
    pub watched: Option<WatchedFiles>,
    /// Where stdout of a process is appended as it arrives, redacted, until the file has 64 MiB.
    pub tee_stdout: Option<TeeTarget>,
    /// An opaque text for the record about leftover processes that were killed.
    pub leak_record: Option<String>,
}

/// Files by their real paths, and the SHA-256 of what was in each.
pub type TrustedFiles = BTreeMap<PathBuf, [u8; 32]>;

/// The program to start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Program {
    /// Nothing to start.
    #[default]
    None,
    /// Text for a shell. An action may execute it directly if it has no shell syntax.
    Shell {
        /// Which shell reads the text.
        shell: Shell,
        /// The text.
        text: String,
    },
    /// A program and its arguments, exactly.
    Exec(Vec<String>),
}

/// The supported shells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shell {
    /// `/bin/sh`.
    #[default]
    Sh,
    /// bash only, because the author named it.
    Bash,
    /// bash where there is one, else sh.
    BashOrSh,
    /// PowerShell (`pwsh`).
    PowerShell,
}

/// A file that is written before a call starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFile {
    /// Its path. Missing folders are created.
    pub path: PathBuf,
    /// Its text; `None` creates a folder.
    pub text: Option<String>,
    /// Removed when the call has ended.
    pub temporary: bool,
    /// An existing file is left unchanged.
    #[serde(default)]
    pub lasting: bool,
}

/// Timeout, retries, kill grace and blocking mode of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The deadline for stdin, stdout, stderr and exit of one attempt.
    pub timeout: Duration,
    /// Maximum lifetime of background processes a successful hook left running, measured from its
    /// start. Defaults to `timeout`.
    pub leftover_timeout: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// Attempts after the first one failed.
    pub retries: u32,
    /// Time between two attempts.
    pub retry_delay: Duration,
    /// False if gambrel starts the hook and does not wait for it.
    pub blocking: bool,
    /// Upper bound for all attempts, before their own timeouts.
    pub budget: Option<Duration>,
    /// When the watchdog learns about the process.
    pub watchdog: WatchdogStart,
}

/// A file that gets a copy of stdout. It is created at the first byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeeTarget {
    /// The file.
    pub path: PathBuf,
    /// The file that is used instead if the first one exists at the first byte.
    pub if_taken: Option<PathBuf>,
}

/// When the watchdog learns about a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogStart {
    /// After it has run for a moment: most hooks end before.
    #[default]
    AfterDelay,
    /// Before it starts, so that it never outlives a killed gambrel.
    Immediately,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            leftover_timeout: None,
            kill_grace: Duration::from_millis(300),
            retries: 0,
            retry_delay: Duration::ZERO,
            blocking: true,
            budget: None,
            watchdog: WatchdogStart::AfterDelay,
        }
    }
}

/// Bytes with several owners are stored like bytes with one.
mod shared_bytes {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type SharedBytes = Option<Arc<Vec<u8>>>;

    pub(super) fn serialize<S: Serializer>(bytes: &SharedBytes, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<SharedBytes, D::Error> {
        Ok(Option::<Vec<u8>>::deserialize(from)?.map(Arc::new))
    }
}
