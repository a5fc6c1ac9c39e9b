//! One session with a server: the handshake, one tool call, the shutdown. Independent of the
//! transport and of deadlines.

use std::error::Error;

use gambrel_model::request::ToolRequest;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    ErrorData, Implementation,
};
use rmcp::service::ClientInitializeError;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceError, ServiceExt};
use serde_json::{Value, json};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;

use super::action::SHUTDOWN_TIMEOUT;
use crate::web::ExchangeError;

/// The longest message accepted from a server.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The result of a tool.
pub(super) struct McpToolOutcome {
    pub text: String,
    pub answer: Value,
    pub failure: Option<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum McpError {
    #[error("the tool's input is not an object")]
    InputNotObject,
    #[error(transparent)]
    Http(#[from] ExchangeError),
    #[error("it ended before it answered the handshake")]
    EndedInHandshake,
    #[error("no handshake: {0}")]
    NoHandshake(#[source] Box<dyn Error + Send + Sync>),
    #[error("it ended before it answered")]
    EndedInCall,
    #[error(transparent)]
    NoAnswer(Box<dyn Error + Send + Sync>),
}

/// Messages as lines over two pipes.
pub(super) fn pipe_transport(
    (read, write): (Receiver, Sender),
) -> AsyncRwTransport<RoleClient, Receiver, Sender> {
    AsyncRwTransport::new(read, write).with_max_line_length(MAX_MESSAGE_BYTES)
}

/// Calls one tool.
pub(super) async fn call_tool<T>(
    transport: T,
    request: &ToolRequest,
) -> Result<McpToolOutcome, McpError>
where
    T: Transport<RoleClient> + 'static,
{
    let arguments = match &request.input {
        Value::Object(fields) => fields.clone(),
        Value::Null => serde_json::Map::new(),
        _ => return Err(McpError::InputNotObject),
    };

    let own = Implementation::new("gambrel", env!("CARGO_PKG_VERSION"));
    let client = ClientConfig::new(ClientCapabilities::default(), own);
    let service = client.serve(transport).await.map_err(handshake_error)?;

    let params = CallToolRequestParams::new(request.tool.clone()).with_arguments(arguments);
    let result = service.call_tool(params).await;
    // The owner of the server kills it if it does not end.
    let _ = timeout(SHUTDOWN_TIMEOUT, service.cancel()).await;

    match result {
        Ok(result) => Ok(tool_outcome(&result)),
        Err(ServiceError::McpError(error)) => Ok(refused_outcome(&request.tool, &error)),
        Err(ServiceError::TransportClosed) => Err(McpError::EndedInCall),
        Err(ServiceError::TransportSend(error)) => Err(McpError::NoAnswer(error.error)),
        Err(other) => Err(McpError::NoAnswer(other.into())),
    }
}

fn handshake_error(error: ClientInitializeError) -> McpError {
    match error {
        ClientInitializeError::ConnectionClosed(_) => McpError::EndedInHandshake,
        ClientInitializeError::TransportError { error, .. } => McpError::NoHandshake(error.error),
        other => McpError::NoHandshake(other.into()),
    }
}

fn tool_outcome(result: &CallToolResult) -> McpToolOutcome {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    let text = match &result.structured_content {
        Some(structured) if texts.is_empty() => structured.to_string(),
        _ => texts.join("\n"),
    };

    let failed = result.is_error == Some(true);
    let first = text.lines().next().filter(|line| !line.is_empty());
    let failure =
        failed.then(|| format!("the tool failed: {}", first.unwrap_or("no reason given")));
    let answer = json!({
        "content": result.content,
        "structuredContent": result.structured_content,
        "isError": failed,
    });
    McpToolOutcome { text, answer, failure }
}

fn refused_outcome(tool: &str, error: &ErrorData) -> McpToolOutcome {
    let failure = format!("the tool `{tool}` was refused: {} ({})", error.message, error.code.0);
    let answer = json!({ "content": [], "structuredContent": null, "isError": true,
        "error": { "code": error.code.0, "message": error.message } });
    McpToolOutcome { text: String::new(), answer, failure: Some(failure) }
}
