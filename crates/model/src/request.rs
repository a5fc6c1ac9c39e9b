//! What actions without a process are asked to do: a request over HTTP, a question that comes with
//! it, a tool of a server, a look at a value. Each travels in `Call::body`; a dialect writes it, an
//! action reads it back.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::question_context::{FileChange, QuestionContext};

/// Stands in a request where the link that answers its question goes. Values that a request is
/// filled with cannot hold it: see [`plain`].
pub const CALLBACK_MARKER: &str = "\u{e000}callback\u{e000}";

/// A value without the mark of [`CALLBACK`].
pub fn strip_callback_marker(value: String) -> String {
    if value.contains('\u{e000}') { value.replace('\u{e000}', "") } else { value }
}

/// One request over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebhookRequest {
    /// The address.
    pub url: String,
    /// `POST`, `GET` …
    pub method: String,
    /// Name and value.
    pub headers: Vec<(String, String)>,
    /// Sent as JSON; nothing is sent when it is null.
    pub body: Value,
    /// Secrets to sign it with (Standard Webhooks), newest first; none: it is not signed.
    pub sign: Vec<String>,
    /// Hosts and address ranges of the inside that may be reached, by word of the user.
    pub allow: Vec<String>,
    /// How long the exchange itself may take, in milliseconds; 0 is the action's own measure.
    pub exchange_ms: u64,
    /// Why it cannot be sent, if it cannot: a variable without a value.
    pub refused: Option<String>,
    /// The question that it brings to somebody, if the answer is waited for.
    pub ask: Option<ApprovalRequest>,
}

/// A request of a hook's own code, which reads the answer itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// The address.
    pub url: String,
    /// `GET`, `POST` …
    pub method: String,
    /// Name and value.
    pub headers: Vec<(String, String)>,
    /// What is sent, as it is.
    pub body: Option<Vec<u8>>,
    /// Hosts and addresses of the inside that the user lets requests reach.
    pub allow: Vec<String>,
    /// How long the exchange may take.
    pub limit: Duration,
}

/// What was answered to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchResponse {
    /// The status.
    pub status: u16,
    /// Its usual words.
    pub words: String,
    /// Name and value.
    pub headers: Vec<(String, String)>,
    /// All of the body.
    pub body: Vec<u8>,
}

/// A question for somebody, answered through a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApprovalRequest {
    /// The port on this machine where the answer is listened for.
    pub port: u16,
    /// What makes two questions the same one.
    pub key: String,
    /// The session that waits.
    pub session: String,
    /// The project's folder.
    pub project: String,
    /// The hook that asks.
    pub hook: String,
    /// One line: what is to be decided.
    pub title: String,
    /// What the person is shown.
    pub shown: Vec<(String, String)>,
    /// What it is about, and what each answer does.
    pub context: QuestionContext,
    /// The change of a file that waits, if it is one.
    pub change: Option<FileChange>,
}

/// One tool of a server that speaks MCP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolRequest {
    /// The server's name, for words.
    pub server: String,
    /// The address of a server that is reached over HTTP; else it is the call's program.
    pub url: Option<String>,
    /// Headers for that address.
    pub headers: Vec<(String, String)>,
    /// Hosts and address ranges of the inside that may be reached.
    pub allow: Vec<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// One look at the texts of a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegexCheck {
    /// The regular expression.
    pub pattern: String,
    /// The value whose texts are looked at.
    pub value: Value,
    /// What takes the place of every match, if they are to be replaced.
    pub with: Option<String>,
}

/// A child pipeline: what it is, where it runs and what it is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnRequestBody {
    /// The pipeline's name or file.
    pub pipeline: String,
    /// The folder that holds the children of the parent's session.
    pub children: PathBuf,
    /// The child's own folder in there; a second one of the same name gets a number.
    pub name: String,
    /// What the parent gives it.
    pub inputs: Value,
    /// The key of a firing that may be repeated: a child that was cut off continues.
    pub firing_key: Option<String>,
}

/// The body of a call that its action does not understand.
#[derive(Debug, thiserror::Error)]
#[error("the call's body is not understood: {0}")]
pub struct BodyError(#[from] serde_json::Error);

/// Reads one back from a call's body.
pub fn from_body<T: DeserializeOwned>(body: &Value) -> Result<T, BodyError> {
    Ok(T::deserialize(body)?)
}

/// Puts one into a call's body.
pub fn to_body(request: &impl Serialize) -> Value {
    serde_json::to_value(request).unwrap_or_default()
}
