//! A session with an agent of the Agent Client Protocol: the handshake, prompts, cancel, and answers
//! to permission requests. It must not know hooks.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::AcpConnection;
use super::error::{AcpError, AcpResult};
use super::wire::{build_answer, refuse_method, refuse_params};
use crate::acp_firing::FiredTool;
use crate::board_tools::BOARD_SERVER;
use crate::context::RunContext;

/// The version of the protocol.
const PROTOCOL_VERSION: u64 = 1;
/// How long an agent may take to start. Some of them load for long on a busy machine.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(120);
const INITIALIZE: &str = "initialize";
const NEW_SESSION: &str = "session/new";

/// A session that is open.
pub struct AcpSession {
    /// The connection to its process.
    pub connection: AcpConnection<FiredTool>,
    id: String,
}

/// What the run wants to answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionWish {
    /// The call may run, this time.
    Allow,
    /// The call may not run, this time.
    Reject,
    /// The turn is over.
    Cancel,
}

/// A permission request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The id that the answer repeats.
    pub id: Value,
    /// The input that the request is about, as far as the agent has said.
    pub input: Option<Value>,
    /// The options: id and kind.
    options: Vec<(String, String)>,
}

/// Why the agent ended its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWord {
    /// The turn is complete, perhaps because a limit of the agent was reached.
    Complete,
    /// The turn was cancelled.
    Cancelled,
    /// Something else, such as a refusal.
    Other(String),
}

impl StopWord {
    /// Reads the answer to a prompt.
    pub fn parse(answer: &Value) -> Self {
        match answer["stopReason"].as_str().unwrap_or("nothing") {
            "end_turn" | "max_tokens" | "max_turn_requests" => Self::Complete,
            "cancelled" => Self::Cancelled,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl PermissionRequest {
    /// Reads a request of this session; the error is for the agent.
    pub fn parse(session: &str, id: Value, params: &Value) -> Result<Self, (Value, String)> {
        if params["sessionId"].as_str() != Some(session) {
            return Err((id, "there is no such session".to_owned()));
        }
        if params["toolCall"]["toolCallId"].as_str().is_none_or(str::is_empty) {
            return Err((id, "`toolCall.toolCallId` is missing".to_owned()));
        }
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |option: &Value, key: &str| option[key].as_str().map(str::to_owned);
        let options = options
            .iter()
            .filter_map(|option| Some((text(option, "optionId")?, text(option, "kind")?)));
        let input = params["toolCall"].get("rawInput").filter(|input| !input.is_null()).cloned();
        Ok(Self { id, input, options: options.collect() })
    }

    /// The result for the agent. The option is chosen by its kind. A wish without an option cancels:
    /// another option would also decide about later calls.
    fn build_result(&self, wish: PermissionWish) -> (Value, bool) {
        let kind = match wish {
            PermissionWish::Allow => "allow_once",
            PermissionWish::Reject => "reject_once",
            PermissionWish::Cancel => "",
        };
        match self.options.iter().find(|(_, known)| known == kind) {
            Some((id, _)) => (json!({"outcome": {"outcome": "selected", "optionId": id}}), true),
            None => (json!({"outcome": {"outcome": "cancelled"}}), wish == PermissionWish::Cancel),
        }
    }
}

impl AcpSession {
    /// Starts the agent and opens a session in the project, within this time if there is a limit.
    pub fn open(
        context: &RunContext<'_>,
        command: &str,
        env: &[(String, String)],
        limit: Option<Duration>,
    ) -> AcpResult<Self> {
        let timeout = limit.map_or(HANDSHAKE_TIMEOUT, |limit| limit.min(HANDSHAKE_TIMEOUT));
        let mut connection = AcpConnection::start(context, command, env.to_vec())?;
        initialize(context, &mut connection, timeout)?;
        let params = json!({
            "cwd": context.project, "mcpServers": build_servers(context, env),
        });
        let is_interrupted = || (context.interrupted)().is_some();
        let answer = connection.call(NEW_SESSION, &params, timeout, &is_interrupted)?;
        let missing = AcpError::Incomplete { method: NEW_SESSION, field: "sessionId" };
        let id = answer["sessionId"].as_str().ok_or(missing)?.to_owned();
        Ok(Self { connection, id })
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a prompt of text blocks, and returns the id of the request.
    pub fn send_prompt(&mut self, blocks: &[&str]) -> AcpResult<u64> {
        let blocks: Vec<Value> =
            blocks.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let params = json!({"sessionId": self.id, "prompt": blocks});
        self.connection.send_request("session/prompt", &params)
    }

    /// Asks the agent to end its turn. An agent that is gone has ended it.
    pub fn cancel(&self) {
        let _gone = self.connection.notify("session/cancel", &json!({"sessionId": self.id}));
    }

    /// Answers a permission request. False if the agent offered no option for it.
    pub fn answer(&self, request: &PermissionRequest, wish: PermissionWish) -> AcpResult<bool> {
        let (result, was_offered) = request.build_result(wish);
        self.connection.send(&build_answer(&request.id, &result))?;
        Ok(was_offered)
    }

    /// Refuses a method that the run does not offer.
    pub fn refuse(&self, id: &Value, method: &str) -> AcpResult {
        self.connection.send(&refuse_method(id, method))
    }

    /// Refuses a request that cannot be used.
    pub fn refuse_params(&self, id: &Value, why: &str) -> AcpResult {
        self.connection.send(&refuse_params(id, why))
    }
}

/// Says hello and returns what the agent calls itself.
fn initialize(
    context: &RunContext<'_>,
    connection: &mut AcpConnection<FiredTool>,
    timeout: Duration,
) -> AcpResult<String> {
    let params = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
        },
        "clientInfo": {"name": "gambrel", "version": env!("CARGO_PKG_VERSION")},
    });
    let is_interrupted = || (context.interrupted)().is_some();
    let answer = connection.call(INITIALIZE, &params, timeout, &is_interrupted)?;
    let version = &answer["protocolVersion"];
    if version.is_null() {
        return Err(AcpError::Incomplete { method: INITIALIZE, field: "protocolVersion" });
    }
    if version.as_u64() != Some(PROTOCOL_VERSION) {
        return Err(AcpError::OtherVersion(version.to_string()));
    }
    let word = |key: &str| answer["agentInfo"][key].as_str().unwrap_or_default().to_owned();
    Ok(format!("{} {}", word("name"), word("version")).trim().to_owned())
}

/// The task board as an MCP server, with the variables by which it finds the run.
fn build_servers(context: &RunContext<'_>, env: &[(String, String)]) -> Value {
    let Some(server) = &context.task_server else { return json!([]) };
    let of_run = env
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "GAMBREL_SESSION" | "GAMBREL_RUN_DIR"));
    let variables: Vec<Value> = server
        .env
        .iter()
        .chain(of_run)
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!([{
        "name": BOARD_SERVER, "command": server.program, "args": server.args, "env": variables,
    }])
}

/// Starts an agent, says hello, and ends it. Returns what it calls itself.
pub fn probe_agent(
    context: &RunContext<'_>,
    command: &str,
    timeout: Duration,
) -> AcpResult<String> {
    let mut connection = AcpConnection::start(context, command, Vec::new())?;
    initialize(context, &mut connection, timeout)
}

/// An MCP server that the agent starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskServer {
    /// The program.
    pub program: std::path::PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables besides those of the run.
    pub env: Vec<(String, String)>,
}

impl TaskServer {
    /// `gambrel mcp` for a project.
    pub fn for_project(program: &Path, project: &Path, env: Vec<(String, String)>) -> Self {
        let args = ["-C".to_owned(), project.display().to_string(), "mcp".to_owned()];
        Self { program: program.to_owned(), args: args.to_vec(), env }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{PermissionRequest, PermissionWish};

    fn request(kinds: &[&str]) -> PermissionRequest {
        let options: Vec<Value> = kinds
            .iter()
            .map(|kind| json!({"optionId": format!("id of {kind}"), "kind": kind}))
            .collect();
        let params = json!({
            "sessionId": "s", "toolCall": {"toolCallId": "1"}, "options": options,
        });
        PermissionRequest::parse("s", json!(7), &params).unwrap()
    }

    #[test]
    fn chooses_an_option_by_its_kind() {
        let all = request(&["allow_always", "reject_always", "reject_once", "allow_once"]);
        let chosen = |wish| all.build_result(wish).0["outcome"]["optionId"].clone();
        assert_eq!(chosen(PermissionWish::Allow), "id of allow_once");
        assert_eq!(chosen(PermissionWish::Reject), "id of reject_once");
        assert_eq!(chosen(PermissionWish::Cancel), Value::Null);
    }

    #[test]
    fn never_decides_about_later_calls() {
        let always = request(&["allow_always", "reject_always"]);
        for wish in [PermissionWish::Allow, PermissionWish::Reject] {
            let (result, was_offered) = always.build_result(wish);
            assert_eq!(result["outcome"]["outcome"], "cancelled");
            assert!(!was_offered);
        }
    }

    #[test]
    fn refuses_requests_that_name_no_call() {
        for params in [json!({}), json!({"sessionId": "s", "toolCall": {}}), json!([])] {
            assert!(PermissionRequest::parse("s", json!(1), &params).is_err(), "{params}");
        }
    }
}
