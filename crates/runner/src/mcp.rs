//! The task board as an MCP server on a reader and a writer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::board::Board;
use crate::board_tools;

const INSTRUCTIONS: &str = "The task board of this project. Add the tasks that you find, start one \
    with task-update before you work on it, and set it to completed when it is done. A hook may \
    refuse a completed task; its reason says what is missing.";

/// How long the calls of a client that has gone away may take.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(600);

/// Gives a tool call access to the board.
pub trait BoardSource: Send + Sync + 'static {
    /// Calls `work` with the board as it is now.
    fn with_board(&self, work: &mut dyn FnMut(&Board<'_>));
}

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The client did not begin as the protocol says.
    #[error("the client did not begin as the protocol says: {0}")]
    Handshake(String),
    /// A task of the server failed.
    #[error("the server failed: {0}")]
    Server(String),
}

/// Serves the board until the client goes away.
pub async fn serve_board(
    board: Arc<dyn BoardSource>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let calls = Arc::<tokio::sync::Mutex<()>>::default();
    let service = BoardServer { board, calls: Arc::clone(&calls) }
        .serve((input, output))
        .await
        .map_err(|error| McpError::Handshake(error.to_string()))?;
    let served = service.waiting().await.map_err(|error| McpError::Server(error.to_string()));
    // The lock is fair: calls that the client sent before it went away come first.
    let _done = tokio::time::timeout(QUEUE_TIMEOUT, calls.lock()).await;
    served.map(|_| ())
}

struct BoardServer {
    board: Arc<dyn BoardSource>,
    /// Held by a call until its work ends, also if the client cancels it: calls run in the order in
    /// which they came.
    calls: Arc<tokio::sync::Mutex<()>>,
}

impl ServerHandler for BoardServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                board_tools::BOARD_SERVER,
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = |value: Value| match value {
            Value::Object(object) => object,
            _ => JsonObject::new(),
        };
        let tools = board_tools::list_tools().into_iter();
        let tools = tools.map(|tool| Tool::new(tool.name, tool.description, schema(tool.schema)));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    /// Runs the call on a thread of its own: hooks may take long.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let turn = Arc::clone(&self.calls).lock_owned().await;
        let board = Arc::clone(&self.board);
        let name = request.name.to_string();
        let args = Value::Object(request.arguments.unwrap_or_default());
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let mut called = None;
            board.with_board(&mut |board| called = board_tools::call_tool(board, &name, &args));
            called.ok_or_else(|| {
                ErrorData::invalid_params(format!("there is no tool `{name}`"), None)
            })
        });
        let called = work.await.map_err(|error| {
            ErrorData::internal_error(format!("the call did not end: {error}"), None)
        })??;
        let result = match called {
            Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
            Err(error) => {
                CallToolResult::error(vec![ContentBlock::text(board_tools::refusal_text(&error))])
            }
        };
        Ok(result.into())
    }
}
