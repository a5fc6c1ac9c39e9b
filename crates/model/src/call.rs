//! What is handed to an action: everything it needs to run, and nothing about why. Written by a
//! dialect, carried out by an action. It may not know any event, hook or policy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::async_marker::AsyncMarker;
use crate::watched::WatchedFiles;

/// One thing to run, once, under terms already settled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What to start, for actions that start a process.
    pub program: Program,
    /// Set on top of the caller's environment.
    pub env: Vec<(String, String)>,
    /// Of the caller's environment only these pass, where they are named; `None` is all of it.
    pub inherit: Option<Vec<String>>,
    /// Taken out of the caller's environment (what came from a secrets file).
    pub remove_env: Vec<String>,
    /// What the process reads; `None` is an empty stdin.
    pub stdin: Option<Vec<u8>>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Files to be written, private to the user, before anything starts.
    pub files: Vec<SideFile>,
    /// What actions without a process need: an address, headers, inputs.
    pub body: Value,
    /// How it may take its time.
    pub limits: Limits,
    /// How it may say, while it is waited for, that it is not to be; `None` if it cannot.
    #[serde(default)]
    pub async_marker: Option<AsyncMarker>,
    /// The files that a person trusted it with: an action that reads code itself reads no other.
    #[serde(default)]
    pub trusted_files: Option<TrustedFiles>,
    /// The files that a person trusted it with, for actions that start a process: they are looked
    /// at again when it has ended.
    #[serde(default)]
    pub watched: Option<WatchedFiles>,
    /// A short text, unread by actions, with which the killing of what it left running is recorded.
    #[serde(default)]
    pub leak_record: Option<String>,
}

/// Files by their real paths, and the SHA-256 of what was in each.
pub type TrustedFiles = BTreeMap<PathBuf, [u8; 32]>;

/// What a process is started from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Program {
    /// Nothing to start.
    #[default]
    None,
    /// Text for a shell. An action may run it directly when the text has no shell syntax.
    Shell {
        /// Which shell reads the text.
        shell: Shell,
        /// The text.
        text: String,
    },
    /// A program and its arguments, exactly.
    Exec(Vec<String>),
}

/// The shells that contracts name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shell {
    /// `/bin/sh`.
    #[default]
    Sh,
    /// bash, and nothing else: the author asked for it by name.
    Bash,
    /// bash where there is one, else sh.
    BashOrSh,
    /// PowerShell (`pwsh`).
    PowerShell,
}

/// A file that a call needs beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFile {
    /// Where; missing folders are made.
    pub path: PathBuf,
    /// What; without it, a folder is made.
    pub text: Option<String>,
    /// Removed once the call has ended.
    pub temporary: bool,
    /// Left as it is where it is there already: others have written to it.
    #[serde(default)]
    pub lasting: bool,
}

/// How long a call may run, how often it is tried, and whether anybody waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The one deadline over stdin, stdout, stderr and exit of one attempt.
    pub timeout: Duration,
    /// How long after its start what a hook that ended well has left running may go on, if not for
    /// as long as the hook itself.
    #[serde(default)]
    pub leftover_timeout: Option<Duration>,
    /// Between the polite signal and the last one.
    pub kill_grace: Duration,
    /// Attempts after the first, made only when one failed.
    pub retries: u32,
    /// Between two attempts.
    pub retry_delay: Duration,
    /// False: started, never waited for.
    pub blocking: bool,
    /// No attempt may run past this, whatever its own timeout says.
    pub budget: Option<Duration>,
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
        }
    }
}
