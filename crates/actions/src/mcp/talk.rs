//! What is said to a server: the handshake, one tool, good-bye. It knows neither how the server is
//! reached nor how long it may take.

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

use super::action::FAREWELL;

/// The longest message that is taken from a server.
pub(super) const LONGEST: usize = 4 * 1024 * 1024;

/// What a tool answered.
pub(super) struct Told {
    pub text: String,
    pub answer: Value,
    pub fault: Option<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Fault(pub String);

/// Messages as lines over two pipes.
pub(super) fn transport(
    (read, write): (Receiver, Sender),
) -> AsyncRwTransport<RoleClient, Receiver, Sender> {
    AsyncRwTransport::new(read, write).with_max_line_length(LONGEST)
}

/// Calls one tool.
pub(super) async fn call<T>(transport: T, request: &ToolRequest) -> Result<Told, Fault>
where
    T: Transport<RoleClient> + 'static,
{
    let arguments = match &request.input {
        Value::Object(fields) => fields.clone(),
        Value::Null => serde_json::Map::new(),
        _ => return Err(Fault("its tool's input is not an object".to_owned())),
    };
    let own = Implementation::new("gambrel", env!("CARGO_PKG_VERSION"));
    let client = ClientConfig::new(ClientCapabilities::default(), own);
    let service = client.serve(transport).await.map_err(|error| Fault(no_handshake(&error)))?;
    let wanted = CallToolRequestParams::new(request.tool.clone()).with_arguments(arguments);
    let result = service.call_tool(wanted).await;
    // A server that does not let go is ended by whoever started it.
    let _ = timeout(FAREWELL, service.cancel()).await;
    match result {
        Ok(result) => Ok(told(&result)),
        Err(ServiceError::McpError(error)) => Ok(refused(&request.tool, &error)),
        Err(ServiceError::TransportClosed) => {
            Err(Fault("it ended before it had answered".to_owned()))
        }
        Err(ServiceError::TransportSend(error)) => Err(Fault(error.error.to_string())),
        Err(other) => Err(Fault(other.to_string())),
    }
}

fn no_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "it ended before it had answered the handshake".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            format!("no handshake: {}", error.error)
        }
        other => format!("no handshake: {other}"),
    }
}

fn told(result: &CallToolResult) -> Told {
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
    let fault =
        failed.then(|| format!("the tool failed: {}", first.unwrap_or("it does not say why")));
    let answer = json!({
        "content": result.content,
        "structuredContent": result.structured_content,
        "isError": failed,
    });
    Told { text, answer, fault }
}

fn refused(tool: &str, error: &ErrorData) -> Told {
    let fault = format!("the tool {tool} was refused: {} ({})", error.message, error.code.0);
    let answer = json!({ "content": [], "structuredContent": null, "isError": true,
        "error": { "code": error.code.0, "message": error.message } });
    Told { text: String::new(), answer, fault: Some(fault) }
}
