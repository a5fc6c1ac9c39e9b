//! The action `mcp_tool`: calls one tool of an MCP server, which is started for this call or
//! reached over HTTP.

mod action;
mod http_transport;
mod server;
mod session;

pub use action::McpAction;
