//! The action `mcp_tool`: one tool of a server that speaks MCP, started for this call or reached
//! over HTTP. It knows requests and outcomes; no event and no decision.

mod action;
mod line;
mod server;
mod talk;

pub use action::McpAction;
